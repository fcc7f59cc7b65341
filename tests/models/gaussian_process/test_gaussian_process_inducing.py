"""Gaussian processes through inducing points: a bound that is exact with all rows, and variances
that never claim more than the points know."""

import numpy as np
import pytest
from scipy import sparse

import kilogram as kg
from kilogram.base import MemoryFallbackWarning
from kilogram.kernels.gradients import parameters, with_parameters
from kilogram.models.gaussian_process import fitting as process_fit
from kilogram.solvers.gaussian_process.exact import Observations, likelihood_and_gradient
from kilogram.solvers.gaussian_process.inducing import bound_and_gradient, bound_and_slopes
from kilogram.solvers.gaussian_process.inverse import inverse_from_factor

Ours = kg.GaussianProcessRegressor
KERNEL = 1.5 * kg.Gaussian(1.2) + kg.White(0.05)
rng = np.random.default_rng(0)
X = rng.standard_normal((120, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(120)
NEW = rng.standard_normal((30, 2))
SPARSE = {"approximation": "nystroem", "optimizer": None, "random_state": 0}


def test_all_rows_are_the_exact_process():
    exact = Ours(KERNEL, optimizer=None).fit(X, y)
    all_rows = Ours(KERNEL, n_components=120, **SPARSE).fit(X, y)
    for one, two in zip(exact.predict(NEW, True), all_rows.predict(NEW, True), strict=True):
        np.testing.assert_allclose(two, one, atol=1e-6)
    np.testing.assert_allclose(
        all_rows.predict(NEW, return_cov=True)[1], exact.predict(NEW, return_cov=True)[1], atol=1e-6
    )
    assert all_rows.log_marginal_likelihood_value_ == pytest.approx(
        exact.log_marginal_likelihood_value_, rel=1e-6
    )


def test_the_bound_rises_with_the_points_and_stays_below():
    exact = Ours(KERNEL, optimizer=None).fit(X, y).log_marginal_likelihood_value_
    found = [
        Ours(KERNEL, n_components=m, **SPARSE).fit(X, y).log_marginal_likelihood_value_
        for m in (3, 15, 60, 120)
    ]
    assert found == sorted(found)
    assert found[-1] <= exact + 1e-6


def test_variances_are_honest():
    exact = Ours(KERNEL, optimizer=None).fit(X, y)
    few = Ours(KERNEL, n_components=8, **SPARSE).fit(X, y)
    far = NEW + 100.0
    np.testing.assert_allclose(few.predict(far, True)[1], np.sqrt(1.55), rtol=1e-9)
    between = np.linspace(-6, 6, 200)[:, None] * np.ones(2)
    assert (few.predict(between, True)[1] >= exact.predict(between, True)[1] - 1e-7).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        1.3 * kg.Stretched(kg.Matern(1.5), [1.0, 2.0]) * kg.Polynomial(2, gamma=0.2, coef0=0.3)
        + kg.White(0.1),
        kg.RationalQuadratic(1.0, 0.5) * (kg.Linear() + kg.White(0.2)),
    ],
)
def test_gradients(kernel, weighted):
    w = rng.integers(1, 4, 120).astype(float) if weighted else None
    data = Observations(X, np.stack([y, y**2], axis=1), np.full(120, 0.01), w)

    def bound(kernel, data):
        return bound_and_gradient(kernel, data, X[::9])

    for function in (likelihood_and_gradient, bound):
        gradient = function(kernel, data)[1]
        for path, value in parameters(kernel).items():
            ends = [
                function(with_parameters(kernel, {path: value * np.exp(h)}), data)[0]
                for h in (1e-5, -1e-5)
            ]
            assert gradient[path] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-4)


def test_tuning_comes_near_the_exact_one():
    exact = Ours(KERNEL).fit(X, y)
    few = Ours(KERNEL, approximation="nystroem", n_components=60, random_state=0).fit(X, y)
    assert few.inducing_points_.shape == (60, 2)
    assert few.log_marginal_likelihood_value_ > exact.log_marginal_likelihood_value_ - 5.0
    np.testing.assert_allclose(few.predict(NEW), exact.predict(NEW), atol=0.3)


def test_points_move_to_a_larger_bound(monkeypatch):
    exact = Ours(KERNEL).fit(X, y)
    model = Ours(KERNEL, approximation="nystroem", n_components=12, random_state=0)
    moved = model.fit(X, y)
    found, spots = moved.log_marginal_likelihood_value_, moved.inducing_points_
    monkeypatch.setattr(process_fit, "can_move", lambda problem: False)
    still = model.fit(X, y)
    assert found > still.log_marginal_likelihood_value_ + 1.0
    assert found < exact.log_marginal_likelihood_value_
    assert all((row == X).all(axis=1).any() for row in still.inducing_points_)
    assert not any((row == X).all(axis=1).any() for row in spots)


@pytest.mark.parametrize("rows", [sparse.csr_matrix(X), X])
def test_points_without_a_derivative_stay(rows):
    kernel = kg.Gaussian(1.0) if sparse.issparse(rows) else kg.Laplacian(1.0)
    model = Ours(kernel + kg.White(0.1), approximation="nystroem", n_components=9, random_state=0)
    Z = model.fit(rows, y).inducing_points_
    Z = Z.toarray() if sparse.issparse(Z) else Z
    assert all((row == X).all(axis=1).any() for row in Z)


POINTS = {
    "gaussian": 1.5 * kg.Gaussian(1.2) + kg.White(0.05),
    "columns": kg.OnColumns(kg.Matern(2.5), [1]) + kg.Stretched(kg.Matern(1.5), [1.0, 2.0]),
    "product": kg.RationalQuadratic(1.0, 0.5) * (kg.Linear() + kg.Polynomial(3, 0.2, 0.3)),
}


@pytest.mark.parametrize("name", POINTS)
def test_gradient_by_the_points(name):
    data = Observations(X, np.stack([y, y**2], axis=1), np.full(120, 0.1), np.full(120, 1.5))
    Z = X[::9].copy() + 0.01
    slopes = bound_and_slopes(POINTS[name], data, Z)[2]
    for at in [(0, 0), (3, 1), (13, 0)]:
        ends = []
        for h in (1e-5, -1e-5):
            moved = Z.copy()
            moved[at] += h
            ends.append(bound_and_slopes(POINTS[name], data, moved, points=False)[0])
        assert slopes[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-3, abs=1e-3)


def test_beyond_memory_is_announced():
    with pytest.warns(MemoryFallbackWarning, match="inducing points"):
        model = Ours(KERNEL, max_memory="100KiB", n_components=20, optimizer=None).fit(X, y)
    assert model.inducing_points_.shape == (20, 2)
    assert np.isfinite(model.predict(NEW)).all()
    with pytest.raises(ValueError, match="solver='cholesky'"):
        model.leave_one_out()


def test_without_noise_it_is_refused():
    with pytest.raises(ValueError, match=r"White\(\)"):
        Ours(kg.Gaussian(1.0), **SPARSE).fit(X, y)
    with pytest.raises(ValueError, match="approximation"):
        Ours(KERNEL, approximation="magic").fit(X, y)


@pytest.mark.parametrize("safe", [10_000, 0])
@pytest.mark.parametrize("n", [1, 5, 64, 130, 300])
def test_inverse_in_place(n, safe, monkeypatch):
    monkeypatch.setattr("kilogram.solvers.gaussian_process.inverse.SAFE", safe)
    monkeypatch.setattr("kilogram.solvers.gaussian_process.inverse.PANEL", 32)
    monkeypatch.setattr("kilogram.solvers.gaussian_process.inverse.LEAF", 64)
    A = rng.standard_normal((n, n))
    A = A @ A.T + n * np.eye(n)
    got = inverse_from_factor(np.linalg.cholesky(A))
    np.testing.assert_allclose(np.tril(got), np.tril(np.linalg.inv(A)), atol=1e-12)
