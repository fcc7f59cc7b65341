"""
Digits as sums of parts
=======================

Non-negative factors can only be added, never subtracted; so they become strokes, where
principal components are whole digits with signs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kilogram as kg

X, _ = load_digits(return_X_y=True)
model = kg.NMF(12, init="nndsvda", max_iter=300, tol=1e-3, random_state=0).fit(X)
figure, axes = plt.subplots(2, 6, figsize=(9, 3.2), layout="constrained")
for ax, part in zip(axes.flat, model.components_):
    ax.imshow(part.reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
plt.show()
