"""Robust regression beside scikit-learn: Huber's loss and the median, large and small."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task

BATCH = 10  # one timing of small data is this many fits


def _dirty(n: int, d: int) -> Callable[[], tuple]:
    """Rows with normal errors, a tenth of them far off."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d)) + 1.0
        y = X @ np.linspace(-1, 1, d) + rng.standard_normal(n)
        far = rng.random(n) < 0.1
        return X, y + far * (20.0 + 30.0 * rng.standard_normal(n))

    return make


def _digits() -> tuple:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y.astype(float)


def _run(module: str, name: str, times: int = 1, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        make = getattr(import_module(module), name)
        for _ in range(times):
            model = make(**params).fit(*data)
        return model

    return run


def _huber_value(model: Any, data: tuple) -> dict[str, float]:
    X, y = data
    sigma, r = model.scale_, np.abs(y - model.predict(X))
    z = np.minimum(r / sigma, 1.35)
    value = float((sigma + z * (2 * r - z * sigma)).sum() + 1e-4 * model.coef_ @ model.coef_)
    return {"objective per row": value / len(y)}


def _absolute_value(model: Any, data: tuple) -> dict[str, float]:
    return {"mean absolute error": float(np.abs(data[1] - model.predict(data[0])).mean())}


def _task(
    name: str, title: str, make: Any, learner: str, times: int, cells: int, **params: Any
) -> Task:
    ours = {k: v for k, v in params.items() if k != "max_iter"}
    quality = _huber_value if learner == "HuberRegressor" else _absolute_value
    return Task(
        name=name,
        title=title,
        make=make,
        run={
            "kilogram": _run("kilogram", learner, times, **ours),
            "scikit-learn": _run("sklearn.linear_model", learner, times, **params),
        },
        quality=quality,
        floor=lambda rates: times * rates.floor(bytes=8 * cells),
        counted="one read of X, each",
        repeats=1,
    )


TASKS = [
    _task("huber_100000", "HuberRegressor, n = 100,000, d = 20, a tenth far off",
          _dirty(100_000, 20), "HuberRegressor", 1, 2_000_000, max_iter=1000),
    _task("small_huber", f"Digits, {BATCH} fits: HuberRegressor", _digits, "HuberRegressor", BATCH,
          1797 * 64, max_iter=10_000),
    _task("median_10000", "QuantileRegressor, the median, n = 10,000, d = 20, a tenth far off",
          _dirty(10_000, 20), "QuantileRegressor", 1, 200_000, alpha=0.0),
    _task("small_median", "Digits, one fit: QuantileRegressor, the median", _digits,
          "QuantileRegressor", 1, 1797 * 64, alpha=0.0),
]  # fmt: skip
