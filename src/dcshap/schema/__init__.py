"""The agreed data dictionary: which columns there are, what may stand in them, and how they are encoded."""

from dcshap.schema.columns import Category, Column, Date, Number, Time, Unknown
from dcshap.schema.dictionary import Absent, Missing, Schema

__all__ = ["Absent", "Category", "Column", "Date", "Missing", "Number", "Schema", "Time", "Unknown"]
