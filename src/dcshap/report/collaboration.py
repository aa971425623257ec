"""The page of a collaboration: who took part, what it was good for, whether explanations agree, and who saw what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dcshap.collaboration.messages import ANALYST, Sent
from dcshap.collaborations import HorizontalCollaboration, VerticalCollaboration
from dcshap.explanation import Disagreement
from dcshap.report.comparison import disagreement_section
from dcshap.report.page import Block, Note, Paragraph, Report, Section, Table
from dcshap.report.texts import listed, plain_value, shortened
from dcshap.schema import Number, Schema
from dcshap.shapley import Explanation

__all__ = [
    "accuracy_section",
    "collaboration_report",
    "collaboration_sections",
    "participants_section",
    "parties_table",
    "seen_section",
    "sent_table",
    "settings_table",
]

Collaboration = HorizontalCollaboration | VerticalCollaboration

REPRESENTATIONS = ("Representation", "RecordRepresentation")
NEVER_SEEN = (
    "The analyst never sees raw rows, the anchor or its seed, or any party's reduction. No party ever sees another's "
    "raw rows or reduction. Whoever asks for an explanation sees their own record and their own view, never a "
    "representation."
)
NO_ENCRYPTION = (
    "A representation is not encryption. The analyst and one party together can reconstruct much of another party's "
    "columns; fewer dimensions protect better. A nearest-neighbours model contains every party's aligned training "
    "rows. Nothing here is a claim of differential privacy."
)
# What each kind of message is, in the words of a reader who has not seen the code.
KINDS = {
    "AnchorSeed": "the seed of the anchor",
    "AnchorDigest": "a digest of the anchor, to check that all parties have the same",
    "PairKey": "a key that two parties mask their sums with",
    "Targets": "which classes, or which range, a party's labels have",
    "MaskedMoments": "sums over a party's rows, masked",
    "PseudonymKey": "the key that turns identifiers to pseudonyms",
    "Representation": "reduced anchor, reduced rows and labels",
    "Integration": "the party's alignment, and the model",
    "RecordRepresentation": "reduced rows under pseudonyms",
    "RecordPseudonyms": "the pseudonyms of a party's records",
    "CommonRecords": "the pseudonyms of the records that all parties hold",
    "HolderTriple": "random numbers, to mask labels with",
    "GuestTriple": "random numbers, to mask columns with",
    "MaskedColumns": "a party's columns, masked",
    "LabelSums": "labels, masked, and one of two random parts of their sums with another party's columns",
    "RecordLabels": "labels under pseudonyms",
    "JoinReport": "how many records all parties hold",
    "SharedModel": "the model",
    "Prepared": "that a party has all it needs of a training, or has begun to use it",
    "Commit": "that all parties may use what was trained",
    "Request": "what is asked, of which records",
    "Prediction": "predictions",
    "RecordVectors": "two reduced vectors per explained record: the record and the reference",
    "RecordOffsets": "what each column adds to the representation of an explained record",
    "CoalitionTable": "the representations of every coalition of an explained record",
    "RecordPart": "a party's columns of an explained record and of the reference",
    "Answer": "attributions",
}


def collaboration_report(
    collaboration: Collaboration,
    *,
    title: str = "A data collaboration",
    accuracy: pd.DataFrame | None = None,
    explanations: Mapping[str, Mapping[str, Explanation]] | None = None,
    disagreements: Mapping[str, Disagreement] | None = None,
    examples: Sequence[Block] = (),
) -> Report:
    """One page about a collaboration. It holds no data but that of the examples.

    Parameters
    ----------
    collaboration : HorizontalCollaboration or VerticalCollaboration
        A fitted one.
    title : str
    accuracy : DataFrame, optional
        One row per party, say: alone, together, pooled.
    explanations : mapping of method to mapping of party to Explanation, optional
        The same samples explained by every party, by each method; the first is what the others are compared with.
    disagreements : mapping of method to Disagreement, optional
        Where they are known already, such as those that tell why; computed from the explanations by default.
    examples : sequence of blocks
        Example explanations, such as `explanation_section` gives.
    """
    sections = collaboration_sections(
        collaboration, accuracy=accuracy, explanations=explanations, disagreements=disagreements, examples=examples
    )
    return Report(title, sections, lead=_lead(collaboration))


def collaboration_sections(
    collaboration: Collaboration,
    *,
    accuracy: pd.DataFrame | None = None,
    explanations: Mapping[str, Mapping[str, Explanation]] | None = None,
    disagreements: Mapping[str, Disagreement] | None = None,
    examples: Sequence[Block] = (),
) -> list[Section]:
    """The sections of `collaboration_report`, for a page about more than one collaboration."""
    sections = [
        participants_section(
            parties_table(collaboration), settings=settings_table(collaboration), schemas=_schemas(collaboration)
        )
    ]
    if accuracy is not None:
        sections.append(accuracy_section(accuracy))
    if explanations:
        sections.append(disagreement_section(explanations, disagreements=disagreements))
    if examples:
        sections.append(Section("Example explanations", list(examples)))
    return [*sections, seen_section(collaboration.sent_)]


def _lead(collaboration: Collaboration) -> str:
    *others, last = collaboration.parties_
    who = f"{', '.join(others)} and {last}"
    held = (
        "the same columns of different rows"
        if isinstance(collaboration, HorizontalCollaboration)
        else ("different columns of the same records")
    )
    return f"{who} hold {held}, and trained one model without showing them to each other."


# --- who took part ---------------------------------------------------------------------------------------------


def participants_section(
    parties: pd.DataFrame, *, settings: pd.DataFrame | None = None, schemas: Mapping[str, Schema] | None = None
) -> Section:
    """Who took part with how much, the settings, and the agreed data dictionaries by whose they are."""
    blocks: list[Block] = [Table(parties, "The parties")]
    if settings is not None:
        blocks.append(Table(settings, "What they settled on"))
    for whose, schema in (schemas or {}).items():
        blocks.append(Table(_schema_table(schema), f"The data dictionary of {whose}"))
    return Section("Who took part", blocks)


def parties_table(collaboration: Collaboration) -> pd.DataFrame:
    """One row per party: rows, columns, dimensions of its representation; taken from what it sent."""
    # The first of each party, which it trained with: predictions of records send representations too.
    sent = {line.sender: line.shapes["rows"] for line in collaboration.sent_[::-1] if line.kind in REPRESENTATIONS}
    return pd.DataFrame(
        [
            {
                "party": name,
                "rows": sent[name][0],
                "columns": len(party.agreement.schema),
                "dimensions sent": sent[name][1],
            }
            for name, party in collaboration.parties_.items()
        ]
    )


def settings_table(collaboration: Collaboration) -> pd.DataFrame:
    """The parameters of a collaboration. What is a table or a dictionary of its own is only named."""
    settings = {"kind": collaboration.kind} | collaboration.get_params(deep=False)
    # The schema has a table of its own. A seed would let whoever reads the page draw the anchor and the reductions.
    for name in ("schema", "random_state"):
        settings.pop(name, None)
    return pd.DataFrame({"setting": settings.keys(), "value": [_setting(value) for value in settings.values()]})


def _setting(value: Any) -> str:
    if isinstance(value, pd.DataFrame) or hasattr(value, "__array__"):
        return "a given table"
    return shortened(str(value), 120)


def _schemas(collaboration: Collaboration) -> dict[str, Schema]:
    if isinstance(collaboration, HorizontalCollaboration):
        return {"all parties": collaboration.schema_}
    return {name: party.agreement.schema for name, party in collaboration.parties_.items()}


def _schema_table(schema: Schema) -> pd.DataFrame:
    rows = []
    for column in schema.columns:
        if isinstance(column, Number):
            may_be = f"{plain_value(column.low)} to {plain_value(column.high)}"
        else:
            may_be = listed(column.categories)
        rows.append({"column": column.name, "kind": type(column).__name__.lower(), "may be": may_be})
    return pd.DataFrame(rows)


# --- what it was good for ----------------------------------------------------------------------------------------


def accuracy_section(accuracy: pd.DataFrame) -> Section:
    """How good predictions are alone, together and pooled, as the given table says."""
    return Section("Accuracy", [Table(accuracy, "Alone, together and pooled")])


# --- what each role saw --------------------------------------------------------------------------------------------


def seen_section(sent: Sequence[Sent]) -> Section:
    """What each role received, and what none ever does."""
    blocks: list[Block] = [
        Note(NEVER_SEEN),
        Table(
            sent_table(sent), "Everything that travelled, by who received it; bytes leave out models and attributions"
        ),
        Paragraph(NO_ENCRYPTION),
    ]
    return Section("What each role saw", blocks)


def sent_table(sent: Sequence[Sent]) -> pd.DataFrame:
    """One row per recipient, kind of message, sender and shapes: how often, and how many bytes.

    The size of a model and of attributions depends on how they are written down and is not counted.
    """
    keys = ["seen by", "what", "message", "from", "shapes"]
    lines = [
        (line.recipient, KINDS.get(line.kind, line.kind), line.kind, line.sender, _shapes(line), line.n_bytes)
        for line in sorted(sent, key=lambda line: line.recipient != ANALYST)
    ]
    by_line = pd.DataFrame(lines, columns=[*keys, "bytes"]).groupby(keys, sort=False)["bytes"]
    found = by_line.agg(times="size", bytes="sum").reset_index()
    return found.assign(bytes=found["bytes"].where(found["bytes"] > 0))


def _shapes(line: Sent) -> str:
    return "; ".join(f"{name} {' × '.join(map(str, shape))}" for name, shape in line.shapes.items())
