"""Lecture notes L06 and L07: logistic regression by stochastic gradients and by reweighting."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from book_checks import covers, numerical_gradient
from scipy.optimize import minimize

import kilogram as kg
from kilogram.textbook import logistic
from kilogram.textbook.state import run


def two_blobs(seed: int, n: int = 400, gap: float = 1.0, corr: float = 0.5):
    """Balanced Gaussians at -m and +m with one covariance, and labels 0, 1."""
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0], [corr, np.sqrt(1 - corr**2)]])
    y = np.arange(n) % 2
    m = gap * np.array([1.0, 0.4])
    return np.outer(2 * y - 1, m) + rng.standard_normal((n, 2)) @ root.T, y, root @ root.T, m


def loss(X1, y, w) -> float:
    return float(np.sum(np.logaddexp(0, -(2 * y - 1) * (X1 @ w))))


@covers("lecture_notes L06.M3", "lecture_notes L06.T4")
def test_L06_T4_balanced_centred_gaussians_give_twice_the_whitened_mean():
    X, y, S, m = two_blobs(0, 40_000)
    w = kg.LogisticRegression(C=np.inf).fit(X, y).coef_[0]
    want = 2 * np.linalg.solve(S, m)
    assert np.linalg.norm(w - want) < 0.05 * np.linalg.norm(want)


@covers("lecture_notes L06.M4", "lecture_notes L06.X1")
def test_L06_X1_the_printed_step_lacks_the_residual():
    X, y, *_ = two_blobs(1)
    good = run(logistic.logistic_sgd(X, y, np.random.default_rng(0), epochs=10))["w"]
    X1, w, rng = logistic.with_ones(X), np.zeros(3), np.random.default_rng(0)
    for _ in range(10):
        for i in rng.permutation(len(X1)):
            w = w + 0.5 * logistic.sigma(X1[i] @ w) * X1[i]
    accuracy = [np.mean((X1 @ v > 0) == y) for v in (good, w)]
    assert accuracy[0] > 0.8 > accuracy[1] + 0.1
    assert np.linalg.norm(w) > 100 * np.linalg.norm(good)


@covers("lecture_notes L06.X2")
def test_L06_X2_the_printed_decay_is_zero_at_once():
    kappa, printed = 0.5, []
    for t in range(3):
        kappa = kappa * t / (t + 1)
        printed.append(kappa)
    assert printed == [0.0, 0.0, 0.0]
    kappa = 0.5
    for t in range(1, 20):
        kappa = kappa * t / (t + 1)
        assert np.isclose(kappa, 0.5 / (t + 1))
    X, y, *_ = two_blobs(2, 60)
    steps = [s["kappa"] for s in logistic.logistic_sgd(X, y, np.random.default_rng(0), epochs=3)
             if "kappa" in s.arrays]  # fmt: skip
    np.testing.assert_allclose(steps, [0.5, 0.25, 0.5 / 3])


@covers("lecture_notes L06.G1")
def test_L06_G1_without_shuffling_the_last_class_wins():
    X, y, *_ = two_blobs(3, 200, gap=0.3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    fit = dict(loss="log", eta0=0.1, power=0.0, max_iter=3, tol=None, random_state=0)
    mixed, plain = (
        kg.OnlineClassifier(shuffle=shuffle, **fit).fit(X, y) for shuffle in (True, False)
    )
    assert np.mean(plain.predict(X)) > np.mean(mixed.predict(X)) + 0.1
    assert mixed.score(X, y) > plain.score(X, y)


@covers("lecture_notes L06.E1", "lecture_notes L06.X4", "lecture_notes L07.G2")
def test_L06_E1_outliers_bend_lda_and_not_logistic_regression():
    X, y, *_ = two_blobs(4, 400, gap=1.5)
    far = np.column_stack([np.full(40, 30.0), np.full(40, 12.0)])
    Xo, yo = np.vstack([X, far]), np.append(y, np.ones(40, dtype=int))
    clean = [m.fit(X, y).score(X, y) for m in (kg.LogisticRegression(), kg.FisherDiscriminant())]
    logit, fisher = kg.LogisticRegression().fit(Xo, yo), kg.FisherDiscriminant().fit(Xo, yo)
    assert abs(clean[0] - clean[1]) < 0.02  # Gaussian classes: both are right
    assert logit.score(X, y) > clean[0] - 0.02
    assert fisher.score(X, y) < clean[1] - 0.05


@covers("lecture_notes L06.T3", "lecture_notes L06.X3", "lecture_notes L07.X3")
def test_L06_X3_the_gradient_of_what_is_minimised():
    """sigma' = sigma (1 - sigma); minimising needs minus the log-likelihood, and sigma - y."""
    a = np.linspace(-30, 30, 61)
    s = logistic.sigma(a)
    np.testing.assert_allclose(1 - s, logistic.sigma(-a), atol=1e-12)
    np.testing.assert_allclose((logistic.sigma(a + 1e-6) - logistic.sigma(a - 1e-6)) / 2e-6,
                               s * (1 - s), atol=1e-8)  # fmt: skip
    X, y, *_ = two_blobs(5, 50)
    X1, w = logistic.with_ones(X), np.array([0.2, -0.3, 0.5])
    numeric = numerical_gradient(lambda v: loss(X1, y, v), w)
    np.testing.assert_allclose(X1.T @ (logistic.sigma(X1 @ w) - y), numeric, atol=1e-5)
    assert not np.allclose(X1.T @ (y - logistic.sigma(X1 @ w)), numeric, atol=1e-2)
    # printed under argmin without its minus, the objective would be made as small as it can be
    assert -loss(X1, y, 50 * w) < -loss(X1, y, w)


@covers("lecture_notes L07.M1")
def test_L07_M1_reweighted_least_squares_is_newton():
    X, y, *_ = two_blobs(6)
    states = list(logistic.irls(X, y, 0.5))
    last = states[-1]
    assert last["weights"].max() <= 0.25
    near = np.abs(last["X"] @ last["w"]).argmin()
    assert last["weights"].argmax() == near
    fast = kg.LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(fast.coef_[0], last["w"][1:], rtol=1e-6)
    np.testing.assert_allclose(fast.intercept_, last["w"][:1], rtol=1e-6, atol=1e-8)
    assert np.isclose(fast.objective_, 2.0 * last.objective)
    values = [s.objective for s in states]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))


@covers("lecture_notes L07.T2", "lecture_notes L07.G1")
def test_L07_T2_newton_stochastic_gradients_and_bfgs_agree():
    X, y, *_ = two_blobs(7, 300)
    X1, lam = logistic.with_ones(X), 1.0
    shrink = lam * np.array([0.0, 1.0, 1.0])
    newton = run(logistic.irls(X, y, lam))["w"]

    def f(w):
        return loss(X1, y, w) + 0.5 * shrink @ (w * w), X1.T @ (logistic.sigma(X1 @ w) - y) + shrink * w  # fmt: skip  # noqa: E501

    for method in ("BFGS", "CG"):
        np.testing.assert_allclose(
            minimize(f, np.zeros(3), jac=True, method=method, tol=1e-8).x, newton, atol=1e-4
        )
    w = np.zeros(3)
    for _ in range(3000):  # batch gradient descent
        w = w - 0.005 * f(w)[1]
    np.testing.assert_allclose(w, newton, atol=1e-4)
    sgd = kg.OnlineClassifier(
        alpha=lam / 300, eta0=0.2, power=0.7, tau=500.0, max_iter=150, tol=None,
        average=True, random_state=0,
    ).fit(X, y)  # fmt: skip
    found = np.append(sgd.intercept_, sgd.coef_)
    assert np.linalg.norm(found - newton) < 0.1 * np.linalg.norm(newton)
