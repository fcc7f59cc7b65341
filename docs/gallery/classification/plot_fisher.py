"""
The direction that separates, and the one that varies
=====================================================

PCA finds the directions of most variance, Fisher's discriminant those in which classes are
furthest apart for their width. The wines show the difference.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import kilogram as kg

X, y = load_wine(return_X_y=True)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
pictures = {
    "PCA": kg.PCA(2).fit_transform(Z),
    "Fisher's discriminant": kg.FisherDiscriminant(2).fit(Z, y).transform(Z),
}
for ax, (name, points) in zip(axes, pictures.items()):
    for c, colour, marker in zip(range(3), ("#0072B2", "#D55E00", "#009E73"), "osD"):
        ax.scatter(*points[y == c].T, s=20, color=colour, marker=marker, label=f"wine {c}")
    ax.set_title(name)
    ax.set(xlabel="first direction", ylabel="second direction")
axes[0].legend(frameon=False)
plt.show()
