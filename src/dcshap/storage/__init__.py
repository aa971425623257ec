"""Roles on disk: JSON, arrays and models in folders that are written whole or not at all. No pickle is ever read."""

from dcshap.storage.estimators import read_model, write_model
from dcshap.storage.folders import CONTENTS, PLAIN, State, interpreting, plain, read_folder, write_folder

__all__ = [
    "CONTENTS",
    "PLAIN",
    "State",
    "interpreting",
    "plain",
    "read_folder",
    "read_model",
    "write_folder",
    "write_model",
]
