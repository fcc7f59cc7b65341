"""Gaussian processes on awkward input: streams, equal bounds, failed fits, memory limits."""

import tracemalloc

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kilogram as kg
from kilogram.solvers.gaussian_process.laplace import Labels, find_mode

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(60)
PROCESSES = [
    (kg.GaussianProcessRegressor, Y),
    (kg.GaussianProcessClassifier, (Y > 0).astype(int)),
]


@pytest.mark.parametrize(("cls", "y"), PROCESSES)
def test_streams_are_refused_with_advice(cls, y):
    with pytest.raises(ValueError, match=r"needs all rows in memory.*compute"):
        cls().fit(da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=20))
    for blocks in (
        [(X[:30], y[:30]), (X[30:], y[30:])],
        ((X[i : i + 20], y[i : i + 20]) for i in range(0, 60, 20)),
    ):
        with pytest.raises(ValueError, match="needs all rows in memory"):
            cls().fit(blocks, None)


@pytest.mark.parametrize(("cls", "y"), PROCESSES)
def test_equal_bounds_fix_the_parameters(cls, y):
    kernel = 1.0 * kg.Gaussian(1.0)
    model = cls(kernel, bounds=(1.5, 1.5)).fit(X, y)
    fixed = cls(1.5 * kg.Gaussian(1.5), optimizer=None).fit(X, y)
    got, want = model.log_marginal_likelihood_value_, fixed.log_marginal_likelihood_value_
    assert got == pytest.approx(want, rel=1e-8)
    half = cls(kernel, bounds={"factor": (1.0, 1.0), "kernel__sigma": (0.1, 10.0)}).fit(X, y)
    assert half.kernel_.factor == pytest.approx(1.0)


@pytest.mark.parametrize(("cls", "y"), PROCESSES)
def test_a_failed_fit_leaves_the_model_as_it_was(cls, y):
    def failing(function, start, bounds):
        raise KeyboardInterrupt

    kernel = 1.0 * kg.Gaussian(1.0) + kg.White(0.1)
    model = cls(kernel, optimizer=None).fit(X, y)
    want = model.predict(X)
    model.set_params(optimizer=failing)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :1], y)
    np.testing.assert_array_equal(model.predict(X), want)
    fresh = cls(kernel, optimizer=failing)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.log_marginal_likelihood()


def test_the_classifier_has_the_response_methods_of_scikit_learn_only():
    model = kg.GaussianProcessClassifier(optimizer=None).fit(X, Y > 0)
    assert not hasattr(model, "decision_function")
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), p[:, 1] > 0.5)


def test_newton_keeps_one_matrix_beside_the_kernel_matrix():
    n = 600
    Z = RNG.standard_normal((n, 3))
    K, data = kg.Gaussian(1.0)(Z), Labels(Z, (Z[:, 0] > 0).astype(float), np.ones(n))
    find_mode(K, data, None, 100)  # imports and caches are not counted
    tracemalloc.start()
    found = find_mode(K, data, None, 100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_iter > 1
    assert peak < 1.3 * K.nbytes


def test_memory_is_counted_for_every_job():
    y, n = np.arange(90) % 3, 90
    Z = RNG.standard_normal((n, 2))
    limit = int(4.2 * 8 * n * n)
    kg.GaussianProcessClassifier(optimizer=None, max_memory=limit).fit(Z, y)
    with pytest.raises(MemoryError, match="5 matrices"):
        kg.GaussianProcessClassifier(optimizer=None, max_memory=limit, n_jobs=2).fit(Z, y)


def test_numpy_integers_are_accepted():
    y = np.arange(60) % 3
    model = kg.GaussianProcessClassifier(optimizer=None, n_jobs=np.int64(1)).fit(X, y)
    assert model.predict(X).shape == (60,)
    kg.GaussianProcessRegressor(n_restarts_optimizer=np.int64(0), alpha=np.float32(0.1)).fit(X, Y)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_float64_targets_keep_their_precision_beside_float32_rows(normalize_y):
    """Timestamps near 1.7e9 were rounded to multiples of 128."""
    small = X.astype(np.float32)
    y = 1.7e9 + 3.0 * Y
    kernel = 1e20 * kg.Gaussian(1.0) if not normalize_y else 1.0 * kg.Gaussian(1.0)
    params = {"alpha": 1e-4 if normalize_y else 1.0, "optimizer": None, "normalize_y": normalize_y}
    model = kg.GaussianProcessRegressor(kernel, **params).fit(small, y)
    want = kg.GaussianProcessRegressor(kernel, **params).fit(small.astype(float), y)
    assert model.predict(small).dtype == np.float64
    np.testing.assert_allclose(model.predict(small), want.predict(small.astype(float)), rtol=1e-13)
    few = kg.GaussianProcessRegressor(kernel, **params).fit(small, Y.astype(np.float32))
    assert few.predict(small).dtype == np.float32
