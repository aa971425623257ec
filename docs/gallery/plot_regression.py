"""
A number instead of a class
===========================

Three clinics predict how far diabetes has progressed after a year. The target is a
number, so the model is ridge regression. With it, and with logistic regression, the
joint explanation is close to that of a model on everybody's rows.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from dcshap import HorizontalCollaboration, datasets
from dcshap.report import waterfall

data, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
new, new_target = data.head(140), target.head(140)
rest, rest_target = data.iloc[140:], target.iloc[140:]
parts = zip(
    ["clinic A", "clinic B", "clinic C"],
    datasets.iid_split(len(rest), 3, random_state=0),
    strict=True,
)

together = HorizontalCollaboration(Ridge(), random_state=0)
together.fit({name: (rest.iloc[rows], rest_target.iloc[rows]) for name, rows in parts})
for party in together.parties_:
    r2 = together.score(new, new_target, party=party)
    print(f"{party}: R² on 140 new patients {r2:.3f}")

# %%
# The values are in the unit of the target, and add up from the prediction for the
# typical patient to this one's.

explanation = together.explain(new.head(1), party="clinic A")
figure = waterfall(explanation)

# %%
# ``quality`` tells a clinic how it fares alone, together, and (in a simulation like
# this one, where all rows are at hand) with everybody's rows in one place. It warns
# where a party does better alone.

print(together.quality(new, new_target, party="clinic A"))
