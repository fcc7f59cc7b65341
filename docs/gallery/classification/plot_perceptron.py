"""
Perceptron and Adaline
======================

Both move a line after every row. The perceptron stops at the first line without an error;
Adaline minimises squares and ends near the middle.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, y = make_blobs(80, centers=[[-2, 0], [2, 1]], cluster_std=0.8, random_state=1)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
for ax, model in zip(axes, (kg.Perceptron(random_state=0), kg.Adaline(random_state=0))):
    kg.DecisionBoundaryDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    ax.set_title(type(model).__name__)
plt.show()
