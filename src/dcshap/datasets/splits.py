"""Divide the rows of one table among parties, to play a horizontal collaboration with known data.

Every function returns positions (for `iloc` or array indexing), ascending, so that each part keeps the order of
the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dcshap.exceptions import InputError

__all__ = ["contradiction_split", "hold_out", "iid_split", "label_skew"]

Positions = NDArray[np.intp]
RandomState = int | np.random.Generator | None


def iid_split(n_rows: int, n_parties: int = 2, *, random_state: RandomState = 0) -> list[Positions]:
    """Deal rows out at random, in parts as equal as can be.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    n_parties : int, default=2
        How many parties there are.
    random_state : int, Generator or None, default=0
        Where the randomness comes from.

    Returns
    -------
    list of ndarray of int
        For each party the positions of its rows.

    Examples
    --------
    >>> from dcshap.datasets import iid_split
    >>> [len(rows) for rows in iid_split(10, 3)]
    [4, 3, 3]
    """
    _check_n_parties(n_parties)
    if n_rows < n_parties:
        raise InputError(
            f"`n_rows` must be at least `n_parties`, so that nobody is without rows. Got {n_rows} rows for "
            f"{n_parties} parties. Use fewer parties."
        )
    shuffled = np.random.default_rng(random_state).permutation(n_rows)
    return [np.sort(rows) for rows in np.array_split(shuffled, n_parties)]


def label_skew(
    y: ArrayLike, n_parties: int = 2, *, majority: float = 0.9, random_state: RandomState = 0
) -> list[Positions]:
    """Divide rows so that most of each class is in one place.

    With two classes and two parties, party 0 gets 90 % of the positives (the second class in sorted order) and
    10 % of the negatives, party 1 the rest. In general parties and classes are lined up, from party 0 and the last
    class to the last party and class 0, and a party's share of a class falls evenly with the distance between them:
    of three classes, two parties get 90 / 50 / 10 % and 10 / 50 / 90 %.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels, of any kind, none missing.
    n_parties : int, default=2
        How many parties there are.
    majority : float, default=0.9
        The weight of a class at the party that lies where it does, from 0.5 to 1; the furthest party's is the rest.
    random_state : int, Generator or None, default=0
        Where the randomness comes from.

    Returns
    -------
    list of ndarray of int
        For each party the positions of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dcshap.datasets import label_skew
    >>> y = np.repeat([0, 1], [200, 100])
    >>> [np.bincount(y[rows]).tolist() for rows in label_skew(y)]
    [[20, 90], [180, 10]]
    """
    codes, classes = _class_codes(y)
    _check_n_parties(n_parties)
    if not 0.5 <= majority <= 1:
        raise InputError(f"`majority` must be a share from 0.5 to 1. Got {majority} instead.")
    rng = np.random.default_rng(random_state)
    parts: list[list[Positions]] = [[] for _ in range(n_parties)]
    for code in range(len(classes)):
        shares = _class_shares(code, len(classes), n_parties=n_parties, majority=majority)
        rows = rng.permutation(np.flatnonzero(codes == code))
        # Rounding the running total, not each share, gives away every row exactly once.
        ends = np.rint(np.cumsum(shares)[:-1] * len(rows)).astype(np.intp)
        for part, piece in zip(parts, np.split(rows, ends), strict=True):
            part.append(piece)
    return _joined(parts)


def contradiction_split(
    y: ArrayLike, *, majority: float = 0.9, random_state: RandomState = 0
) -> tuple[Positions, Positions]:
    """Divide rows as in the paper's demonstration of contradictory explanations.

    Party 0 gets 90 % of the positives, and as many negatives as leave its own rows 90 % positive; party 1 gets all
    the rest. It differs from `label_skew` in the negatives: on Adult, where positives are few, party 1 is three
    times larger than party 0.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two classes; the second in sorted order is the positive one.
    majority : float, default=0.9
        Both the share of the positives that party 0 gets and the share of positives among its rows, above 0 and
        at most 1.
    random_state : int, Generator or None, default=0
        Where the randomness comes from.

    Returns
    -------
    tuple of two ndarrays of int
        The positions of the rows of party 0 and of party 1.

    Examples
    --------
    The paper's counts, when the 100 rows that it sets aside hold 30 positives:

    >>> import numpy as np
    >>> from dcshap.datasets import contradiction_split, hold_out, load_adult
    >>> y = load_adult("train").target.to_numpy()
    >>> kept, _ = hold_out(y, {0: 70, 1: 30})
    >>> [np.bincount(y[kept][rows]).tolist() for rows in contradiction_split(y[kept])]
    [[781, 7030], [23869, 781]]
    """
    codes, classes = _class_codes(y)
    if len(classes) != 2:
        raise InputError(f"`y` must have two classes. Got {len(classes)}. Use `label_skew` for more.")
    if not 0 < majority <= 1:
        raise InputError(f"`majority` must be a share above 0 and at most 1. Got {majority} instead.")
    rng = np.random.default_rng(random_state)
    negatives, positives = (rng.permutation(np.flatnonzero(codes == code)) for code in (0, 1))
    n_positives = round(majority * len(positives))
    n_negatives = round(n_positives * (1 - majority) / majority)
    if n_negatives > len(negatives):
        raise InputError(
            f"`majority`={majority} needs {n_negatives} negatives beside {n_positives} positives at party 0, and "
            f"there are {len(negatives)}. Use a larger `majority`."
        )
    first, second = _joined(
        [
            [positives[:n_positives], negatives[:n_negatives]],
            [positives[n_positives:], negatives[n_negatives:]],
        ]
    )
    return first, second


def hold_out(
    y: ArrayLike, n_held_out: int | Mapping[Any, int], *, random_state: RandomState = 0
) -> tuple[Positions, Positions]:
    """Set rows aside at random.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The labels.
    n_held_out : int or mapping of label to int
        How many rows to set aside, or how many of each label; a label that is not named keeps all its rows.
    random_state : int, Generator or None, default=0
        Where the randomness comes from.

    Returns
    -------
    tuple of two ndarrays of int
        The positions of the rows that are kept and of those set aside.

    Examples
    --------
    >>> from dcshap.datasets import hold_out
    >>> kept, held_out = hold_out(["no", "no", "yes", "no", "yes"], {"yes": 2})
    >>> held_out.tolist()
    [2, 4]
    """
    labels = _labels(y)
    rng = np.random.default_rng(random_state)
    everything = np.arange(len(labels))
    if isinstance(n_held_out, Mapping):
        pools = [(np.flatnonzero(labels == label), count) for label, count in n_held_out.items()]
    else:
        pools = [(everything, n_held_out)]
    drawn = [np.empty(0, dtype=np.intp)]
    for pool, count in pools:
        if not 0 <= count <= len(pool):
            raise InputError(
                f"`n_held_out` must be from 0 to the rows there are, here {len(pool)}. Got {count} instead."
            )
        drawn.append(rng.choice(pool, size=count, replace=False))
    held_out = np.sort(np.concatenate(drawn))
    return np.setdiff1d(everything, held_out), held_out


def _labels(y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"`y` must have one dimension. Got shape {labels.shape} instead.")
    return labels


def _class_codes(y: ArrayLike) -> tuple[Positions, NDArray[Any]]:
    """Return each row's class number, in sorted order of the classes, and the classes."""
    codes, classes = pd.factorize(_labels(y), sort=True)
    n_missing = int(np.count_nonzero(codes < 0))
    if n_missing:
        raise InputError(f"`y` must have a label in every row. Got {n_missing} missing. Drop those rows.")
    if len(classes) < 2:
        raise InputError(f"`y` must have at least two classes. Got {len(classes)}.")
    return codes, np.asarray(classes)


def _class_shares(code: int, n_classes: int, *, n_parties: int, majority: float) -> NDArray[np.float64]:
    """Return what share of one class each party gets."""
    place = (n_classes - 1 - code) / (n_classes - 1)
    distance = np.abs(np.arange(n_parties) / (n_parties - 1) - place)
    weights = majority + (1 - 2 * majority) * distance
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _check_n_parties(n_parties: int) -> None:
    if n_parties < 2:
        raise InputError(f"`n_parties` must be at least 2. Got {n_parties} instead.")


def _joined(parts: list[list[Positions]]) -> list[Positions]:
    joined = [np.sort(np.concatenate(pieces)) for pieces in parts]
    empty = [number for number, rows in enumerate(joined) if not len(rows)]
    if empty:
        raise InputError(
            f"Every party must get rows. Got none for parties {empty} of {len(joined)}. Use fewer parties, more rows "
            "or a more even share."
        )
    return joined
