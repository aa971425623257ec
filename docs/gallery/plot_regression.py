"""
A number instead of a class
===========================

Three clinics predict how far diabetes has progressed after a year. The target is a number, so the default model is ridge
regression. With it, and with logistic regression, the joint explanation is close to that of a model on everybody's rows.
"""

from sklearn.datasets import load_diabetes

from dcshap import HorizontalCollaboration, datasets
from dcshap.report import waterfall

data, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
target = target.astype(float).rename("progression") + 0.5  # the middle of the unit that was rounded off
new, new_target = data.head(60), target.head(60)
rest, rest_target = data.iloc[60:], target.iloc[60:]
parts = zip(["clinic A", "clinic B", "clinic C"], datasets.iid_split(len(rest), 3, random_state=0), strict=True)

together = HorizontalCollaboration(random_state=0)
together.fit({name: (rest.iloc[rows], rest_target.iloc[rows]) for name, rows in parts})
for party in together.parties_:
    print(f"{party}: R² on 60 new patients {together.score(new, new_target, party=party):.3f}")

# %%
# The values are in the unit of the target, and add up from the prediction for the typical patient to this one's.

explanation = together.explain(new.head(1), party="clinic A")
figure = waterfall(explanation)

# %%
# ``quality`` tells a clinic, before it decides, how it fares alone, together, and (in a simulation like this one, where
# all rows are at hand) with everybody's rows in one place.

print(together.quality(new, new_target, party="clinic A"))
