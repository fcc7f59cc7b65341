"""
How many clusters?
==================

Seven criteria side by side. The elbow always bends somewhere; gap, silhouette, instability and
compression can also say that there are no clusters.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import kilogram as kg

X, _ = make_blobs(240, centers=[[0, 0], [5, 0], [2, 4]], cluster_std=0.8, random_state=0)
found = kg.choose_k(X, 6, n_references=4, n_resamples=5, random_state=0)
print(found)

figure, axes = plt.subplots(2, 4, figsize=(12, 5.4), layout="constrained")
found.plot(axes)
plt.show()
