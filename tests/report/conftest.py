from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pytest

from dcshap.explanation import PartyExplanation


class Make(Protocol):
    def __call__(self, values: Any, **fields: Any) -> PartyExplanation: ...


@pytest.fixture
def make() -> Make:
    """An explanation of given values (n, M) or (n, M, K), everything else plausible unless given."""

    def make(values: Any, **fields: Any) -> PartyExplanation:
        values = np.asarray(values, dtype=np.float64)
        n, n_players = values.shape[:2]
        outputs = values.shape[2:]
        exact = fields.get("exact", True)
        content: dict[str, Any] = {
            "values": values,
            "base_values": np.full((n, *outputs), 0.25),
            "feature_names": tuple(f"f{j}" for j in range(n_players)),
            "output_names": tuple(f"k{k}" for k in range(outputs[0])) if outputs else ("output",),
            "index": "shapley",
            "method": "exact" if exact else "sampled",
            "exact": exact,
            "n_evals": np.full(n, 8),
            "standard_errors": np.zeros(values.shape),
            "converged": np.ones(n, dtype=np.bool_),
        }
        return PartyExplanation(**(content | fields))

    return make
