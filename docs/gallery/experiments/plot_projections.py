"""
Looking at many columns through one or two
==========================================

Data of d columns have d (d - 1) / 2 scatter plots along the axes, and a histogram for every
direction w: the counts of w'x in bars. Of 100 independent columns with heavy tails a random
direction shows a bell shape, whatever the columns are: a sum of many terms is nearly normal.
Clusters that lie far apart survive a random projection.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kurtosis
from sklearn.datasets import load_iris

from kilogram.textbook.projection_pursuit import look, pairs
from kilogram.textbook.state import run

iris = load_iris()
views = pairs(iris.data.shape[1])
figure, axes = plt.subplots(1, len(views), figsize=(15, 2.8), layout="constrained")
for ax, (i, j) in zip(axes, views, strict=True):
    ax.scatter(iris.data[:, i], iris.data[:, j], c=iris.target, s=6)
    ax.set(xlabel=iris.feature_names[i], ylabel=iris.feature_names[j])
figure.suptitle("iris, 4 columns: 6 scatter plots of two attributes")

# %%
# A single column, a random direction, and two clusters seen along a direction and in a random
# plane.
rng = np.random.default_rng(0)
X = rng.laplace(size=(4000, 100))
side = np.sign(rng.normal(size=4000))[:, None]
clusters = 3 * side + rng.normal(size=(4000, 100))
w = rng.normal(size=100)
shown = [
    ("one column of 100 Laplace columns", run(look(X, np.eye(100)[0], bins=60))),
    ("a random direction of the same", run(look(X, w, bins=60))),
    ("two clusters, weights of one sign", run(look(clusters, np.abs(w), bins=60))),
]
figure, axes = plt.subplots(1, 4, figsize=(15, 3), layout="constrained")
for ax, (name, s) in zip(axes, shown, strict=False):
    tails = kurtosis(s["y"])
    print(f"{name:36s} excess kurtosis {tails:6.2f}")
    ax.bar(s["edges"][:-1], s["counts"], width=np.diff(s["edges"]), align="edge")
    ax.set_title(f"{name}\nexcess kurtosis {tails:.2f}", fontsize=10)
plane = np.linalg.qr(rng.normal(size=(100, 2)))[0]
axes[3].scatter(*(clusters @ plane).T, c=side[:, 0], s=3, cmap="coolwarm")
axes[3].set_title("two clusters, a random plane", fontsize=10)
plt.show()
