"""Kernel regression: the textbook, direct formulas, limits of the bandwidth, leave-one-out."""

import warnings

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook.kernel_regression import kernel_regression
from kilogram.textbook.state import run


def wave(n=80, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def test_agrees_with_the_textbook():
    X, y = wave(d=2)
    new = wave(15, d=2, seed=1)[0]
    K = np.exp(-0.5 * ((new[:, None] - X[None]) ** 2).sum(axis=2) / 0.7**2)
    want = run(kernel_regression(K, y))["f"]
    np.testing.assert_allclose(kg.KernelRegression(0.7).fit(X, y).predict(new), want, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential", "cosine", "linear"])
def test_local_line_is_weighted_least_squares(kernel):
    X, y = wave(d=2)
    model = kg.KernelRegression(2.5, degree=1, kernel=kernel).fit(X, y)
    mean = kg.KernelRegression(2.5, kernel=kernel).fit(X, y)
    for x in X[:5] + 0.1:
        t = ((X - x) ** 2).sum(axis=1) / 2.5**2
        k = {
            "gaussian": np.exp(-0.5 * t),
            "epanechnikov": np.maximum(1 - t, 0),
            "exponential": np.exp(-np.sqrt(t)),
            "linear": np.maximum(1 - np.sqrt(t), 0),
            "cosine": np.where(t < 1, np.cos(0.5 * np.pi * np.sqrt(np.minimum(t, 1))), 0),
        }[kernel]
        A = np.c_[np.ones(len(X)), X - x]
        root = np.sqrt(k)
        want = np.linalg.lstsq(root[:, None] * A, root * y, rcond=None)[0][0]
        assert model.predict(x[None])[0] == pytest.approx(want, abs=1e-6)
        assert mean.predict(x[None])[0] == pytest.approx(k @ y / k.sum())


def test_a_line_is_reproduced_exactly_by_local_lines_only():
    X = np.linspace(0, 1, 30)[:, None]
    y = 3 * X[:, 0] - 1
    assert np.abs(kg.KernelRegression(0.1, degree=1).fit(X, y).predict(X) - y).max() < 1e-6
    assert np.abs(kg.KernelRegression(0.1).fit(X, y).predict(X) - y).max() > 0.05


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_limits_of_the_bandwidth(kernel):
    X, y = wave()
    new = np.array([[1.1], [77.0]])
    near = y[np.argmin(np.abs(X - new.T), axis=0)]
    np.testing.assert_allclose(
        kg.KernelRegression(1e-8, kernel=kernel).fit(X, y).predict(new), near
    )
    wide = kg.KernelRegression(1e8, kernel=kernel).fit(X, y).predict(new)
    np.testing.assert_allclose(wide, y.mean(), rtol=1e-6)


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("n_neighbors", [None, 40])
def test_leave_one_out_by_refits(degree, n_neighbors):
    X, y = wave(60, d=2)
    model = kg.KernelRegression(degree=degree, n_neighbors=n_neighbors, n_bandwidths=5).fit(X, y)
    for h, got in zip(model.bandwidths_, model.loo_errors_, strict=True):
        r = []
        for i in range(60):
            rest = np.arange(60) != i
            part = kg.KernelRegression(h, degree=degree, n_neighbors=n_neighbors)
            r.append(y[i] - part.fit(X[rest], y[rest]).predict(X[i : i + 1])[0])
        assert got == pytest.approx(np.mean(np.square(r)), rel=1e-6)
    assert model.bandwidth_ == model.bandwidths_[np.argmin(model.loo_errors_)]


def test_truncation_of_many_rows_changes_little():
    X, y = wave(6000, d=2)
    model = kg.KernelRegression(0.2).fit(X, y)
    assert model.n_neighbors_ == 500
    full = kg.KernelRegression(0.2, n_neighbors=None).fit(X, y)
    new = wave(50, d=2, seed=3)[0]
    assert np.abs(model.predict(new) - full.predict(new)).max() < 0.02


def test_bad_input():
    X, y = wave(10)
    with pytest.raises(ValueError, match="n_neighbors must be at most n_samples"):
        kg.KernelRegression(1.0, n_neighbors=11).fit(X, y)
    with pytest.raises(ValueError, match="bandwidth must be"):
        kg.KernelRegression(0.0).fit(X, y)
    constant = kg.KernelRegression(degree=1).fit(X, np.full(10, 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0)
    same = kg.KernelRegression(degree=1).fit(np.ones((10, 2)), y)
    np.testing.assert_allclose(same.predict(np.ones((1, 2))), y.mean())


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "epanechnikov", "cosine"])
@pytest.mark.parametrize("degree", [0, 1])
def test_extreme_bandwidths(kernel, degree):
    """Narrow: the nearest row. Wide: the mean, or the least squares line of all rows; the penalty
    on slopes once grew with the bandwidth, and its square overflowed.
    """
    X = np.random.default_rng(0).standard_normal((40, 3))
    y = X[:, 0] + X[:, 1] ** 2
    ones = np.column_stack([np.ones(40), X]) if degree else np.ones((40, 1))
    flat = ones @ np.linalg.lstsq(ones, y)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for h, want, atol in ((1e-200, y, 1e-9), (1e8, flat, 1e-6), (1e200, flat, 1e-6)):
            model = kg.KernelRegression(bandwidth=h, kernel=kernel, degree=degree).fit(X, y)
            np.testing.assert_allclose(model.predict(X), want, atol=atol)
