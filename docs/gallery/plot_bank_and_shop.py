"""
A bank and a shop with different columns of the same people
===========================================================

The bank has six columns, the shop six others, of the same people in another order. Only
the bank has the labels. They match records by pseudonyms, train one model, and explain
it from three points of view.
"""

from dcshap import VerticalCollaboration, datasets
from dcshap.report import waterfall

adult = datasets.load_adult("train")
people = adult.data.head(3000).set_axis([f"person-{i}" for i in range(3000)])
income = adult.target.head(3000).set_axis(people.index)
bank, shop = people.iloc[:, :6], people.iloc[:, 6:].sample(frac=1, random_state=0)

together = VerticalCollaboration(random_state=0)
together.fit({"bank": bank, "shop": shop}, income, label_party="bank")
print(together.joined_)

asked = ["person-7"]
record = {"bank": bank.loc[asked], "shop": shop.loc[asked]}

# %%
# **The bank's view.** It sees its own features one by one, and all of the shop's as a
# single bar. With Owen values, the default, every party's view is a part of one and the
# same explanation.

bank_view = together.explain(record, view="bank")
figure = waterfall(bank_view, output=1)

# %%
# **The shop's view** of the same prediction. The two bars for "the other party" are the
# sums of what the other sees.

shop_view = together.explain(record, view="shop")
figure_of_the_shop = waterfall(shop_view, output=1)

# %%
# **The view of the person concerned** is the union of both. Its values are those of the
# party views, to the last digits.

everything = together.explain(record)
figure_of_all = waterfall(everything, output=1)
for view in (bank_view, shop_view):
    for name, value in zip(view.feature_names, view.values[0, :, 1], strict=True):
        if name in everything.feature_names:
            at = list(everything.feature_names).index(name)
            print(f"{name:16} {value:+.6f} {everything.values[0, at, 1]:+.6f}")
