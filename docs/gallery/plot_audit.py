"""
Audit: what has a party given away?
===================================

Before anything leaves, or after it has left, a party can attack its own release with
the strongest attacks known. Nothing leaves the party for it. Each line says who could
run the attack, what it found, and whether that passes.
"""

from dcshap import HorizontalCollaboration, datasets
from dcshap.report.exposure import exposure_bars

adult = datasets.load_adult("train")
people, income = adult.data.head(1000), adult.target.head(1000)
north, south = datasets.iid_split(len(people), 2, random_state=0)
tables = {
    "north": (people.iloc[north], income.iloc[north]),
    "south": (people.iloc[south], income.iloc[south]),
}

together = HorizontalCollaboration(random_state=0).fit(tables)
audit = together.audit("north", n_rows=500)
for line in audit.lines:
    print(f"{line.verdict:4}  {line.attack} ({line.attacker})")

# %%
# Whatever does not pass comes with advice. Small tables stay linkable: among few rows
# it is easier to find the right one.

for line in audit.lines:
    if line.verdict != "pass":
        print(f"{line.attack}: {line.words}\n  {line.advice}\n")

# %%
# The worst case is an analyst who works together with a party and so knows the map.
# This is the share of each column that they would read.

worst = next(
    line for line in audit.lines if line.attack == "reading columns, map known"
)
figure = exposure_bars(worst.per_column, title=f"{worst.attack} ({worst.attacker})")
