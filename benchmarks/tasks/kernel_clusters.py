"""Kernel k-means beside the plain way: the whole matrix in float64, the trace form in NumPy.

No maintained package clusters rows by a kernel's k-means; the peer is what one writes oneself with
scikit-learn's kernel matrix. Both begin with the same labels and stop when none changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.task import Task

K, D, GAMMA = 8, 10, 0.02


def _make(n: int) -> tuple:
    X, truth = datasets.make_blobs(
        n, n_features=D, centers=K, cluster_std=3.0, center_box=(-6, 6), random_state=0
    )
    return X, truth, np.random.default_rng(0).integers(K, size=n)


def _ours(data: tuple) -> tuple[Any, float]:
    import kilogram as kg

    X, _, start = data
    model = kg.KernelKMeans(K, gamma=GAMMA, init=start, n_init=1).fit(X)
    return model.labels_, float(model.inertia_)


def _plain(data: tuple) -> tuple[Any, float]:
    X, _, labels = data
    matrix, distances = rbf_kernel(X, gamma=GAMMA), None
    while True:
        members = np.eye(K)[labels] / np.bincount(labels, minlength=K)
        products = matrix @ members
        distances = 1.0 - 2.0 * products + np.einsum("ij,ij->j", members, products)
        found = distances.argmin(axis=1)
        if (found == labels).all():
            return labels, float(distances[np.arange(len(labels)), labels].sum())
        labels = found


def _quality(result: tuple, data: tuple) -> dict[str, float]:
    labels, inertia = result
    return {"inertia": inertia, "ari": float(adjusted_rand_score(data[1], labels))}


def _task(n: int, repeats: int) -> Task:
    return Task(
        name=f"kernel_kmeans_{n}",
        title=f"KernelKMeans, Gaussian, exact, n = {n:,}, d = {D}, k = {K}, same first labels",
        make=lambda: _make(n),
        run={"kilogram": _ours, "numpy": _plain},
        quality=_quality,
        floor=lambda rates: rates.floor(flops=1.0 * n * n * D),
        counted="the products between all pairs of rows, once",
        repeats=repeats,
    )


TASKS = [_task(2_000, 5), _task(20_000, 1)]
