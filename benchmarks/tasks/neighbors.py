"""Nearest neighbours beside scikit-learn, its extension and faiss: search, and a vote."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task, jobs

BATCH = 10  # one timing of small data is this many fits and predictions
NEEDS = {"scikit-learn-intelex": "sklearnex", "faiss": "faiss"}


def _rows(n: int, m: int, d: int, dtype: str) -> Callable[[], tuple]:
    """n rows in 100 overlapping clusters and m queries of the same distribution."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        centres = rng.standard_normal((100, d))
        X = centres[rng.integers(0, 100, n + m)] + rng.standard_normal((n + m, d))
        return X[:n].astype(dtype), X[n:].astype(dtype)

    return make


def _search(module: str, k: int, algorithm: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        make = import_module(module).NearestNeighbors
        threads = {} if module == "kilogram" else {"n_jobs": jobs()}
        model = make(n_neighbors=k, algorithm=algorithm, **threads).fit(data[0])
        return model.kneighbors(data[1])

    return run


def _faiss(k: int) -> Callable[[tuple], Any]:
    """Exact search; faiss has float32 only."""

    def run(data: tuple) -> Any:
        import faiss

        X, new = (np.ascontiguousarray(a, np.float32) for a in data)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        squares, places = index.search(new, k)
        return np.sqrt(np.maximum(squares, 0.0)), places

    return run


def _distances(found: Any, data: tuple) -> dict[str, float]:
    """Mean distance of the rows found, recomputed in float64 for 1 000 queries."""
    X, new = data
    places = np.asarray(found[1])[:1000]
    gaps = new[: len(places), None].astype(np.float64) - X[places]
    return {"mean distance": float(np.sqrt((gaps**2).sum(axis=2)).mean())}


def _brute(dtype: str) -> Task:
    n, m, d, k = 200_000, 20_000, 64, 10
    run = {
        "kilogram": _search("kilogram", k, "brute"),
        "scikit-learn": _search("sklearn.neighbors", k, "brute"),
        "scikit-learn-intelex": _search("sklearnex.neighbors", k, "brute"),
    }
    if dtype == "f4":
        run["faiss"] = _faiss(k)
    return Task(
        name=f"neighbors_brute_{'float32' if dtype == 'f4' else 'float64'}",
        title=f"NearestNeighbors, brute force, {m:,} queries of {n:,} rows, d = {d}, k = {k}, "
        f"{'float32' if dtype == 'f4' else 'float64'}",
        make=_rows(n, m, d, dtype),
        run=run,
        quality=_distances,
        floor=lambda rates: rates.floor(flops=2.0 * n * m * d, dtype=dtype),
        counted="the inner products of all pairs",
        repeats=1,
        needs=NEEDS,
        long=True,
    )


def _tree(n: int = 1_000_000, d: int = 3, k: int = 10) -> Task:
    m = 100_000
    return Task(
        name="neighbors_kd_tree",
        title=f"NearestNeighbors, k-d tree, {m:,} queries of {n:,} rows, d = {d}, k = {k}",
        make=_rows(n, m, d, "f8"),
        run={
            "kilogram": _search("kilogram", k, "kd_tree"),
            "scikit-learn": _search("sklearn.neighbors", k, "kd_tree"),
            "scikit-learn-intelex": _search("sklearnex.neighbors", k, "kd_tree"),
        },
        quality=_distances,
        floor=lambda rates: rates.floor(bytes=8.0 * d * (n + m)),
        counted="one read of rows and queries",
        repeats=1,
        needs=NEEDS,
        long=True,
    )


def _digits() -> tuple:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def _vote(module: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        make = import_module(module).KNeighborsClassifier
        X, y = data
        for _ in range(BATCH):
            predicted = make(n_neighbors=5).fit(X[::2], y[::2]).predict(X[1::2])
        return predicted

    return run


def _accuracy(predicted: Any, data: tuple) -> dict[str, float]:
    return {"accuracy": float(np.mean(predicted == data[1][1::2]))}


def _hashed() -> Task:
    n, m, d, k = 100_000, 2_000, 512, 10

    def run(data: tuple) -> Any:
        model = import_module("kilogram").LSHNeighbors(n_neighbors=k, random_state=0)
        return model.fit(data[0]).kneighbors(data[1])

    return Task(
        name="neighbors_hashed",
        title=f"LSHNeighbors beside exact search, {m:,} queries of {n:,} rows, d = {d}, k = {k}",
        make=_rows(n, m, d, "f4"),
        run={
            "kilogram": run,
            "kilogram, exact": _search("kilogram", k, "brute"),
            "scikit-learn": _search("sklearn.neighbors", k, "brute"),
        },
        quality=_distances,
        floor=lambda rates: rates.floor(flops=2.0 * m * d * 0.005 * n, dtype="f4"),
        counted="the distances of the candidates",
        repeats=1,
        long=True,
    )


TASKS = [
    _brute("f4"),
    _brute("f8"),
    _tree(),
    _hashed(),
    Task(
        name="small_neighbors",
        title=f"Digits, {BATCH} fits and predictions: KNeighborsClassifier, k = 5",
        make=_digits,
        run={
            "kilogram": _vote("kilogram"),
            "scikit-learn": _vote("sklearn.neighbors"),
            "scikit-learn-intelex": _vote("sklearnex.neighbors"),
        },
        quality=_accuracy,
        floor=lambda rates: BATCH * rates.floor(flops=2.0 * 899 * 898 * 64),
        counted="the inner products of all pairs, each",
        repeats=7,
        needs=NEEDS,
    ),
]
