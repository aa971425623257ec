"""
Any model at all, and groups of columns
=======================================

``shapley_values`` needs a function that predicts, rows, and a reference. Nothing about
it is particular to collaborations.
"""

from sklearn.ensemble import HistGradientBoostingClassifier

from dcshap import datasets, shapley_values
from dcshap.report import waterfall

data = datasets.load_breast_cancer()
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(
    data.data, data.target
)
reference = data.data.median().to_frame().T

# %%
# **Groups.** The thirty columns are ten measures, each as a mean, an error and a worst
# value. Ten players have 1,024 coalitions. All of them are evaluated, so the values are
# exact.

measures = [name.removeprefix("mean ") for name in data.data.columns[:10]]
groups = {
    measure: [f"mean {measure}", f"{measure} error", f"worst {measure}"]
    for measure in measures
}
exact = shapley_values(model.predict_proba, data.data.head(2), reference, groups=groups)
figure = waterfall(exact, output=1)

# %%
# **All thirty columns.** Trees have no shortcut and a billion coalitions are too many,
# so coalitions are sampled. Every value then has a standard error, drawn as a whisker.

sampled = shapley_values(
    model.predict_proba, data.data.head(1), reference, max_evals=4000, random_state=0
)
print(f"largest standard error {sampled.standard_errors.max():.4f}")
figure_of_columns = waterfall(sampled, output=1)
