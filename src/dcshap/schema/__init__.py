"""The agreed data dictionary: which columns there are, what may stand in them, and how they are encoded."""

from dcshap.schema.columns import Category, Column, Date, Number, Unknown
from dcshap.schema.dictionary import Missing, Schema

__all__ = ["Category", "Column", "Date", "Missing", "Number", "Schema", "Unknown"]
