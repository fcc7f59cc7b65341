"""
A kernel from random cosines
============================

Random Fourier features approximate a Gaussian kernel: the error falls with the square root of
their number. Nyström features, made from landmarks among the rows, need fewer. A ridge
regression on them is a kernel ridge regression at the cost of a linear one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import kilogram as kg

X, _ = load_wine(return_X_y=True)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
kernel = kg.Gaussian(sigma=3.0)
K = kernel(Z)
features = {
    "Fourier features": (kg.FourierFeatures, (10, 30, 100, 300, 1000), "#D55E00"),
    "Nyström features": (kg.Nystroem, (10, 30, 100), "#0072B2"),
}
figure, ax = plt.subplots(layout="constrained")
for name, (kind, sizes, colour) in features.items():
    errors = []
    for m in sizes:
        F = kind(kernel, n_components=m, random_state=0).fit_transform(Z)
        errors.append(np.sqrt(np.mean((F @ F.T - K) ** 2)))
    ax.loglog(sizes, errors, "o-", color=colour, label=name)
ax.set(xlabel="features", ylabel="root mean squared error of the kernel")
ax.legend(frameon=False)
plt.show()
