"""
Kernel k-means and spectral clustering
======================================

Two rings have the same centre, so k-means cuts them in half. With a kernel, or along the graph
of neighbours, each ring is a cluster.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles

import kilogram as kg

X, _ = make_circles(300, noise=0.04, factor=0.35, random_state=0)
models = {
    "k-means": kg.KMeans(2, random_state=0),
    "kernel k-means": kg.KernelKMeans(2, kernel=kg.Gaussian(sigma=0.3), n_init=20, random_state=0),
    "spectral": kg.SpectralClustering(2, affinity="nearest_neighbors", random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    kg.ClusterDisplay.from_estimator(model.fit(X), X, borders=False, ax=ax)
    ax.get_legend().remove()
    ax.set_title(name)
    ax.set_aspect("equal")
plt.show()
