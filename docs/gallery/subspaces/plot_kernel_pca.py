"""
Kernel PCA unrolls circles
==========================

No line separates two circles. The first kernel principal component, a function of the plane,
does: it is drawn as shades.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

import kilogram as kg

X, y = make_circles(400, noise=0.04, factor=1 / 3, random_state=0)
X = 3 * X
model = kg.KernelPCA(1, kernel=kg.Gaussian(sigma=1.0)).fit(X)
side = np.linspace(-4, 4, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.contourf(side, side, model.transform(grid).reshape(120, 120), 24, cmap="PuOr", alpha=0.85)
for c, face in ((0, "white"), (1, "#2b2b33")):
    ax.plot(*X[y == c].T, "o", ms=3.5, mew=0.5, mfc=face, mec="#2b2b33")
ax.set(aspect="equal", xlabel="feature 0", ylabel="feature 1")
plt.show()
