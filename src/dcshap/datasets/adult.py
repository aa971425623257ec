"""Adult (Census Income), prepared as in the paper."""

from __future__ import annotations

from io import BytesIO

import pandas as pd
from sklearn.utils import Bunch

from dcshap.datasets.choices import Source, Subset, as_bunch, check_option
from dcshap.datasets.files import read_embedded, read_published

__all__ = ["load_adult"]

# Every category of both files, in sorted order: the codes are then the paper's label encoding, and the same
# whichever part is loaded. "?" sorts first and stays a category, as label encoding makes it one.
_CATEGORIES: dict[str, tuple[str, ...]] = {
    "workclass": (
        "?", "Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "Self-emp-not-inc",
        "State-gov", "Without-pay",
    ),
    "marital-status": (
        "Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married",
        "Separated", "Widowed",
    ),
    "occupation": (
        "?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing",
        "Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty",
        "Protective-serv", "Sales", "Tech-support", "Transport-moving",
    ),
    "relationship": ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"),
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    "sex": ("Female", "Male"),
    "native-country": (
        "?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador", "El-Salvador",
        "England", "France", "Germany", "Greece", "Guatemala", "Haiti", "Holand-Netherlands", "Honduras", "Hong",
        "Hungary", "India", "Iran", "Ireland", "Italy", "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua",
        "Outlying-US(Guam-USVI-etc)", "Peru", "Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland",
        "South", "Taiwan", "Thailand", "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia",
    ),
}  # fmt: skip

_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
_DROPPED = ("fnlwgt", "education")
_KEPT = [column for column in _COLUMNS if column not in _DROPPED]

_DESCR = """\
Adult (Census Income)

Does a person earn more than 50,000 dollars a year? 48842 records from the United States census of 1994; 37155 earn
at most that, 11687 more. The training part (adult.data) has 32561 rows, 24720 and 7841; the test part (adult.test)
16281, 12435 and 3846. With subset="all" the rows of the training part come first.

Source: B. Becker and R. Kohavi (1996), UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20.
Licence: CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.

Preparation, as in the DC-SHAP paper: `fnlwgt` and `education` are dropped (the second repeats `education-num`),
which leaves 12 features, 5 numbers and 7 categories. The codes of the categories, in sorted order, are the paper's
label encoding. 3620 rows have "?" for unknown in `workclass`, `occupation` or `native-country`: it stays a category
of its own, as label encoding makes it one. No row is removed, 52 of the published rows repeat an earlier one.

Target: `income`, 0 for "<=50K" and 1 for ">50K".
"""


def load_adult(subset: Subset = "all", *, source: Source = "embedded") -> Bunch:
    """Load Adult (Census Income): does a person earn more than 50,000 dollars a year?

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        All 48842 records, or the 32561 rows of `adult.data` (the training data of the paper's experiments), or
        the 16281 of `adult.test`. "all" has those of "train" first.
    source : {"embedded", "published"}, default="embedded"
        The files inside this package, or the published ones (see `dcshap.datasets`). Their bytes are the same.

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (n_rows, 12), 5 columns int64 and 7 categorical; `target` : Series of 0 and 1;
        `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from dcshap.datasets import load_adult
    >>> adult = load_adult("train")
    >>> adult.data.shape
    (32561, 12)
    >>> adult.target.value_counts().to_dict()
    {0: 24720, 1: 7841}
    """
    check_option("subset", subset, Subset)
    check_option("source", source, Source)
    parts: tuple[Subset, ...] = ("train", "test") if subset == "all" else (subset,)
    frame = pd.concat([_read_part(part, source) for part in parts], ignore_index=True)
    target = frame.pop("income").str.startswith(">").astype("int64")
    return as_bunch(frame, target, ["<=50K", ">50K"], _DESCR)


def _read_part(part: Subset, source: Source) -> pd.DataFrame:
    name = "adult.data" if part == "train" else "adult.test"
    content = read_embedded(name) if source == "embedded" else read_published(f"adult/{name}")
    return pd.read_csv(
        BytesIO(content),
        names=_COLUMNS,
        usecols=_KEPT,
        dtype={name: pd.CategoricalDtype(list(categories)) for name, categories in _CATEGORIES.items()},
        skipinitialspace=True,
        skiprows=1 if part == "test" else 0,  # its first line is a comment
        keep_default_na=False,
    )
