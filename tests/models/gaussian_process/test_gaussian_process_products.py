"""Gaussian processes by products with the covariance: the exact process, an honest likelihood."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.solvers.gaussian_process import exact, iterative

Ours = kg.GaussianProcessRegressor
KERNEL = 1.5 * kg.Matern(2.5, 1.2) + kg.White(0.05)


def data(n=240, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.2 * rng.standard_normal(n)


X, y = data()
NEW = data(15, seed=1)[0]


def fit(**params):
    w = params.pop("sample_weight", None)
    settings = {"optimizer": None, "alpha": 0.01, "random_state": 0} | params
    return Ours(KERNEL, **settings).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_mean_and_deviation_are_those_of_the_factor(normalize_y):
    want, got = fit(normalize_y=normalize_y), fit(normalize_y=normalize_y, solver="cg")
    assert (want.solver_, got.solver_) == ("cholesky", "cg")
    mean, std = want.predict(NEW, return_std=True)
    found, deviation = got.predict(NEW, return_std=True)
    np.testing.assert_allclose(found, mean, atol=1e-6)
    np.testing.assert_allclose(deviation, std, rtol=1e-4)
    assert (deviation >= std * (1 - 1e-9)).all()
    covariance = want.predict(NEW, return_cov=True)[1]
    np.testing.assert_allclose(got.predict(NEW, return_cov=True)[1], covariance, atol=1e-5)


def test_blocks_give_what_a_stored_matrix_gives():
    stored, blocked = fit(solver="cg"), fit(solver="cg", max_memory="50KiB")
    assert stored._posterior.products.K.stores
    assert not blocked._posterior.products.K.stores
    np.testing.assert_allclose(blocked.predict(NEW), stored.predict(NEW), atol=1e-6)
    one, two = (m.log_marginal_likelihood_value_ for m in (stored, blocked))
    assert one == pytest.approx(two, abs=1e-5)


def test_likelihood_is_within_its_error():
    want, got = fit(), fit(solver="cg")
    assert want.log_marginal_likelihood_error_ == 0.0
    error = got.log_marginal_likelihood_error_
    assert 0 < error < 3.0
    gap = got.log_marginal_likelihood_value_ - want.log_marginal_likelihood_value_
    assert abs(gap) < 4 * error


@pytest.mark.parametrize("weighted", [False, True])
def test_estimated_gradient(weighted):
    w = np.random.default_rng(2).integers(1, 4, len(X)) if weighted else None
    want, got = fit(sample_weight=w), fit(sample_weight=w, solver="cg")
    theta = np.log([1.2, 1.0, 0.08])
    value, slope = want.log_marginal_likelihood(theta, eval_gradient=True)
    near, found = got.log_marginal_likelihood(theta, eval_gradient=True)
    assert near == pytest.approx(value, abs=6.0)
    np.testing.assert_allclose(found, slope, atol=0.05 * np.abs(slope).max())


def test_an_integer_weight_is_the_row_repeated():
    w = np.random.default_rng(3).integers(0, 3, len(X))
    one = fit(solver="cg", sample_weight=w)
    again = np.repeat(np.arange(len(X)), w)
    two = Ours(KERNEL, optimizer=None, alpha=0.01).fit(X[again], y[again])
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), atol=1e-6)


def test_parameters_are_tuned_near_those_of_the_exact_process():
    kernel = 1.5 * kg.Gaussian(1.2) + kg.White(0.05)
    want = Ours(kernel, alpha=0.01).fit(X, y)
    got = Ours(kernel, alpha=0.01, solver="cg", n_components=80, random_state=0).fit(X, y)
    assert got.converged_
    assert got.inducing_points_ is None
    assert got.L_ is None
    there = want.log_marginal_likelihood(got._problem.tuning.theta)
    gap = want.log_marginal_likelihood_value_ - there
    assert 0 <= gap < 1.0


def test_determinant_of_a_small_matrix_is_exact():
    """As many nodes as rows: the quadrature is exact, and signs along the axes give the trace."""
    A = np.diag(np.linspace(1, 5, 6)) + 0.1
    found = iterative.lanczos_logarithms(A, np.eye(6), 6)
    assert found.sum() == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-8)


def test_a_space_that_is_exhausted_early():
    found = iterative.lanczos_logarithms(2.0 * np.eye(5), np.ones((5, 2)), 4)
    np.testing.assert_allclose(found, 5 * np.log(2.0))


def test_refusals():
    with pytest.raises(ValueError, match="solver must be"):
        fit(solver="magic")
    with pytest.raises(MemoryError, match="solver='cg'"):
        fit(solver="cholesky", max_memory="50KiB")
    with pytest.raises(ValueError, match=r"White\(\)"):
        Ours(kg.Gaussian(1.0), solver="cg").fit(X, y)
    noise, rng = np.ones(len(X)), np.random.default_rng(0)
    with pytest.raises(ValueError, match="noise only"):
        iterative.CovarianceOperator.of(kg.White(1.0), X, noise, None, rng)
    with pytest.raises(ValueError, match="cholesky"):
        fit(solver="cg").leave_one_out()


def test_out_of_time_leaves_a_model():
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = fit(solver="cg", optimizer="fmin_l_bfgs_b", max_time=1e-9)
    assert np.isfinite(model.predict(NEW)).all()
    assert not model.converged_


def test_torch_arrays_stay_torch():
    torch = pytest.importorskip("torch")
    want = fit(solver="cg").predict(NEW, return_std=True)
    settings = {"optimizer": None, "alpha": 0.01, "random_state": 0, "solver": "cg"}
    model = Ours(KERNEL, **settings).fit(torch.asarray(X), torch.asarray(y))
    got = model.predict(torch.asarray(NEW), return_std=True)
    for found, truth in zip(got, want, strict=True):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), truth, atol=1e-5)


def test_score_of_products_is_the_score():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 7, 3))
    score = iterative.ProductScore(left, right)
    whole = left @ right.T
    np.testing.assert_allclose(score[slice(2, 5), slice(0, 2)], whole[2:5, :2])
    np.testing.assert_allclose(score.diagonal(), whole.diagonal())


def test_products_solve_the_covariance():
    rows = exact.Observations(X, y[:, None], np.full(len(X), 0.01))
    C = iterative.CovarianceOperator.of(
        KERNEL, X, rows.noise(KERNEL), None, np.random.default_rng(0)
    )
    L = np.tril(exact.factor(KERNEL, rows))
    np.testing.assert_allclose(L @ (L.T @ C.solve(rows.Y, tol=1e-10).value), rows.Y, atol=1e-7)
