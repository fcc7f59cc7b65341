"""Labels spread over a graph, beside scikit-learn's rounds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task


def _clouds(n: int = 20_000, d: int = 10) -> tuple:
    """Five clouds, one label in a hundred."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, n)
    X = rng.standard_normal((n, d)) + 1.2 * rng.standard_normal((5, d))[truth]
    return X, np.where(rng.random(n) < 0.01, truth, -1), truth


def _digits() -> tuple:
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    known = np.random.default_rng(0).random(len(truth)) < 0.05
    return X / 16.0, np.where(known, truth, -1), truth


def _run(module: str, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        return import_module(module).LabelSpreading(**params).fit(data[0], data[1])

    return run


def _right(model: Any, data: tuple) -> dict[str, float]:
    return {"accuracy of all rows": float((model.transduction_ == data[2]).mean())}


def _task(name: str, title: str, make: Any, cells: int, peer: dict, **params: Any) -> Task:
    return Task(
        name=name,
        title=title,
        make=make,
        run={
            "kilogram": _run("kilogram", **params),
            "scikit-learn": _run("sklearn.semi_supervised", **params, **peer),
        },
        quality=_right,
        floor=lambda rates: rates.floor(bytes=8 * cells),
        counted="one read of X",
        repeats=1,
    )


TASKS = [
    _task("spreading", "LabelSpreading, 10 nearest, n = 20,000, d = 10, 1 % labelled", _clouds,
          200_000, {"max_iter": 100}, kernel="knn", n_neighbors=10, alpha=0.9),
    _task("small_spreading", "Digits, 5 % labelled: LabelSpreading, rbf", _digits, 1797 * 64,
          {"max_iter": 100}, kernel="rbf", gamma=1.0, alpha=0.8),
]  # fmt: skip
