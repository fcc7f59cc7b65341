"""Lecture notes L10-L12: the parts of least squares that ridge stands on, and ridge."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers, ridge_sides
from sklearn.datasets import load_diabetes

import kilogram as kg
from kilogram.textbook import ridge, ridge_solvers
from kilogram.textbook.state import run

SOLVERS = {
    "cholesky": ridge_solvers.by_cholesky,
    "qr": ridge_solvers.by_qr,
    "svd": ridge_solvers.by_svd,
    "streaming": lambda X, y, lam: ridge_solvers.by_streaming(
        zip(X, y, strict=True), X.shape[1], lam
    ),
}


def centred_problem(seed: int, n: int = 40, d: int = 4):
    X = cloud(seed, n, d)
    y = X @ np.arange(1.0, d + 1) + np.random.default_rng(seed).standard_normal(n)
    return X - X.mean(axis=0), y - y.mean()


@covers(
    "lecture_notes L10.M1", "lecture_notes L10.M2", "lecture_notes L10.E1", "lecture_notes L10.T1"
)
@ridge_sides
def test_L10_T1_the_plane_contains_the_centroid_and_residuals_are_normal(fit_ridge):
    X = cloud(0)
    y = X[:, 0] ** 2
    fitted = fit_ridge(X, y, 0.0)
    assert np.isclose(fitted.predict(X.mean(axis=0)[None])[0], y.mean())
    assert np.allclose(X.T @ (y - fitted.predict(X)), 0, atol=1e-8)
    # an intercept by centring or by a column of ones: the same line
    line = np.linalg.lstsq(np.column_stack([np.ones(60), X]), y, rcond=None)[0]
    assert np.allclose(fitted.W, line[1:])
    assert np.isclose(fitted.b, line[0])


@covers(
    "lecture_notes L10.T2",
    "lecture_notes L10.M3",
    "lecture_notes L10.M4",
    "lecture_notes L10.M5",
    "lecture_notes L12.T2",
    "lecture_notes L12.M5",
)
@pytest.mark.parametrize("lam", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("solver", SOLVERS)
@ridge_sides
def test_L10_T2_L12_T2_every_solver_leads_to_one_solution(fit_ridge, solver, lam):
    data = load_diabetes()
    X, y = data.data[:100, :6] * 20, data.target[:100]
    X, y = X - X.mean(axis=0), y - y.mean()
    beta = run(SOLVERS[solver](X, y, lam))["beta"]
    assert np.allclose(beta, fit_ridge(X, y, lam).W)
    assert np.allclose((X.T @ X + lam * np.eye(6)) @ beta, X.T @ y)


@covers("lecture_notes L10.T3")
@ridge_sides
def test_L10_T3_dependent_columns_stop_cholesky_not_the_svd(fit_ridge):
    X, y = centred_problem(1)
    X = np.column_stack([X, np.zeros(40)])  # exactly singular, also in floating point
    with pytest.raises(np.linalg.LinAlgError):
        run(ridge_solvers.by_cholesky(X, y, 0.0))
    smallest = np.linalg.pinv(X) @ y
    assert np.allclose(run(ridge_solvers.by_svd(X, y, 0.0))["beta"], smallest)
    assert np.allclose(fit_ridge(X, y, 0.0).W, smallest)
    S = X.T @ X + 0.1 * np.eye(5)  # any symmetric positive definite matrix has a factor
    R = run(ridge_solvers.by_cholesky(X, y, 0.1))["R"]
    assert np.allclose(R.T @ R, S)


@covers("lecture_notes L10.T4")
def test_L10_T4_centring_improves_the_conditioning():
    X = cloud(2, offset=1e6)
    mean = X.mean(axis=0)
    y = (X - mean) @ np.ones(5) + 3
    assert np.linalg.cond(X) > 1000 * np.linalg.cond(X - mean)
    assert np.abs((X - mean).T @ (X - mean)).max() < 1e-6 * np.abs(X.T @ X).max()
    uncentred = run(ridge.ridge(X, y, 0.0))["W"]  # normal equations on raw data, ones beside it
    centred = run(ridge_solvers.by_cholesky(X - mean, y - y.mean(), 0.0))["beta"]
    assert np.abs(uncentred - 1).max() > 0.1
    assert np.abs(centred - 1).max() < 1e-6
    assert np.abs(kg.Ridge(alpha=0.0).fit(X, y).coef_ - 1).max() < 1e-6


@covers("lecture_notes L10.X1")
def test_L10_X1_slips_of_the_derivation():
    X, y = centred_problem(3)
    raw = X + 100
    # centring *reduces* the entries of X'X; "uses the magnitude" says nothing
    assert np.abs(X.T @ X).max() < 0.1 * np.abs(raw.T @ raw).max()
    # the svd chain: y must not be dropped, and Lambda is a rectangle without an inverse
    U, s, Vt = np.linalg.svd(X)
    Lambda = np.zeros((40, 4))
    Lambda[:4] = np.diag(s)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(Lambda)
    without_y = Vt.T @ np.linalg.pinv(Lambda) @ U.T
    assert without_y.shape == (4, 40)
    beta = without_y @ y
    assert np.allclose(beta, run(ridge_solvers.by_svd(X, y, 0.0))["beta"])
    # "normal": the residual is normal to the columns of X, it need not be Gaussian
    residual = y - X @ beta
    assert np.allclose(X.T @ residual, 0, atol=1e-9)
    # the scale of the noise enters the negative log-likelihood as +N log(scale): the best scale
    # is the residuals' standard deviation; with the sign printed there would be no best one

    def nll(scale: float, sign: float) -> float:
        return sign * 40 * np.log(scale) + np.sum(residual**2) / (2 * scale**2)

    scales = residual.std() * np.array([0.5, 1.0, 2.0, 1e3, 1e6])
    assert int(np.argmin([nll(v, 1.0) for v in scales])) == 1
    assert int(np.argmin([nll(v, -1.0) for v in scales])) == 4


@covers(
    "lecture_notes L11.T1", "lecture_notes L11.M1", "lecture_notes L11.G1", "lecture_notes L11.E2"
)
def test_L11_T1_the_normal_equations_square_the_condition_number():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.standard_normal((50, 4)))[0]
    V = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    X = Q * [1.0, 1e-2, 1e-4, 1e-6] @ V.T
    kappa = np.linalg.cond(X)
    assert np.isclose(kappa, 1e6, rtol=1e-3)
    assert np.isclose(np.linalg.cond(X.T @ X), kappa**2, rtol=1e-2)
    beta = np.ones(4)
    y = X @ beta
    error = {
        name: np.abs(run(solver(X, y, 0.0))["beta"] - beta).max()
        for name, solver in (("cholesky", SOLVERS["cholesky"]), ("svd", SOLVERS["svd"]))
    }
    assert error["svd"] < 1e-8
    assert error["cholesky"] > 10 * error["svd"]


@covers("lecture_notes L11.X2", "lecture_notes L11.M2")
def test_L11_X2_reflections_multiply_in_the_order_they_were_applied():
    """R = Q_d ... Q_1 X, so X = Q_1 ... Q_d R."""
    X, y = centred_problem(5)
    R, reflections = X.copy(), []
    for j in range(4):
        v = np.zeros(40)
        v[j:] = R[j:, j]
        v[j] += np.copysign(np.linalg.norm(R[j:, j]), R[j, j])
        Q = np.eye(40) - 2 * np.outer(v, v) / (v @ v)
        reflections.append(Q)
        R = Q @ R
    right = np.linalg.multi_dot(reflections)
    printed = np.linalg.multi_dot(reflections[::-1])
    assert np.allclose(right @ R, X)
    assert not np.allclose(printed @ R, X, atol=0.1)
    beta = np.linalg.solve(R[:4], (right.T @ y)[:4])
    assert np.allclose(beta, run(ridge_solvers.by_svd(X, y, 0.0))["beta"])


@covers("lecture_notes L12.E1", "lecture_notes L12.G1")
@ridge_sides
def test_L12_E1_near_duplicate_columns(fit_ridge):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((30, 1))
    X = np.column_stack([x, x + 1e-4 * rng.standard_normal((30, 1))])
    y = X @ [1.0, 1.0] + 0.5 * rng.standard_normal(30)
    huge, calm = fit_ridge(X, y, 0.0), fit_ridge(X, y, 1.0)
    assert np.abs(huge.W).max() > 50
    assert huge.W[0] * huge.W[1] < 0  # they cancel
    assert np.allclose(calm.W, 1, atol=0.3)
    # the two columns part a little on new data: least squares loses by it
    new = np.column_stack([x, x + 0.1 * rng.standard_normal((30, 1))])
    truth = new @ [1.0, 1.0]
    lost = [np.mean((f.predict(new) - truth) ** 2) for f in (huge, calm)]
    assert lost[1] < 0.05 * lost[0]


@covers("lecture_notes L12.T3")
@ridge_sides
def test_L12_T3_ridge_shrinks_but_sets_nothing_to_zero(fit_ridge):
    X, y = centred_problem(7)
    fits = [fit_ridge(X, y, lam).W for lam in (0.0, 1.0, 10.0, 100.0, 1e4)]
    assert (np.diff([np.linalg.norm(W) for W in fits]) < 0).all()
    assert all((W != 0).all() for W in fits)


@covers("lecture_notes L12.T4", "lecture_notes L12.E2")
@ridge_sides
def test_L12_T4_some_lambda_beats_least_squares_in_expectation(fit_ridge):
    """Bias against variance on an ill-conditioned design, 200 noisy targets."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20, 3)) @ np.array([[1.0, 1, 1], [0, 0.05, 0], [0, 0, 0.05]])
    X -= X.mean(axis=0)
    beta = np.array([1.0, 1.0, 1.0])
    Y = (X @ beta)[:, None] + rng.standard_normal((20, 200))
    bias, variance = [], []
    for lam in (1e-8, 0.3, 1e4):
        B = fit_ridge(X, Y, lam).W  # one column per noisy copy
        bias.append(np.sum((B.mean(axis=1) - beta) ** 2))
        variance.append(np.sum(B.var(axis=1)))
    error = np.add(bias, variance)
    assert error[1] < 0.5 * error[0]
    assert error[1] < error[2]
    assert variance[0] > variance[1] > variance[2]
    assert bias[2] > bias[1]


@covers("lecture_notes L12.T6")
@ridge_sides
def test_L12_T6_identical_columns_get_equal_weights(fit_ridge):
    X, y = centred_problem(9)
    W = fit_ridge(np.column_stack([X, X[:, 2]]), y, 1.0).W
    assert np.isclose(W[2], W[4])
    assert not np.isclose(W[0], W[2])


@covers("lecture_notes L12.X2")
def test_L12_X2_transposes_of_the_qr_and_svd_forms():
    X, y = centred_problem(10)
    lam = 0.5
    right = np.linalg.solve(X.T @ X + lam * np.eye(4), X.T @ y)
    stacked = np.vstack([X, np.sqrt(lam) * np.eye(4)])
    target = np.append(y, np.zeros(4))
    Q, R = np.linalg.qr(stacked, mode="complete")
    assert not np.allclose(np.linalg.solve(R[:4], (Q @ target)[:4]), right, rtol=0.1)
    assert np.allclose(np.linalg.solve(R[:4], (Q.T @ target)[:4]), right)
    U, s, Vt = np.linalg.svd(X, full_matrices=True)
    shrink = s / (s**2 + lam)
    assert not np.allclose(Vt.T @ (shrink * (U @ y)[:4]), right, rtol=0.1)
    assert np.allclose(Vt.T @ (shrink * (U.T @ y)[:4]), right)
    assert np.allclose(run(ridge_solvers.by_svd(X, y, lam))["beta"], right)
