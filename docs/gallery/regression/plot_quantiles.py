"""
Quantiles: where the spread grows
=================================

The mean says nothing about the spread. Quantile regression fits the lines below which 5 %, 50 %
and 95 % of the observations lie.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 300)[:, None]
y = 10 + 0.5 * x[:, 0] + (0.3 + 0.3 * x[:, 0]) * rng.standard_normal(300)

figure, ax = plt.subplots(layout="constrained")
ax.scatter(x, y, s=14, color="#2b2b33", alpha=0.5, linewidths=0)
ends = np.array([[0.0], [10.0]])
for q, colour in ((0.05, "#D55E00"), (0.5, "#0072B2"), (0.95, "#009E73")):
    model = kg.QuantileRegressor(quantile=q, alpha=0).fit(x, y)
    below = np.mean(y < model.predict(x))
    ax.plot(ends, model.predict(ends), color=colour, lw=2, label=f"{q:.0%}: {below:.0%} below")
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y")
plt.show()
