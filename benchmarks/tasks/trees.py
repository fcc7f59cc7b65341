"""Trees and forests beside scikit-learn's: the same trees, large and small."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task, jobs

N, D = 100_000, 20
BATCH = 10  # one timing of small trees is this many fits


def _smooth() -> tuple:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N + 5000, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(N + 5000)
    return X[:N], y[:N], X[N:], y[N:]


def _classes() -> tuple:
    X, y, new, target = _smooth()
    return X, np.digitize(y, [0.0, 1.0]), new, np.digitize(target, [0.0, 1.0])


def _interaction(n: int) -> Callable[[], tuple]:
    """28 normal features, of which five matter: a product, a sine, a square and a line."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n + 50_000, 28))
        z = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 - 1 + 0.5 * X[:, 4]
        y = (z + rng.standard_normal(len(X)) > 0).astype(int)
        return X[:n], y[:n], X[n:], y[n:]

    return make


def _fit(module: str, name: str, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        return getattr(import_module(module), name)(random_state=0, **params).fit(*data[:2])

    return run


def _large_forest() -> Task:
    n = 100_000
    name = "RandomForestClassifier"
    return Task(
        name="forest_100_trees",
        title=f"RandomForestClassifier, 100 trees, n = {n:,}, d = 28",
        make=_interaction(n),
        run={
            "kilogram": _fit("kilogram", name, n_jobs=jobs()),
            "scikit-learn": _fit("sklearn.ensemble", name, n_jobs=jobs()),
            "scikit-learn-intelex": _fit("sklearnex.ensemble", name, n_jobs=jobs()),
        },
        quality=_score,
        floor=lambda rates: rates.floor(bytes=8 * n * 28),
        counted="one read of X",
        repeats=1,
        needs={"scikit-learn-intelex": "sklearnex"},
        long=True,
    )


def _large_tree() -> Task:
    n = 200_000
    name = "DecisionTreeClassifier"
    one = {"bootstrap": False, "max_features": None, "n_estimators": 1, "n_jobs": jobs()}
    return Task(
        name="tree_200000",
        title=f"DecisionTreeClassifier, grown out, n = {n:,}, d = 28",
        make=_interaction(n),
        run={
            "kilogram": _fit("kilogram", name),
            "scikit-learn": _fit("sklearn.tree", name),
            "snapml": _fit("snapml", name, n_jobs=jobs()),
            "scikit-learn-intelex, one tree": _fit(
                "sklearnex.ensemble", "RandomForestClassifier", **one
            ),
        },
        quality=_score,
        floor=lambda rates: rates.floor(bytes=8 * n * 28),
        counted="one read of X",
        repeats=1,
        needs={"snapml": "snapml", "scikit-learn-intelex, one tree": "sklearnex"},
        long=True,
    )


def _digits() -> tuple:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def _run(name: str, times: int = 1, **params: Any) -> dict[str, Callable[[tuple], Any]]:
    """Ours and the peer's, on the same number of threads where a forest takes some."""

    def of(module: str, more: dict[str, Any]) -> Callable[[tuple], Any]:
        def run(data: tuple) -> Any:
            make = getattr(import_module(module), name)
            for _ in range(times):
                model = make(random_state=0, **params, **more).fit(data[0], data[1])
            return model

        return run

    forest = name.startswith("RandomForest")
    peer = "sklearn.ensemble" if forest else "sklearn.tree"
    threads = {"n_jobs": jobs()} if forest else {}
    return {"kilogram": of("kilogram", threads), "scikit-learn": of(peer, threads)}


def _score(model: Any, data: tuple) -> dict[str, float]:
    return {"score on other rows": float(model.score(data[2], data[3]))}


def _task(name: str, title: str, make: Any, learner: str, cells: int, **params: Any) -> Task:
    return Task(
        name=name,
        title=title,
        make=make,
        run=_run(learner, **params),
        quality=_score,
        floor=lambda rates: rates.floor(bytes=8 * cells),
        counted="one read of X",
        repeats=1,
    )


TASKS = [
    _large_forest(),
    _large_tree(),
    _task("tree_regression", f"DecisionTreeRegressor, grown out, n = {N:,}, d = {D}", _smooth,
          "DecisionTreeRegressor", N * D),
    _task("tree_classification", f"DecisionTreeClassifier, grown out, 3 classes, {N:,} x {D}",
          _classes, "DecisionTreeClassifier", N * D),
    _task("forest_regression", f"RandomForestRegressor, 10 trees, a third of d = {D}, n = {N:,}",
          _smooth, "RandomForestRegressor", N * D, n_estimators=10, max_features=0.33),
    _task("forest_classification", f"RandomForestClassifier, 20 trees, n = {N:,}, d = {D}, "
          "3 classes", _classes, "RandomForestClassifier", N * D, n_estimators=20),
    _task("small_tree", f"Digits, {BATCH} fits: DecisionTreeClassifier", _digits,
          "DecisionTreeClassifier", 899 * 64 * BATCH, times=BATCH),
    _task("small_forest", "Digits, one fit: RandomForestClassifier, 100 trees", _digits,
          "RandomForestClassifier", 899 * 64),
]  # fmt: skip
