"""Heart Disease: the Cleveland rows, and all four hospitals of the study."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from dcshap.datasets.choices import Source, Zeros, as_bunch, check_option
from dcshap.datasets.files import read_embedded, read_published

__all__ = ["load_heart", "load_heart_hospitals"]

_COLUMNS = [
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal",
    "num",
]  # fmt: skip

# The published codes, in their numeric order, whether or not a hospital has them all: parties must agree on them.
_CATEGORIES: dict[str, tuple[int, ...]] = {
    "sex": (0, 1),
    "cp": (1, 2, 3, 4),
    "fbs": (0, 1),
    "restecg": (0, 1, 2),
    "exang": (0, 1),
    "slope": (1, 2, 3),
    "thal": (3, 6, 7),
}
_HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
_NEVER_ZERO = ["trestbps", "chol"]
_TARGET_NAMES = ["no disease", "disease"]

_COMMON_DESCR = """\
Source: A. Janosi, W. Steinbrunn, M. Pfisterer and R. Detrano (1988), Heart Disease, UCI Machine Learning Repository,
https://doi.org/10.24432/C52P4X. The data were collected by Andras Janosi, M.D. (Hungarian Institute of Cardiology,
Budapest), William Steinbrunn, M.D. (University Hospital, Zurich), Matthias Pfisterer, M.D. (University Hospital,
Basel) and Robert Detrano, M.D., Ph.D. (V.A. Medical Center, Long Beach, and Cleveland Clinic Foundation).
Licence: CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.

Features, 13. Numbers: `age` (years), `trestbps` (resting blood pressure, mm Hg), `chol` (serum cholesterol, mg/dl),
`thalach` (highest heart rate), `oldpeak` (ST depression by exercise), `ca` (major vessels coloured, 0 to 3).
Categories, by their published codes in numeric order: `sex` (0 female, 1 male), `cp` (chest pain: 1 typical angina,
2 atypical angina, 3 not angina, 4 none), `fbs` (fasting blood sugar above 120 mg/dl), `restecg` (resting
electrocardiogram: 0 normal, 1 ST-T abnormality, 2 hypertrophy), `exang` (angina by exercise), `slope` (of the ST
segment: 1 up, 2 flat, 3 down), `thal` (3 normal, 6 fixed defect, 7 reversible defect).

Target: `disease`, the published `num` as 0 against 1 to 4.
"""

_EMBEDDED_DESCR = f"""\
Heart Disease, the complete rows of Cleveland

Does a patient have heart disease? The 297 rows of processed.cleveland.data in which nothing is missing, 160 without
and 137 with disease. Each row is as published; their order is not.

{_COMMON_DESCR}"""

_PUBLISHED_DESCR = f"""\
Heart Disease, Cleveland

Does a patient have heart disease? The 303 rows of processed.cleveland.data in the published order, 164 without and
139 with disease. `ca` is missing in 4 rows and `thal` in 2, given as NaN; 297 rows are complete.

{_COMMON_DESCR}"""

_HOSPITALS_DESCR = f"""\
Heart Disease, four hospitals

Does a patient have heart disease? The same study at four places, 920 rows, 411 without and 509 with disease, and
`hospital` beside them: cleveland (303 rows, 139 with disease), hungarian (294, 106), switzerland (123, 115) and
va (200, 149), in this order.

Missing values ("?") are NaN; `ca`, `thal` and `slope` are mostly missing outside Cleveland. In `chol` (switzerland
all 123, va 49) and `trestbps` (va 1) there are zeros, which no living patient has: they stand for values that
nobody recorded. zeros="missing" makes them NaN, zeros="keep" leaves them as published.

{_COMMON_DESCR}"""


def load_heart(*, source: Source = "embedded") -> Bunch:
    """Load the Cleveland rows of Heart Disease: does a patient have heart disease?

    Parameters
    ----------
    source : {"embedded", "published"}, default="embedded"
        The 297 complete rows inside this package, or the published file (see `dcshap.datasets`) with 303 rows, of
        which 6 have a missing `ca` or `thal`. The two differ in the order of their rows.

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (n_rows, 13), 6 columns float64 and 7 categorical with the published integer
        codes as categories; `target` : Series of 0 and 1; `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from dcshap.datasets import load_heart
    >>> heart = load_heart()
    >>> heart.data.shape
    (297, 13)
    >>> heart.data["thal"].cat.categories.to_list()
    [3, 6, 7]
    """
    check_option("source", source, Source)
    if source == "embedded":
        return _bunch(_parse(read_embedded("cleveland-complete.data")), _EMBEDDED_DESCR)
    return _bunch(_parse(read_published("heart/processed.cleveland.data")), _PUBLISHED_DESCR)


def load_heart_hospitals(*, zeros: Zeros = "missing") -> Bunch:
    """Load Heart Disease from all four hospitals: a horizontal collaboration as it really occurs.

    The files are the published ones (see `dcshap.datasets`).

    Parameters
    ----------
    zeros : {"missing", "keep"}, default="missing"
        What becomes of zeros in `chol` and `trestbps`, which no living patient has: NaN, or left as published.

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (920, 13) with NaN where a value is missing; `target` : Series of 0 and 1;
        `hospital` : categorical Series that says where each row comes from; `feature_names`, `target_names`,
        `DESCR`.
    """
    check_option("zeros", zeros, Zeros)
    frames = {name: _parse(read_published(f"heart/processed.{name}.data")) for name in _HOSPITALS}
    frame = pd.concat(frames.values(), ignore_index=True)
    if zeros == "missing":
        frame[_NEVER_ZERO] = frame[_NEVER_ZERO].mask(frame[_NEVER_ZERO] == 0)
    codes = np.repeat(np.arange(len(frames)), [len(rows) for rows in frames.values()])
    hospital = pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(list(frames))), name="hospital")
    return _bunch(frame, _HOSPITALS_DESCR, hospital=hospital)


def _parse(content: bytes) -> pd.DataFrame:
    frame = pd.read_csv(BytesIO(content), names=_COLUMNS, na_values="?", dtype="float64")
    return frame.astype({name: pd.CategoricalDtype(list(codes)) for name, codes in _CATEGORIES.items()})


def _bunch(frame: pd.DataFrame, descr: str, **beside: pd.Series) -> Bunch:
    target = (frame["num"] > 0).astype("int64").rename("disease")
    return as_bunch(frame.drop(columns="num"), target, _TARGET_NAMES, descr, **beside)
