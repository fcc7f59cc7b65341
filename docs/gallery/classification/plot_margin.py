"""
The widest margin
=================

Of all lines between two classes a linear support vector machine takes the one that is furthest
from both. Only the rows on the margin, the support vectors, decide where it lies.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, y = make_blobs(60, centers=[[-2, -1], [2, 1]], cluster_std=0.8, random_state=2)
model = kg.SVC(kernel="linear", C=100.0).fit(X, y)
kg.DecisionBoundaryDisplay.from_estimator(model, X, y)
plt.title(f"{len(model.support_)} support vectors of 60 rows", loc="left")
plt.show()
