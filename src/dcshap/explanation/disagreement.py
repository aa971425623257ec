"""How far the explanations of several parties differ, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from dcshap._html import paragraph, snippet, table
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.explanation.statement import require_one_run
from dcshap.shapley import Explanation

__all__ = ["Disagreement", "disagreement", "sources_of"]


@dataclass(frozen=True)
class Disagreement:
    """How far explanations of the same predictions differ between parties.

    Attributes
    ----------
    parties : tuple of str
    feature_names : tuple of str
    rmse : float
        The root mean square difference, averaged over features: the paper's measure. With more than two parties, the
        mean square is taken over all pairs of them.
    rmse_per_feature : Series of length M
    rmse_per_sample : array of shape (n,)
    rank_correlation : float
        Spearman's, of the features' attributions in one sample, averaged over samples, outputs and pairs.
    contradictions : DataFrame
        Same sample, feature and output, opposite signs, both larger than the threshold: `sample`, `feature`, `output`,
        `first`, `first_value`, `second`, `second_value`. Of two classes, which mirror each other, one is looked at.
    threshold : float
    sources : DataFrame or None
        How much of each pair's difference comes from different references and how much from different maps; shares
        sum to one.
    outputs : tuple of str
        The outputs that contradictions are looked for in.
    """

    parties: tuple[str, ...]
    feature_names: tuple[str, ...]
    rmse: float
    rmse_per_feature: pd.Series[float]
    rmse_per_sample: FloatArray
    rank_correlation: float
    contradictions: pd.DataFrame
    threshold: float
    sources: pd.DataFrame | None = None
    outputs: tuple[str, ...] = ()

    def worst_samples(self, n: int = 5) -> list[int]:
        """The samples whose explanations differ most, worst first."""
        return [int(sample) for sample in np.argsort(-self.rmse_per_sample, kind="stable")[:n]]

    def to_frame(self) -> pd.DataFrame:
        """One row per feature: `feature`, `rmse`, `contradictions`."""
        counts = self.contradictions["feature"].value_counts()
        return pd.DataFrame(
            {
                "feature": self.feature_names,
                "rmse": self.rmse_per_feature.to_numpy(),
                "contradictions": [int(counts.get(name, 0)) for name in self.feature_names],
            }
        )

    def _repr_html_(self) -> str:
        title = f"Disagreement between {', '.join(self.parties)} over {len(self.rmse_per_sample)} samples"
        figures = (
            f"RMSE {self.rmse:.3g}, rank correlation {self.rank_correlation:.3f}, {len(self.contradictions)} "
            f"contradictions above {self.threshold:g}."
        )
        largest = self.to_frame().sort_values("rmse", ascending=False, kind="stable").head(10)
        rows = [(name, f"{rmse:.3g}", count) for name, rmse, count in largest.itertuples(index=False)]
        return snippet(title, paragraph(figures), table(["feature", "RMSE", "contradictions"], rows))

    def __str__(self) -> str:
        lines = [
            f"Disagreement between {', '.join(self.parties)} over {len(self.rmse_per_sample)} samples",
            f"  RMSE, averaged over features   {self.rmse:.4g}",
            f"  rank correlation               {self.rank_correlation:.3f}",
            f"  contradictions above {self.threshold:g}      {len(self.contradictions)}",
            f"  looked for in                  {', '.join(self.outputs)}",
            f"  worst samples                  {', '.join(map(str, self.worst_samples()))}",
        ]
        if self.sources is not None:
            shares = self.sources.groupby("source", sort=False)["share"].mean()
            lines.append(
                "  comes from                     "
                + ", ".join(f"{k} {round(v, 2) + 0.0:.0%}" for k, v in shares.items())
            )
        table = self.to_frame().sort_values("rmse", ascending=False)
        return "\n".join([*lines, "", table.to_string(index=False, float_format=lambda value: f"{value:.4g}")])


def disagreement(
    explanations: Mapping[str, Explanation], *, threshold: float = 0.05, sources: pd.DataFrame | None = None
) -> Disagreement:
    """Compare the explanations that several parties give of the same predictions.

    Parameters
    ----------
    explanations : mapping of party name to Explanation
        Of the same samples, features and outputs.
    threshold : float
        How large two attributions of opposite sign must both be to contradict each other.
    sources : DataFrame, optional
        From `HorizontalCollaboration.disagreement`, which can tell why.
    """
    _require_comparable(explanations)
    if not threshold >= 0:
        raise InputError(f"`threshold` must be at least 0. Got {threshold!r}.")
    first = next(iter(explanations.values()))
    values = {name: _with_outputs(each.values) for name, each in explanations.items()}
    pairs = list(combinations(values, 2))
    squares = np.mean([(values[a] - values[b]) ** 2 for a, b in pairs], axis=0)  # (n, M, K)
    per_feature = np.sqrt(squares.mean(axis=(0, 2))) if len(first) else np.zeros(squares.shape[1])
    return Disagreement(
        parties=tuple(explanations),
        feature_names=tuple(first.feature_names),
        rmse=float(per_feature.mean()),
        rmse_per_feature=pd.Series(per_feature, index=list(first.feature_names), name="rmse"),
        rmse_per_sample=np.sqrt(squares.mean(axis=(1, 2))),
        rank_correlation=_rank_correlation([(values[a], values[b]) for a, b in pairs]),
        contradictions=_contradictions(values, first, threshold),
        threshold=threshold,
        sources=sources,
        outputs=tuple(first.output_names[k] for k in _looked_at(first)),
    )


def sources_of(straight: Mapping[str, Explanation], explained: Callable[[str, str], Explanation]) -> pd.DataFrame:
    """Split every pair's difference into what references and what maps make of it.

    With `φ_ab` the explanation by a's maps and b's reference, `φ_aa − φ_bb` is the sum of the mean change of reference
    `½(φ_aa − φ_ab + φ_ba − φ_bb)` and the mean change of maps `½(φ_aa − φ_ba + φ_ab − φ_bb)`. Every party's own
    explanation is given; `explained(a, b)` gives the others.
    """
    rows: list[dict[str, Any]] = []
    for a, b in combinations(straight, 2):
        aa, bb = _with_outputs(straight[a].values), _with_outputs(straight[b].values)
        ab, ba = _with_outputs(explained(a, b).values), _with_outputs(explained(b, a).values)
        whole = aa - bb
        parts = {"references": (aa - ab + ba - bb) / 2, "maps": (aa - ba + ab - bb) / 2}
        total = float(np.sum(whole**2))
        for source, part in parts.items():
            share = float(np.sum(part * whole)) / total if total > 0 else 0.0
            rmse = float(np.sqrt(np.mean(part**2, axis=(0, 2))).mean())
            rows.append({"first": a, "second": b, "source": source, "rmse": rmse, "share": share})
    return pd.DataFrame(rows)


def _with_outputs(values: FloatArray) -> FloatArray:
    return values if values.ndim == 3 else values[:, :, None]


def _require_comparable(explanations: Mapping[str, Explanation]) -> None:
    if not isinstance(explanations, Mapping) or len(explanations) < 2:
        raise InputError("A comparison needs a mapping of at least two parties' explanations.")
    require_one_run(explanations)
    first_name, first = next(iter(explanations.items()))
    for name, each in explanations.items():
        if each.values.shape != first.values.shape or each.feature_names != first.feature_names:
            raise InputError(
                f"Explanations must be of the same samples, features and outputs. {first_name!r} has shape "
                f"{first.values.shape}, {name!r} {each.values.shape}"
                + ("." if each.values.shape != first.values.shape else " and other feature names.")
            )
        if each.index != first.index:
            raise InputError(
                f"Explanations must be of one index. {first_name!r} has {first.index!r}, {name!r} {each.index!r}."
            )


def _rank_correlation(pairs: list[tuple[FloatArray, FloatArray]]) -> float:
    """Spearman's correlation over the features' axis, averaged; 1 where both rank nothing."""
    found = []
    for a, b in pairs:
        ranks_a, ranks_b = rankdata(a, axis=1), rankdata(b, axis=1)
        ranks_a -= ranks_a.mean(axis=1, keepdims=True)
        ranks_b -= ranks_b.mean(axis=1, keepdims=True)
        product = (ranks_a * ranks_b).sum(axis=1)
        norm = np.sqrt((ranks_a**2).sum(axis=1) * (ranks_b**2).sum(axis=1))
        flat = norm == 0
        found.append(np.where(flat, 1.0, product / np.where(flat, 1.0, norm)))
    stacked = np.concatenate([each.ravel() for each in found])
    return float(stacked.mean()) if len(stacked) else 1.0


def _looked_at(explanation: Explanation) -> range:
    """The outputs that contradictions are looked for in: of two classes, which mirror each other, the second."""
    n = len(explanation.output_names)
    return range(1, 2) if n == 2 else range(n)


def _contradictions(values: Mapping[str, FloatArray], first: Explanation, threshold: float) -> pd.DataFrame:
    names, outputs = first.feature_names, first.output_names
    rows = []
    for a, b in combinations(values, 2):
        for k in _looked_at(first):
            one, two = values[a][:, :, k], values[b][:, :, k]
            found = (np.sign(one) * np.sign(two) < 0) & (np.minimum(np.abs(one), np.abs(two)) > threshold)
            rows += [
                (int(i), names[j], outputs[k], a, float(one[i, j]), b, float(two[i, j]))
                for i, j in zip(*np.nonzero(found), strict=True)
            ]
    columns = ["sample", "feature", "output", "first", "first_value", "second", "second_value"]
    return pd.DataFrame(rows, columns=columns)
