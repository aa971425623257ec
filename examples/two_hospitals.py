"""Two hospitals with the same columns train together, and explain the same patients alike."""

from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, datasets, disagreement


def main() -> None:
    heart = datasets.load_heart()
    patients, rest = heart.data.head(30), heart.data.iloc[30:]
    labels = heart.target.iloc[30:]
    north, south = datasets.label_skew(labels)

    run = HorizontalCollaboration(LogisticRegression(max_iter=1000), instance_models=False, random_state=0)
    run.fit({"north": (rest.iloc[north], labels.iloc[north]), "south": (rest.iloc[south], labels.iloc[south])})
    for party in run.parties_:
        print(f"{party}: accuracy {run.score(patients, heart.target.head(30), party=party):.2f}")

    own = disagreement({p: run.explain(patients, party=p, reference="own") for p in run.parties_})
    agreed = disagreement({p: run.explain(patients, party=p) for p in run.parties_})
    print(f"difference with own references {own.rmse:.4f}, with the shared one {agreed.rmse:.4f}")
    print(run.disagreement(patients, reference="own"))


if __name__ == "__main__":
    main()
