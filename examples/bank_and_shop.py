"""A bank and a shop with different columns of the same people: three views of one prediction."""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from dcshap import VerticalCollaboration, datasets


def main() -> None:
    adult = datasets.load_adult("train")
    people = adult.data.head(5000).set_axis([f"person-{i}" for i in range(5000)])
    income = adult.target.head(5000).set_axis(people.index)
    bank, shop = people.iloc[:, :6], people.iloc[:, 6:].sample(frac=1, random_state=0)  # in any order of rows

    run = VerticalCollaboration(HistGradientBoostingClassifier(random_state=0), random_state=0)
    run.fit({"bank": bank, "shop": shop}, income, label_party="bank")
    print(run.joined_)

    asked = ["person-3", "person-7"]
    record = {"bank": bank.loc[asked], "shop": shop.loc[asked]}
    views = {
        "all features": run.explain(record),  # the union of the party views
        "bank's view": run.explain(record, view="bank"),
        "bank, Algorithm 4": run.explain(record, view="bank", index="shapley"),
    }
    for name, view in views.items():
        print(f"\n{name}: base {view.base_values[0, 1]:.3f}, prediction {view.predictions[0, 1]:.3f}")
        print(pd.Series(view.values[0, :, 1], index=view.feature_names).round(3).to_string())


if __name__ == "__main__":
    main()
