"""
Linear and quadratic discriminants
==================================

Both model each class by a Gaussian. With one covariance for all classes the boundary is a line,
with one for each it is a curve.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = np.r_[
    rng.standard_normal((100, 2)) * [2.0, 0.4], rng.standard_normal((100, 2)) * [0.5, 1.5] + [1, 2]
]
y = np.repeat([0, 1], 100)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
models = kg.LinearDiscriminantAnalysis(), kg.QuadraticDiscriminantAnalysis()
for ax, model in zip(axes, models):
    kg.DecisionBoundaryDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    ax.set_title(f"{type(model).__name__}: {model.score(X, y):.0%}", fontsize=10)
plt.show()
