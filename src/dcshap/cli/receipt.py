"""`dcshap receipt …`: check and compare receipts; and how `dcshap explain` issues them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcshap.cli.console import JsonOption, command_group, print_json, say, tell
from dcshap.cli.tables import Run
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Concordance, Receipt, compare, read_openings, read_receipts, write_receipts

__all__ = ["issue_receipts", "receipt", "require_signer"]

receipt = command_group("Check and compare signed receipts.")

SHOWN = ("code", "party", "signer", "written", "run", "view", "index", "method", "model", "reference")


@receipt.callback()
def _group() -> None:
    """Check and compare signed receipts."""


@receipt.command()
def verify(
    first: Annotated[Path, typer.Argument(metavar="A", help="A file of receipts.")],
    second: Annotated[Path | None, typer.Argument(metavar="[B]", help="Another party's, of the same records.")] = None,
    root: Annotated[Path | None, typer.Option(help="The federation's authority (rootCA.pem), to check names.")] = None,
    revoked: Annotated[Path | None, typer.Option(help="With --root: the authority's list, revoked.json.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Is a receipt as it was signed, and do two of them state the same explanation? Nobody's data are needed.

    Ends with 0 if they do, and with 1 if anything differs, cannot be told, or was changed.

    Examples: `dcshap receipt verify north.receipt`, `dcshap receipt verify north.receipt south.receipt`
    """
    against = _authority(root, revoked)
    one = read_receipts(first)
    if second is None:
        for each in one:
            each.verify(**against)
        _show_alone(one, as_json=as_json)
        return
    other = read_receipts(second)
    if len(one) != len(other):
        raise InputError(f"Both files must hold the same number of receipts. Got {len(one)} and {len(other)}.")
    found = [compare(a, b, **against) for a, b in zip(one, other, strict=True)]
    _show_compared(one, other, found, as_json=as_json)
    if not all(each.same for each in found):
        raise typer.Exit(1)


def _authority(root: Path | None, revoked: Path | None) -> dict[str, Any]:
    """Whose certificates receipts are checked by, and which of them count no more."""
    if revoked is not None and root is None:
        raise InputError("--revoked needs --root: the authority that signed the list.")
    if root is None:
        return {}
    pem = root.read_text(encoding="utf-8")
    if revoked is None:
        return {"root": pem}
    from dcshap.federation.seals.revocation import signed_by  # noqa: PLC0415 - few receipts are of a federation

    return {"root": pem, "revoked": signed_by(root, revoked).revoke}


def _plain(one: Receipt) -> dict[str, Any]:
    return {name: getattr(one, name) for name in SHOWN}


def _show_alone(receipts: list[Receipt], *, as_json: bool) -> None:
    if as_json:
        print_json([_plain(each) for each in receipts])
        return
    for each in receipts:
        tell(f"Receipt {each.code} is as {each.party} signed it.")
        for name in SHOWN[2:]:
            tell(f"  {name:10} {getattr(each, name) or '–'}")


def _show_compared(one: list[Receipt], other: list[Receipt], found: list[Concordance], *, as_json: bool) -> None:
    if as_json:
        pairs = zip(one, other, found, strict=True)
        print_json(
            [{"same": c.same, "receipts": [_plain(a), _plain(b)], "findings": _findings(c)} for a, b, c in pairs]
        )
        return
    for a, b, each in zip(one, other, found, strict=True):
        tell(f"{a.code} of {a.party} and {b.code} of {b.party}", style="bold")
        tell(str(each))


def _findings(found: Concordance) -> list[dict[str, str]]:
    return [{"what": each.what, "outcome": each.outcome, "sentence": each.sentence} for each in found.findings]


def require_signer(file: Path | None, *, party: str | None, openings: Path | None) -> None:
    """Refuse options of `dcshap explain` that do not go together, before anything is explained."""
    if file is not None and party is None:
        raise InputError("--receipt needs --party: a receipt is signed by the party that explains.")
    if openings is not None and file is None:
        raise InputError("--openings is for receipts: name their file with --receipt.")


def issue_receipts(trained: Run, explanation: PartyExplanation, path: Path, *, openings: Path | None) -> None:
    """Write a receipt for every row that was explained, and their openings to a private file beside it."""
    codes: list[Any] = [None] * len(explanation) if openings is None else list(read_openings(openings))
    if len(codes) != len(explanation):
        raise InputError(f"--openings must hold one opening per row. Got {len(codes)} for {len(explanation)} rows.")
    issued = [trained.collaboration.receipt(explanation, sample=at, opening=code) for at, code in enumerate(codes)]
    beside = write_receipts(path, issued)
    say(
        f"Receipts written to {path}. Who has their openings, in {beside}, can check which record each is of: give "
        f"them only to those who may know the record."
    )
