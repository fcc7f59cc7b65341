"""Manifolds beside scikit-learn: rolled-up sheets and digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets, manifold
from sklearn.neighbors import NearestNeighbors

from benchmarks.task import Task


def _roll(n: int) -> Callable[[], np.ndarray]:
    return lambda: datasets.make_swiss_roll(n, random_state=0)[0]


def _digits() -> np.ndarray:
    return datasets.load_digits().data


def _fit(owner: str, name: str, params: dict[str, Any]) -> Callable[[Any], Any]:
    def run(X: np.ndarray) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else manifold
        return getattr(module, name)(**params).fit_transform(X)

    return run


def _kept_neighbours(Z: Any, X: np.ndarray) -> dict[str, float]:
    """The fraction of the 10 nearest rows that are still among them, of 300 rows."""
    some = np.linspace(0, len(X) - 1, 300).astype(int)
    near = [
        NearestNeighbors(n_neighbors=11).fit(A).kneighbors(A[some], return_distance=False)[:, 1:]
        for A in (X, np.asarray(Z))
    ]
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(*near, strict=True)]
    return {"neighbours_kept": float(np.mean(shared))}


def _task(name: str, title: str, make: Any, ours: str, theirs: str, **params: Any) -> Task:
    peer = dict(params)
    if theirs == "SpectralEmbedding":
        peer["random_state"] = 0
    return Task(
        name=f"manifold_{name}",
        title=title,
        make=make,
        run={
            "kilogram": _fit("kilogram", ours, params),
            "scikit-learn": _fit("scikit-learn", theirs, peer),
        },
        quality=_kept_neighbours,
        floor=lambda rates: rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X",
        repeats=2,
    )


LLE, ISO = "LocallyLinearEmbedding", "Isomap"
TASKS = [
    _task("lle", "LLE, swiss roll 10 000 x 3, 12 neighbours", _roll(10_000), LLE, LLE,
          n_neighbors=12),
    _task("lle_digits", "LLE, digits 1 797 x 64, 12 neighbours", _digits, LLE, LLE,
          n_neighbors=12),
    _task("eigenmaps", "Laplacian eigenmaps, swiss roll 10 000 x 3, 10 neighbours", _roll(10_000),
          "LaplacianEigenmaps", "SpectralEmbedding", n_neighbors=10),
    _task("isomap", "Isomap, swiss roll 3 000 x 3, 8 neighbours", _roll(3_000), ISO, ISO,
          n_neighbors=8),
    _task("isomap_digits", "Isomap, digits 1 797 x 64, 8 neighbours", _digits, ISO, ISO,
          n_neighbors=8),
    _task("mds", "Classical MDS, 3 000 x 3", _roll(3_000), "ClassicalMDS", "ClassicalMDS"),
]  # fmt: skip
