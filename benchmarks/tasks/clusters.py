"""K-means beside scikit-learn, its extension and faiss: the same start, the same steps."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import cluster, datasets

from benchmarks.task import Task

N, D, BLOBS = 200_000, 50, 100
BATCH = 10  # one timing of small data is this many fits
SEEDS = 6  # of starts at random: one alone is a draw


def _rows(k: int, dtype: str, apart: float = 1.0) -> Callable[[], tuple]:
    """Overlapping blobs (apart = 1) or separate ones (3), and k rows to begin with."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        centres = apart * rng.standard_normal((BLOBS, D))
        X = centres[rng.integers(0, BLOBS, N)] + rng.standard_normal((N, D))
        return X.astype(dtype), X[rng.choice(N, k, replace=False)].astype(dtype)

    return make


def _module(owner: str) -> Any:
    """Where a contestant's `KMeans` is."""
    import kilogram as kg

    if owner == "sklearnex":
        from sklearnex import cluster as extension

        return extension
    return kg if owner == "kilogram" else cluster


def _fit(module: Any, steps: int) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import warnings

        X, start = data
        owner = _module(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # max_iter is too small on purpose
            model = owner.KMeans(len(start), init=start, n_init=1, max_iter=steps, tol=0.0)
            return model.fit(X).cluster_centers_

    return run


def _faiss(steps: int) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import faiss

        X, start = (np.ascontiguousarray(a, np.float32) for a in data)
        model = faiss.Kmeans(
            X.shape[1], len(start), niter=steps, max_points_per_centroid=len(X), nredo=1
        )
        model.train(X, init_centroids=start)
        return model.centroids

    return run


def _inertia(centres: Any, data: tuple) -> dict[str, float]:
    X, C = data[0].astype(np.float64), np.asarray(centres, dtype=np.float64)
    total = 0.0
    for i in range(0, len(X), 20_000):
        B = X[i : i + 20_000]
        D2 = (B * B).sum(1)[:, None] - 2 * B @ C.T + (C * C).sum(1)
        total += float(D2.min(axis=1).sum())
    return {"inertia": total}


def _large(k: int, steps: int, dtype: str, apart: float = 1.0) -> Task:
    size = 4 if dtype == "float32" else 8
    speed = 2 if dtype == "float32" else 1  # flops are counted in float64
    peers = {"scikit-learn": _fit("sklearn", steps), "sklearnex": _fit("sklearnex", steps)}
    if dtype == "float32" and steps < 100:  # faiss takes all steps, converged or not
        peers["faiss"] = _faiss(steps)
    blobs = "overlapping" if apart == 1.0 else "separate"
    kind = "_end" if steps > 99 else "" if apart == 1.0 else "_separate"
    return Task(
        name=f"kmeans_{k}_{dtype}" + kind,
        title=f"KMeans, n = {N:,}, d = {D}, k = {k}, {steps} steps, {dtype}, {blobs} blobs",
        make=_rows(k, dtype, apart),
        run={"kilogram": _fit("kilogram", steps), **peers},
        quality=_inertia,
        floor=lambda rates: steps * rates.floor(flops=2.0 * N * D * k / speed, bytes=size * N * D),
        counted="the products with the centres, or one read of X, each step",
        needs={"sklearnex": "sklearnex", "faiss": "faiss"},
        repeats=4,
    )


def _images(k: int) -> Callable[[], tuple]:
    """MNIST where it is at hand, else rows of its shape near a plane; and k rows to begin with."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        path = Path(os.environ.get("KILOGRAM_DATA", ".")) / "mnist" / "train-images-idx3-ubyte.gz"
        if path.exists():
            pixels = np.frombuffer(gzip.decompress(path.read_bytes())[16:], np.uint8)
            X = (pixels.reshape(-1, 784) / 255).astype(np.float32)
        else:
            z = rng.standard_normal((60_000, 30)) @ rng.standard_normal((30, 784)) / 30
            X = (z + 0.1 * rng.standard_normal(z.shape)).astype(np.float32)
        return X, X[rng.choice(len(X), k, replace=False)]

    return make


def _mnist(k: int, steps: int) -> Task:
    flops = 2.0 * 60_000 * 784 * k / 2
    return Task(
        name=f"kmeans_mnist_{k}",
        title=f"KMeans, MNIST, 60 000 x 784, k = {k}, {steps} steps, float32",
        make=_images(k),
        run={
            "kilogram": _fit("kilogram", steps),
            "scikit-learn": _fit("sklearn", steps),
            "sklearnex": _fit("sklearnex", steps),
            "faiss": _faiss(steps),
        },
        quality=_inertia,
        floor=lambda rates: steps * rates.floor(flops=flops, bytes=4 * 60_000 * 784),
        counted="the products with the centres, or one read of X, each step",
        needs={"sklearnex": "sklearnex", "faiss": "faiss"},
        repeats=4,
    )


def _sets() -> list[tuple[np.ndarray, int]]:
    """Labelled sets of the plane where they are at hand, else blobs; and how many clusters."""
    folder = Path(os.environ.get("KILOGRAM_DATA", ".")) / "clustering"
    found = []
    for path in sorted(folder.glob("*.npz")):
        file = np.load(path, allow_pickle=False)
        X = np.asarray(file["X"], dtype=np.float64)
        name = next(n for n in file.files if n.startswith("labels"))
        k = len(np.unique(file[name][file[name] > 0]))
        found.append(((X - X.mean(axis=0)) / X.std(axis=0), k))
    made = [datasets.make_blobs(3000, 2, centers=k, random_state=k)[0] for k in (5, 15, 30)]
    return found or [(X, k) for X, k in zip(made, (5, 15, 30), strict=True)]


def _begun() -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """The sets, and ten starts of each."""
    return [
        (X, [cluster.kmeans_plusplus(X, k, random_state=s)[0] for s in range(10)])
        for X, k in _sets()
    ]


def _own_starts(owner: str, data: list) -> float:
    module = _module(owner)
    inertias = [
        module.KMeans(k, n_init=10, random_state=s).fit(X).inertia_ / len(X)
        for X, k in data
        for s in range(SEEDS)
    ]
    return float(np.sum(inertias)) / SEEDS


def _same_starts(owner: str, data: list) -> float:
    module = _module(owner)
    made = (
        [module.KMeans(len(C), init=C, n_init=1).fit(X).inertia_ for C in starts]
        for X, starts in data
    )
    return float(sum(min(found) / len(X) for found, (X, _) in zip(made, data, strict=True)))


def _on_sets(
    name: str, sets: str, make: Callable[[], list], fits: Callable[[str, list], float], reads: int
) -> Task:
    owners = {"kilogram": "kilogram", "scikit-learn": "sklearn", "sklearnex": "sklearnex"}
    return Task(
        name=name,
        title=f"KMeans, labelled clustering sets, {sets}",
        make=make,
        run={who: partial(fits, owner) for who, owner in owners.items()},
        needs={"sklearnex": "sklearnex"},
        quality=lambda inertia, data: {"sum_of_mean_inertias": inertia},
        floor=lambda rates: rates.floor(bytes=8 * reads * 60_000 * 2),
        counted="one read of every set and start",
        repeats=3,
    )


def _digits(name: str, **params: Any) -> Task:
    def run(owner: str) -> Callable[[Any], Any]:
        def fits(X: np.ndarray) -> Any:
            module = _module(owner)
            found = [module.KMeans(10, random_state=s, **params).fit(X) for s in range(BATCH)]
            return float(np.median([model.inertia_ for model in found]))

        return fits

    return Task(
        name=f"small_{name}",
        title=f"Digits, {BATCH} fits: KMeans, k = 10, {params or 'defaults'}",
        make=lambda: datasets.load_digits().data,
        run={"kilogram": run("kilogram"), "scikit-learn": run("sklearn")},
        quality=lambda inertia, data: {"median_inertia": inertia},
        floor=lambda rates: BATCH * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
        repeats=5,
    )


TASKS = [
    _large(100, 20, "float32"),
    _large(100, 20, "float64"),
    _large(1000, 5, "float32"),
    _large(1000, 5, "float64"),
    _large(1000, 5, "float32", 3.0),
    _large(100, 300, "float32"),  # to convergence, after 59 steps
    _large(100, 300, "float64"),
    _mnist(10, 20),
    _mnist(100, 10),
    _on_sets(
        "kmeans_sets", f"ten starts of its own, {SEEDS} seeds", _sets, _own_starts, 10 * SEEDS
    ),
    _on_sets("kmeans_sets_begun", "a fit from each of the same ten", _begun, _same_starts, 10),
    _digits("kmeans"),
    _digits("kmeans_random", init="random", n_init=10),
]
