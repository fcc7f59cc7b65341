"""Cookbook chapter 19 (logistic regression) and B.6 (its gradient)."""

from __future__ import annotations

import numpy as np
from book_checks import covers, numerical_gradient

import kilogram as kg
from kilogram.textbook import logistic
from kilogram.textbook.state import run


def clouds(seed: int, K: int = 3, n: int = 60, spread: float = 1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    angle = 2 * np.pi * np.arange(K) / K
    means = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    return means[y] + spread * rng.standard_normal((n, 2)), y


def accuracy(X, y, W) -> float:
    return float(np.mean(np.argmax(logistic.with_ones(X) @ W, axis=1) == y))


@covers("cookbook M19.1", "cookbook H19.1", "cookbook X19.2", "cookbook T19.5", "cookbook E19.5")
def test_T19_5_stochastic_gradients_approach_the_second_order_optimum():
    """Steps 1/t (Robbins-Monro); "until converged" needs a rule: here a number of steps."""
    X, y = clouds(0, spread=1.2)
    best = run(logistic.newton(X, y, 1e-6))
    states = list(logistic.softmax_sgd(X, y, np.random.default_rng(1), steps=20_000, show=2_000))
    costs = [s.objective for s in states]
    assert costs[-1] < costs[0]
    assert costs[-1] < 1.3 * best.objective
    assert accuracy(X, y, states[-1]["W"]) >= accuracy(X, y, best["W"]) - 0.05


@covers("cookbook E19.1")
def test_E19_1_plus_climbs_the_cost():
    X, y = clouds(1)
    X1, Y = logistic.with_ones(X), logistic.one_hot(y, 3)
    W, rng = np.zeros((3, 3)), np.random.default_rng(0)
    for t in range(1, 500):
        i = rng.integers(len(X1))
        W = W + np.outer(X1[i], logistic.softmax(X1[i] @ W) - Y[i]) / t
    right = run(logistic.softmax_sgd(X, y, np.random.default_rng(0), steps=500))["W"]
    assert accuracy(X, y, W) < 0.2
    assert accuracy(X, y, right) > 0.8
    assert logistic.cost(X1, Y, W) > logistic.cost(X1, Y, 0 * W) > logistic.cost(X1, Y, right)


@covers("cookbook E19.2", "cookbook T19.1")
def test_E19_2_the_largest_exponent_is_taken_out():
    Z = np.array([[1e3, -1e3, 999.0], [0.0, 0.0, 0.0]])
    with np.errstate(over="ignore", invalid="ignore"):
        naive = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    assert np.isnan(naive).any()
    P = logistic.softmax(Z)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    X, y = clouds(2)
    model = kg.LogisticRegression().fit(X, y)
    far = model.predict_proba(1e3 * X)
    np.testing.assert_allclose(far.sum(axis=1), 1)
    assert np.isfinite(model.predict_log_proba(1e5 * X)).all()


@covers("cookbook T19.2", "cookbook TB.6", "cookbook E19.3")
def test_T19_2_the_gradient_agrees_with_differences():
    """B.6 prints the two derivative terms without the minus between them: P + Y is no gradient."""
    X, y = clouds(3)
    X1, Y = logistic.with_ones(X), logistic.one_hot(y, 3)
    W = np.random.default_rng(0).standard_normal((3, 3))
    numeric = numerical_gradient(lambda V: logistic.cost(X1, Y, V, 0.7), W)
    np.testing.assert_allclose(logistic.gradient(X1, Y, W, 0.7), numeric, rtol=1e-5, atol=1e-5)
    # where the fast model ends, the cost of the book is flat
    model = kg.LogisticRegression(C=1 / 0.7, tol=1e-8).fit(X, y)
    ended = np.vstack([model.intercept_, model.coef_.T])
    flat = logistic.gradient(X1, Y, ended, 0.7)
    np.testing.assert_allclose(flat, 0, atol=1e-5)
    printed = X1.T @ (logistic.softmax(X1 @ W) + Y)
    assert not np.allclose(printed, numerical_gradient(lambda V: logistic.cost(X1, Y, V), W))


@covers("cookbook T19.3", "cookbook X19.1")
def test_T19_3_two_classes_are_a_sigmoid_of_the_difference():
    X, y = clouds(4, K=2)
    W = run(logistic.newton(X, y, 0.5))["W"]
    X1 = logistic.with_ones(X)
    np.testing.assert_allclose(
        logistic.softmax(X1 @ W)[:, 0], logistic.sigma(X1 @ (W[:, 0] - W[:, 1]))
    )
    # two blocks of weights under one penalty are one block under half of it
    binary = kg.LogisticRegression(C=4.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        binary.predict_proba(X), logistic.softmax(X1 @ W), rtol=1e-6, atol=1e-8
    )


@covers("cookbook T19.4", "cookbook E19.4")
def test_T19_4_moments_match_and_the_optimum_is_unique_only_up_to_a_shift():
    X, y = clouds(5, spread=1.5)
    book = run(logistic.newton(X, y))
    X1, Y = logistic.with_ones(X), logistic.one_hot(y, 3)
    W = book["W"]
    np.testing.assert_allclose(X1.T @ (logistic.softmax(X1 @ W) - Y), 0, atol=1e-7)
    moved = W + np.array([[1.0], [-2.0], [0.5]])
    assert np.isclose(logistic.cost(X1, Y, moved), logistic.cost(X1, Y, W))
    fast = kg.LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(fast.predict_proba(X), logistic.softmax(X1 @ W), atol=1e-6)
    assert np.isclose(fast.intercept_.sum(), 0)


@covers("cookbook T19.6")
def test_T19_6_gaussians_of_one_covariance_give_nearly_fishers_boundary():
    rng = np.random.default_rng(6)
    y = np.arange(4000) % 2
    X = np.outer(2.0 * y - 1, [1.0, 0.5]) + rng.standard_normal((4000, 2)) @ [[1, 0.4], [0, 0.8]]
    w = kg.LogisticRegression(C=np.inf).fit(X, y).coef_[0]
    fisher = kg.FisherDiscriminant().fit(X, y).scalings_[:, 0]
    cosine = w @ fisher / np.linalg.norm(w) / np.linalg.norm(fisher)
    assert abs(cosine) > 0.995


@covers("cookbook E19.6", "cookbook E19.7")
def test_E19_6_numbers_of_parameters():
    """K (D + D(D+1)/2) is one covariance per class; a shared one needs K D + D(D+1)/2."""
    D, K = 10, 3
    triangle = D * (D + 1) // 2
    assert (K * (D + triangle), K * D + triangle, (D + 1) * K) == (195, 85, 33)
    X = np.random.default_rng(0).standard_normal((60, D))
    model = kg.LogisticRegression().fit(X, np.arange(60) % K)
    assert model.coef_.size + model.intercept_.size == 33 != D * K
    # fewer parameters are no guarantee: LDA, with more, wins on few Gaussian points
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(20):
        y = np.arange(24) % 2
        means = np.zeros((2, D))
        means[1, 0] = 2.0
        new_y = np.arange(1000) % 2
        train = means[y] + rng.standard_normal((24, D))
        test = means[new_y] + rng.standard_normal((1000, D))
        free = kg.LogisticRegression(C=1e6).fit(train, y)
        fisher = kg.FisherDiscriminant(alpha=1e-6).fit(train, y)
        scores.append([np.mean(m.predict(test) == new_y) for m in (free, fisher)])
    logit, lda = np.mean(scores, axis=0)
    assert lda > logit - 0.01
