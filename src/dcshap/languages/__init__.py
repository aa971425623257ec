"""What is said to people, one file per language: to translate it, translate the file."""

from dcshap.languages.wording import LANGUAGES, Wording, wording

__all__ = ["LANGUAGES", "Wording", "wording"]
