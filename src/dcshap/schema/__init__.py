"""The agreed data dictionary: which columns there are, what may stand in them, and how they are encoded."""

from dcshap.schema.columns import Category, Column, Number
from dcshap.schema.dictionary import Missing, Schema

__all__ = ["Category", "Column", "Missing", "Number", "Schema"]
