"""
Local outliers
==============

The local outlier factor compares the density around a row with that around its neighbours. A
row in a gap between dense groups is an outlier, though it is nearer to them than rows of the
sparse group are to each other.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = np.r_[0.25 * rng.standard_normal((120, 2)), 1.3 * rng.standard_normal((80, 2)) + [5, 0]]
X = np.r_[X, [[1.2, 1.0], [0.0, -1.5], [1.3, -0.9]]]
model = kg.LocalOutlierFactor(n_neighbors=20).fit(X)
size = np.clip(-model.negative_outlier_factor_ - 1.3, 0, None)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(*X.T, s=14, color="#2b2b33")
ax.scatter(*X.T, s=150 * size, fc="none", ec="#D55E00", label="outlier factor above 1.3")
ax.set(xlabel="feature 0", ylabel="feature 1")
ax.legend(frameon=False)
plt.show()
