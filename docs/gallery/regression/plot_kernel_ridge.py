"""
Ridge and its kernel version
============================

`Ridge` and `KernelRidge` minimise one objective, over lines and over the functions of a kernel.
Where the kernel version is not clearly better on new rows, there is no useful non-linear
structure.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(4)
x = np.sort(rng.uniform(0, 10, 60))[:, None]
y = np.sin(x[:, 0]) + 0.25 * x[:, 0] + 0.25 * rng.standard_normal(60)

line = kg.RidgeCV().fit(x, y)
curve = kg.KernelRidgeCV(alphas=np.logspace(-4, 2, 20), kernel=kg.Gaussian(sigma=1.0)).fit(x, y)

grid = np.linspace(-0.3, 10.3, 300)[:, None]
figure, ax = plt.subplots(layout="constrained")
ax.scatter(x, y, s=18, color="#2b2b33")
ax.plot(grid, line.predict(grid), color="#D55E00", lw=2, label="Ridge")
ax.plot(grid, curve.predict(grid), color="#0072B2", lw=2, label="KernelRidge")
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y")
plt.show()
