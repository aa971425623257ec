"""Pima Indians Diabetes."""

from __future__ import annotations

from io import BytesIO

import pandas as pd
from sklearn.utils import Bunch

from dcshap.datasets.choices import Zeros, as_bunch, check_option
from dcshap.datasets.files import read_published

__all__ = ["load_pima"]

_COLUMNS = [
    "pregnancies", "glucose", "blood-pressure", "skin-thickness", "insulin", "bmi", "pedigree", "age", "outcome",
]  # fmt: skip
_NEVER_ZERO = ["glucose", "blood-pressure", "skin-thickness", "insulin", "bmi"]

_DESCR = """\
Pima Indians Diabetes

Does a woman show signs of diabetes within five years? 768 women of Pima heritage, at least 21 years old, 500 without
and 268 with diabetes.

Source: J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. Johannes (1988), Using the ADAP learning
algorithm to forecast the onset of diabetes mellitus; National Institute of Diabetes and Digestive and Kidney
Diseases. File: pima-indians-diabetes.data.csv of https://github.com/jbrownlee/Datasets.
Licence: unclear. The file is downloaded and does not come with this package; do not pass it on.

Features, 8 numbers: `pregnancies`, `glucose` (plasma, mg/dl), `blood-pressure` (diastolic, mm Hg), `skin-thickness`
(triceps, mm), `insulin` (serum, mu U/ml), `bmi` (kg/m²), `pedigree` (diabetes in the family), `age` (years).

Zeros stand for missing values in `glucose` (5), `blood-pressure` (35), `skin-thickness` (227), `insulin` (374) and
`bmi` (11). zeros="keep" leaves them as published, as the DC-SHAP paper does; zeros="missing" makes them NaN.

Target: `outcome`, 0 for "no diabetes" and 1 for "diabetes".
"""


def load_pima(*, zeros: Zeros = "keep") -> Bunch:
    """Load Pima Indians Diabetes: does a woman show signs of diabetes within five years?

    The file is the published one (see `dcshap.datasets`); its licence does not allow it to be in this package.

    Parameters
    ----------
    zeros : {"keep", "missing"}, default="keep"
        What becomes of the zeros that stand for missing values in `glucose`, `blood-pressure`, `skin-thickness`,
        `insulin` and `bmi`: left as published, as in the paper, or NaN.

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (768, 8), float64; `target` : Series of 0 and 1; `feature_names`,
        `target_names`, `DESCR`.
    """
    check_option("zeros", zeros, Zeros)
    content = read_published("pima/pima-indians-diabetes.data.csv")
    frame = pd.read_csv(BytesIO(content), names=_COLUMNS, dtype="float64")
    target = frame.pop("outcome").astype("int64")
    if zeros == "missing":
        frame[_NEVER_ZERO] = frame[_NEVER_ZERO].mask(frame[_NEVER_ZERO] == 0)
    return as_bunch(frame, target, ["no diabetes", "diabetes"], _DESCR)
