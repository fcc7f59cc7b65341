"""
K-means cuts the plane into cells
=================================

Every row belongs to the nearest centre, so the borders are straight.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, _ = make_blobs(400, centers=5, cluster_std=0.9, random_state=7)
model = kg.KMeans(5, n_init=5, random_state=0).fit(X)
kg.ClusterDisplay.from_estimator(model, X)
plt.title(f"sum of squares {model.inertia_:.0f} after {model.n_iter_} iterations", loc="left")
plt.show()
