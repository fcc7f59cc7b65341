"""Lasso and elastic net beside scikit-learn and its extension: paths, one fit, small data."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task

BATCH = 10  # one timing of small data is this many fits


def sparse_truth(n: int, d: int, nonzero: int) -> Callable[[], tuple]:
    """Correlated neighbouring columns, `nonzero` of which decide; X and y centred."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d))
        X[:, 1:] += 0.5 * X[:, :-1]
        beta = np.zeros(d)
        beta[rng.choice(d, nonzero, replace=False)] = rng.standard_normal(nonzero)
        y = X @ beta
        y += 0.5 * y.std() * rng.standard_normal(n)
        return np.asfortranarray(X - X.mean(axis=0)), y - y.mean()

    return make


def _diabetes() -> tuple:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y - y.mean()


def _path(module: str, alphas: int) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        X, y = data
        top = np.abs(X.T @ y).max() / len(y)
        grid = np.geomspace(top, 1e-2 * top, alphas)
        path = import_module(module).lasso_path
        return path(X, y, alphas=grid, tol=1e-4, max_iter=10_000)[:2]

    return run


def _fit(module: str, name: str, times: int = 1, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        make = getattr(import_module(module), name)
        for _ in range(times):
            model = make(**params).fit(*data)
        return model

    return run


def _path_value(found: Any, data: tuple) -> dict[str, float]:
    """The mean objective along the path: equal grids, so the lower the better."""
    X, y = data
    alphas, coefs = found
    loss = ((y[:, None] - X @ coefs) ** 2).mean(axis=0) / 2
    return {"mean objective": float((loss + alphas * np.abs(coefs).sum(axis=0)).mean())}


def _fit_value(model: Any, data: tuple) -> dict[str, float]:
    X, y = data
    alpha = getattr(model, "alpha_", None) or model.alpha
    loss = float(np.mean((y - model.predict(X)) ** 2)) / 2
    ratio = getattr(model, "l1_ratio", 1.0)
    l1, l2 = np.abs(model.coef_).sum(), model.coef_ @ model.coef_
    return {"objective": loss + alpha * float(ratio * l1 + (1 - ratio) / 2 * l2)}


def _two_classes(n: int, d: int, nonzero: int) -> Callable[[], tuple]:
    """The features of `sparse_truth`, and classes by the sign of their targets."""

    def make() -> tuple:
        X, y = sparse_truth(n, d, nonzero)()
        return X, (y > 0).astype(int)

    return make


LOGISTIC_ALPHAS = 30


def _logistic_grid(X: Any, y: Any) -> Any:
    top = np.abs(X.T @ (y - 0.5)).max() / len(y)
    return np.geomspace(top, 0.05 * top, LOGISTIC_ALPHAS)


def _logistic_path(data: tuple) -> Any:
    from kilogram import penalized_path

    X, y = data
    grid = _logistic_grid(X, y)
    path = penalized_path(X, y, loss="logistic", alphas=grid, fit_intercept=False)
    return grid, path.coefs


def _celer_logistic_path(data: tuple) -> Any:
    X, y = data
    grid = _logistic_grid(X, y)
    path = import_module("celer").celer_path
    return grid, path(X, 2.0 * y - 1, "logreg", alphas=grid * len(y), tol=1e-4)[1]


def _skglm_logistic_path(data: tuple) -> Any:
    X, y = data
    grid, coefs = _logistic_grid(X, y), []
    make = import_module("skglm").SparseLogisticRegression
    model = make(tol=1e-4, fit_intercept=False, warm_start=True)
    for alpha in grid:
        model.alpha = alpha
        coefs.append(model.fit(X, y).coef_.ravel().copy())
    return grid, np.stack(coefs, axis=1)


def _liblinear_path(data: tuple) -> Any:
    from sklearn.linear_model import LogisticRegression

    X, y = data
    grid, coefs = _logistic_grid(X, y), []
    for alpha in grid:
        C = 1 / (len(y) * alpha)
        model = LogisticRegression(C=C, l1_ratio=1, solver="liblinear", fit_intercept=False)
        coefs.append(model.fit(X, y).coef_.ravel())
    return grid, np.stack(coefs, axis=1)


def _logistic_value(found: Any, data: tuple) -> dict[str, float]:
    X, y = data
    alphas, coefs = found
    loss = np.logaddexp(0, -(2 * y[:, None] - 1) * (X @ coefs)).mean(axis=0)
    return {"mean objective": float((loss + alphas * np.abs(coefs).sum(axis=0)).mean())}


def _logistic_paths(name: str, n: int, d: int, nonzero: int) -> Task:
    return Task(
        name=name,
        title=f"L1 logistic path, {LOGISTIC_ALPHAS} alphas, n = {n:,}, d = {d:,}, tol = 1e-4",
        make=_two_classes(n, d, nonzero),
        run={
            "kilogram": _logistic_path,
            "celer": _celer_logistic_path,
            "skglm": _skglm_logistic_path,
            "scikit-learn": _liblinear_path,
        },
        quality=_logistic_value,
        floor=lambda rates: rates.floor(bytes=8.0 * n * d),
        counted="one read of X",
        repeats=2,
        needs={"celer": "celer", "skglm": "skglm"},
    )


def _paths(name: str, n: int, d: int, nonzero: int, alphas: int) -> Task:
    return Task(
        name=name,
        title=f"lasso_path, {alphas} alphas, n = {n:,}, d = {d:,}, tol = 1e-4",
        make=sparse_truth(n, d, nonzero),
        run={
            "kilogram": _path("kilogram", alphas),
            "scikit-learn": _path("sklearn.linear_model", alphas),
        },
        quality=_path_value,
        floor=lambda rates: rates.floor(bytes=8.0 * n * d),
        counted="one read of X",
        repeats=1,
        long=True,
    )


def _single(
    name: str, title: str, make: Any, learner: str, times: int, cells: int, **params: Any
) -> Task:
    large = cells > 10_000_000
    return Task(
        name=name,
        title=title,
        make=make,
        run={
            "kilogram": _fit("kilogram", learner, times, **params),
            "scikit-learn": _fit("sklearn.linear_model", learner, times, **params),
        },
        quality=_fit_value,
        floor=lambda rates: times * rates.floor(bytes=8.0 * cells),
        counted="one read of X, each",
        repeats=1 if large else 7,
        long=large,
    )


TASKS = [
    _paths("lasso_path_wide", 2_000, 20_000, 100, 100),
    _paths("lasso_path_tall", 1_000_000, 100, 20, 100),
    _logistic_paths("logistic_path_wide", 1_000, 3_000, 30),
    _logistic_paths("logistic_path_tall", 20_000, 200, 30),
    _single("lasso_tall", "Lasso, n = 1,000,000, d = 100", sparse_truth(1_000_000, 100, 20),
            "Lasso", 1, 100_000_000, alpha=0.05, tol=1e-6),
    _single("small_lasso", f"Diabetes, {BATCH} fits: Lasso", _diabetes, "Lasso", BATCH, 4420,
            alpha=0.1, tol=1e-6),
    _single("small_elastic_net", f"Diabetes, {BATCH} fits: ElasticNet", _diabetes, "ElasticNet",
            BATCH, 4420, alpha=0.01, tol=1e-6),
]  # fmt: skip
