"""Tables, parties and a run that keeps its messages, for tests of the collaboration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.messages import Message, Representation

TOWNS = ("north", "middle", "south")


def table(n: int = 120, *, seed: int = 0) -> pd.DataFrame:
    """Five numeric columns and a categorical one, none of them independent of the others."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 3))
    columns = {f"n{j}": latent @ rng.standard_normal(3) + 0.5 * rng.standard_normal(n) + j for j in range(5)}
    town = np.array(TOWNS)[np.clip(np.rint(latent[:, 0] + 1), 0, 2).astype(int)]
    return pd.DataFrame(columns | {"town": pd.Categorical(town, categories=list(TOWNS))})


def target(X: pd.DataFrame, *, classes: int = 2) -> np.ndarray[Any, Any]:
    """Classes that depend on the columns, each of them well filled."""
    score = (X["n0"] - X["n1"] + X["n2"]).to_numpy()
    return np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def parties(n: int = 2, rows: int = 60, *, seed: int = 0, classes: int = 2) -> dict[str, tuple[Any, Any]]:
    """Every party's rows and labels, cut from one table."""
    X = table(n * rows, seed=seed)
    y = target(X, classes=classes)
    return {
        f"party{i}": (X.iloc[i * rows : (i + 1) * rows].reset_index(drop=True), y[i * rows : (i + 1) * rows])
        for i in range(n)
    }


class Recorded:
    """Keeps every message that travels, with who sent it to whom."""

    messages: list[tuple[str, str, Message]]

    def _record(self, sender: str, recipient: str, message: Message) -> None:
        self.messages = [*getattr(self, "messages", []), (sender, recipient, message)]
        super()._record(sender, recipient, message)  # type: ignore[misc]  # a mixin: the collaboration has it

    def received_by(self, role: str) -> list[Any]:
        return [message for _, recipient, message in self.messages if recipient == role]


class RecordedHorizontal(Recorded, HorizontalCollaboration):
    pass


class RecordedVertical(Recorded, VerticalCollaboration):
    pass


def in_table_order(party: HorizontalParty, message: Representation) -> FloatArray:
    """The rows that a party sent as its table has them; of an earlier training, which had the first of them, too."""
    order = party.private_order
    return message.rows[np.argsort(order[order < len(message.rows)])]
