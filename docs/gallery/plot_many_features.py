"""
Many features, exactly
======================

A Shapley value is defined over all coalitions of features: with 64 of them, 18
quintillion. For logistic regression and a number of other models dcshap computes the
exact values without going through coalitions.
"""

import time

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from dcshap import shapley_values

pixels, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, [3, 8])
rows, is_eight = pixels[chosen] / 16, digit[chosen] == 8
model = LogisticRegression(max_iter=1000).fit(rows[20:], is_eight[20:])
reference = np.median(rows[20:], axis=0)

shapley_values(model.predict_proba, rows[:1], reference)  # compiles, once on a machine
began = time.process_time()
explanation = shapley_values(model.predict_proba, rows[:20], reference)
seconds = time.process_time() - began
print(f"20 pictures of 64 pixels: {1000 * seconds:.0f} ms of processor time")
print(f"way: {explanation.method}")
added = explanation.base_values + explanation.values.sum(axis=1)
apart = np.abs(added - model.predict_proba(rows[:20])).max()
print(f"values add up to the predictions to within {apart:.0e}")

# %%
# Each pixel's contribution to "this is an eight", drawn as a picture: red speaks for
# the eight, blue for the three.

figure = Figure(figsize=(7, 3.6))
limit = np.abs(explanation.values[:4, :, 1]).max()
for at, axes in enumerate(figure.subplots(2, 4).T):
    axes[0].imshow(rows[at].reshape(8, 8), cmap="gray_r")
    axes[0].set_title(f"p(eight) = {explanation.predictions[at, 1]:.2f}", fontsize=9)
    axes[1].imshow(
        explanation.values[at, :, 1].reshape(8, 8),
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
    )
    for each in axes:
        each.set_axis_off()

# %%
# A function of one's own hides the model. Then coalitions are sampled, and every value
# comes with a standard error.

sampled = shapley_values(
    lambda asked: model.predict_proba(asked), rows[:1], reference, random_state=0
)
errors = np.abs(sampled.values - explanation.values[:1])
print(f"largest error of a sampled value {errors.max():.4f}")
print(f"largest standard error {sampled.standard_errors.max():.4f}")
