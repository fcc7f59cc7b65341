"""Paths solve several alphas between two reads of the rows; every solution has its certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import kilogram as kg
from kilogram import PenalizedClassifier, PenalizedRegressor, enet_path, penalized_path
from kilogram.base import ConvergenceWarning
from kilogram.models.sparse import problem
from kilogram.models.sparse.problem import from_rows
from kilogram.solvers.coordinate import design_columns
from kilogram.solvers.coordinate.elastic_net import (
    BATCH,
    ElasticNetOptions,
    close_batches,
    elastic_net_path,
)


def correlated(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(p)
    X = rng.normal(size=(n, p))
    X[:, 1:] += 0.7 * X[:, :-1]
    y = X[:, :: max(p // 12, 1)].sum(axis=1) + rng.normal(size=n)
    return X, y - y.mean()


def relative_gap(X, y, b, alpha, ratio):
    """Of the elastic net as a lasso with further rows, recomputed from the coefficients alone."""
    n, p = X.shape
    Z = np.vstack([X, np.sqrt(n * alpha * (1 - ratio)) * np.eye(p)])
    t = np.concatenate([y, np.zeros(p)])
    r, l1 = t - Z @ b, n * alpha * ratio
    dual = min(1.0, l1 / np.abs(Z.T @ r).max()) * r
    value = 0.5 * r @ r + l1 * np.abs(b).sum()
    return (value - (0.5 * t @ t - 0.5 * (t - dual) @ (t - dual))) / (t @ t)


@pytest.mark.parametrize("container", ["C", "F", "float32", "csc", "shifted"])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (40, 40)])
def test_every_solution_has_a_small_gap(container, ratio, shape, monkeypatch):
    X, y = correlated(*shape)
    if container == "shifted":
        monkeypatch.setattr("kilogram.models.sparse.problem.SHIFTED_SIZE", 1)
    given = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "shifted": np.asfortranarray,
        "float32": np.float32,
        "csc": sparse.csc_array,
    }[container](X)
    alphas, coefs, _ = enet_path(given, y, l1_ratio=ratio, n_alphas=30, eps=1e-2, tol=1e-5)
    tolerance = 1e-5 + (1e-5 if container == "float32" else 1e-12)
    for alpha, b in zip(alphas, coefs.T, strict=True):
        assert relative_gap(X, y, b, alpha, ratio) <= tolerance


def test_grids_that_jump_or_rise_are_solved_too():
    X, y = correlated(50, 120)
    top = np.abs(X.T @ y).max() / 50
    design, _ = from_rows(X, y, None, False)
    grid = top * np.array([1.0, 0.01, 0.5, 0.5, 0.49, 2.0, 0.2])
    # the jump to the smallest alpha takes 850 to 1 200 passes, by the rounding of the products
    options = ElasticNetOptions(tol=1e-8, max_iter=10_000)
    points = elastic_net_path(design, [(a, 0.0) for a in grid], options)
    for alpha, point in zip(grid, points, strict=True):
        assert point.converged
        assert relative_gap(X, y, point.coef, alpha, 1.0) <= 1.1e-8


def test_batches_are_close_and_decrease():
    grid = [(a, 0.0) for a in [*np.geomspace(1, 0.1, 50), 5.0, 4.9, 1e-3, 0.0, 0.0]]
    batches = list(close_batches(grid, lambda: BATCH))
    assert [strength for batch in batches for strength in batch] == grid
    for batch in batches:
        values = [l1 for l1, _ in batch]
        assert len(batch) <= BATCH
        assert values == sorted(values, reverse=True)
        assert values[-1] >= 0.6 * values[0]


def test_a_path_reads_the_rows_less_often_than_it_has_alphas():
    X, y = correlated(80, 300)
    design, _ = from_rows(X, y, None, False)
    top = np.abs(X.T @ y).max() / 80
    rounds = []
    elastic_net_path(
        design,
        [(a, 0.0) for a in np.geomspace(top, 0.1 * top, 40)],
        ElasticNetOptions(tol=1e-4),
        tick=lambda number, value: rounds.append(number) is not None,
    )
    assert 5 <= len(rounds) < 40


@pytest.mark.parametrize("penalty", ["l1", "mcp"])
def test_a_limit_of_time_leaves_the_first_solutions(penalty):
    X, y = correlated(40, 90)
    design, _ = from_rows(X, y, None, False)
    grid = [(a, 0.0) for a in np.geomspace(0.5, 0.1, 20)]
    points = elastic_net_path(
        design, grid, ElasticNetOptions(penalty=penalty), tick=lambda *_: True
    )
    assert 1 <= len(points) < 20


@pytest.mark.parametrize("container", ["dense", "csc"])
def test_a_small_alpha_is_reached_from_nothing(container):
    rng = np.random.default_rng(1)
    X = sparse.random_array((80, 600), density=0.1, rng=rng, format="csc")
    y = np.asarray(X[:, :30].sum(axis=1)).ravel() + 0.1 * rng.normal(size=80)
    y -= y.mean()
    Z = X.toarray() - X.mean(axis=0)
    alpha = 0.005 * float(np.abs(Z.T @ y).max()) / len(y)
    rows = X if container == "csc" else np.asfortranarray(X.toarray())
    design, _ = from_rows(rows, y, None, True)
    options = ElasticNetOptions(tol=1e-9, max_iter=100_000)
    (point,) = elastic_net_path(design, [(alpha, 0.0)], options)
    assert point.converged
    assert np.count_nonzero(point.coef) > 30
    assert relative_gap(Z, y, point.coef, alpha, 1.0) < 2e-9


@pytest.mark.parametrize("seed", range(3))
def test_correlated_columns_reach_their_gap_at_a_weak_penalty(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 400))
    for j in range(1, 400):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
    y = X[:, :20] @ rng.normal(size=20) + 0.5 * rng.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = kg.Lasso(1e-4).fit(X, y)
    assert model.dual_gap_ <= 1e-4 * np.var(y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("once", [False, True])
def test_more_columns_than_rows_in_use_equal_their_gram_matrix(dtype, ratio, once, monkeypatch):
    X, y = correlated(40, 300)
    X = np.asfortranarray(X, dtype=dtype)
    top = np.abs(X.T @ y).max() / 40
    strengths = [(a * ratio, a * (1 - ratio)) for a in top * np.array([0.1, 0.02])]
    strengths = strengths[1:] if once else strengths
    design, _ = from_rows(X, y, None, True)
    options = ElasticNetOptions(tol=1e-7 if dtype == np.float64 else 1e-5, max_iter=100_000)
    for limit in (np.inf, 0.0):
        monkeypatch.setattr(design_columns, "WIDE", limit)
        monkeypatch.setattr(design_columns, "WIDE_ONCE", limit)
        points = elastic_net_path(design, strengths, options)
        for (l1, l2), point in zip(strengths, points, strict=True):
            assert point.converged
            Z = np.asarray(X, dtype=float) - X.mean(axis=0, dtype=float)
            gap = relative_gap(Z, y - y.mean(), point.coef, l1 + l2, ratio)
            assert gap < 3 * options.tol


@pytest.mark.parametrize("shape", [(60, 5), (300, 80)])
@pytest.mark.parametrize("positive", [False, True])
def test_paths_of_few_columns_equal_those_without_a_gram_matrix(shape, positive, monkeypatch):
    X, y = correlated(*shape)
    X = X + 3.0  # lasso_path has no intercept
    alphas, found, _ = kg.lasso_path(X, y, n_alphas=20, tol=1e-9, positive=positive)
    monkeypatch.setattr(problem, "MOMENT_COLUMNS", 0)
    grid, plain, _ = kg.lasso_path(X, y, n_alphas=20, tol=1e-9, positive=positive)
    np.testing.assert_allclose(alphas, grid, rtol=1e-10)
    np.testing.assert_allclose(X @ found, X @ plain, atol=1e-3 * np.abs(y).max())


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber"])
@pytest.mark.parametrize("container", ["C", "F", "float32", "csc"])
def test_paths_of_other_losses_equal_single_fits(loss, container):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 150))
    X[:, 1:] += 0.7 * X[:, :-1]
    z = 0.4 * X[:, ::20].sum(axis=1)
    y = {"logistic": z > 0, "poisson": rng.poisson(np.exp(np.clip(z, -2, 2))), "huber": z}[loss]
    given = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "float32": np.float32,
        "csc": sparse.csc_array,
    }[container](X)
    y = np.asarray(y, dtype=float)
    path = penalized_path(given, y, loss=loss, n_alphas=15, eps=0.1, tol=1e-7)
    make = PenalizedClassifier if loss == "logistic" else PenalizedRegressor
    for k in (0, 7, 14):
        single = make(loss, alpha=path.alphas[k], tol=1e-9).fit(given, y)
        assert_allclose(path.coefs[:, k], np.ravel(single.coef_), atol=2e-3)
        assert_allclose(path.intercepts[k], np.ravel(single.intercept_)[0], atol=2e-3)


def test_a_limit_of_time_leaves_the_first_points_of_other_losses():
    X, y = correlated(60, 90)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        path = penalized_path(X, y > 0, loss="logistic", max_time=1e-9, n_alphas=20)
    assert 1 <= len(path.alphas) < 20
    assert np.isfinite(path.coefs).all()
