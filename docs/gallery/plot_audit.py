"""
Audit: what has a party given away?
===================================

Before anything leaves, and after it has left, a party can attack its own release with the strongest attacks known.
"""

from dcshap import HorizontalCollaboration, datasets

adult = datasets.load_adult("train")
people, income = adult.data.head(2000), adult.target.head(2000)
north, south = datasets.iid_split(len(people), 2, random_state=0)
tables = {"north": (people.iloc[north], income.iloc[north]), "south": (people.iloc[south], income.iloc[south])}

together = HorizontalCollaboration(random_state=0).fit(tables)
audit = together.audit("north")
print(audit)
