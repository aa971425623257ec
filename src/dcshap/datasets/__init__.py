"""The data sets of the paper, the four hospitals of the heart study, and ways to divide rows among parties.

Every loader returns a scikit-learn `Bunch`: `.data` (a DataFrame, categories as pandas categories), `.target` (a
named Series), `.feature_names`, `.target_names` and `.DESCR`, which says where the data come from, under which
licence, and what was done to them.

Adult and the complete rows of Heart come with this package, and Iris, Wine and Breast Cancer with scikit-learn:
they need no network. The other files are looked for in the folder that the environment variable `DCSHAP_DATA`
names, then in the user's cache (`DCSHAP_CACHE` moves it), then at their public address; whatever is found is
used only if its sha256 is that of the published file.
"""

from __future__ import annotations

from dcshap.datasets.adult import load_adult
from dcshap.datasets.heart import load_heart, load_heart_hospitals
from dcshap.datasets.pima import load_pima
from dcshap.datasets.splits import contradiction_split, hold_out, iid_split, label_skew
from dcshap.datasets.toy import load_breast_cancer, load_iris, load_wine

__all__ = [
    "contradiction_split",
    "hold_out",
    "iid_split",
    "label_skew",
    "load_adult",
    "load_breast_cancer",
    "load_heart",
    "load_heart_hospitals",
    "load_iris",
    "load_pima",
    "load_wine",
]
