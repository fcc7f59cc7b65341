"""
One tree, and a hundred
=======================

A single deep tree follows every row. The mean of a hundred, each grown on a bootstrap sample
is smoother and better.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 120))[:, None]
y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(120)
grid = np.linspace(0, 6, 400)[:, None]
figure, ax = plt.subplots(layout="constrained")
ax.scatter(x, y, s=14, color="#2b2b33", alpha=0.7)
models = (
    kg.DecisionTreeRegressor(random_state=0),
    kg.RandomForestRegressor(100, min_samples_leaf=4, random_state=0),
)
for model, colour in zip(models, ("#D55E00", "#0072B2")):
    curve = model.fit(x, y).predict(grid)
    error = np.sqrt(np.mean((curve - np.sin(grid[:, 0])) ** 2))
    ax.plot(grid, curve, color=colour, lw=1.6, label=f"{type(model).__name__}, error {error:.2f}")
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y")
plt.show()
