"""The page of a collaboration: who took part, what it was good for, whether explanations agree, and who saw what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dcshap.collaboration.messages import ANALYST, Sent
from dcshap.collaborations import HorizontalCollaboration, VerticalCollaboration
from dcshap.explanation import Disagreement, disagreement
from dcshap.report.bars import rmse_bars
from dcshap.report.labels import decimals_for, listed, plain_value, shortened, signed
from dcshap.report.page import Block, Note, Paragraph, Picture, Report, Section, Table
from dcshap.report.parties import side_by_side
from dcshap.schema import Number, Schema
from dcshap.shapley import Explanation

__all__ = [
    "accuracy_section",
    "collaboration_report",
    "collaboration_sections",
    "disagreement_section",
    "participants_section",
    "parties_table",
    "seen_section",
    "sent_table",
    "settings_table",
]

Collaboration = HorizontalCollaboration | VerticalCollaboration

MAX_CONTRADICTIONS = 12
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
    "MaskedMoments": "sums over a party's rows, masked",
    "SpanBasis": "the subspace that all parties keep",
    "PseudonymKey": "the key that turns identifiers to pseudonyms",
    "Representation": "reduced anchor, reduced rows and labels",
    "Integration": "the party's alignment, and the model",
    "RecordRepresentation": "reduced rows under pseudonyms",
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
    """Who took part with how much, the settings, and the agreed data dictionaries by what they are of."""
    blocks: list[Block] = [Table(parties, "The parties")]
    if settings is not None:
        blocks.append(Table(settings, "What they settled on"))
    for whose, schema in (schemas or {}).items():
        blocks.append(Table(_schema_table(schema), f"The data dictionary of {whose}"))
    return Section("Who took part", blocks)


def parties_table(collaboration: Collaboration) -> pd.DataFrame:
    """One row per party: rows, columns, dimensions of its representation; taken from what it sent."""
    sent = {line.sender: line.shapes["rows"] for line in collaboration.sent_ if line.kind in REPRESENTATIONS}
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


# --- whether explanations agree ------------------------------------------------------------------------------------


def disagreement_section(
    explanations: Mapping[str, Mapping[str, Explanation]],
    *,
    disagreements: Mapping[str, Disagreement] | None = None,
    threshold: float = 0.05,
) -> Section:
    """How far parties' explanations of the same predictions differ by each method, and which contradict each other.

    Parameters
    ----------
    explanations : mapping of method to mapping of party to Explanation
        The first method is what the others are compared with.
    disagreements : mapping of method to Disagreement, optional
    threshold : float, default 0.05
        How large two attributions of opposite sign must both be to contradict each other.
    """
    known = disagreements or {}
    found = {name: known.get(name) or disagreement(each, threshold=threshold) for name, each in explanations.items()}
    blocks: list[Block] = [
        Paragraph(
            "The same predictions were explained by every party. The difference is the root mean square difference of "
            "the attributions between parties, averaged over features."
        ),
        Table(_comparison(found), "Do the parties explain alike?"),
        Picture(rmse_bars(found), _describe_bars(found), "The difference per feature."),
        *_reasons(found),
        *_contradictions(explanations, found),
    ]
    return Section("Do the explanations agree?", blocks)


def _comparison(found: Mapping[str, Disagreement]) -> pd.DataFrame:
    first = next(iter(found.values()))
    return pd.DataFrame(
        [
            {
                "explained by": method,
                "difference (RMSE)": each.rmse,
                "share of the first": f"{each.rmse / first.rmse:.1%}" if first.rmse > 0 else "–",
                "rank correlation": each.rank_correlation,
                f"contradictions over {each.threshold:g}": len(each.contradictions),
            }
            for method, each in found.items()
        ]
    )


def _describe_bars(found: Mapping[str, Disagreement]) -> str:
    averages = "; ".join(f"{method} {each.rmse:.3g} on average" for method, each in found.items())
    largest = "; ".join(f"{method}: {each.rmse_per_feature.idxmax()}" for method, each in found.items())
    return f"Bars of the difference between the parties per feature. {averages}. Largest: {largest}."


def _reasons(found: Mapping[str, Disagreement]) -> list[Block]:
    frames = [each.sources.assign(method=method) for method, each in found.items() if each.sources is not None]
    if not frames:
        return []
    frame = pd.concat(frames, ignore_index=True)
    table = pd.DataFrame(
        {
            "explained by": frame["method"],
            "between": frame["first"].astype(str) + " and " + frame["second"].astype(str),
            "because of different": frame["source"],
            "RMSE": frame["rmse"],
            "share": [f"{value:.0%}" for value in frame["share"]],
        }
    )
    return [Table(table, "Where the difference comes from")]


def _contradictions(
    explanations: Mapping[str, Mapping[str, Explanation]], found: Mapping[str, Disagreement]
) -> list[Block]:
    """Those of the first method, what the other methods make of them, and a picture of the largest."""
    method, first = next(iter(found.items()))
    if first.contradictions.empty:
        return [Paragraph(f"Explained by {method}, no two parties contradict each other over {first.threshold:g}.")]
    smaller = first.contradictions[["first_value", "second_value"]].abs().min(axis=1)
    largest = first.contradictions.loc[smaller.sort_values(ascending=False, kind="stable").index]
    shown = largest.head(MAX_CONTRADICTIONS)
    cut = f" The {len(shown)} largest are listed." if len(shown) < len(largest) else ""
    others = list(found.items())[1:]
    outcome = "".join(f" With {name}, {_still(largest, each)} of them remain." for name, each in others)
    sample, output = int(shown.iloc[0]["sample"]), str(shown.iloc[0]["output"])
    return [
        Paragraph(
            f"Explained by {method}, parties contradict each other {len(largest)} times: opposite signs, both larger "
            f"than {first.threshold:g}.{outcome}{cut}"
        ),
        Table(_resolution(shown, explanations), f"Contradictions by {method}, and what the same parties say otherwise"),
        Picture(
            side_by_side(explanations, sample, output, threshold=first.threshold),
            f"Bars of each party's contributions for sample {sample}, one panel per method: "
            f"{', '.join(explanations)}. Features on which parties contradict each other are shaded.",
            "The largest contradiction, feature by feature.",
        ),
    ]


def _still(contradictions: pd.DataFrame, other: Disagreement) -> int:
    keys = ["sample", "feature", "output", "first", "second"]
    return len(contradictions.merge(other.contradictions[keys], on=keys))


def _resolution(shown: pd.DataFrame, explanations: Mapping[str, Mapping[str, Explanation]]) -> pd.DataFrame:
    rows = []
    for each in shown.to_dict(orient="records"):
        row: dict[str, Any] = {"sample": each["sample"], "feature": each["feature"]}
        for method, parties in explanations.items():
            for party in (each["first"], each["second"]):
                row[f"{method}: {party}"] = _attribution(parties[party], each)
        rows.append(row)
    return pd.DataFrame(rows)


def _attribution(explanation: Explanation, where: Mapping[Any, Any]) -> str:
    values = explanation.values.reshape(*explanation.values.shape[:2], -1)
    feature = explanation.feature_names.index(where["feature"])
    value = float(values[where["sample"], feature, explanation.output_names.index(where["output"])])
    return signed(value, 3 if abs(value) < 1 else decimals_for(abs(value)))


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
    lines: dict[tuple[str, str, str, str], tuple[int, int]] = {}
    for line in sorted(sent, key=lambda line: line.recipient != ANALYST):
        key = (line.recipient, line.kind, line.sender, _shapes(line))
        times, n_bytes = lines.get(key, (0, 0))
        lines[key] = (times + 1, n_bytes + line.n_bytes)
    rows = [
        {
            "seen by": recipient,
            "what": KINDS.get(kind, kind),
            "message": kind,
            "from": sender,
            "shapes": shapes,
            "times": times,
            "bytes": n_bytes or None,
        }
        for (recipient, kind, sender, shapes), (times, n_bytes) in lines.items()
    ]
    return pd.DataFrame(rows, columns=["seen by", "what", "message", "from", "shapes", "times", "bytes"])


def _shapes(line: Sent) -> str:
    return "; ".join(f"{name} {' × '.join(map(str, shape))}" for name, shape in line.shapes.items())
