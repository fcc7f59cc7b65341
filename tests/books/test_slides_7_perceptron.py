"""Slides lecture 7: perceptrons, Adaline, gradient descent."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, numerical_gradient

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.textbook import online, perceptron
from kilogram.textbook.state import run


def separable(seed: int, n: int = 60, offset: float = 0.0):
    """Two clouds with a gap between them, and labels +-1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.outer(y, [2.0, 1.0]) + rng.uniform(-1, 1, (n, 2)) + offset, y


XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])


@covers("slides B7.1", "slides B7.2", "slides B7.3")
def test_B7_1_error_functions_and_their_gradients():
    X, y = separable(0, offset=1.0)
    w = np.array([0.3, -0.8])
    numeric = numerical_gradient(lambda v: perceptron.error(X, y, v), w)
    bad = perceptron.wrong(X, y, w)
    assert 0 < bad.sum() < len(y)
    np.testing.assert_allclose(-(y * bad) @ X, numeric, atol=1e-5)
    assert np.isclose(perceptron.error(X, y, w), -np.sum((y * (X @ w))[bad]))
    # the step of all rows is the mean of the steps of single ones
    dw, da = online.gradient(X, y, w, 0.2)
    singles = [online.gradient(X[i : i + 1], y[i : i + 1], w, 0.2) for i in range(len(y))]
    np.testing.assert_allclose(dw, np.mean([s[0] for s in singles], axis=0))
    assert np.isclose(da, np.mean([s[1] for s in singles]))


@covers("slides B7.4", "slides B7.8", "slides B7.9")
def test_B7_9_a_random_mistake_at_a_time_ends_on_separable_data_within_the_bound():
    X, y = separable(1, offset=2.0)  # the first guess is wrong on many
    states = list(perceptron.mistakes(X, y, np.random.default_rng(0)))
    counts = [int(s["wrong"].sum()) for s in states]
    assert counts[0] > 0
    assert counts[-1] == 0
    fast = kg.Perceptron(variant="mistakes", random_state=0).fit(X, y)
    assert fast.score(X, y) == 1.0
    # from w = 0 at most (R / gamma)^2 mistakes, gamma the widest margin
    wide = kg.SVC(kernel="linear", C=1e6).fit(X, y)
    w = np.append(wide.intercept_, X[wide.support_].T @ np.ravel(wide.dual_coef_))
    X1 = perceptron.with_ones(X)
    gamma = np.min(y * (X1 @ w)) / np.linalg.norm(w)
    R = np.linalg.norm(X1, axis=1).max()
    votes = run(perceptron.averaged(X, y, np.random.default_rng(0), passes=20))
    assert len(votes["c"]) - 1 <= (R / gamma) ** 2


@covers("slides B7.9", "slides B7.12")
def test_B7_9_xor_never_ends_and_says_so():
    X, y = XOR
    for state in perceptron.mistakes(X, y, np.random.default_rng(0), max_steps=200):
        assert state["wrong"].any()
    with pytest.warns(ConvergenceWarning, match="the classes may overlap"):
        model = kg.Perceptron(variant="mistakes", max_iter=200).fit(X, y)
    assert np.isfinite(model.coef_).all()
    squares = np.column_stack([X, X[:, 0] * X[:, 1]])
    assert kg.Perceptron(variant="mistakes").fit(squares, y).score(squares, y) == 1.0


@covers("slides B7.5", "slides B7.10")
def test_B7_10_shrinking_steps_travel_a_short_way():
    """eta / it bounds the way w can go: far from the origin 100 steps are not enough."""
    X, y = separable(2, offset=8.0)
    wrong = []
    for its in (100, 30_000):
        last = run(perceptron.draws(X, y, np.random.default_rng(3), its=its))
        wrong.append(int(last["wrong"].sum()))
    assert wrong[0] > wrong[1]
    fast = kg.Perceptron(variant="draws", max_iter=30_000, random_state=0).fit(X, y)
    assert fast.t_ == 30_000
    assert fast.score(X, y) > 0.9
    constant = kg.Perceptron(max_iter=1000, tol=None, random_state=0).fit(X, y)
    assert constant.score(X, y) == 1.0
    # a step may make more points wrong, and the answer depends on the order
    counts = [int(s["wrong"].sum()) for s in perceptron.mistakes(X, y, np.random.default_rng(0))]
    assert np.any(np.diff(counts) > 0)
    ends = [run(perceptron.mistakes(X, y, np.random.default_rng(k)))["w"] for k in (0, 1)]
    assert not np.allclose(*ends)


@covers("slides B7.6")
def test_B7_6_adalines_optimum_is_least_squares_on_the_labels():
    X, y = separable(3, 100)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(100)]), y, rcond=None)[0]
    model = kg.Adaline(eta0=0.05, power=0.7, max_iter=300, tol=None, average=True, random_state=0)
    model.fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, atol=0.02)
    reference = run(online.gradient_descent(X, y, eta=0.2, steps=2000))
    np.testing.assert_allclose(np.append(reference["w"], -reference["alpha"]), best, atol=1e-7)


@covers("slides B7.7", "slides B7.8")
def test_B7_8_digits_eight_against_the_rest_and_all_ten():
    X, y = kg.make_digit_glyphs(1800, random_state=0)  # 16 x 16 pixels, as those of the slides
    eight = kg.Perceptron(average=True, random_state=0).fit(X[:1200], y[:1200] == 8)
    # w as an image: the pixels that speak for an eight are those where eights are darker
    eights, others = (X[:1200][(y[:1200] == 8) == is_eight].mean(axis=0) for is_eight in (1, 0))
    assert np.corrcoef(eight.coef_[0], eights - others)[0, 1] > 0.3
    assert eight.score(X[1200:], y[1200:] == 8) > 0.9
    ten = kg.Perceptron(average=True, random_state=0).fit(X[:1200], y[:1200])
    assert ten.coef_.shape == (10, 256)
    assert ten.score(X[1200:], y[1200:]) > 0.85
    np.testing.assert_array_equal(
        ten.predict(X), np.argmax(X @ ten.coef_.T + ten.intercept_, axis=1)
    )
    small = np.isin(y, (0, 1, 2))
    W = run(perceptron.one_versus_rest(X[small], y[small], np.random.default_rng(0)))["W"]
    assert np.mean(np.argmax(perceptron.with_ones(X[small]) @ W, axis=1) == y[small]) > 0.98


@covers("slides B7.11")
def test_B7_11_an_offset_is_needed_and_zero_is_no_solution():
    X, y = separable(4, offset=6.0)
    flat = kg.Perceptron(fit_intercept=False, tol=None, max_iter=300).fit(X, y)
    assert flat.score(X, y) < 1.0 == kg.Perceptron(tol=None).fit(X, y).score(X, y)
    # E_P(0) = 0 is the smallest value, yet every point counts as wrong there
    X1 = perceptron.with_ones(X)
    assert perceptron.error(X1, y, np.zeros(3)) == 0
    assert perceptron.wrong(X1, y, np.zeros(3)).all()


@covers("slides B7.12")
def test_B7_12_votes_and_means_are_steadier_than_the_last():
    rng = np.random.default_rng(5)
    y = np.where(np.arange(300) % 2, 1.0, -1.0)
    X = np.outer(y, [0.6, 0.3]) + rng.standard_normal((300, 2))
    new = np.outer(y, [0.6, 0.3]) + rng.standard_normal((300, 2))
    reference = run(perceptron.averaged(X, y, np.random.default_rng(0)))
    assert reference["c"].sum() == 10 * 300
    mean = np.mean(np.sign(perceptron.with_ones(new) @ reference["w_bar"]) == y)
    voted = np.mean(perceptron.vote(new, reference["V"], reference["c"]) == y)
    lasts, means, votes = [], [], []
    for seed in range(8):
        fit = dict(max_iter=5, tol=None, random_state=seed)
        lasts.append(kg.Perceptron(**fit).fit(X, y).score(new, y))
        means.append(kg.Perceptron(average=True, **fit).fit(X, y).score(new, y))
    with pytest.warns(ConvergenceWarning):
        model = kg.Perceptron(average="voted", max_iter=3, tol=None).fit(X, y)
    votes = model.score(new, y)
    assert sum(v[2] for v in model.voters_) == 3 * 300
    assert min(means) > min(lasts)
    assert np.mean(means) > np.mean(lasts)
    assert min(mean, voted, votes) > np.mean(lasts) - 0.02
