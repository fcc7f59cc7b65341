"""
Nearest centroids
=================

The simplest classifier: the mean of each class, and the nearest one wins. The borders are those
of a Voronoi diagram.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, y = make_blobs(200, centers=5, cluster_std=1.1, random_state=8)
model = kg.NearestCentroid().fit(X, y)
display = kg.DecisionBoundaryDisplay.from_estimator(model, X, y)
display.ax_.scatter(*model.centroids_.T, marker="X", s=110, color="#2b2b33", ec="white", zorder=5)
plt.show()
