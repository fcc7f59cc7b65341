"""
Medoids resist outliers, k-lines follow roads
=============================================

A medoid is a row of the data, and far rows hardly move it. K-lines groups rows around lines
instead of points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import kilogram as kg

rng = np.random.default_rng(0)
blobs, _ = make_blobs(120, centers=[[0, 0], [5, 1]], cluster_std=0.7, random_state=0)
far = np.r_[blobs, rng.normal([30, 12], 1.5, (4, 2))]
t = rng.uniform(-4, 4, (200, 1))
roads = np.r_[t[:100] * [1, 0.4], t[100:] * [0.3, 1]] + 0.15 * rng.standard_normal((200, 2))

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
pictures = (
    ("k-means", kg.KMeans(2, n_init=10, random_state=0), far),
    ("k-medoids", kg.KMedoids(2, random_state=0), far),
    ("k-lines", kg.KLines(2, random_state=0), roads),
)
for ax, (name, model, X) in zip(axes, pictures):
    labels = model.fit(X).labels_
    ax.scatter(*X.T, s=16, c=np.where(labels == 0, "#0072B2", "#D55E00"))
    ax.set_title(name)
plt.show()
