"""
Reasons in words, and a receipt for them
========================================

A person who asks "why?" is not served by a table of numbers. An auditor asks another
question: did both organisations say the same? Neither needs to see more than they must.
"""

from dcshap import HorizontalCollaboration, datasets
from dcshap.explanation.receipt import compare
from dcshap.report import waterfall

heart = datasets.load_heart()
patient, rest, labels = (
    heart.data.iloc[[5]],
    heart.data.iloc[30:],
    heart.target.iloc[30:],
)
north, south = datasets.label_skew(labels)
together = HorizontalCollaboration(random_state=0)
together.fit(
    {
        "north": (rest.iloc[north], labels.iloc[north]),
        "south": (rest.iloc[south], labels.iloc[south]),
    }
)

north_says = together.explain(patient, party="north")
figure = waterfall(north_says)

# %%
# **The same in sentences**, from templates: no language model writes them, so the same
# values always get the same words.

for reason in north_says.reasons(n=4):
    print(reason.sentence)

# %%
# **Receipts.** Each hospital signs a statement of what it explained. It has hashes and
# no data, and anybody can compare two of them.

receipt = together.receipt(north_says)
of_south = together.receipt(
    together.explain(patient, party="south"), opening=receipt.opening
)
print(compare(receipt, of_south))
