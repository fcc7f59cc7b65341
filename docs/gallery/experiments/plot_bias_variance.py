"""
Bias and variance of ten data sets
==================================

Ten data sets of equal size, a restrictive and a flexible model fitted to each. The restrictive
model is wrong in the same way every time (bias), the flexible one in another way every time
(variance); the expected error is the sum.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
grid = np.linspace(-2.5, 2.5, 100)
truth = np.sin(1.5 * grid)
models = {
    "a line": kg.LinearRegression(),
    "20 neighbours": kg.KNeighborsRegressor(20),
    "5 neighbours": kg.KNeighborsRegressor(5),
    "1 neighbour": kg.KNeighborsRegressor(1),
}
fits = {name: [] for name in models}
for _ in range(10):
    x = rng.uniform(-3, 3, 60)
    y = np.sin(1.5 * x) + 0.4 * rng.normal(size=60)
    for name, model in models.items():
        fits[name].append(model.fit(x[:, None], y).predict(grid[:, None]))

figure, axes = plt.subplots(1, 4, figsize=(15, 3.2), layout="constrained", sharey=True)
for ax, (name, found) in zip(axes, fits.items(), strict=True):
    found = np.array(found)
    bias = np.mean((found.mean(axis=0) - truth) ** 2)
    variance = np.mean(found.var(axis=0))
    print(f"{name:14s} bias^2 {bias:.3f}  variance {variance:.3f}  sum {bias + variance:.3f}")
    lines = ax.plot(grid, found.T, color="tab:blue", alpha=0.35, lw=1)
    (target,) = ax.plot(grid, truth, color="black", ls="--")
    ax.set_xlabel("x")
    ax.set_title(f"{name}\nbias$^2$ {bias:.3f} + variance {variance:.3f} = {bias + variance:.3f}")
axes[0].set_ylabel("y")
axes[0].legend([target, lines[0]], ["truth", "ten fits"], loc="lower right", frameon=False)
plt.show()
