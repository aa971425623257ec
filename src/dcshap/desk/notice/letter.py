"""What a decision notice says, in any language, and the letter as HTML."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dcshap.desk.notice.pdf import pdf_of
from dcshap.desk.vocabulary import percent_text
from dcshap.explanation.receipt import Receipt
from dcshap.explanation.statement import PartyExplanation
from dcshap.languages import Wording, wording
from dcshap.shapley import Explanation

__all__ = ["Case", "Notice", "Part", "notice"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A decision, and what a letter about it must know."""

    identifier: str  # what the organisation calls the case
    decided: date
    decision: str  # in a sentence or more, in the language of the letter
    organisation: str  # who writes; name and address, in lines
    recipient: str  # to whom, likewise
    contact: str  # where to have the decision reviewed by a person, or to contest it, in lines
    explanation: Explanation
    sample: int = 0
    output: str | int | None = None  # as in `Explanation.reasons`
    outcome: str | None = None  # what to call the output
    sensitive: Collection[str] = ()  # columns of which the letter must say nothing, as `schema.sensitive` names them
    # Who contributed, and what kind of data; the text may be empty. By default those that the explanation names.
    contributors: Mapping[str, str] = field(default_factory=dict)
    line: float | None = None  # the chance at which the decision changes
    days: int | None = None  # within how many days the decision can be contested
    authority: str = ""  # where else to complain, in lines
    receipt: Receipt | None = None  # its code, and its opening where it has one, are at the foot of the letter
    n_reasons: int = 4


@dataclass(frozen=True)
class Part:
    """One section of a letter: a heading, and paragraphs before and after a list."""

    heading: str
    before: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    numbered: bool = False


@dataclass(frozen=True)
class Notice:
    """A decision notice."""

    language: str
    title: str
    about: str
    sender: str
    recipient: str
    parts: tuple[Part, ...]
    foot: tuple[str, ...]

    @property
    def html(self) -> str:
        """The letter as a page of its own, that loads nothing and runs nothing."""
        environment = Environment(
            loader=PackageLoader("dcshap.desk.notice", "."),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return environment.get_template("letter.html").render(notice=self)

    def pdf(self, *, font: str | Path | None = None) -> bytes:
        """The letter as a PDF file of A4 pages.

        Parameters
        ----------
        font : path, optional
            A TrueType font to embed for Japanese. By default an open one of this machine.
        """
        return pdf_of(self, font=font)


def notice(case: Case, *, language: str = "en") -> Notice:
    """The letter that tells a person of a decision about them.

    Parameters
    ----------
    case : Case
    language : {"en", "de", "ja"}
    """
    texts = wording(language)
    parts = (_decision, _reasons, _compared, _contributors, _review, _contest)
    return Notice(
        language=language,
        title=texts.say("notice.title"),
        about=f"{texts.say('notice.case', case=case.identifier)} · {_date(case.decided, texts)}",
        sender=case.organisation,
        recipient=case.recipient,
        parts=tuple(part for write in parts if (part := write(case, texts)) is not None),
        foot=_foot(case, texts),
    )


def _date(day: date, texts: Wording) -> str:
    month = texts.say("notice.months").split()[day.month - 1]
    return texts.say("notice.date", day=str(day.day), month=month, year=str(day.year))


def _decision(case: Case, texts: Wording) -> Part:
    explained = case.explanation[case.sample]
    heading = texts.say("notice.decision.heading")
    if not explained.are_probabilities:
        return Part(heading, (case.decision, texts.say("notice.decision.assessed")))
    at = int(explained.chosen_outputs(case.output)[0])
    chance = float(f"{explained.predictions[0, at]:.9g}")
    percent = texts.number(percent_text(chance, case.line).removesuffix(".0"))
    name = case.outcome or explained.output_names[at]
    return Part(heading, (case.decision, texts.say("notice.decision.automated", name=name, percent=percent)))


def _reasons(case: Case, texts: Wording) -> Part:
    found = case.explanation.reasons(
        case.n_reasons,
        case.sample,
        output=case.output,
        language=texts.language,
        without=case.sensitive,
        outcome=case.outcome,
    )
    heading = texts.say("notice.reasons.heading")
    if not found:
        return Part(heading, (texts.say("notice.reasons.none"),))
    items = [
        reason.sentence
        if reason.party is None
        else f"{reason.sentence} {texts.say('notice.reasons.elsewhere', party=reason.party)}"
        for reason in found
    ]
    return Part(heading, (texts.say("notice.reasons.intro"),), tuple(items), numbered=True)


def _compared(case: Case, texts: Wording) -> Part:
    n = _n_rows(case.explanation.reference)
    kind = {0: "unknown", 1: "one"}.get(n, "several")
    return Part(texts.say("notice.compared.heading"), (texts.say(f"notice.compared.{kind}", n=str(n)),))


def _n_rows(reference: Any) -> int:
    return 0 if reference is None else len(reference) if getattr(reference, "ndim", 2) == 2 else 1


def _contributors(case: Case, texts: Wording) -> Part | None:
    contributors = dict(case.contributors) or dict.fromkeys(_named(case.explanation), "")
    if not contributors:
        return None
    items = tuple(f"{name}: {what}" if what else name for name, what in contributors.items())
    return Part(texts.say("notice.contributors.heading"), (texts.say("notice.contributors.intro"),), items)


def _named(explanation: Explanation) -> list[str]:
    """The organisations that an explanation names."""
    own = explanation.party if isinstance(explanation, PartyExplanation) else None
    others = [name for names in explanation.held_elsewhere.values() for name in names]
    names = [*([own] if own else []), *others, *(explanation.blocks or {})]
    return list(dict.fromkeys(names))


def _review(case: Case, texts: Wording) -> Part:
    return Part(texts.say("notice.review.heading"), (texts.say("notice.review.text"), case.contact))


def _contest(case: Case, texts: Wording) -> Part:
    if case.days is None:
        text = texts.say("notice.contest.any_time")
    else:
        text = texts.say("notice.contest.within", days=str(case.days))
    authority = (texts.say("notice.contest.authority"), case.authority) if case.authority else ()
    return Part(texts.say("notice.contest.heading"), (text, *authority))


def _foot(case: Case, texts: Wording) -> tuple[str, ...]:
    receipt = case.receipt
    if receipt is None:
        return ()
    sender = case.organisation.partition("\n")[0]
    party = receipt.party if receipt.party == sender else f"{sender} ({receipt.party})"
    code = texts.say("notice.receipt.code", code=receipt.code, party=party)
    if receipt.opening is None:
        return (code,)
    return code, texts.say("notice.receipt.opening", opening=receipt.opening)
