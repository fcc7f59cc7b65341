"""
Neighbours in whitened and in kernel PCA spaces
===============================================

A neighbour is only as good as its distance. Where a few directions vary most and say nothing,
whitening (the Mahalanobis distance) gives all directions one scale. Where classes lie on curves
amid many columns of noise, neighbours are looked for among the scores of a kernel PCA.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

import kilogram as kg

rng = np.random.default_rng(0)
y = np.arange(600) % 2
stretched = rng.normal(size=(600, 6)) * [30, 20, 10, 1, 1, 1] + np.outer(y, [0, 0, 0, 2, 2, 0])
stretched = stretched @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
noisy, ring = make_circles(600, factor=0.45, noise=0.05, random_state=0)
noisy = np.c_[noisy, 0.25 * rng.normal(size=(600, 30))]

sets = {"stretched": (stretched, y), "circles and noise": (noisy, ring)}
models = {
    "rows": kg.KNeighborsClassifier(5),
    "Mahalanobis": kg.KNeighborsClassifier(5, metric="mahalanobis"),
    "whitened": make_pipeline(kg.PCA(6, whiten=True), kg.KNeighborsClassifier(5)),
    "kernel PCA": make_pipeline(
        kg.KernelPCA(3, kernel=kg.Gaussian(2.5)), kg.KNeighborsClassifier(5)
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
for k, (name, (X, labels)) in enumerate(sets.items()):
    scores = {}
    for title, model in models.items():
        scores[title] = model.fit(X[:300], labels[:300]).score(X[300:], labels[300:])
    print(name, {title: round(score, 3) for title, score in scores.items()})
    axes[0].bar(np.arange(4) + 0.38 * k, scores.values(), width=0.36, label=name)
axes[0].set_xticks(np.arange(4) + 0.19, models, rotation=15)
axes[0].axhline(0.5, color="gray", lw=0.8, ls=":")
axes[0].set(ylabel="accuracy on 300 others", ylim=(0.0, 1.25), yticks=np.linspace(0, 1, 6))
axes[0].set_title("5 neighbours (dotted: chance)")
axes[0].legend(loc="upper center", ncols=2, frameon=False)
axes[1].scatter(*noisy[:, :2].T, c=ring, s=8, cmap="coolwarm")
axes[1].set(title="circles and noise: the first two of 32 columns", aspect="equal")
Z = models["kernel PCA"][0].fit_transform(noisy)
axes[2].scatter(Z[:, 0], Z[:, 1], c=ring, s=8, cmap="coolwarm")
axes[2].set(title="their first two kernel PCA scores")
plt.show()
