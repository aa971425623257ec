"""Shapley values of any model at all: exact where that is possible, sampled with error bars where it is not."""

from sklearn.ensemble import HistGradientBoostingClassifier

from dcshap import datasets, shapley_values


def main() -> None:
    data = datasets.load_breast_cancer()
    model = HistGradientBoostingClassifier(random_state=0).fit(data.data, data.target)
    reference = data.data.median()

    def probability(rows):
        return model.predict_proba(rows)[:, 1]

    few = data.data.columns[:10]
    grouped = {name: [name] for name in few} | {"the other twenty": list(data.data.columns[10:])}
    exact = shapley_values(probability, data.data.head(2), reference.to_frame().T, groups=grouped)
    print(exact)

    sampled = shapley_values(probability, data.data.head(2), reference.to_frame().T, random_state=0)
    print(sampled)
    print(sampled.to_frame().sort_values("contribution", key=abs, ascending=False).head(8).to_string(index=False))


if __name__ == "__main__":
    main()
