"""Lasso and elastic net on correlated, unscaled, wide, tall and sparse features.

Each row fits three strengths of the lasso, one elastic net and one path at the same relative gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.task import Task

FRACTIONS = (0.1, 0.01, 1e-3)  # of the largest alpha
RATIO, ALPHAS, TOL = 0.5, 30, 1e-4
BLOCK = 20  # features with one correlation
MOST_EPOCHS = 100_000


class Design(NamedTuple):
    """Rows, features, correlation within blocks, unscaled features, non-zero coefficients."""

    n: int
    d: int
    correlation: float = 0.5
    unscaled: bool = False
    nonzero: int = 20
    density: float = 1.0


def _features(design: Design, rng: np.random.Generator) -> Any:
    n, d = design.n, design.d
    if design.density < 1:
        return sp.random_array(
            (n, d), density=design.density, rng=rng, format="csc", data_sampler=rng.standard_normal
        )
    common = np.repeat(rng.standard_normal((n, -(-d // BLOCK))), BLOCK, axis=1)[:, :d]
    X = np.sqrt(1 - design.correlation) * rng.standard_normal((n, d))
    return np.asfortranarray(X + np.sqrt(design.correlation) * common)


def _data(design: Design) -> Callable[[], tuple]:
    def make() -> tuple:
        rng = np.random.default_rng(0)
        X, beta = _features(design, rng), np.zeros(design.d)
        beta[rng.choice(design.d, design.nonzero, replace=False)] = rng.standard_normal(
            design.nonzero
        )
        y = X @ beta
        y = y + 0.5 * y.std() * rng.standard_normal(design.n)
        if design.unscaled:
            scale = 10.0 ** rng.uniform(-3, 3, design.d)
            X = sp.csc_array(X * scale) if sp.issparse(X) else np.asfortranarray(X * scale)
        return X, y - y.mean()

    return make


def _fits(data: tuple) -> list[tuple[float, float]]:
    """(alpha, l1_ratio) of the single fits."""
    top = float(np.abs(data[0].T @ data[1]).max()) / len(data[1])
    return [*((fraction * top, 1.0) for fraction in FRACTIONS), (0.02 * top, RATIO)]


def _run(module: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        models = import_module(module)
        limits = {"tol": TOL, "max_iter": MOST_EPOCHS}
        fits = [
            models.ElasticNet(alpha, l1_ratio=ratio, fit_intercept=False, **limits).fit(*data).coef_
            for alpha, ratio in _fits(data)
        ]
        grid = np.geomspace(_fits(data)[0][0], _fits(data)[1][0], ALPHAS)
        return fits, models.lasso_path(*data, alphas=grid, **limits)[:2]

    return run


def _value(found: Any, data: tuple) -> Mapping[str, float]:
    """Objectives of the fits and of the path, relative to that of 0, on average."""
    (X, y), (fits, (alphas, coefs)) = data, found

    def objective(b: Any, alpha: float, ratio: float) -> float:
        penalty = ratio * np.abs(b).sum() + (1 - ratio) / 2 * b @ b
        return float(((y - X @ b) ** 2).mean() / 2 + alpha * penalty)

    single = [objective(b, *fit) for b, fit in zip(fits, _fits(data), strict=True)]
    path = [objective(b, alpha, 1.0) for b, alpha in zip(coefs.T, alphas, strict=True)]
    zero = float((y**2).mean() / 2)
    return {"objectives of fits": float(np.mean(single)) / zero,
            "of the path": float(np.mean(path)) / zero}  # fmt: skip


def _task(name: str, title: str, design: Design) -> Task:
    cells = design.n * design.d * min(design.density, 1.0)
    return Task(
        name=f"lasso_on_{name}",
        title=f"Lasso, elastic net, path: {title}, n = {design.n:,}, d = {design.d:,}",
        make=_data(design),
        run={"kilogram": _run("kilogram"), "scikit-learn": _run("sklearn.linear_model")},
        quality=_value,
        floor=lambda rates: 5 * rates.floor(bytes=8.0 * cells),
        counted="five reads of X",
    )


TASKS = [
    _task("tiny", "blocks of correlation 0.5", Design(442, 10, nonzero=5)),
    _task("few_rows", "blocks of correlation 0.9", Design(60, 400, 0.9)),
    _task("blocks", "blocks of correlation 0.9", Design(500, 2000, 0.9)),
    _task("near_duplicates", "blocks of correlation 0.99", Design(200, 5000, 0.99)),
    _task("dense_truth", "half of the coefficients not 0", Design(500, 2000, nonzero=1000)),
    _task("unscaled", "scales from 1e-3 to 1e3", Design(500, 2000, unscaled=True)),
    _task("tall", "blocks of correlation 0.9", Design(20_000, 200, 0.9)),
    _task("tall_unscaled", "scales from 1e-3 to 1e3", Design(20_000, 200, unscaled=True)),
    _task("sparse_wide", "0.5 % filled", Design(300, 20_000, nonzero=400, density=0.005)),
    _task("sparse_tall", "1 % filled", Design(20_000, 1000, density=0.01)),
    _task("sparse_unscaled", "0.5 % filled, unscaled",
          Design(5000, 5000, unscaled=True, nonzero=100, density=0.005)),
]  # fmt: skip
