"""
Compared with whom? Reference and background
============================================

An explanation compares a case with something. With the default, the **reference**, that
is the typical case. With a **background** it is a population. The question is another
one, and so is the answer.
"""

from dcshap import HorizontalCollaboration, datasets, disagreement
from dcshap.report import waterfall

adult = datasets.load_adult("train")
people, income = adult.data.head(4000), adult.target.head(4000)
north, south = datasets.iid_split(len(people), 2, random_state=0)
together = HorizontalCollaboration(random_state=0)
together.fit(
    {
        "north": (people.iloc[north], income.iloc[north]),
        "south": (people.iloc[south], income.iloc[south]),
    }
)
somebody = adult.data.iloc[[4007]]
print(somebody.iloc[0].to_string())

# %%
# **Compared with the typical case.** A feature that equals the reference contributes
# exactly 0, however much it matters in general, because in this feature the person *is*
# the typical case.

typical = together.explain(somebody, party="north")
figure = waterfall(typical, output=1)

# %%
# **Compared with a population.** The parties draw the same synthetic people from what
# they have agreed on. Values are averages over them, and the base value is the average
# prediction. Now a feature counts if it is unlike what others have.

population = together.explain(
    somebody, party="north", reference="background", n_background=50
)
figure_of_population = waterfall(population, output=1)

# %%
# Both are the same at both parties, and the fingerprint proves that they were compared
# with the same.

for reference in ("anchor", "background"):
    said = {
        party: together.explain(somebody, party=party, reference=reference)
        for party in together.parties_
    }
    marks = {each.reference_fingerprint for each in said.values()}
    apart = disagreement(said).rmse
    print(f"{reference}: difference {apart:.1e}, different fingerprints {len(marks)}")
