"""Rows that repeat, target included: the likelihood has no maximum, the answer is still sane."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.models.gaussian_process.duplicate_rows import without_copies
from kilogram.solvers.gaussian_process.exact import Observations

KERNEL = 1.0 * kg.Gaussian(1.0) + kg.White(0.1)


def noisy(n=40, copies=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (n, 1))
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(n)
    return np.vstack([X, X[:copies]]), np.r_[y, y[:copies]]


def fitted(X, y, **given):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = kg.GaussianProcessRegressor(KERNEL, random_state=0, **given).fit(X, y)
    return model, [str(w.message) for w in said]


def test_the_likelihood_of_copies_has_no_maximum():
    X, y = noisy()
    model, _ = fitted(X, y, optimizer=None)
    at = [model.log_marginal_likelihood(np.log([1.0, 1e-4, s])) for s in (1e-2, 1e-3, 1e-4)]
    # 40 copies: each tenth of the noise is 20 log 10 more
    np.testing.assert_allclose(np.diff(at), 20 * np.log(10), rtol=0.05)


def test_many_starts_do_not_end_in_the_hole():
    X, y = noisy()
    model, said = fitted(X, y, n_restarts_optimizer=8)
    distinct, _ = fitted(X[:40], y[:40])
    assert 0.5 < model.kernel_.right.noise / distinct.kernel_.right.noise < 1.5
    assert [s for s in said if "40 rows are duplicates" in s]
    # a maximum, though not the highest point of the box
    slope = model.log_marginal_likelihood(np.log(theta(model)), eval_gradient=True)[1]
    np.testing.assert_allclose(slope, 0, atol=0.05)


def theta(model):
    kernel = model.kernel_
    return [kernel.left.factor, kernel.left.kernel.sigma, kernel.right.noise]


def test_weights_are_copies_here_too():
    X, y = noisy()
    copied, _ = fitted(X, y, n_restarts_optimizer=8)
    weighted, said = fitted_with_weights(X[:40], y[:40], np.full(40, 2.0))
    np.testing.assert_allclose(theta(weighted), theta(copied), rtol=1e-3)
    assert [s for s in said if "rows are duplicates" in s]


def fitted_with_weights(X, y, w):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = kg.GaussianProcessRegressor(KERNEL, random_state=0, n_restarts_optimizer=8)
        model.fit(X, y, sample_weight=w)
    return model, [str(w.message) for w in said]


def test_rows_without_noise_keep_none():
    X, _ = noisy()
    model, said = fitted(X, np.sin(X[:, 0]))
    assert model.kernel_.right.noise == pytest.approx(1e-5)
    assert not [s for s in said if "repeat" in s]


def test_one_row_again_and_again_has_no_noise():
    # nothing but its copies could tell
    model, said = fitted(np.ones((30, 2)), np.ones(30))
    assert model.kernel_.right.noise == pytest.approx(1e-5)
    assert not [s for s in said if "repeat" in s]


def test_without_copies_there_is_no_warning():
    X, y = noisy(copies=0)
    model, said = fitted(X, y, n_restarts_optimizer=4)
    assert not said
    assert model.kernel_.right.noise > 0.1


def test_the_warning_is_one_of_convergence():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="raise the likelihood without limit"):
        kg.GaussianProcessRegressor(KERNEL, random_state=0, n_restarts_optimizer=8).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_distinct_rows(form):
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, -0.0], [0.0, 2.0]])
    Y = np.array([[1.0], [2.0], [1.0], [1.0], [3.0]])
    distinct, copies = without_copies(Observations(form(X), Y, np.zeros(5)))
    assert copies == 2
    np.testing.assert_array_equal(distinct.Y[:, 0], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(distinct.w, 1.0)
    whole = Observations(form(X[:2]), Y[:2], np.zeros(2), np.array([0.5, 1.0]))
    assert without_copies(whole) == (whole, 0)


def test_weights_of_copies_are_summed_and_cut_at_one():
    X, Y = np.zeros((3, 1)), np.array([[1.0], [1.0], [2.0]])
    distinct, copies = without_copies(Observations(X, Y, np.zeros(3), np.array([0.2, 0.3, 3.0])))
    assert copies == 2
    np.testing.assert_allclose(distinct.w, [0.5, 1.0])
