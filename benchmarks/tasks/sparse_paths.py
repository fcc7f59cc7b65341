"""Paths of other penalties than the lasso's, groups of columns, and sparse features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task
from benchmarks.tasks.factors import word_counts
from benchmarks.tasks.sparse import sparse_truth

RATIO, GAMMA, SIZE = 0.5, 3.0, 5  # of the elastic net, of MCP, of a group
SMALLEST = 0.05  # of the largest alpha of a path
TOL = 1e-4
NEEDS = {"celer": "celer", "skglm": "skglm", "adelie": "adelie"}

Run = Callable[[tuple], Any]


def _grid(data: tuple, ratio: float, count: int) -> Any:
    X, y = data
    top = np.abs(X.T @ y).max() / len(y) / ratio
    return np.geomspace(top, SMALLEST * top, count)


def _net_path(module: str, count: int) -> Run:
    def run(data: tuple) -> Any:
        grid = _grid(data, RATIO, count)
        path = import_module(module).enet_path
        return path(*data, l1_ratio=RATIO, alphas=grid, tol=TOL, max_iter=10_000)[:2]

    return run


def _celer_net_path(count: int) -> Run:
    def run(data: tuple) -> Any:
        grid = _grid(data, RATIO, count)
        path = import_module("celer").celer_path
        return grid, path(*data, "lasso", alphas=grid, l1_ratio=RATIO, tol=TOL)[1]

    return run


def _adelie_net_path(count: int) -> Run:
    def run(data: tuple) -> Any:
        grid, adelie = _grid(data, RATIO, count), import_module("adelie")
        loss = import_module("adelie.glm").gaussian(data[1])
        found = adelie.grpnet(
            data[0], loss, alpha=RATIO, lmda_path=grid, intercept=False, early_exit=False,
            tol=1e-9, progress_bar=False,
        )  # fmt: skip
        return grid, found.betas.toarray().T

    return run


def _warm_path(name: str, ratio: float, count: int, **params: Any) -> Run:
    """A model of skglm, fitted at one alpha after the other."""

    def run(data: tuple) -> Any:
        grid, coefs = _grid(data, ratio, count), []
        make = getattr(import_module("skglm"), name)
        model = make(tol=TOL, fit_intercept=False, warm_start=True, **params)
        for alpha in grid:
            model.alpha = alpha
            coefs.append(model.fit(*data).coef_.copy())
        return grid, np.stack(coefs, axis=1)

    return run


def _mcp_path(count: int) -> Run:
    def run(data: tuple) -> Any:
        from kilogram import penalized_path

        grid = _grid(data, 1.0, count)
        path = penalized_path(
            *data, penalty="mcp", gamma=GAMMA, alphas=grid, tol=TOL, fit_intercept=False
        )
        return grid, path.coefs

    return run


def _loss(data: tuple, coefs: Any) -> Any:
    X, y = data
    return ((y[:, None] - X @ coefs) ** 2).mean(axis=0) / 2


def _net_value(found: Any, data: tuple) -> Mapping[str, float]:
    alphas, coefs = found
    penalty = RATIO * np.abs(coefs).sum(axis=0) + (1 - RATIO) / 2 * (coefs**2).sum(axis=0)
    return {"mean objective": float((_loss(data, coefs) + alphas * penalty).mean())}


def _mcp_value(found: Any, data: tuple) -> Mapping[str, float]:
    alphas, coefs = found
    size = np.minimum(np.abs(coefs), GAMMA * alphas)
    penalty = (alphas * size - size**2 / (2 * GAMMA)).sum(axis=0)
    return {"mean objective": float((_loss(data, coefs) + penalty).mean())}


def _group_fit(module: str, **params: Any) -> Run:
    """At a tenth of the alpha at which all groups are 0; the norms of all groups count alike."""

    def run(data: tuple) -> Any:
        X, y = data
        make = import_module(module).GroupLasso
        model = make(groups=SIZE, alpha=_group_alpha(data), tol=TOL, fit_intercept=False, **params)
        return model.fit(X, y)

    return run


def _group_alpha(data: tuple) -> float:
    X, y = data
    C = (X.T @ y).reshape(-1, SIZE) / len(y)
    return 0.1 * float(np.linalg.norm(C, axis=1).max())


def _group_value(model: Any, data: tuple) -> Mapping[str, float]:
    coef = np.ravel(model.coef_)
    penalty = np.linalg.norm(coef.reshape(-1, SIZE), axis=1).sum()
    loss = float(_loss(data, coef[:, None])[0])
    return {"objective": loss + _group_alpha(data) * float(penalty)}


def _words() -> tuple:
    """Sparse features, and a target that few of them decide."""
    X = word_counts()
    rng = np.random.default_rng(0)
    beta = np.zeros(X.shape[1])
    often = np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel())[:500]
    beta[rng.choice(often, 50, replace=False)] = rng.standard_normal(50)
    y = X @ beta
    y = y + 0.5 * y.std() * rng.standard_normal(len(y))
    return X.tocsc(), y - y.mean()


def _word_fit(module: str, **params: Any) -> Run:
    def run(data: tuple) -> Any:
        alpha = 0.05 * float(np.abs(data[0].T @ data[1]).max()) / len(data[1])
        model = import_module(module).Lasso(alpha, tol=TOL, fit_intercept=False, **params)
        return model.fit(*data)

    return run


def _word_value(model: Any, data: tuple) -> Mapping[str, float]:
    X, y = data
    coef = np.ravel(model.coef_)
    value = float(np.mean((y - X @ coef) ** 2)) / 2 + model.alpha * float(np.abs(coef).sum())
    return {"objective": value}


def net_path(name: str, n: int, d: int, nonzero: int, count: int) -> Task:
    return Task(
        name=name,
        title=f"enet_path, l1_ratio = {RATIO}, {count} alphas, n = {n:,}, d = {d:,}",
        make=sparse_truth(n, d, nonzero),
        run={
            "kilogram": _net_path("kilogram", count),
            "skglm": _warm_path("ElasticNet", RATIO, count, l1_ratio=RATIO),
            "celer": _celer_net_path(count),
            "adelie": _adelie_net_path(count),
            "scikit-learn": _net_path("sklearn.linear_model", count),
        },
        quality=_net_value,
        floor=lambda rates: rates.floor(bytes=8.0 * n * d),
        counted="one read of X",
        repeats=3,  # the first fit of some peers compiles
        needs=NEEDS,
    )


def mcp_path(name: str, n: int, d: int, nonzero: int, count: int) -> Task:
    return Task(
        name=name,
        title=f"MCP path, gamma = {GAMMA:g}, {count} alphas, n = {n:,}, d = {d:,}",
        make=sparse_truth(n, d, nonzero),
        run={
            "kilogram": _mcp_path(count),
            "skglm": _warm_path("MCPRegression", 1.0, count, gamma=GAMMA),
        },
        quality=_mcp_value,
        floor=lambda rates: rates.floor(bytes=8.0 * n * d),
        counted="one read of X",
        repeats=3,  # the first fit of some peers compiles
        needs=NEEDS,
    )


def group_fit(name: str, n: int, d: int, nonzero: int) -> Task:
    return Task(
        name=name,
        title=f"GroupLasso, groups of {SIZE}, a tenth of the largest alpha, n = {n:,}, d = {d:,}",
        make=sparse_truth(n, d, nonzero),
        run={
            "kilogram": _group_fit("kilogram", weights=np.ones(d // SIZE)),
            "celer": _group_fit("celer"),
        },
        quality=_group_value,
        floor=lambda rates: rates.floor(bytes=8.0 * n * d),
        counted="one read of X",
        needs=NEEDS,
    )


TASKS = [
    net_path("elastic_net_path", 1_000, 5_000, 50, 50),
    mcp_path("mcp_path", 1_000, 5_000, 50, 30),
    group_fit("group_lasso", 1_000, 5_000, 50),
    Task(
        name="lasso_words",
        title="Lasso, tf-idf of 20 newsgroups (without them: counts of Zipf's law)",
        make=_words,
        run={
            "kilogram": _word_fit("kilogram"),
            "skglm": _word_fit("skglm"),
            "celer": _word_fit("celer"),
            "scikit-learn": _word_fit("sklearn.linear_model", max_iter=10_000),
        },
        quality=_word_value,
        floor=lambda rates: rates.floor(bytes=12.0 * 640_000),
        counted="one read of the entries of Zipf's law",
        needs=NEEDS,
    ),
]
