"""
Silhouettes of three and of five clusters
=========================================

With the right number all knives are wide and reach past the mean. With too many, some are thin.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, _ = make_blobs(240, centers=[[0, 0], [5, 0], [2, 4]], cluster_std=0.8, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, k in zip(axes, (3, 5)):
    kg.SilhouetteDisplay.from_estimator(kg.KMeans(k, n_init=5, random_state=0).fit(X), X, ax=ax)
plt.show()
