"""The same collaborations between separate organisations, over mutual TLS, on NVIDIA FLARE.

Needs `pip install dcshap[federation]`. The roles and messages are those of `dcshap.collaboration` and
`dcshap.explanation`; here they are written down (`wire`), sealed (`identity`), carried (`executor`, `controller`) and
counted (`ledger`).
"""
