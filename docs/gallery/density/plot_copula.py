"""
A copula: margins and dependence apart
======================================

Two skewed features that rise together. The copula models their dependence on ranks, and new
rows drawn from it look like the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
z = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 400)
X = np.c_[np.exp(z[:, 0]), z[:, 1] ** 3]
model = kg.CopulaDensity().fit(X)
drawn = model.sample(400, random_state=0)
drawn = drawn[0] if isinstance(drawn, tuple) else drawn
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, rows) in zip(axes, {"data": X, "drawn from the copula": drawn}.items()):
    ax.scatter(*rows.T, s=12, color="#0072B2", alpha=0.5, lw=0)
    ax.set(title=name, xlabel="feature 0", ylabel="feature 1")
plt.show()
