"""Pages from templates: escaped by default, each form with its token."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dcshap.desk.accounts import Accounts, Role
from dcshap.desk.routing import RefusedError, Visit
from dcshap.desk.vocabulary import Vocabulary

__all__ = ["Renderer"]

TEMPLATES = Path(__file__).parent / "templates"
NAVIGATION = {
    Role.OFFICER: (("/cases", "Cases"), ("/reviews", "Reviews"), ("/requests", "Requests"), ("/receipts", "Receipts")),
    Role.PERSON: (("/mine", "My case"),),
    Role.AUDITOR: (
        ("/audit", "Overview"),
        ("/audit/journal", "Journal"),
        ("/audit/agreement", "Agreement"),
        ("/receipts", "Receipts"),
    ),
    Role.OPERATOR: (("/operator", "Operations"),),
}
MOST_PARTS = 500
WHEN = Markup('<span class="when">{}</span> <span class="when">{}</span>')
FIELD = Markup('<input type="hidden" name="form_token" value="{}">')


class Renderer:
    """Fills templates in for a visitor.

    Parameters
    ----------
    accounts : Accounts
    words : Vocabulary
    party : str
    """

    def __init__(self, accounts: Accounts, words: Vocabulary, party: str) -> None:
        self._accounts = accounts
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._parts: OrderedDict[Hashable, Markup] = OrderedDict()
        self._lock = threading.Lock()
        self._environment.filters["when"] = _when
        self._environment.globals.update(words=words, organisation=words.organisation or party)

    def prepare(self) -> None:
        """Compile all templates now."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    def page(self, visit: Visit, template: str, *, status: int = HTTPStatus.OK, **context: Any) -> HTMLResponse:
        """A page from a template."""
        session = visit.session
        about = {
            "session": session,
            "navigation": NAVIGATION[session.role] if session else (),
            "token": FIELD.format(self._accounts.form_token(visit.cookie)),
        }
        text = self._environment.get_template(template).render(about | context)
        return HTMLResponse(text, status)

    def part(self, key: Hashable, template: str, context: Callable[[], dict[str, Any]]) -> Markup:
        """A part of a page that is the same for everybody, kept under a key."""
        with self._lock:
            if key in self._parts:
                self._parts.move_to_end(key)
                return self._parts[key]
        drawn = Markup(self._environment.get_template(template).render(context()))  # noqa: S704 - escaped by the template
        with self._lock:
            self._parts[key] = drawn
            while len(self._parts) > MOST_PARTS:
                self._parts.popitem(last=False)
        return drawn

    def refusal(self, visit: Visit, error: RefusedError) -> HTMLResponse:
        """A page that says why there is no other."""
        return self.page(visit, "refusal.html", status=error.status, title=error.title, text=error.text)


def _when(text: str) -> Markup:
    """A time as people read it, to the minute; a line breaks between day and hour only."""
    return WHEN.format(text[:10], f"{text[11:16]} UTC") if text else Markup()
