"""Merge trees, silhouettes and medoids beside scikit-learn, SciPy and the plain formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import cluster, datasets, metrics

from benchmarks.task import Task

N, D, BLOBS = 10_000, 10, 20


def _rows(n: int, d: int) -> Callable[[], Any]:
    def make() -> np.ndarray:
        rng = np.random.default_rng(0)
        centres = 3 * rng.standard_normal((BLOBS, d))
        return centres[rng.integers(0, BLOBS, n)] + rng.standard_normal((n, d))

    return make


def _tree(owner: str, linkage: str, k: int) -> Callable[[Any], Any]:
    def run(X: np.ndarray) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else cluster
        extra = {} if owner == "kilogram" else {"compute_distances": True}
        return module.AgglomerativeClustering(k, linkage=linkage, **extra).fit(X)

    return run


def _heights(model: Any, X: np.ndarray) -> dict[str, float]:
    return {"sum_of_heights": float(np.sum(model.distances_))}


def _agglomerative(linkage: str, n: int, d: int, digits: bool = False) -> Task:
    rows = n * d if linkage in ("single", "ward") else n * n
    return Task(
        name=f"{'small_' if digits else ''}agglomerative_{linkage}",
        title=f"AgglomerativeClustering, {linkage}, n = {n:,}, d = {d}" + (" (digits)" * digits),
        make=(lambda: datasets.load_digits().data) if digits else _rows(n, d),
        run={
            "kilogram": _tree("kilogram", linkage, 10),
            "scikit-learn": _tree("sklearn", linkage, 10),
        },
        quality=_heights,
        floor=lambda rates: rates.floor(flops=1.0 * n * n * d, bytes=8 * rows),
        counted="every distance once",
        repeats=3 if digits else 1,
    )


def _silhouette(n: int, d: int, digits: bool = False) -> Task:
    def make() -> tuple:
        X = datasets.load_digits().data if digits else _rows(n, d)()
        return X, cluster.KMeans(10, n_init=1, random_state=0).fit(X).labels_

    def ours(data: tuple) -> float:
        import kilogram as kg

        return kg.silhouette_score(*data)

    return Task(
        name=f"{'small_' if digits else ''}silhouette",
        title=f"silhouette_score, n = {n:,}, d = {d}, 10 clusters" + (" (digits)" * digits),
        make=make,
        run={"kilogram": ours, "scikit-learn": lambda data: float(metrics.silhouette_score(*data))},
        quality=lambda found, data: {"silhouette": found},
        floor=lambda rates: rates.floor(flops=1.0 * n * n * d, bytes=8 * n * d),
        counted="every distance once",
        repeats=3,
    )


def _medoids() -> Task:
    def fit(method: str) -> Callable[[Any], Any]:
        def run(X: np.ndarray) -> Any:
            import kilogram as kg

            return kg.KMedoids(10, method=method, n_init=1, random_state=0).fit(X).inertia_

        return run

    return Task(
        name="small_kmedoids",
        title="KMedoids, digits, k = 10: swaps, and the texts' alternation",
        make=lambda: datasets.load_digits().data,
        run={"kilogram": fit("fasterpam"), "alternation of the texts": fit("alternate")},
        quality=lambda found, data: {"sum_of_distances": float(found)},
        floor=lambda rates: rates.floor(flops=1.0 * 1797**2 * 64, bytes=8 * 1797**2),
        counted="every distance once",
        repeats=3,
    )


TASKS = [
    _agglomerative("ward", N, D),
    _agglomerative("single", N, D),
    _agglomerative("average", N, D),
    _agglomerative("complete", N, D),
    _agglomerative("ward", 1797, 64, digits=True),
    _agglomerative("average", 1797, 64, digits=True),
    _agglomerative("single", 1797, 64, digits=True),
    _silhouette(N, D),
    _silhouette(1797, 64, digits=True),
    _medoids(),
]
