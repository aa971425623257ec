"""The same collaborations between separate organisations.

`seals` signs, seals and records what travels, `site` is a participant's own place, `flare` the network's engine.
"""
