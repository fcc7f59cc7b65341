"""
Support vector regression: a tube
=================================

Errors inside a tube of half-width epsilon cost nothing. Only rows on its border or outside, the
support vectors, shape the curve.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 7, 60))[:, None]
y = np.sin(x[:, 0]) + 0.15 * rng.standard_normal(60)
model = kg.SVR(C=10.0, epsilon=0.25, kernel=kg.Gaussian(sigma=1.0)).fit(x, y)

grid = np.linspace(0, 7, 300)[:, None]
middle = model.predict(grid)
figure, ax = plt.subplots(layout="constrained")
ax.fill_between(grid[:, 0], middle - 0.25, middle + 0.25, color="#0072B2", alpha=0.15, lw=0)
ax.plot(grid, middle, color="#0072B2", lw=2)
ax.scatter(x, y, s=16, color="#2b2b33")
ax.scatter(
    x[model.support_], y[model.support_], s=80, fc="none", ec="#D55E00", label="support vectors"
)
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y")
plt.show()
