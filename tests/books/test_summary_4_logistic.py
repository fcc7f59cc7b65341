"""Summary section 4: softmax regression by Newton's method."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from book_checks import covers, numerical_gradient

import kilogram as kg
from kilogram.textbook import logistic
from kilogram.textbook.state import run


def problem(seed: int, K: int = 3, n: int = 80, d: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Z = X @ rng.standard_normal((d, K)) + 0.8 * rng.gumbel(size=(n, K))
    return X, np.argmax(Z, axis=1)


@covers("summary A4.1", "summary A4.2", "summary A4.8")
def test_A4_1_block_features_are_one_weight_vector_per_class():
    X, y = problem(0)
    K, d = 3, 3
    W = np.random.default_rng(1).standard_normal((d, K))
    beta = W.T.ravel()

    def phi(x, k):
        return np.concatenate([x * (k == c) for c in range(K)])

    f = np.array([[phi(x, k) @ beta for k in range(K)] for x in X])
    np.testing.assert_allclose(f, X @ W)
    Z = np.exp(f).sum(axis=1)  # one Z for every x, and the Boltzmann form divides by it
    P = np.exp(f) / Z[:, None]
    np.testing.assert_allclose(P, logistic.softmax(X @ W))
    L = -np.sum(f[np.arange(len(y)), y]) + np.sum(np.log(Z))
    assert np.isclose(L, logistic.cost(X, logistic.one_hot(y, K), W))
    # -phi(x_i, y_i) belongs inside the sum over i: outside it is subtracted once only
    inside = sum(sum(P[i, k] * phi(X[i], k) for k in range(K)) - phi(X[i], y[i]) for i in range(80))
    np.testing.assert_allclose(inside, logistic.gradient(X, logistic.one_hot(y, K), W).T.ravel())


@covers("summary A4.3", "summary A4.4")
def test_A4_4_gradient_and_hessian_agree_with_differences():
    X, y = problem(1, n=30)
    Y, W = logistic.one_hot(y, 3), np.random.default_rng(2).standard_normal((3, 3))
    g = logistic.gradient(X, Y, W)
    np.testing.assert_allclose(
        g, numerical_gradient(lambda V: logistic.cost(X, Y, V), W), atol=1e-5
    )
    H = logistic.hessian(X, W)
    for j in range(9):
        e = np.zeros(9)
        e[j] = 1e-6
        step = e.reshape(3, 3).T
        up, down = (logistic.gradient(X, Y, W + s * step).T.ravel() for s in (1, -1))
        np.testing.assert_allclose(H[:, j], (up - down) / 2e-6, atol=1e-4)


@covers("summary A4.5", "summary A4.10")
def test_A4_10_newton_with_a_pseudo_inverse_converges_quadratically():
    X, y = problem(2)
    states = list(logistic.newton(X, y))
    sizes = [float(s["size"]) for s in states if "size" in s.arrays]
    assert len(sizes) <= 9
    assert sizes[-1] < 1e-3 * sizes[-2] < 1e-3 * sizes[-3]
    fast = kg.LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    book = logistic.softmax(logistic.with_ones(X) @ states[-1]["W"])
    np.testing.assert_allclose(fast.predict_proba(X), book, atol=1e-7)


@covers("summary A4.6")
def test_A4_6_the_hessian_is_singular():
    X, _ = problem(3)
    W = np.random.default_rng(0).standard_normal((3, 3))
    assert np.linalg.matrix_rank(logistic.hessian(X, W)) == 3 * (3 - 1)
    assert np.linalg.matrix_rank(logistic.hessian(X, W, 1.0)) < 9  # the first row is unpenalised
    D = np.tile(np.array([[1.0], [2.0], [3.0]]), 3)
    np.testing.assert_allclose(logistic.softmax(X @ W), logistic.softmax(X @ (W + D)))


@covers("summary A4.7")
def test_A4_7_separable_data_has_no_finite_optimum_and_that_is_reported():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    lengths = [np.linalg.norm(s["W"]) for s in logistic.newton(X, y, max_steps=12)]
    assert np.all(np.diff(lengths) > 0)
    assert lengths[-1] > 5
    with pytest.warns(kg_warning(), match="separates"):
        model = kg.LogisticRegression(C=np.inf).fit(X, y)
    assert model.separable_
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kg.LogisticRegression(C=1.0).fit(X, y).separable_


def kg_warning():
    from kilogram.base import ConvergenceWarning

    return ConvergenceWarning


@covers("summary A4.9")
def test_A4_9_two_classes_sums_shift_moments_and_convexity():
    X, y = problem(4, K=2)
    model = kg.LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(P[:, 1], logistic.sigma(X @ model.coef_[0] + model.intercept_))
    np.testing.assert_allclose(X.T @ P[:, 1], X.T @ (y == 1), atol=1e-6)  # moments match
    W = np.random.default_rng(5).standard_normal((3, 3))
    assert np.linalg.eigvalsh(logistic.hessian(X, W)).min() > -1e-9


@covers("summary A4.11")
def test_A4_11_the_forward_difference_is_off_by_a_multiple_of_h():
    X, Y = np.array([[1.0, 0.5], [1.0, -2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    W, step = np.array([[0.3, -0.3], [0.1, -0.1]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    right = logistic.gradient(X, Y, W)[0, 0]
    start = logistic.cost(X, Y, W)
    errors = [
        abs((logistic.cost(X, Y, W + h * step) - start) / h - right) for h in (1e-2, 1e-3, 1e-4)
    ]
    assert all(9 < a / b < 11 for a, b in pairwise(errors))


@covers("summary A4.14")
def test_A4_14_newton_may_stop_at_a_maximum():
    """It looks for a zero of the gradient: on -x^2 + x^4 from 0.1 it finds the top at 0."""

    def step(x):
        return x - (-2 * x + 4 * x**3) / (-2 + 12 * x**2)

    x = 0.1
    for _ in range(20):
        x = step(x)
    assert abs(x) < 1e-12  # a maximum: the second derivative is -2
    x = 1.0
    for _ in range(20):
        x = step(x)
    assert np.isclose(x, np.sqrt(0.5))
    assert run(logistic.newton(*problem(6)))["W"].shape == (4, 3)
