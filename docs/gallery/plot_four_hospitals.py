"""
Four hospitals, some of which never measured a column
=====================================================

In practice not everybody measures everything. The four hospitals of the heart study are
such a case, but their tables do not come with dcshap (``datasets.load_heart_hospitals``
fetches them). So this example divides the complete table of Cleveland among four
hospitals, and takes away what some of them "did not measure".
"""

import numpy as np

from dcshap import HorizontalCollaboration, Schema, datasets, disagreement
from dcshap.report import dots

heart = datasets.load_heart()
patients, rest, labels = (
    heart.data.head(40),
    heart.data.iloc[40:],
    heart.target.iloc[40:],
)
names = ["east", "north", "south", "west"]
parts = dict(zip(names, datasets.iid_split(len(rest), 4, random_state=0), strict=True))
tables = {
    name: (rest.iloc[rows].copy(), labels.iloc[rows]) for name, rows in parts.items()
}

tables["east"][0][["ca", "thal"]] = np.nan  # east never did these two
missing = np.random.default_rng(0).random(len(parts["west"])) < 0.3
tables["west"][0].loc[missing, "chol"] = (
    np.nan
)  # and west lacks cholesterol of every third patient
for name, (table, _) in tables.items():
    print(
        f"{name:6} {len(table)} patients, {int(table.isna().sum().sum())} missing cells"
    )

# %%
# ``missing="reference"`` takes a missing cell to mean "this feature is absent": the
# reference's value stands in for it, in training and in explanations alike. The feature
# then gets exactly 0 in the explanation of such a patient. (By default a missing value
# is an error, because it is often a mistake.)
#
# The schema is the dictionary that the parties agree on. Here it comes from the columns
# of the whole table; hospitals would write it together.

schema = Schema.from_frames([rest], onehot="all", robust=True)
together = HorizontalCollaboration(
    schema=schema, missing="reference", random_state=0
).fit(tables)
for name in names:
    accuracy = together.score(patients, heart.target.head(40), party=name)
    print(f"{name:6} accuracy on 40 new patients {accuracy:.2f}")

# %%
# All four explain alike, the hospital that never measured two of the columns included.

explained = {name: together.explain(patients, party=name) for name in names}
print(
    f"largest difference between any two hospitals: {disagreement(explained).rmse:.1e}"
)
figure = dots({"all four say": explained["east"]}, output=1)
