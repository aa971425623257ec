"""
Two hospitals explain the same patient alike
============================================

Two hospitals hold the same columns of different patients. North has most of the ill,
South most of the healthy. They train one model together without showing each other a
row, and then each explains the same patients.
"""

from dcshap import HorizontalCollaboration, datasets, disagreement
from dcshap.report import rmse_bars, side_by_side

heart = datasets.load_heart()
patients, rest, labels = (
    heart.data.head(30),
    heart.data.iloc[30:],
    heart.target.iloc[30:],
)
north, south = datasets.label_skew(labels)

together = HorizontalCollaboration(random_state=0)  # logistic regression, the default
together.fit(
    {
        "north": (rest.iloc[north], labels.iloc[north]),
        "south": (rest.iloc[south], labels.iloc[south]),
    }
)
for party in together.parties_:
    accuracy = together.score(patients, heart.target.head(30), party=party)
    print(f"{party}: accuracy on 30 new patients {accuracy:.2f}")

# %%
# **Each with its own reference.** This is what KernelSHAP does as a rule: it compares a
# patient with the explainer's own rows. North's rows are mostly ill and South's mostly
# healthy, so the same prediction gets two different explanations.

own = {
    party: together.explain(patients, party=party, reference="own")
    for party in together.parties_
}
agreed = {party: together.explain(patients, party=party) for party in together.parties_}
figure = side_by_side({"own references": own, "the shared reference": agreed}, sample=0)

# %%
# **With the shared reference** (DC-SHAP, Algorithm 2) both say the same. The difference
# that is left is that of floating-point sums.

apart, alike = disagreement(own), disagreement(agreed)
print("difference between the hospitals (RMSE)")
print(f"own references {apart.rmse:.4f}, shared reference {alike.rmse:.1e}")
bars = rmse_bars({"own references": apart, "the shared reference": alike})

# %%
# The differences can be taken apart: how much is due to the references, and how much to
# the maps of the two hospitals.

print(together.disagreement(patients, reference="own"))
