"""
A bend in the residuals
=======================

A line through a curve leaves residuals that bend. The means in bins, with two standard errors,
show what is structure and what is noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (600, 1))
y = X[:, 0] + 0.6 * X[:, 0] ** 2 + 0.5 * rng.standard_normal(600)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, model in zip(axes, (kg.Ridge(), kg.KernelRidgeCV(kernel=kg.Gaussian("median")))):
    model.fit(X[:300], y[:300])
    kg.PredictionErrorDisplay.from_estimator(model, X[300:], y[300:], ax=ax)
    ax.set_xlabel(f"predicted by {type(model).__name__}")
plt.show()
