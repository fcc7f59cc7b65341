"""
A histogram and a kernel density
================================

A histogram depends on where its bins begin; a kernel density does not. Its bandwidth is chosen
by the likelihood of rows left out.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = np.r_[rng.normal(0, 1, 150), rng.normal(5, 0.6, 90)][:, None]
grid = np.linspace(-4, 8, 400)[:, None]
figure, ax = plt.subplots(layout="constrained")
for model, colour in (
    (kg.HistogramDensity(), "#56B4E9"),
    (kg.KernelDensity(bandwidth="silverman"), "#0072B2"),
):
    density = np.exp(model.fit(X).score_samples(grid))
    if isinstance(model, kg.HistogramDensity):
        ax.fill_between(grid[:, 0], density, color=colour, alpha=0.4, lw=0, label="histogram")
    else:
        ax.plot(grid, density, color=colour, lw=2, label="kernel density")
ax.plot(X[:, 0], np.full(len(X), -0.006), "|", color="#2b2b33", ms=7, alpha=0.5)
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="density")
plt.show()
