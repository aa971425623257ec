"""What can go wrong, as one tree.

- `DcshapError`
    - `InputError` (a `ValueError`): an argument, a shape or a table is not what it must be
        - `SchemaError`: a table does not fit the agreed schema
        - `PrivacyError`: refused, because it would disclose more than the method allows
            - `UnanswerableError`: not all parties can answer for the records; which, and why, is not said
    - `ModelError`: the model raised, or answered with something that cannot be explained
    - `NotFittedError` (also scikit-learn's): used before `fit`
    - `ProtocolError`: a message does not fit the step it arrived in
    - `FederationError`: a site did not answer in time, or could not do its part
    - `StorageError`: a folder is damaged, of another version, or holds types that are not trusted
    - `DatasetError`: a data file is missing or is not the published one

- `DcshapWarning` (a `UserWarning`)
    - `RangeWarning`: values outside the schema's range
    - `TableWarning`: part of a table is left out, or may be read otherwise than it was meant
    - `PrivacyWarning`: allowed, but it discloses more than the default would
    - `ReferenceWarning`: the reference is unlike the data
    - `QualityWarning`: a party would do better without the collaboration
    - `ConvergenceWarning`: sampled values have not reached the precision that was asked for

Messages say what must hold, what was got and what to do. They name parameters, shapes, columns and counts,
never data values: an error may cross the border of an organisation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sklearn.exceptions

__all__ = [
    "ConvergenceWarning",
    "DatasetError",
    "DcshapError",
    "DcshapWarning",
    "FederationError",
    "InputError",
    "ModelError",
    "NotFittedError",
    "PrivacyError",
    "PrivacyWarning",
    "ProtocolError",
    "QualityWarning",
    "RangeWarning",
    "ReferenceWarning",
    "SchemaError",
    "StorageError",
    "TableWarning",
    "UnanswerableError",
]


class DcshapError(Exception):
    """The root of every error that dcshap raises on purpose."""

    site: str = ""  # where it happened, of an error that has crossed the network


class InputError(DcshapError, ValueError):
    """An argument, a shape or a table is not what it must be."""


class SchemaError(InputError):
    """A table does not fit the agreed schema."""


class PrivacyError(InputError):
    """Refused, because it would disclose more than the method allows."""


class UnanswerableError(PrivacyError):
    """Not all parties can answer for the records that were asked for; which of them, and why, is not said."""

    def __init__(self, text: str = "The records that were asked for cannot be answered for.") -> None:
        super().__init__(text)


class ModelError(DcshapError):
    """The model raised, or answered with something that cannot be explained."""


if TYPE_CHECKING:

    class NotFittedError(DcshapError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]  # sklearn is untyped
        """Used before `fit`."""


class ProtocolError(DcshapError):
    """A message does not fit the step it arrived in."""


class FederationError(DcshapError):
    """A site did not answer in time, or could not do its part."""


class StorageError(DcshapError):
    """A folder is damaged, of another version, or holds types that are not trusted."""


class DatasetError(DcshapError):
    """A data file is missing or is not the published one."""


class DcshapWarning(UserWarning):
    """The root of every warning that dcshap gives."""


class RangeWarning(DcshapWarning):
    """Values outside the schema's range."""


class TableWarning(DcshapWarning):
    """Part of a table is left out, or may be read otherwise than it was meant."""


class PrivacyWarning(DcshapWarning):
    """Allowed, but it discloses more than the default would."""


class ReferenceWarning(DcshapWarning):
    """The reference is unlike the data."""


class QualityWarning(DcshapWarning):
    """A party would do better without the collaboration."""


class ConvergenceWarning(DcshapWarning):
    """Sampled values have not reached the precision that was asked for."""


def __getattr__(name: str) -> Any:
    # Made when first asked for: importing scikit-learn takes longer than showing a command's help.
    if name != "NotFittedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError as OfScikitLearn  # noqa: PLC0415

    content = {"__doc__": "Used before `fit`.", "__module__": __name__}
    made = globals()[name] = type(name, (DcshapError, OfScikitLearn), content)
    return made
