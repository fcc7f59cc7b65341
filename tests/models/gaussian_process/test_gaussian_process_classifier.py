"""Gaussian process classification: scikit-learn's numbers, and its own promises."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
from sklearn.gaussian_process import kernels as theirs

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.kernels.gradients import parameters, with_parameters
from kilogram.models.gaussian_process.binary_problems import probability
from kilogram.solvers.gaussian_process.laplace import Labels, find_mode, gradient

Ours = kg.GaussianProcessClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal((90, 3))
SCORE = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(90)
TWO = SCORE > 0
THREE = np.array(["low", "middle", "top"])[np.digitize(SCORE, [-0.4, 0.4])]
NEW = rng.standard_normal((25, 3))
KERNEL = 1.5 * kg.Gaussian(1.2)
SKLEARN = {
    "rbf": theirs.ConstantKernel(1.5) * theirs.RBF(1.2),
    "columns": 2.0 * theirs.RBF([1.0, 2.0, 1.5]) + theirs.WhiteKernel(0.1),
    "sum": theirs.RationalQuadratic(1.0, 0.7) + theirs.DotProduct(0.5, "fixed"),
}
QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("name", SKLEARN)
def test_two_classes_of_scikit_learn(name):
    kernel = SKLEARN[name]
    a, b = (M(kernel, optimizer=None).fit(X, TWO) for M in (Theirs, Ours))
    np.testing.assert_array_equal(b.predict(NEW), a.predict(NEW))
    np.testing.assert_allclose(b.predict_proba(NEW), a.predict_proba(NEW), atol=1e-6)
    for one, two in zip(
        a.latent_mean_and_variance(NEW), b.latent_mean_and_variance(NEW), strict=True
    ):
        np.testing.assert_allclose(two, one, atol=1e-6)
    theta = kernel.theta + 0.2
    (v, g), (v2, g2) = (m.log_marginal_likelihood(theta, eval_gradient=True) for m in (a, b))
    assert v2 == pytest.approx(v, rel=1e-9)
    np.testing.assert_allclose(g2, g, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_three_classes_of_scikit_learn(multi_class):
    params = {"optimizer": None, "multi_class": multi_class}
    a, b = (M(SKLEARN["rbf"], **params).fit(X, THREE) for M in (Theirs, Ours))
    assert (
        np.mean(b.predict(NEW) == a.predict(NEW)) >= 0.95
    )  # one-vs-one ties are broken differently
    theta = SKLEARN["rbf"].theta + 0.1
    assert b.log_marginal_likelihood(theta) == pytest.approx(a.log_marginal_likelihood(theta))
    each = np.concatenate([theta, theta + 0.1, theta - 0.1])
    assert b.log_marginal_likelihood(each) == pytest.approx(a.log_marginal_likelihood(each))
    if multi_class == "one_vs_rest":
        np.testing.assert_allclose(b.predict_proba(NEW), a.predict_proba(NEW), atol=1e-6)
    else:
        with pytest.raises(ValueError, match="one_vs_rest"):
            b.predict_proba(NEW)
    with pytest.raises(ValueError, match="Shape of theta"):
        b.log_marginal_likelihood(each[:-1])
    with pytest.raises(ValueError, match="binary"):
        b.latent_mean_and_variance(NEW)


@QUIET
def test_fits_as_scikit_learn():
    a, b = (M(SKLEARN["rbf"]).fit(X, TWO) for M in (Theirs, Ours))
    assert b.log_marginal_likelihood_value_ >= a.log_marginal_likelihood_value_ - 1e-5
    np.testing.assert_allclose(b.predict_proba(NEW), a.predict_proba(NEW), atol=2e-3)
    assert isinstance(b.kernel_, theirs.Kernel)
    assert Ours().fit(X, TWO).kernel_ == 1.0 * kg.Gaussian(1.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient(weighted):
    w = rng.integers(1, 4, 90).astype(float) if weighted else np.ones(90)
    data = Labels(X, TWO.astype(float), w)
    kernel = 1.3 * kg.Stretched(kg.Matern(2.5), [1.0, 2.0, 0.7]) + kg.Linear() * kg.Gaussian(2.0)

    def value(kernel):
        return find_mode(kernel(X), data, None, 100).value

    K = kernel(X)
    found = gradient(kernel, K, find_mode(K, data, None, 100), data)
    for path, p in parameters(kernel).items():
        ends = [value(with_parameters(kernel, {path: p * np.exp(h)})) for h in (1e-4, -1e-4)]
        assert found[path] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4, abs=1e-5)


def test_gradient_of_three_classes():
    model = Ours(KERNEL, optimizer=None).fit(X, THREE)
    theta = np.log([1.5, 1.2]) + 0.1
    _, shared = model.log_marginal_likelihood(theta, eval_gradient=True)
    for j in range(2):
        step = 1e-4 * np.eye(2)[j]
        ends = [model.log_marginal_likelihood(theta + s) for s in (step, -step)]
        assert shared[j] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4)
    _, each = model.log_marginal_likelihood(np.tile(theta, 3), eval_gradient=True)
    np.testing.assert_allclose(each.reshape(3, 2).sum(axis=0), shared)


def test_mode_is_stationary_from_any_start():
    data = Labels(X, TWO.astype(float), np.ones(90))
    K = (50.0 * kg.Gaussian(0.8))(X)
    for start in (None, 10.0 * rng.standard_normal(90)):
        mode = find_mode(K, data, start, 100)
        assert mode.converged
        np.testing.assert_allclose(mode.g, data.y - expit(K @ mode.g), atol=1e-6)


def test_a_weight_is_a_repetition_in_the_likelihood():
    w = rng.integers(0, 4, 90)
    r = np.repeat(np.arange(90), w)
    one = Ours(KERNEL, optimizer=None).fit(X, THREE, sample_weight=w)
    two = Ours(KERNEL, optimizer=None).fit(X[r], THREE[r])
    assert one.log_marginal_likelihood_value_ == pytest.approx(two.log_marginal_likelihood_value_)
    np.testing.assert_allclose(one.predict_proba(NEW), two.predict_proba(NEW), atol=1e-7)


def test_probability_is_the_mean_of_the_logistic():
    mean, variance = np.array([0.0, 1.0, -2.0, 5.0]), np.array([1.0, 0.3, 4.0, 10.0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    f = mean[:, None] + np.sqrt(variance)[:, None] * nodes
    want = expit(f) @ weights / weights.sum()
    np.testing.assert_allclose(probability(mean, variance), want, atol=2e-3)


def test_far_away_nothing_is_known():
    model = Ours(KERNEL, optimizer=None).fit(X, TWO)
    np.testing.assert_allclose(model.predict_proba(NEW + 100.0), 0.5, atol=1e-6)
    assert model.score(X, TWO) > 0.85
    p = model.predict_proba(NEW)
    np.testing.assert_array_equal(p[:, 1] > 0.5, model.predict(NEW))


def test_threads_restarts_and_warm_start():
    params = {"n_restarts_optimizer": 2, "random_state": 0, "bounds": (1e-2, 1e2)}
    one = Ours(KERNEL, **params).fit(X, THREE)
    two = Ours(KERNEL, n_jobs=2, **params).fit(X, THREE)
    np.testing.assert_allclose(one.predict_proba(NEW), two.predict_proba(NEW), atol=1e-8)
    assert len(one.kernel_) == 3
    warm = Ours(KERNEL, optimizer=None, warm_start=True).fit(X, TWO)
    cold = warm.predict_proba(NEW)
    np.testing.assert_allclose(warm.fit(X, TWO).predict_proba(NEW), cold, atol=1e-6)
    np.testing.assert_allclose(
        warm.fit(X[:50], TWO[:50]).predict_proba(NEW),
        Ours(KERNEL, optimizer=None).fit(X[:50], TWO[:50]).predict_proba(NEW),
        atol=1e-6,
    )


def test_budgets():
    with pytest.warns(ConvergenceWarning, match=r"usable.*max_time"):
        model = Ours(KERNEL, max_time=1e-9).fit(X, TWO)
    assert np.isfinite(model.predict_proba(NEW)).all()
    with pytest.warns(ConvergenceWarning, match="Newton"):
        Ours(KERNEL, optimizer=None, max_iter_predict=1).fit(X, TWO)
    with pytest.raises(MemoryError, match="KitchenSinks"):
        Ours(KERNEL, max_memory="10KiB").fit(X, TWO)
    with pytest.raises(ValueError, match="multi_class must be"):
        Ours(KERNEL, multi_class="all").fit(X, THREE)
    assert kg.estimate(Ours(KERNEL), 1000, 3).fits
