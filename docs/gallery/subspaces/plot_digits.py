"""
Digits as sums of components
============================

The mean digit, the first components, and one digit rebuilt from 2, 8 and 32 of them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kilogram as kg

X, _ = load_digits(return_X_y=True)
model = kg.PCA(32).fit(X)
figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for ax, k in zip(axes[0], range(5)):
    image = model.mean_ if k == 0 else model.components_[k - 1]
    ax.imshow(image.reshape(8, 8), cmap="gray" if k == 0 else "RdBu_r")
    ax.set_title("mean" if k == 0 else f"component {k}", fontsize=10)
for ax, k in zip(axes[1], (0, 2, 8, 16, 32)):
    H = model.components_[:k]
    rebuilt = model.mean_ + (X[0] - model.mean_) @ H.T @ H
    ax.imshow((X[0] if k == 0 else rebuilt).reshape(8, 8), cmap="gray", vmin=0, vmax=16)
    ax.set_title("a digit" if k == 0 else f"from {k}", fontsize=10)
for ax in axes.flat:
    ax.set_axis_off()
plt.show()
