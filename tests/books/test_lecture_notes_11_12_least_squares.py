"""Lecture notes L10-L12: least squares by products, with weights, and with errors in X."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers
from scipy.sparse.linalg import aslinearoperator

import kilogram as kg
from kilogram.textbook import least_squares, sparse_regression, tomography
from kilogram.textbook.state import run


def problem(seed: int, n: int = 60, d: int = 4):
    X = cloud(seed, n, d)
    X = X - X.mean(axis=0)
    y = X @ np.arange(1.0, d + 1) + np.random.default_rng(seed).standard_normal(n)
    return X, y - y.mean()


@covers("lecture_notes L10.M6")
def test_L10_M6_anscombe_makes_the_variance_of_counts_one():
    rng = np.random.default_rng(0)
    spread = [least_squares.anscombe(rng.poisson(m, 20_000)).std() for m in (5, 20, 100, 1000)]
    assert np.allclose(spread, 1, atol=0.03)
    assert np.std(rng.poisson(1000, 20_000)) > 25


@covers("lecture_notes L11.M3", "lecture_notes L11.T2")
def test_L11_T2_lsqr_needs_products_only():
    X, y = problem(1)
    u, v = np.random.default_rng(1).standard_normal((2, 60))
    assert np.isclose((X @ u[:4]) @ v, u[:4] @ (X.T @ v))  # the adjoint test
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    states = list(least_squares.lsqr(lambda b: X @ b, lambda r: X.T @ r, y, 10))
    assert np.allclose(states[4]["beta"], exact)  # d steps
    assert (np.diff([s.objective for s in states[:5]]) < 0).all()
    assert np.isclose(states[4].objective, np.sum((y - X @ exact) ** 2))
    fast = kg.LinearRegression(fit_intercept=False, tol=1e-12).fit(aslinearoperator(X), y)
    assert fast.solver_ == "lsqr"
    assert np.allclose(fast.coef_, exact)
    assert fast.n_iter_ <= 5


@covers("lecture_notes L11.X3")
def test_L11_X3_the_bidiagonal_matrix_is_taller_than_wide():
    """X V = U B with V (d, t), B (t + 1, t) lower: a square B cannot express the residual."""
    X, y = problem(2)
    states = list(least_squares.lsqr(lambda b: X @ b, lambda r: X.T @ r, y, 3))
    U = np.column_stack([s["u"] for s in states])
    V = np.column_stack([s["v"] for s in states[:3]])
    assert V.shape == (4, 3)
    B = U.T @ X @ V
    assert B.shape == (4, 3)
    assert np.allclose(X @ V, U @ B)
    assert np.allclose(B, np.tril(np.triu(B, -1)))
    assert not np.allclose(B[1:], 0, atol=1e-3)
    assert not np.allclose(X @ V, U[:, :3] @ B[:3], atol=1e-3)  # square: the last beta is lost
    # row i' of angle t is i' + n t, not i' + t u
    X, n = tomography.system_matrix(4, np.array([0.0, np.pi / 2])), 7
    assert X.shape[0] == 2 * n
    assert np.allclose(X[:n].sum(), X[n:].sum())


@covers("lecture_notes L11.M4", "lecture_notes L11.E1")
def test_L11_E1_tomography():
    K = 16
    image = tomography.phantom(K)
    few, many = (tomography.system_matrix(K, np.linspace(0, np.pi, t, False)) for t in (6, 40))
    assert few.nnz < 0.15 * np.prod(few.shape)
    errors = []
    for X in (few, many):
        y = tomography.measure(X, image, np.random.default_rng(0), photons=1e6)
        # half-way iterates of two runs differ once the bases are no longer orthogonal; the limit,
        # the least-squares solution of smallest norm, is unique, and cond(X) is below 1e3
        fast = kg.LinearRegression(fit_intercept=False, solver="lsqr", tol=1e-10).fit(X, y)
        reference = run(tomography.reconstruct(X, y, 4 * X.shape[0]))["beta"]
        assert np.allclose(fast.coef_, reference, atol=1e-10 * 1e3)
        # stopping early regularises, and the objective lies above the smallest one
        early = kg.LinearRegression(fit_intercept=False, solver="lsqr", tol=1e-4).fit(X, y)
        assert early.n_iter_ < fast.n_iter_
        least, size = np.linalg.norm(y - X @ reference), np.linalg.norm(y)
        assert least < np.linalg.norm(y - X @ early.coef_) < least + 1e-3 * size
        errors.append(np.sqrt(np.mean((early.coef_.reshape(K, K, order="F") - image) ** 2)))
    assert errors[1] < 0.03
    assert errors[0] > 4 * errors[1]  # 6 angles do not determine 256 pixels
    # every pixel is seen once by every angle: the shares of two sensors add to one
    assert np.allclose(many.sum(axis=0), 40)


@covers("lecture_notes L11.X1")
def test_L11_X1_attenuation_needs_its_minus():
    X = tomography.system_matrix(8, np.array([0.0, 0.7]))
    mu = tomography.phantom(8).ravel(order="F")
    I = 1e9 * np.exp(-(X @ mu))
    assert (I <= 1e9).all()  # matter takes light away; with exp(+) it would add some
    assert (1e9 * np.exp(X @ mu)).max() > 1e9
    assert np.allclose(-np.log(I / 1e9), X @ mu)
    # ds runs along the ray: a slab twice as long weighs twice as much, whatever the grid
    thick = tomography.system_matrix(8, np.array([0.0]))
    assert np.allclose(thick[5] @ np.ones(64), 8)


@covers("lecture_notes L12.M1", "lecture_notes L12.T7")
def test_L12_T7_known_errors():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 3))
    sigma = np.exp(rng.standard_normal(4000))
    y = X @ [1.0, 2.0, 3.0] + sigma * rng.standard_normal(4000)
    reference = run(least_squares.weighted(X, y, sigma))
    assert np.isclose(np.mean((y - X @ reference["beta"]) ** 2 / sigma**2), 1, atol=0.1)
    fast = kg.GeneralizedLeastSquares(fit_intercept=False).fit(X, y, covariance=sigma**2)
    assert np.allclose(fast.coef_, reference["beta"])
    weights = kg.LinearRegression(fit_intercept=False).fit(X, y, 1 / sigma**2)
    assert np.allclose(weights.coef_, reference["beta"])
    X, y = X[:80], y[:80]
    S = 0.8 ** np.abs(np.subtract.outer(np.arange(80), np.arange(80)))
    P = np.linalg.inv(S)
    printed = np.linalg.solve(X.T @ P @ X, X.T @ P @ y)
    assert np.allclose(run(least_squares.generalised(X, y, S))["beta"], printed)
    for covariance in (S, aslinearoperator(S)):
        fast = kg.GeneralizedLeastSquares(fit_intercept=False).fit(X, y, covariance)
        assert np.allclose(fast.coef_, printed)
    # the covariance of the estimate is smaller than that of plain least squares
    plain = np.linalg.pinv(X)
    gain = plain @ S @ plain.T - np.linalg.inv(X.T @ P @ X)
    assert np.linalg.eigvalsh(gain).min() > 0


@covers("lecture_notes L12.M2")
def test_L12_M2_unknown_variances_by_groups():
    rng = np.random.default_rng(4)
    groups = np.repeat([0, 1], 300)
    X = rng.standard_normal((600, 2))
    y = X @ [1.0, -1.0] + np.where(groups == 0, 0.1, 5.0) * rng.standard_normal(600)
    states = list(least_squares.reweighted(X, y, groups, 12))
    assert (np.diff([s.objective for s in states[1:]]) < 1e-9).all()
    fast = kg.ReweightedLeastSquares(fit_intercept=False, tol=1e-12, floor=1e-9)
    fast.fit(X, y, groups=groups)
    assert np.allclose(fast.coef_, states[-1]["beta"], atol=1e-6)
    assert np.allclose(np.sqrt(fast.group_variances_), [0.1, 5.0], rtol=0.15)
    error = [np.abs(s["beta"] - [1.0, -1.0]).max() for s in (states[1], states[2], states[-1])]
    assert error[1] < 0.3 * error[0]  # two rounds nearly suffice
    assert np.isclose(error[1], error[2], rtol=0.2, atol=1e-3)


@covers("lecture_notes L12.X1")
def test_L12_X1_a_sigma_for_every_row_collapses():
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, 50)
    X = np.column_stack([np.ones(50), x])
    y = 1 + 2 * x + rng.standard_normal(50)
    printed = run(least_squares.reweighted(X, y, np.arange(50), 200))
    assert np.sum(np.abs(printed["r"]) < 1e-8) >= 2  # a line through two of the rows
    right = kg.ReweightedLeastSquares().fit(x[:, None], y)
    assert np.abs(y - right.predict(x[:, None])).min() > 1e-6
    assert np.abs([right.intercept_ - 1, right.coef_[0] - 2]).max() < 0.6
    variances = right.predict_variance(x[:, None])
    assert variances.max() < 30 * variances.min()


@covers("lecture_notes L12.M3", "lecture_notes L12.T5", "lecture_notes L12.E4")
def test_L12_T5_total_least_squares():
    rng = np.random.default_rng(6)
    x = rng.uniform(-3, 3, 2000)
    X = (x + 0.7 * rng.standard_normal(2000))[:, None]
    y = 2 * x + 1 + 0.7 * rng.standard_normal(2000)
    reference = run(least_squares.total(X, y))
    fast = kg.TotalLeastSquares().fit(X, y)
    assert np.isclose(fast.coef_[0], reference["beta"][0])
    assert np.isclose(fast.intercept_, reference["b"])
    # the optimum is the last squared singular value, the sum of squared orthogonal distances
    b, a = reference["beta"][0], reference["b"]
    distances = np.sum((y - b * X[:, 0] - a) ** 2) / (1 + b**2)
    assert np.isclose(reference.objective, reference["S"][-1] ** 2)
    assert np.isclose(distances, reference.objective)
    assert np.isclose(fast.objective_, distances)
    # x and y may change roles; for least squares they may not, and its slope is too small
    back = kg.TotalLeastSquares().fit(y[:, None], X[:, 0])
    assert np.isclose(back.coef_[0] * fast.coef_[0], 1)
    plain = kg.LinearRegression().fit(X, y).coef_[0]
    plain_back = kg.LinearRegression().fit(y[:, None], X[:, 0]).coef_[0]
    assert plain * plain_back < 0.95
    assert plain < 1.8 < 1.93 < fast.coef_[0] < 2.07


@covers("lecture_notes L12.M4", "lecture_notes L12.T1")
def test_L12_T1_least_squares_is_unbiased():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    truth, sigma = np.array([1.0, -2.0, 0.5]), 0.7
    Y = (X @ truth)[:, None] + sigma * rng.standard_normal((30, 1500))
    B = kg.LinearRegression(fit_intercept=False).fit(X, Y).coef_
    theory = sigma**2 * np.linalg.inv(X.T @ X)
    assert np.allclose(np.cov(B.T), theory, atol=0.12 * theory.max())
    bias, variance = least_squares.bias_and_variance(B, truth)
    assert bias < 5e-3 * variance
    total = np.mean(np.sum((B - truth) ** 2, axis=1))
    assert np.isclose(total, bias + variance)
    # one sample tells the same, by the coefficient table
    table = kg.LinearRegression(fit_intercept=False).fit(X, Y[:, 0]).coefficients(X, Y[:, 0])
    assert np.allclose(table.error / table.sigma, np.sqrt(np.diag(theory)) / sigma)


@covers("lecture_notes L12.M6", "lecture_notes L12.E3")
def test_L12_E3_lasso_sets_coefficients_to_zero_ridge_does_not():
    X, y = problem(8)
    X = np.column_stack([X, np.random.default_rng(8).standard_normal((60, 4))])
    beta = run(sparse_regression.lasso(X, y, 20.0))["beta"]
    fast = kg.Lasso(20.0 / len(y), fit_intercept=False, tol=1e-13, max_iter=10_000).fit(X, y)
    assert np.allclose(fast.coef_, beta, atol=1e-6)
    assert np.array_equal(fast.coef_ == 0, beta == 0)
    ridge = kg.Ridge(20.0, fit_intercept=False).fit(X, y).coef_
    assert (beta == 0).sum() >= 3
    assert (ridge != 0).all()
    # constraint and penalty are one: beta is the best of all with its own |beta|_1
    g = X.T @ (y - X @ beta)
    assert np.allclose(g[beta != 0], 20.0 * np.sign(beta[beta != 0]))
    assert (np.abs(g[beta == 0]) < 20.0).all()
    rng = np.random.default_rng(9)
    others = beta + 0.05 * rng.standard_normal((500, 8))
    others *= np.abs(beta).sum() / np.abs(others).sum(axis=1)[:, None]
    least = np.sum((y - X @ beta) ** 2)
    assert all(np.sum((y - X @ b) ** 2) >= least for b in others)
    # in one dimension: soft threshold against shrinkage
    x, target = np.ones((1, 1)), np.array([3.0])
    soft = [run(sparse_regression.lasso(x, target, lam))["beta"][0] for lam in (0, 1, 3, 5)]
    assert np.allclose(soft, [3, 2, 0, 0])
    assert np.isclose(kg.Ridge(2.0, fit_intercept=False).fit(x, target).coef_[0], 1.0)


@covers("lecture_notes L12.M7")
def test_L12_M7_matching_pursuit():
    X, y = problem(10, n=80, d=6)
    X = X / np.linalg.norm(X, axis=0)
    y = 5 * X[:, 4] - 3 * X[:, 1]
    s = run(sparse_regression.matching_pursuit(X, y, 2))
    assert sorted(s["active"]) == [1, 4]
    assert np.allclose(s["beta"][[4, 1]], [5, -3])
    fast = kg.OrthogonalMatchingPursuit(n_nonzero_coefs=2, fit_intercept=False).fit(X, y)
    assert np.allclose(fast.coef_, s["beta"])
    assert s.objective < 1e-20


@pytest.mark.parametrize("variable", ["x", "y"])
def test_a_vertical_plane_is_an_error(variable):
    """L12: alpha near 0 is not generic. x has nothing to do with y, which varies more."""
    x = np.array([1.0, -1.0, 1.0, -1.0])
    y = 3 * np.array([1.0, 1.0, -1.0, -1.0])
    X, target = (x[:, None], y) if variable == "x" else (y[:, None], x)
    if variable == "y":  # the other way round there is an answer: no slope
        assert np.isclose(kg.TotalLeastSquares().fit(X, target).coef_[0], 0)
        return
    with pytest.raises(ValueError, match="vertical"):
        kg.TotalLeastSquares().fit(X, target)
    with pytest.raises(ValueError, match="vertical"):
        run(least_squares.total(X, target))
