"""
A kernel matrix shows the classes
=================================

Similarities of all pairs of wines, sorted by class. Too narrow a kernel makes every wine unlike
all others, too wide a one makes all alike.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import kilogram as kg

X, y = load_wine(return_X_y=True)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
for ax, sigma in zip(axes, (0.8, 3.0, 12.0)):
    kg.KernelMatrixDisplay.from_kernel(kg.Gaussian(sigma=sigma), Z, y, ax=ax)
plt.show()
