"""Gaussian process regression: scikit-learn's numbers, the book's, and its own promises."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
from sklearn.gaussian_process import kernels as theirs

import kilogram as kg
from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.base import ConvergenceWarning, MemoryFallbackWarning
from kilogram.solvers.gaussian_process import exact
from kilogram.solvers.gaussian_process.inverse import inverse_from_factor
from kilogram.solvers.gaussian_process.maximise import maximise
from kilogram.textbook import run
from kilogram.textbook.gaussian_process import gaussian_process

Ours = kg.GaussianProcessRegressor


def data(n=60, d=3, seed=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.stack([np.sin(X[:, 0] + j) + 0.3 * X[:, 1] ** 2 for j in range(outputs)], axis=1)
    Y = Y + 0.1 * rng.standard_normal(Y.shape)
    return X, (Y[:, 0] if outputs == 1 else Y)


X, y = data()
NEW = data(15, seed=1)[0]
KERNEL = 1.5 * kg.Gaussian(1.2) + kg.White(0.05)
QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SKLEARN = {
    "constant_rbf_white": theirs.ConstantKernel(1.0) * theirs.RBF(1.0) + theirs.WhiteKernel(0.1),
    "rbf_columns": theirs.RBF([1.0, 2.0, 3.0]) * theirs.ConstantKernel(2.0)
    + theirs.WhiteKernel(0.1),
    "matern12": 2.0 * theirs.Matern(1.3, nu=0.5) + theirs.WhiteKernel(0.1),
    "matern32_columns": theirs.Matern([1.0, 2.0, 3.0], nu=1.5) + theirs.WhiteKernel(0.1),
    "matern52": 2.0 * theirs.Matern(1.3, nu=2.5) + theirs.WhiteKernel(0.1),
    "matern_inf": theirs.Matern(1.3, nu=np.inf) + theirs.WhiteKernel(0.1),
    "quadratic_dot": theirs.RationalQuadratic(1.0, 0.5) * 1.5
    + theirs.DotProduct(0.8)
    + theirs.WhiteKernel(0.1),
    "product": theirs.RBF(1.0) * theirs.DotProduct(2.0)
    + theirs.ConstantKernel(0.5)
    + theirs.WhiteKernel(0.2, "fixed"),
    "white_product": theirs.RBF(1.0) * (theirs.WhiteKernel(0.2) + theirs.ConstantKernel(1.0)),
}


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("outputs", [1, 2])
def test_likelihood_and_gradient_of_scikit_learn(name, outputs):
    Y = data(outputs=outputs)[1]
    kernel = SKLEARN[name]
    a = Theirs(kernel, alpha=1e-3, optimizer=None).fit(X, Y)
    b = Ours(kernel, alpha=1e-3, optimizer=None).fit(X, Y)
    assert b.log_marginal_likelihood_value_ == pytest.approx(
        a.log_marginal_likelihood_value_, rel=1e-9
    )
    theta = kernel.theta + np.linspace(-0.2, 0.3, len(kernel.theta))
    (v, g), (v2, g2) = (m.log_marginal_likelihood(theta, eval_gradient=True) for m in (a, b))
    assert v2 == pytest.approx(v, rel=1e-9)
    np.testing.assert_allclose(g2, g, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [*SKLEARN, None])
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_of_scikit_learn(name, normalize_y, outputs):
    Y = 3.0 + 2.0 * data(outputs=outputs)[1]
    params = {"alpha": 1e-3, "optimizer": None, "normalize_y": normalize_y}
    kernel = None if name is None else SKLEARN[name]
    a, b = Theirs(kernel, **params).fit(X, Y), Ours(kernel, **params).fit(X, Y)
    np.testing.assert_allclose(b.predict(NEW), a.predict(NEW), atol=1e-6)
    for what in ("return_std", "return_cov"):
        found = (m.predict(NEW, **{what: True}) for m in (a, b))
        for one, two in zip(*found, strict=True):
            assert two.shape == one.shape
            np.testing.assert_allclose(two, one, atol=1e-6)


@QUIET
@pytest.mark.parametrize("name", ["constant_rbf_white", "rbf_columns", "matern52", "product"])
def test_fits_as_scikit_learn(name):
    a, b = Theirs(SKLEARN[name]).fit(X, y), Ours(SKLEARN[name]).fit(X, y)
    assert isinstance(b.kernel_, theirs.Kernel)
    gain = b.log_marginal_likelihood_value_ - a.log_marginal_likelihood_value_
    assert gain >= -1e-5
    if gain < 1e-3:  # else theirs ended elsewhere, on a lower top
        np.testing.assert_allclose(b.predict(NEW), a.predict(NEW), atol=2e-3)
    assert (gain > 1.0) == (name == "product")


def test_bounds_of_scikit_learn_are_kept():
    kernel = theirs.RBF(1.0, (0.5, 0.9)) + theirs.WhiteKernel(0.1, "fixed")
    with pytest.warns(ConvergenceWarning, match="bound"):
        model = Ours(kernel).fit(X, y)
    assert model.kernel_.k1.length_scale == pytest.approx(0.9)
    assert model.kernel_.k2.noise_level == 0.1
    with pytest.raises(ValueError, match="bounds of its own"):
        Ours(kernel, bounds=(0.1, 1.0)).fit(X, y)


@pytest.mark.parametrize(
    "kernel", [theirs.ExpSineSquared(), theirs.Matern(nu=0.7), theirs.RBF() ** 2]
)
def test_what_is_not_translated_is_reported(kernel):
    with pytest.raises(ValueError, match=r"not supported|nu"):
        Ours(kernel).fit(X, y)


def test_bounds_of_our_kernels():
    wide = Ours(KERNEL).fit(X, y)
    fixed = Ours(KERNEL, bounds={"right__noise": "fixed"}).fit(X, y)
    assert fixed.kernel_.right.noise == 0.05
    assert fixed.kernel_.left.kernel.sigma != 1.2
    assert wide.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_
    none = Ours(KERNEL, bounds="fixed").fit(X, y)
    assert none.kernel_ == KERNEL
    for bad in ((1.0, 0.1), (0.0, 1.0), "free", 3):
        with pytest.raises(ValueError, match="bounds"):
            Ours(KERNEL, bounds=bad).fit(X, y)
    with pytest.raises(ValueError, match="unknown parameters"):
        Ours(KERNEL, bounds={"sigma": (1, 2)}).fit(X, y)


def test_the_maximum_is_a_maximum():
    model = Ours(KERNEL).fit(X, y)
    assert model.converged_
    theta = np.log([model.kernel_.left.factor, model.kernel_.left.kernel.sigma,
                    model.kernel_.right.noise])  # fmt: skip
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-10)
    assert np.abs(gradient).max() < 1e-2
    for j in range(3):
        for step in (-0.1, 0.1):
            assert model.log_marginal_likelihood(theta + step * np.eye(3)[j]) < value
    C = model.kernel_(X) + 1e-10 * np.eye(len(X))
    assert value == pytest.approx(multivariate_normal(np.zeros(len(X)), C).logpdf(y), rel=1e-8)


def test_book():
    k = kg.Gaussian(1.2)
    book = run(gaussian_process(k(X), k(NEW, X), k(NEW), y, 0.3))
    model = Ours(k, alpha=0.3, optimizer=None).fit(X, y)
    mean, sd = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, book["mu"], atol=1e-10)
    np.testing.assert_allclose(sd, book["sd"], atol=1e-9)
    np.testing.assert_allclose(model.alpha_, book["alpha"], atol=1e-9)
    np.testing.assert_allclose(
        model.predict(NEW, return_std=True, noise=True)[1], book["sd_observation"], atol=1e-9
    )
    np.testing.assert_allclose(model.predict(NEW, return_cov=True)[1], book["Sigma"], atol=1e-9)
    ridge = kg.KernelRidge(alpha=0.3, kernel=k).fit(X, y)
    np.testing.assert_allclose(mean, ridge.predict(NEW), atol=1e-7)


def test_noise_of_function_and_observation():
    model = Ours(KERNEL, alpha=0.02, optimizer=None).fit(X, y)
    f, k, o = (model.predict(NEW, return_std=True, noise=z)[1] ** 2 for z in (False, None, True))
    np.testing.assert_allclose(k - f, 0.05)
    np.testing.assert_allclose(o - k, 0.02)
    own = model.predict(X, return_std=True, noise=False)[1]
    assert (own < np.sqrt(0.07)).all()
    rows = Ours(KERNEL, alpha=np.full(60, 0.02), optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match="each training row"):
        rows.predict(NEW, return_std=True, noise=True)


def test_far_away_the_prior_returns():
    model = Ours(2.0 * kg.Matern(1.5), alpha=0.1, optimizer=None).fit(X, y)
    mean, sd = model.predict(NEW + 1e3, return_std=True)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(sd, np.sqrt(2.0))
    assert (model.predict(X, return_std=True)[1] < np.sqrt(2.0)).all()
    exact = Ours(2.0 * kg.Matern(1.5), optimizer=None).fit(X, y)
    np.testing.assert_allclose(exact.predict(X, return_std=True)[1], 0.0, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_leave_one_out_is_brute_force(weighted, outputs):
    Y = data(25, outputs=outputs)[1]
    X = data(25)[0]
    w = np.random.default_rng(0).integers(1, 4, 25).astype(float) if weighted else None
    model = Ours(KERNEL, alpha=0.01, optimizer=None)
    got = clone(model).fit(X, Y, sample_weight=w).leave_one_out()
    for i in (0, 7, 24):
        kept = np.arange(25) != i
        other = clone(model).fit(X[kept], Y[kept], sample_weight=w[kept] if weighted else None)
        mean, sd = other.predict(X[[i]], return_std=True, noise=True)
        np.testing.assert_allclose(got.mean[i], mean[0], rtol=1e-7)
        np.testing.assert_allclose(got.variance[i], sd[0] ** 2, rtol=1e-7)
        np.testing.assert_allclose(got.log_density[i], norm(mean[0], sd[0]).logpdf(Y[i]), rtol=1e-7)


def test_leave_one_out_in_the_units_of_y():
    plain = Ours(KERNEL, optimizer=None, alpha=0.01).fit(X, (y - y.mean()) / y.std())
    scaled = Ours(KERNEL, optimizer=None, alpha=0.01, normalize_y=True).fit(X, y)
    a, b = plain.leave_one_out(), scaled.leave_one_out()
    np.testing.assert_allclose(b.mean, a.mean * y.std() + y.mean())
    np.testing.assert_allclose(b.variance, a.variance * y.var())
    np.testing.assert_allclose(b.log_density, norm(b.mean, np.sqrt(b.variance)).logpdf(y))


@pytest.mark.parametrize("outputs", [1, 2])
def test_samples_have_the_moments(outputs):
    model = Ours(KERNEL, optimizer=None).fit(X, data(outputs=outputs)[1])
    drawn = model.sample_y(NEW[:4], 60_000, random_state=0)
    mean, C = model.predict(NEW[:4], return_cov=True)
    assert drawn.shape == (*mean.shape, 60_000)
    np.testing.assert_allclose(drawn.mean(axis=-1), mean, atol=0.02)
    first, C = (drawn, C) if outputs == 1 else (drawn[:, 0], C[:, :, 0])
    np.testing.assert_allclose(np.cov(first), C, atol=0.02)
    same = model.sample_y(NEW[:4], 3, random_state=5)
    np.testing.assert_array_equal(same, model.sample_y(NEW[:4], 3, random_state=5))


def test_the_prior_before_any_fit():
    model = Ours(KERNEL)
    mean, sd = model.predict(NEW, return_std=True)
    np.testing.assert_array_equal(mean, np.zeros(15))
    np.testing.assert_allclose(sd, np.sqrt(1.55))
    np.testing.assert_allclose(model.predict(NEW, return_cov=True)[1], KERNEL(NEW))
    assert Ours(KERNEL, n_targets=2).sample_y(NEW, 3).shape == (15, 2, 3)
    with pytest.raises(ValueError, match="n_targets"):
        Ours(KERNEL, n_targets=2).fit(X, y)


def test_restarts_are_reproducible_and_never_worse():
    start = 1.0 * kg.Gaussian(50.0) + kg.White(10.0)
    one = Ours(start, bounds=(1e-2, 1e2)).fit(X, y)
    models = [
        Ours(start, bounds=(1e-2, 1e2), n_restarts_optimizer=3, random_state=1).fit(X, y)
        for _ in range(2)
    ]
    assert models[0].log_marginal_likelihood_value_ >= one.log_marginal_likelihood_value_ - 1e-6
    np.testing.assert_array_equal(models[0].predict(NEW), models[1].predict(NEW))
    with pytest.raises(ValueError, match="n_restarts_optimizer"):
        Ours(start, n_restarts_optimizer=-1).fit(X, y)


def test_own_optimizer():
    def first_of_two(function, start, bounds):
        other = np.clip(start + 0.5, bounds[:, 0], bounds[:, 1])
        values = [function(t, eval_gradient=False) for t in (start, other)]
        best = int(np.argmin(values))
        return (start, other)[best], values[best]

    model = Ours(KERNEL, optimizer=first_of_two).fit(X, y)
    kept = Ours(KERNEL, optimizer=None).fit(X, y)
    assert model.log_marginal_likelihood_value_ >= kept.log_marginal_likelihood_value_
    assert model.n_iter_ == 2
    with pytest.raises(ValueError, match="optimizer must be"):
        Ours(KERNEL, optimizer="newton").fit(X, y)


def test_noise_per_row():
    alpha = np.where(np.arange(60) < 30, 1e-4, 10.0)
    model = Ours(kg.Gaussian(1.0), alpha=alpha, optimizer=None).fit(X, y)
    error = np.abs(model.predict(X) - y)
    assert error[:30].max() < 0.05 < error[30:].max()
    with pytest.raises(ValueError, match="same number of entries"):
        Ours(alpha=np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="alpha must be"):
        Ours(alpha=-1.0).fit(X, y)


@QUIET
def test_weights_in_the_likelihood():
    w = np.random.default_rng(0).integers(0, 4, 60)
    r = np.repeat(np.arange(60), w)
    for params in ({}, {"approximation": "nystroem", "n_components": 1000}):
        one = Ours(KERNEL, alpha=0.01, **params).fit(X, y, sample_weight=w)
        two = Ours(KERNEL, alpha=0.01, **params).fit(X[r], y[r])
        assert one.log_marginal_likelihood_value_ == pytest.approx(
            two.log_marginal_likelihood_value_, abs=1e-4
        )
        np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), atol=1e-3)


def test_max_time_leaves_a_usable_model():
    with pytest.warns(ConvergenceWarning, match=r"usable.*max_time"):
        model = Ours(KERNEL, max_time=1e-9).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(NEW)).all()


def test_without_a_factor():
    twice = np.vstack([X, X])
    with pytest.raises(np.linalg.LinAlgError, match="larger alpha"):
        Ours(kg.Gaussian(1.0), alpha=0.0, optimizer=None).fit(twice, np.r_[y, y])
    model = Ours(KERNEL, alpha=0.0, optimizer=None).fit(X, y)
    assert model.log_marginal_likelihood([0.0, 50.0, -300.0]) == -np.inf


def test_kernels_without_parameters_and_by_name():
    np.testing.assert_allclose(
        Ours(kg.Linear(), alpha=1.0).fit(X, y).predict(NEW),
        kg.Ridge(1.0, fit_intercept=False).fit(X, y).predict(NEW),
        atol=1e-8,
    )
    assert Ours("rbf", alpha=0.1).fit(X, y).kernel_.gamma != 1 / 3
    with pytest.raises(ValueError, match="precomputed"):
        Ours("precomputed").fit(X @ X.T, y)
    white = Ours(kg.White(2.0), optimizer=None).fit(X, y)
    np.testing.assert_array_equal(white.predict(NEW), np.zeros(15))


def test_median_width_is_a_start():
    model = Ours(kg.Gaussian("median") + kg.White(0.1)).fit(X, y)
    assert isinstance(model.kernel_.left.sigma, float)


@QUIET
def test_estimate_and_callbacks_do_not_fail():
    cost = kg.estimate(Ours(KERNEL), n=2000, d=3)
    assert cost.fits
    assert cost.bytes >= 8 * 2000**2
    with warnings.catch_warnings():
        warnings.simplefilter("error", MemoryFallbackWarning)
        Ours(KERNEL, max_memory="1MiB").fit(X, y)


@pytest.mark.parametrize(
    "kernel",
    [
        1.0 * kg.Gaussian(1.0) + kg.White(0.1),
        1.0 * kg.Stretched(kg.Matern(1.5), [1.0, 1.0, 1.0]) + kg.White(0.1),
        kg.RationalQuadratic(1.0, 1.0) * kg.Gaussian(3.0) + kg.White(1.0),
    ],
)
@QUIET
def test_a_surrogate_saves_evaluations_and_finds_the_same(kernel, monkeypatch):
    X, y = data(400, seed=3)
    plain = Ours(kernel).fit(X, y)
    monkeypatch.setattr("kilogram.models.gaussian_process.fitting.SUBSAMPLED_FROM", 100)
    quick = Ours(kernel).fit(X, y)
    assert quick.log_marginal_likelihood_value_ >= plain.log_marginal_likelihood_value_ - 1e-4
    assert quick.n_iter_ <= plain.n_iter_
    again = Ours(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y)
    assert again.log_marginal_likelihood_value_ >= quick.log_marginal_likelihood_value_ - 1e-3
    with pytest.warns(ConvergenceWarning, match="max_time"):
        stopped = Ours(kernel, max_time=1e-9).fit(X, y)
    assert np.isfinite(stopped.predict(NEW)).all()


@QUIET
def test_a_surrogate_keeps_the_bounds(monkeypatch):
    monkeypatch.setattr("kilogram.models.gaussian_process.fitting.SUBSAMPLED_FROM", 20)
    for low, high in ((0.5, 0.9), (1.5, 1.9), (0.1, 50.0)):
        bounds = {"left__kernel__sigma": (low, high)}
        model = Ours(1.0 * kg.Gaussian(low) + kg.White(0.1), bounds=bounds).fit(X, y)
        assert low * 0.999 <= model.kernel_.left.kernel.sigma <= high * 1.001
        C = model.kernel_(X) + 1e-10 * np.eye(60)
        assert model.log_marginal_likelihood_value_ == pytest.approx(
            multivariate_normal(np.zeros(60), C).logpdf(y), rel=1e-6
        )


@pytest.mark.parametrize(("noise", "rough"), [(0.1, True), (1e-7, False)])
def test_gradient_from_a_float32_inverse_only_where_it_is_as_good(noise, rough, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 3)), rng.standard_normal((150, 2))
    data = exact.Observations(X, y, np.zeros(150))
    kernel = 20.0 * kg.Gaussian(6.0) + kg.White(noise)
    value, want = exact.likelihood_and_gradient(kernel, data)
    made = []

    def spy(L, make=exact.rough_inverse):
        made.append(make(L))
        return made[-1]

    monkeypatch.setattr(exact, "ROUGH_FROM", 100)
    monkeypatch.setattr(exact, "rough_inverse", spy)
    monkeypatch.setattr(exact, "inverse_from_factor", _refused if rough else inverse_from_factor)
    same, found = exact.likelihood_and_gradient(kernel, data)
    assert same == value
    assert len(made) == 1
    for path, slope in want.items():
        assert found[path] == pytest.approx(slope, abs=1e-3 if rough else 0.0)


def _refused(L):
    raise AssertionError("the rough inverse was good enough")


def test_a_steep_start_does_not_jump_into_the_corner():
    """The first step of a search within bounds is not the whole gradient: beyond 3 there is no
    likelihood, and a search that jumped there once stayed at its start and called that the top."""
    top = np.array([1.0, -2.0, 0.5])

    def objective(theta):
        if np.abs(theta).max() > 3.0:
            raise NotPositiveDefinite(1)
        return -400.0 * np.sum((theta - top) ** 2), -800.0 * (theta - top)

    bounds = np.array([[-11.5, 11.5]] * 3)
    found = maximise(objective, np.zeros(3), bounds)
    np.testing.assert_allclose(found.value, top, atol=1e-4)
    assert found.converged
    assert found.n_iter < 30
