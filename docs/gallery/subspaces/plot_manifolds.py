"""
Unrolling a Swiss roll
======================

Points on a rolled sheet. PCA looks at it from one side; Isomap keeps distances along the sheet,
locally linear embedding the neighbourhoods.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_swiss_roll

import kilogram as kg

X, colour = make_swiss_roll(1000, random_state=0)
models = {
    "PCA": kg.PCA(2),
    "Isomap": kg.Isomap(n_neighbors=7),
    "locally linear embedding": kg.LocallyLinearEmbedding(n_neighbors=12),
    "Laplacian eigenmaps": kg.LaplacianEigenmaps(n_neighbors=10),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    ax.scatter(*model.fit_transform(X).T, c=colour, cmap="viridis", s=10)
    ax.set_title(name)
    ax.set(xticks=[], yticks=[])
plt.show()
