"""
A mixture has a shape for every cluster
=======================================

K-means knows only distances to centres and cuts the long clusters; a Gaussian mixture has a
covariance for each. The ellipses are one and two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import kilogram as kg

X, _ = make_blobs(400, centers=3, cluster_std=0.8, random_state=2)
X = X @ np.array([[0.6, -0.6], [-0.4, 0.9]])
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
models = kg.KMeans(3, n_init=5, random_state=0), kg.GaussianMixture(3, random_state=0)
for ax, model in zip(axes, models):
    kg.ClusterDisplay.from_estimator(model.fit(X), X, ax=ax)
    ax.set_title(type(model).__name__)
plt.show()
