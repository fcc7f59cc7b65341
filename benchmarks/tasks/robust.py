"""Robust regression beside scikit-learn: Huber, median, Theil-Sen, RANSAC, MCD; trimmed squares."""

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


def _drawn(name: str, title: str, n: int, d: int, learner: str, peer: str, **params: Any) -> Task:
    """A method that draws subsets, beside scikit-learn's of the same name and parameters."""

    def fit(module: str) -> Callable[[tuple], Any]:
        def run(data: tuple) -> Any:
            model = getattr(import_module(module), learner)(random_state=0, **params)
            return model.fit(data[0]) if learner == "MinCovDet" else model.fit(*data)

        return run

    def quality(model: Any, data: tuple) -> dict[str, float]:
        if learner == "MinCovDet":
            return {"log determinant": float(np.linalg.slogdet(model.raw_covariance_)[1])}
        return {"median absolute error": float(np.median(np.abs(data[1] - model.predict(data[0]))))}

    return Task(
        name=name,
        title=title,
        make=_dirty(n, d),
        run={"kilogram": fit("kilogram"), "scikit-learn": fit(peer)},
        quality=quality,
        floor=lambda rates: rates.floor(bytes=8 * n * d),
        counted="one read of X",
        repeats=1,
    )


def _trimmed(n: int, d: int) -> Task:
    """Least trimmed squares; no peer in Python has it."""

    def quality(model: Any, data: tuple) -> dict[str, float]:
        X, y = data
        squares = np.sort((y - X @ model.raw_coef_ - model.raw_intercept_) ** 2)
        return {"mean of the smaller half": float(squares[: (n + d + 2) // 2].mean())}

    return Task(
        name="trimmed_squares",
        title=f"LeastTrimmedSquares, n = {n:,}, d = {d}, a tenth far off",
        make=_dirty(n, d),
        run={"kilogram": _run("kilogram", "LeastTrimmedSquares", random_state=0)},
        quality=quality,
        floor=lambda rates: rates.floor(bytes=8 * n * d),
        counted="one read of X",
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
    _task("huber_200000", "HuberRegressor, n = 200,000, d = 100, a tenth far off",
          _dirty(200_000, 100), "HuberRegressor", 1, 20_000_000, max_iter=1000),
    _drawn("theil_sen", "TheilSenRegressor, n = 1,000, d = 5", 1000, 5, "TheilSenRegressor",
           "sklearn.linear_model"),
    _drawn("ransac", "RANSACRegressor, n = 10,000, d = 10, 1,000 trials", 10_000, 10,
           "RANSACRegressor", "sklearn.linear_model", max_trials=1000, stop_probability=1.0),
    _drawn("min_cov_det", "MinCovDet, n = 1,000, d = 10", 1000, 10, "MinCovDet",
           "sklearn.covariance"),
    _drawn("min_cov_det_20000", "MinCovDet, n = 20,000, d = 10", 20_000, 10, "MinCovDet",
           "sklearn.covariance"),
    _trimmed(20_000, 10),
]  # fmt: skip
