"""Write the tables "what travels" into the documentation, from the protocols themselves.

python docs/what_travels.py           # rewrite the pages
python docs/what_travels.py --check   # fail where a page is not what the protocols say
"""

from __future__ import annotations

import sys
from pathlib import Path

from dcshap.protocol.steps import (
    ALGORITHM_3,
    ALGORITHM_4,
    CALL,
    MEET,
    PARTY_VIEWS,
    PREDICT,
    RESUME,
    Protocol,
    Step,
    training,
)

PAGES = ("privacy.md",)
BEGIN, END = "<!-- what travels: made by docs/what_travels.py -->", "<!-- end of what travels -->"
TABLES = {
    "meeting, between organisations": MEET,
    "going on from an earlier training": RESUME,
    "training horizontally": training("horizontal", span="supervised", rounds=1),
    'training horizontally, `span="shared"`': training("horizontal", span="shared"),
    "training vertically": training("vertical", span="supervised"),
    'training vertically, `span="private"`': training("vertical"),
    "Algorithm 4": ALGORITHM_4,
    "party views": PARTY_VIEWS,
    "Algorithm 3": ALGORITHM_3,
    "predicting records": PREDICT,
}


def travels() -> str:
    """All protocols as one table of Markdown."""
    lines = [
        "| protocol | step | message | from | to | sent | readable by the server |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, table in TABLES.items():
        for at, step in enumerate(table):
            cells = [
                title if at == 0 else "",
                step.name.replace("_", " "),
                _messages(step),
                step.sender,
                step.recipient,
            ]
            lines.append("| " + " | ".join([*cells, _when(step, table), _readable(step)]) + " |")
    return "\n".join(lines)


def _messages(step: Step) -> str:
    kinds = step.message if isinstance(step.message, tuple) else (step.message,)
    return " or ".join(f"`{kind.__name__}`" for kind in kinds)


def _when(step: Step, table: Protocol) -> str:
    after = [name for name in step.after if name in table]
    if step.on == CALL:
        return "when the analyst calls" + (f", after {_listed(after)}" if after else "")
    if step.on is not None:
        return f"on {_listed([step.on])}"
    return f"after {_listed(after)}" if after else "first"


def _listed(names: list[str]) -> str:
    return " and ".join(name.replace("_", " ") for name in names)


def _readable(step: Step) -> str:
    if "analyst" in (step.sender, step.recipient):
        return "by the analyst"
    return "no" if step.sealed else "yes"


def written(page: str) -> str:
    """A page with its table as it must be."""
    head, _, rest = page.partition(BEGIN)
    _, found, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{travels()}\n\n{END}{tail}" if found else page


def main() -> int:
    """Rewrite the pages, or check them."""
    stale = []
    for name in PAGES:
        path = Path(__file__).parent / name
        page = path.read_text(encoding="utf-8")
        if written(page) != page:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(written(page), encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"{stale} are not what the protocols say: run python docs/what_travels.py\n")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
