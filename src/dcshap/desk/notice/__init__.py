"""Decision notices: letters to the person whom a decision is about, as HTML and PDF."""

from dcshap.desk.notice.letter import Case, Notice, Part, notice

__all__ = ["Case", "Notice", "Part", "notice"]
