"""
Local means and local lines
===========================

Nadaraya-Watson regression is a weighted mean of neighbours, which bends at the ends of the
data; local linear regression fits a line at every point and does not. The bandwidth is chosen
by leave-one-out error.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 4, 80))[:, None]
y = x[:, 0] ** 2 / 3 + np.sin(3 * x[:, 0]) + 0.3 * rng.standard_normal(80)
grid = np.linspace(0, 4, 300)[:, None]

figure, ax = plt.subplots(layout="constrained")
ax.scatter(x, y, s=16, color="#2b2b33")
for degree, name, colour in ((0, "local means", "#D55E00"), (1, "local lines", "#0072B2")):
    model = kg.KernelRegression(degree=degree).fit(x, y)
    ax.plot(grid, model.predict(grid), color=colour, lw=2, label=name)
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y")
plt.show()
