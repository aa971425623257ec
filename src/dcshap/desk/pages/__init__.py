"""The desk's pages, and the table of all of them."""

from dcshap.desk.pages import (
    auditing,
    casework,
    checking,
    comparing,
    correspondence,
    entrance,
    hypotheses,
    letters,
    operations,
    visitor,
)
from dcshap.desk.routing import Page

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = tuple(
    page
    for module in (
        *(entrance, casework, correspondence, hypotheses, letters),
        *(visitor, checking, comparing, auditing, operations),
    )
    for page in module.pages.all
)
