"""
Counts: Poisson regression
==========================

A line through counts predicts negative numbers. Poisson regression models the logarithm of the
mean, and its spread grows with the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 5, 200))[:, None]
counts = rng.poisson(np.exp(0.9 * x[:, 0] - 1.0))

poisson = kg.PoissonRegressor(alpha=0).fit(x, counts)
line = kg.LinearRegression().fit(x, counts)
figure, ax = plt.subplots(layout="constrained")
ax.scatter(x, counts, s=16, color="#2b2b33", alpha=0.6, linewidths=0)
ax.plot(x, poisson.predict(x), color="#0072B2", lw=2, label="Poisson regression")
ax.plot(x, line.predict(x), color="#D55E00", lw=2, label="least squares")
ax.axhline(0, color="#8a8a96", lw=0.8)
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="count")
plt.show()
print(f"log mean = {poisson.intercept_:.2f} + {poisson.coef_[0]:.2f} x (truth: -1 + 0.9 x)")
