"""Roles on disk: JSON, arrays and models in folders that are written whole or not at all. No pickle is ever read."""

from dcshap.storage.estimators import read_model, write_model
from dcshap.storage.folders import (
    PLAIN,
    State,
    current,
    interpreting,
    plain,
    read_folder,
    require_trusted_tree,
    require_writable,
    write_folder,
    write_tree,
)
from dcshap.storage.private import read_private, write_once, write_private

__all__ = [
    "PLAIN",
    "State",
    "current",
    "interpreting",
    "plain",
    "read_folder",
    "read_model",
    "read_private",
    "require_trusted_tree",
    "require_writable",
    "write_folder",
    "write_model",
    "write_once",
    "write_private",
    "write_tree",
]
