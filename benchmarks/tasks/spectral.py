"""Spectral clustering beside scikit-learn: the same affinity, the same number of starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import cluster, datasets
from sklearn.metrics import adjusted_rand_score

from benchmarks.task import Task

BLOBS, D, BATCH = 8, 10, 5


def _blobs(n: int) -> Callable[[], tuple]:
    return lambda: datasets.make_blobs(
        n, n_features=D, centers=BLOBS, cluster_std=2.0, random_state=0
    )


def _moons(n: int) -> Callable[[], tuple]:
    return lambda: datasets.make_moons(n, noise=0.06, random_state=0)


def _fit(owner: str, k: int, batch: int = 1, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else cluster
        found = [
            module.SpectralClustering(k, random_state=s, **params).fit(data[0]).labels_
            for s in range(batch)
        ]
        return np.array(found)

    return run


def _agreement(labels: Any, data: tuple) -> dict[str, float]:
    return {"ari": float(np.mean([adjusted_rand_score(data[1], c) for c in labels]))}


def _task(
    name: str, title: str, make: Any, n: int, k: int, batch: int = 1, long: bool = False, **p: Any
) -> Task:
    return Task(
        name=f"spectral_{name}",
        title=f"SpectralClustering, {title}",
        make=make,
        run={
            "kilogram": _fit("kilogram", k, batch, **p),
            "scikit-learn": _fit("scikit-learn", k, batch, **p),
        },
        quality=_agreement,
        floor=lambda rates: batch * rates.floor(flops=2.0 * n * n * D),
        counted="the products between all rows, once",
        repeats=1 if n > 5000 else 3,
        long=long,
    )


GRAPH = {"affinity": "nearest_neighbors"}
TASKS = [
    _task("graph", "20 000 x 10, 8 blobs, 10 neighbours", _blobs(20_000), 20_000, 8, **GRAPH),
    _task("moons", "20 000 x 2, two moons, 10 neighbours", _moons(20_000), 20_000, 2, **GRAPH),
    _task("rbf", "5 000 x 10, 8 blobs, Gaussian kernel", _blobs(5_000), 5_000, 8, gamma=0.05),
    _task(
        "rbf_large",
        "20 000 x 10, 8 blobs, Gaussian kernel",
        _blobs(20_000),
        20_000,
        8,
        long=True,
        gamma=0.05,
    ),
    _task(
        "digits",
        f"digits, {BATCH} fits, k = 10, 10 neighbours",
        lambda: datasets.load_digits(return_X_y=True),
        1797,
        10,
        BATCH,
        **GRAPH,
    ),
]
