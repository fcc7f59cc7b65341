"""
Polynomials: from too stiff to too loose
========================================

The degree decides how far the curve may bend. The ninth degree follows the noise; a ridge
penalty calms it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kilogram as kg

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 1, 15))[:, None]
y = np.sin(2 * np.pi * x[:, 0]) + 0.2 * rng.standard_normal(15)
grid = np.linspace(0, 1, 200)[:, None]
figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), sharey=True, layout="constrained")
for ax, (degree, alpha) in zip(axes, ((1, 0.0), (3, 0.0), (9, 0.0), (9, 0.001))):
    model = make_pipeline(
        kg.PolynomialFeatures(degree, include_bias=False), StandardScaler(), kg.Ridge(alpha=alpha)
    ).fit(x, y)
    ax.scatter(x, y, s=18, color="#2b2b33")
    ax.plot(grid, np.sin(2 * np.pi * grid), color="#8a8a96", lw=1, ls="--")
    ax.plot(grid, model.predict(grid), color="#0072B2", lw=2)
    ax.set(ylim=(-1.8, 1.8), xlabel="x")
    ax.set_title(f"degree {degree}" + (f", alpha {alpha:g}" if alpha else ""))
plt.show()
