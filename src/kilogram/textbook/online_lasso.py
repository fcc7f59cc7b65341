"""Lasso by stochastic gradients (cookbook ch. 18, algorithm 17; Tibshirani 1996, Bottou 2010).

    min_{w, b}  1/(2N) |y - X w - b|^2 + lambda |w|_1              w = u - v,  u >= 0,  v >= 0

One random point (x, y) with error e = y - w'x - b gives

    u <- [u - eta (-e x + lambda)]_+      v <- [v - eta (e x + lambda)]_+      b <- b + eta e

u and v are kept from point to point. The page splits them anew from w each time: then v is 0
wherever w > 0, and [-eta (e x + lambda)]_+ can push only one way. With single points that bias is
of the order of the step itself and stays, however small the step ("printed"). A soft threshold
after the gradient step has no u and v and no bias either ("proximal").

Steps are eta_t = eta_0 t^-alpha. With 1/2 < alpha <= 1 their sum diverges and the sum of their
squares does not (Robbins and Monro); alpha = 0 never settles and is for data that drift. The mean
of the second half of the iterates is the result. It has no exact zeros, so coefficients below theta
are set to 0 there, once: applied at every step, theta holds at 0 what should leave it.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin

FORMS = ("persistent", "proximal", "printed")


def cost(X: Array, y: Array, w: Array, lam: float, b: float = 0.0) -> float:
    """1/(2N) |y - X w - b|^2 + lambda |w|_1."""
    r = y - X @ w - b
    return float(r @ r / (2 * len(y)) + lam * np.abs(w).sum())


def step_size(eta_0: float, t: int, alpha: float) -> float:
    """eta_t = eta_0 t^-alpha, t = 1, 2, ..."""
    return float(eta_0 * t**-alpha)


def soft_threshold(w: Array, size: float) -> Array:
    """w drawn towards 0 by `size`, and no farther."""
    return np.asarray(np.sign(w) * np.maximum(np.abs(w) - size, 0.0))


def split_step(u: Array, v: Array, g: Array, lam: float, eta: float) -> tuple[Array, Array]:
    """Lines 5 and 6 of algorithm 17: g is the gradient of the loss in w."""
    return np.maximum(u - eta * (g + lam), 0.0), np.maximum(v - eta * (-g + lam), 0.0)


def online_lasso(
    X: Array,
    y: Array,
    lam: float,
    passes: int,
    rng: np.random.Generator,
    *,
    eta_0: float = 0.2,
    alpha: float = 0.6,
    theta: float = 0.0,
    form: str = "persistent",
    offset: bool = True,
) -> States:
    """Algorithm 17, corrected: w averaged over the second half, w_last, offset b; one state a pass.

    `offset=False` is the page's model through the origin.
    """
    _check(lam, eta_0, alpha, theta, form)
    N, D = X.shape
    w, u, v, b = np.zeros(D), np.zeros(D), np.zeros(D), 0.0
    w_sum, b_sum, counted, t = np.zeros(D), 0.0, 0, 0
    yield (s := begin("0 all zero", cost(X, y, w, lam), w=w, b=b, w_last=w))
    for number in range(1, passes + 1):
        for i in rng.permutation(N):
            t += 1
            eta = step_size(eta_0, t, alpha)
            e = y[i] - w @ X[i] - b
            if form == "proximal":
                w = soft_threshold(w + eta * e * X[i], eta * lam)
            else:
                if form == "printed":
                    u, v = np.maximum(w, 0.0), np.maximum(-w, 0.0)
                u, v = split_step(u, v, -e * X[i], lam, eta)
                w = u - v
            b = b + eta * e if offset else 0.0
            if 2 * t > passes * N:
                w_sum, b_sum, counted = w_sum + w, b_sum + b, counted + 1
        mean, b_mean = (w_sum / counted, b_sum / counted) if counted else (w, b)
        value = cost(X, y, mean, lam, b_mean)
        yield (s := s.then(f"pass {number}", value, w=mean, b=b_mean, w_last=w, eta=eta))
    kept = np.where(np.abs(s["w"]) < theta, 0.0, s["w"])
    value = cost(X, y, kept, lam, float(s["b"]))
    yield (s := s.then("small ones to zero", value, w=kept))
    return s


def _check(lam: float, eta_0: float, alpha: float, theta: float, form: str) -> None:
    if lam < 0 or theta < 0:
        raise ValueError(f"lam and theta must not be negative, got {lam} and {theta}.")
    if eta_0 <= 0:
        raise ValueError(f"eta_0 must be positive, got {eta_0}.")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}. Steps need a divergent sum.")
    if form not in FORMS:
        raise ValueError(f"form must be one of {FORMS}, got {form!r}.")
