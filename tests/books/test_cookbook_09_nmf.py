"""Cookbook, chapter 9 and B.5: non-negative matrix factorisation, both textbook versions."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, numerical_gradient

import kilogram as kg
from kilogram.textbook import nmf
from kilogram.textbook.state import run


def problem(seed, n=10, d=5, k=2, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) if rank is None else rng.random((n, rank)) @ rng.random((rank, d))
    return X, rng.random((n, k)) + 0.1, rng.random((k, d)) + 0.1


def bound(X, k):
    """The least squares of rank k, without signs: singular values left out."""
    return 0.5 * float((np.linalg.svd(X, compute_uv=False)[k:] ** 2).sum())


@covers("cookbook M9.1", "cookbook M9.4", "cookbook X9.1", "cookbook T9.3")
@pytest.mark.parametrize("side", ["textbook", "kilogram"])
def test_X9_1_ten_random_points_in_two_parts(side):
    """A matrix of random numbers has no parts: about 0.3 of it stays unexplained."""
    X, W, H = problem(0)
    if side == "textbook":
        s = run(nmf.multiplicative(X, W, H, m=2000))
        W, H = s["W"], s["H"]
    else:
        model = kg.NMF(2, init="custom", tol=1e-8, max_iter=2000)
        W, H = model.fit_transform(X, W=W, H=H), 0
        H = model.components_
    J = nmf.squares(X, W, H)
    assert (W >= 0).all()
    assert (H >= 0).all()
    assert bound(X, 2) <= J * (1 + 1e-9)
    assert bound(X, 2) >= 0.9 * J
    assert 0.2 < np.sqrt(2 * J) / np.linalg.norm(X) < 0.4


@covers("cookbook M9.2", "cookbook M9.3", "cookbook T9.5", "cookbook E9.4")
def test_T9_5_multiplied_steps_are_gradient_steps_of_their_own_length():
    X, W, H = problem(1)
    eta_H = H / (W.T @ W @ H)
    once = list(nmf.multiplicative(X, W, H, m=1))
    left = run(nmf.additive(X, W, H, eta_H, 0.0))["H"]
    np.testing.assert_allclose(left, once[1]["H"], rtol=1e-9)
    eta_W = W / (W @ left @ left.T)  # W has its own length: that of H does not even fit
    assert eta_W.shape != eta_H.shape
    np.testing.assert_allclose(
        run(nmf.additive(X, W, H, eta_H, eta_W))["W"], once[2]["W"], rtol=1e-9
    )
    assert (run(nmf.additive(X, W, H, 1.0, 1.0))["H"] < 0).any()


@covers("cookbook T9.1", "cookbook T9.2", "cookbook E9.5")
def test_T9_2_never_rises_and_zeros_stay_zero():
    X, W, H = problem(2, 12, 8, 3)
    W[0, 0] = H[1, 2] = 0.0
    states = list(nmf.multiplicative(X, W, H, m=300))
    assert (np.diff([s.objective for s in states]) <= 1e-12).all()
    assert states[-1]["W"][0, 0] == states[-1]["H"][1, 2] == 0.0
    assert all((s["W"] >= 0).all() and (s["H"] >= 0).all() for s in states)
    fast = kg.NMF(3, solver="mu", init="custom", tol=0, max_iter=50)
    with pytest.warns(match="usable"):
        left = fast.fit_transform(X, W=W, H=H)  # ends with the best loadings for its parts
    assert fast.components_[1, 2] == 0.0
    assert min(left.min(), fast.components_.min()) == 0.0
    assert fast.objective_ <= states[0].objective
    ends = [run(nmf.multiplicative(*problem(s, 12, 8, 3), m=500)).objective for s in (3, 3)]
    assert ends[0] == ends[1]
    rng = np.random.default_rng(0)
    found = [
        run(nmf.multiplicative(X, rng.random((12, 3)), rng.random((3, 8)), m=2000)).objective
        for _ in range(12)
    ]
    assert max(found) > 1.001 * min(found)  # several local minima: the start decides
    exact = [s.objective for s in nmf.columns(X, W + 0.1, H + 0.1, m=100)]
    assert (np.diff(exact) <= 1e-12).all()


@covers("cookbook T9.4", "cookbook H9.1")
def test_T9_4_what_has_parts_is_found_again():
    X, _, _ = problem(4, 40, 20, 3, rank=3)
    starts = [kg.NMF(3, init="random", random_state=s, tol=1e-9, max_iter=5000) for s in range(4)]
    best = min(model.fit(X).reconstruction_err_ for model in starts)
    assert best < 1e-3 * np.linalg.norm(X)


@covers("cookbook T9.6", "cookbook E9.3", "cookbook TB.5")
def test_T9_6_the_gradient_belongs_to_half_the_squares():
    X, W, H = problem(5)
    gradient = W.T @ (W @ H - X)
    half = numerical_gradient(lambda h: nmf.squares(X, W, h), H)
    whole = numerical_gradient(lambda h: 2 * nmf.squares(X, W, h), H)
    np.testing.assert_allclose(gradient, half, atol=1e-6)
    np.testing.assert_allclose(2 * gradient, whole, atol=1e-6)
    left = numerical_gradient(lambda w: nmf.squares(X, w, H), W)
    np.testing.assert_allclose((W @ H - X) @ H.T, left, atol=1e-6)


@covers("cookbook E9.2")
def test_E9_2_the_trace_form_has_a_plus():
    X, W, H = problem(6)
    P = W @ H
    Xp = X.T  # one point per column, as printed: X X' is D x D, (WH)'WH is N x N
    with pytest.raises(ValueError, match="broadcast"):
        Xp @ Xp.T + P @ P.T
    squares = np.trace(X.T @ X) - 2 * np.trace(X.T @ P)
    assert squares + np.trace(P.T @ P) == pytest.approx(2 * nmf.squares(X, W, H))
    assert squares - np.trace(P.T @ P) < 0  # printed: a negative norm


@covers("cookbook E9.1")
def test_E9_1_a_number_that_vanishes_guards_nothing():
    X, W, H = problem(7)
    assert ((X + 1e-19) == X).all()
    X[:, 1] = 0.0
    W0 = np.zeros_like(W)
    with np.errstate(invalid="ignore", divide="ignore"):
        printed = H * (W0.T @ (X + 1e-19)) / (W0.T @ W0 @ H)
    assert not np.isfinite(printed).all()
    reference = run(nmf.multiplicative(X, W0, H, m=3))
    assert np.isfinite(reference["H"]).all()
    fast = kg.NMF(2, solver="mu", random_state=0).fit(X)
    assert np.isfinite(fast.components_).all()
    assert fast.components_[:, 1].max() < 0.05


@covers("cookbook E9.6", "cookbook P9")
def test_E9_6_plsa_is_the_poisson_factorisation():
    rng = np.random.default_rng(8)
    X = rng.poisson(4 * rng.random((12, 2)) @ rng.random((2, 9))).astype(float) + 0.0
    X[0] += 1
    X[:, 0] += 1
    s = run(nmf.plsa(X, rng.random((12, 2)) + 0.1, rng.random((2, 9)) + 0.1, m=4000))
    W, H = X.sum() * s["p_x"] * s["p_z"], s["p_y"].T
    after = run(nmf.poisson(X, W, H, m=1))
    np.testing.assert_allclose(after["W"] @ after["H"], W @ H, atol=1e-4 * X.max())
    # likelihood and divergence are one number, up to what X alone decides
    p = s["p_x"] * s["p_z"] @ s["p_y"].T
    there = X > 0
    likelihood = float((X[there] * np.log(p[there])).sum())
    constant = float((X[there] * np.log(X[there] / X.sum())).sum())
    assert nmf.divergence(X, W, H) == pytest.approx(constant - likelihood, abs=1e-6)
    # for squares it is no fixed point
    squares = run(nmf.multiplicative(X, W, H, m=1))
    assert np.abs(squares["W"] @ squares["H"] - W @ H).max() > 0.01
    fast = kg.NMF(2, beta_loss="kullback-leibler", solver="mu", init="custom", max_iter=500)
    fast.fit(X, W=W, H=H)
    assert fast.reconstruction_err_**2 / 2 == pytest.approx(nmf.divergence(X, W, H), rel=1e-3)


@covers("cookbook E9.7")
def test_E9_7_which_factor_is_whose():
    """X (D, N) as printed: W (D, k) holds the parts, H (k, N) the loadings of the points."""
    X, _, _ = problem(9, 30, 6, 2, rank=2)
    fast = kg.NMF(2, random_state=0, tol=1e-8, max_iter=2000)
    loadings = fast.fit_transform(X)
    W_printed, H_printed = fast.components_.T, loadings.T
    assert W_printed.shape == (6, 2)
    assert H_printed.shape == (2, 30)
    np.testing.assert_allclose(W_printed @ H_printed, X.T, atol=0.01)


@covers("cookbook E9.8")
def test_E9_8_principal_axes_need_not_have_both_signs():
    X = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    axes = kg.PCA(1).fit(X).components_
    assert (axes > 0).all()


@covers("cookbook T9.7")
def test_T9_7_negative_entries_are_refused():
    X, W, H = problem(10)
    X[2, 1] = -1e-3
    with pytest.raises(ValueError, match="negative"):
        run(nmf.multiplicative(X, W, H))
    with pytest.raises(ValueError, match="Negative values"):
        kg.NMF(2).fit(X)


@covers("cookbook P9")
def test_P9_one_batch_after_the_other():
    X, _, _ = problem(11, 400, 15, 3, rank=3)
    online = kg.NMF(3, random_state=0)
    for _ in range(10):
        for i in range(0, 400, 40):
            online.partial_fit(X[i : i + 40])
    whole = kg.NMF(3, random_state=0, max_iter=5000).fit(X)
    assert online.objective(X) < 1e-3 * (X**2).sum()
    assert whole.objective_ < 1e-3 * (X**2).sum()
