"""Cookbook, chapter 21: the kernel support vector machine by stochastic gradients."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, numerical_gradient, xor
from sklearn.cluster import KMeans

import kilogram as kg
from kilogram.textbook import kernels, ridge, svm_dual, svm_sgd
from kilogram.textbook.state import run


def lowest(K, y, lam):
    """Minimum of the mean hinge + lambda/2 a'K a: coordinate descent on the dual, no offset."""
    C, n = 1 / (lam * len(y)), len(y)
    alpha = np.zeros(n)
    for _ in range(100):
        for i in range(n):
            slope = y[i] * (K[i] @ (alpha * y)) - 1
            alpha[i] = np.clip(alpha[i] - slope / K[i, i], 0, C)
    return alpha * y


@covers("cookbook M21.1", "cookbook X21.1")
@pytest.mark.parametrize("penalty", ["norm", "coefficients"])
def test_X21_1_xor(penalty):
    X, y = xor(0)
    K = kernels.gaussian(X, X, 1.0)
    a = run(svm_sgd.kernel_svm(K, y, 0.01, 25, np.random.default_rng(0), penalty=penalty))["a"]
    assert np.mean(np.sign(K @ a) == y) > 0.97
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.mean(np.sign(X @ w) == y) < 0.7
    assert run(ridge.ridge(X, y, 0.0))["W"].shape == (2,)
    fast = kg.SVC(kernel=kg.Gaussian(sigma=1.0), C=1 / (0.01 * 200)).fit(X, y)
    assert fast.score(X, y) > 0.97
    assert kg.SVC(kernel="linear").fit(X, y).score(X, y) < 0.8


@covers("cookbook E21.1", "cookbook T21.4")
def test_E21_1_the_norm_of_the_function_is_not_the_norm_of_the_coefficients():
    X, y = xor(1, 60)
    K, lam = kernels.gaussian(X, X, 0.7), 0.05
    best = lowest(K, y, lam)
    floor = svm_sgd.kernel_cost(K, y, best, lam)
    costs = {}
    for penalty in ("norm", "coefficients"):
        s = run(svm_sgd.kernel_svm(K, y, lam, 100, np.random.default_rng(1), penalty=penalty))
        costs[penalty] = svm_sgd.kernel_cost(K, y, s["a"], lam)
    assert floor - 1e-9 <= costs["norm"] < 1.03 * floor
    assert costs["coefficients"] > 1.03 * floor  # another method
    a = np.random.default_rng(1).standard_normal(60) / 10
    violated = (y * (K @ a) <= 1) * y
    for penalty, pull in (("norm", K @ a), ("coefficients", a)):
        gradient = numerical_gradient(lambda v, p=penalty: svm_sgd.kernel_cost(K, y, v, lam, p), a)
        assert np.allclose(gradient, lam * pull - K @ violated / 60, atol=1e-5)
    offset_free = K @ best  # the fast machine has an offset, so it can only be lower
    fast = kg.SVC(kernel=kg.Gaussian(sigma=0.7), C=1 / (lam * 60), tol=1e-6).fit(X, y)
    assert fast.objective_ * lam <= floor + 1e-6
    assert np.mean(np.sign(offset_free) == fast.predict(X)) > 0.95


@covers("cookbook E21.2")
def test_E21_2_a_point_takes_part_in_its_own_prediction():
    X, y = xor(2, 80)
    K = kernels.gaussian(X, X, 0.3)
    a = lowest(K, y, 0.05)
    ref = run(svm_sgd.kernel_svm(K, y, 0.05, 60, np.random.default_rng(2)))
    assert np.isclose(ref.objective, svm_sgd.kernel_cost(K, y, a, 0.05), rtol=0.05)
    without = (K - np.diag(np.diag(K))) @ a  # as (21.2) prints it
    assert svm_sgd.hinge(without, y).mean() > svm_sgd.hinge(K @ a, y).mean() + 0.1


@covers("cookbook E21.3")
def test_E21_3_the_steps_belong_to_the_mean_of_the_losses():
    X, y = xor(3, 60)
    K, lam = kernels.gaussian(X, X, 1.0), 0.2
    a = run(svm_sgd.kernel_svm(K, y, lam, 100, np.random.default_rng(3)))["a"]
    mean_form, sum_form = lowest(K, y, lam), lowest(K, y, lam / 60)
    norm = lambda f: np.sqrt(np.mean((K @ f) ** 2))  # noqa: E731
    assert norm(a - mean_form) < 0.1 * norm(mean_form)
    assert norm(a - sum_form) > 0.3 * norm(sum_form)


@covers("cookbook E21.4")
def test_E21_4_a_constant_in_the_kernel_is_an_offset():
    X, y = xor(4, 100)
    y = np.where((X[:, 0] > 0) & (X[:, 1] > 0), 1.0, -1.0)  # three quarters are -1
    far = np.full((1, 2), 50.0)
    K = kernels.gaussian(X, X, 1.0)
    a = lowest(K, y, 0.05)
    assert abs((kernels.gaussian(far, X, 1.0) @ a)[0]) < 1e-12  # no opinion far away
    with_constant = lowest(K + 1, y, 0.05)
    assert ((kernels.gaussian(far, X, 1.0) + 1) @ with_constant)[0] < -0.1
    fast = kg.SVC(kernel=kg.Gaussian(sigma=1.0), C=0.2).fit(X, y)
    assert fast.decision_function(far)[0] == pytest.approx(fast.intercept_[0])
    assert fast.intercept_[0] < -0.1


@covers("cookbook E21.5")
def test_E21_5_a_prediction_is_a_sign():
    X, y = xor(5, 60)
    K = kernels.gaussian(X, X, 1.0)
    f = K @ run(svm_sgd.kernel_svm(K, y, 0.05, 20, np.random.default_rng(5)))["a"]
    assert not set(np.round(f, 6)) <= {-1.0, 1.0}
    assert set(np.sign(f)) == {-1.0, 1.0}
    fast = kg.SVC(kernel=kg.Gaussian(sigma=1.0)).fit(X, y)
    assert (np.sign(fast.decision_function(X)) == fast.predict(X)).all()


@covers("cookbook T21.1")
def test_T21_1_the_linear_kernel_is_the_linear_machine():
    X, y = xor(6, 60)
    y = np.where(X @ [1.0, 2.0] + 0.5 > 0, 1.0, -1.0)
    C, lam = 0.5, 1 / (0.5 * 60)
    linear = run(svm_dual.coordinate_descent(X, y, C, np.random.default_rng(0), tol=1e-9))["w"]
    a = lowest(kernels.linear(X, X) + 1, y, lam)  # + 1: the penalised offset
    assert np.allclose(X.T @ a, linear[1:], atol=1e-4)
    assert np.isclose(a.sum(), linear[0], atol=1e-4)
    kernel = kg.SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    twin = kg.LinearSVC(loss="hinge", C=C, penalize_intercept=False, tol=1e-10).fit(X, y)
    assert np.allclose(kernel.coef_, twin.coef_, atol=1e-4)
    assert np.allclose(kernel.intercept_, twin.intercept_, atol=1e-4)


@covers("cookbook T21.2", "cookbook H21.1")
def test_T21_2_a_narrow_kernel_memorises():
    X, y = xor(7, 150, std=0.8)
    new, y_new = xor(77, 500, std=0.8)
    scores, ref, both = {}, {}, ((X, y), (new, y_new))
    for sigma in (0.02, 1.0):
        model = kg.SVC(kernel=kg.Gaussian(sigma=sigma), C=10.0).fit(X, y)
        scores[sigma] = model.score(X, y), model.score(new, y_new)
        K = kernels.gaussian(X, X, sigma)
        a = run(svm_sgd.kernel_svm(K, y, 0.01, 20, np.random.default_rng(7)))["a"]
        ref[sigma] = [np.mean(np.sign(kernels.gaussian(Z, X, sigma) @ a) == t) for Z, t in both]
    assert scores[0.02][0] == ref[0.02][0] == 1.0
    assert ref[0.02][1] < ref[1.0][1]
    assert scores[0.02][1] < 0.65
    assert scores[1.0][1] > scores[0.02][1] + 0.1


@covers("cookbook T21.3")
def test_T21_3_a_prediction_touches_the_points_with_weight():
    X, y = xor(8, 100)
    K = kernels.gaussian(X, X, 1.0)
    a = run(svm_sgd.kernel_svm(K, y, 0.01, 10, np.random.default_rng(8), penalty="coefficients"))
    assert (np.abs(a["a"]) > 1e-12).all()  # all N of them, with the penalty of the page
    assert kernels.gaussian(X[:1], X, 1.0).shape == (1, 100)
    assert len(kg.SVC(kernel=kg.Gaussian(sigma=1.0)).fit(X, y).support_) < 60  # the dual is sparse


@covers("cookbook M21.2", "cookbook T21.5")
def test_T21_5_fewer_centres_keep_xor():
    X, y = xor(9, 200)
    rng = np.random.default_rng(9)
    some = X[rng.choice(200, 15, replace=False)]
    means = KMeans(8, n_init=3, random_state=0).fit(X).cluster_centers_
    for centres in (some, means):
        K = kernels.gaussian(X, centres, 1.0)
        s = run(svm_sgd.kernel_svm(K, y, 0.01, 10, rng, penalty="coefficients"))
        assert np.mean(np.sign(K @ s["a"]) == y) > 0.95
    few = kg.Nystroem(kernel=kg.Gaussian(sigma=1.0), n_components=15, random_state=0)
    features = few.fit_transform(X)
    assert kg.LinearSVC().fit(features, y).score(features, y) > 0.95
