"""
A tree of clusters
==================

Agglomerative clustering joins the two nearest clusters again and again. The dendrogram shows at
which distance; a long gap is a natural place to cut.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import kilogram as kg

X, _ = load_wine(return_X_y=True)
model = kg.AgglomerativeClustering(3).fit((X - X.mean(axis=0)) / X.std(axis=0))
kg.dendrogram(model, max_leaves=30)
plt.show()
