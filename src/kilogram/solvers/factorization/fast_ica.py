"""FastICA: fixed points of the contrast on whitened rows (Hyvarinen and Oja 2000).

    w <- mean g(w'z) z - mean g'(w'z) w        a Newton step for extrema of mean G(w'z), |w| = 1
    symmetric    all at once, then W <- (W W')^(-1/2) W
    deflation    one after the other, each orthogonal to those before

    G: log cosh(a u) / a,  -exp(-u^2 / 2),  u^4 / 4        g, g' its derivatives

Rows enter through sums only, so blocks of rows do as well as all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_numpy, like, namespace, to_numpy
from kilogram.native.factorization import CONTRASTS, contrast_pass
from kilogram.solvers.solution import Solution


@dataclass(frozen=True, eq=False)
class ContrastSums:
    """Over rows: weight, sum g(u) z' (k, d), sums of g'(u) and G(u), each (k,); on the host."""

    weight: float
    G: np.ndarray
    slope: np.ndarray
    value: np.ndarray

    def __add__(self, other: ContrastSums) -> ContrastSums:
        return ContrastSums(
            self.weight + other.weight,
            self.G + other.G,
            self.slope + other.slope,
            self.value + other.value,
        )


@dataclass(frozen=True)
class Contrast:
    """The name of G with its parameter, or a function u (k, n) -> g(u), mean of g'(u) by row."""

    fun: str | Callable[..., Any] = "logcosh"
    alpha: float = 1.0
    args: tuple[tuple[str, Any], ...] = ()

    def sums(self, Z: Any, M: np.ndarray, s: Any = None) -> ContrastSums:
        """Sums over the rows Z (n, d) along the directions M (k, d)."""
        if s is None and is_numpy(Z) and self.fun in CONTRASTS:
            return ContrastSums(len(Z), *contrast_pass(Z, M, str(self.fun), self.alpha))
        return plain_sums(self, Z, M, s)

    def of_gaussian(self) -> float:
        """Mean G(u) of a standard normal u, by Gauss's quadrature."""
        u, w = np.polynomial.hermite_e.hermegauss(80)
        return float(w @ values(self, u)[2] / w.sum())


def values(contrast: Contrast, u: Any) -> tuple[Any, Any, Any]:
    """g(u), g'(u), G(u)."""
    xp, a = namespace(u), contrast.alpha
    if contrast.fun == "logcosh":
        t, size = xp.tanh(a * u), xp.abs(a * u)
        height = (size + xp.log1p(xp.exp(-2 * size)) - float(np.log(2.0))) / a
        return t, a * (1 - t * t), height
    if contrast.fun == "exp":
        e = xp.exp(-u * u / 2)
        return u * e, (1 - u * u) * e, -e
    return u**3, 3 * u * u, u**4 / 4


def plain_sums(contrast: Contrast, Z: Any, M: np.ndarray, s: Any = None) -> ContrastSums:
    """Sums of the contrast in any array library, with weights; the oracle of the native pass."""
    xp = namespace(Z)
    U = Z @ like(M, Z).T
    if callable(contrast.fun):
        return _called(contrast, Z, U, s)
    g, bend, height = values(contrast, U)
    if s is not None:
        by = like(s, Z)[:, None]
        g, bend, height = g * by, bend * by, height * by
    weight = float(Z.shape[0]) if s is None else float(namespace(s).sum(s))
    found = (g.T @ Z, xp.sum(bend, axis=0), xp.sum(height, axis=0))
    return ContrastSums(weight, *(np.asarray(to_numpy(a), dtype=np.float64) for a in found))


def _called(contrast: Contrast, Z: Any, U: Any, s: Any) -> ContrastSums:
    """A user's g, as scikit-learn calls it."""
    if s is not None:
        raise ValueError("sample_weight needs `fun` by name: a callable returns unweighted means.")
    fun: Any = contrast.fun
    found = fun(U.T, **dict(contrast.args))
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError("fun must return two arrays: g(u), and the mean of g'(u) for each row.")
    g, bend = (np.asarray(to_numpy(a), dtype=np.float64) for a in found)
    bend = bend.mean(axis=-1) if bend.ndim == 2 else bend
    n, k = U.shape
    if g.shape != (k, n) or bend.shape != (k,):
        raise ValueError(
            f"fun must return g(u) of the shape of u, {(k, n)}, and the mean of g'(u) for each of "
            f"its {k} rows; got shapes {g.shape} and {bend.shape}."
        )
    G = g @ np.asarray(to_numpy(Z), dtype=np.float64)
    return ContrastSums(float(n), G, n * bend, np.zeros(k))


Sums = Callable[[np.ndarray], ContrastSums]
BACK, GROWTH, LEAST = 0.5, 1.2, 1 / 64


def orthonormal(W: np.ndarray) -> np.ndarray:
    """(W W')^(-1/2) W, the nearest orthonormal rows."""
    values_, U = eigh(W @ W.T)
    least = np.finfo(np.float64).tiny
    return np.asarray((U / np.sqrt(np.maximum(values_, least))) @ U.T @ W)


def _newton(found: ContrastSums, W: np.ndarray) -> np.ndarray:
    G, slope = found.G / found.weight, found.slope / found.weight
    return np.asarray(G, dtype=np.float64) - slope[:, None] * W


class StepLength:
    """The part of Newton's step that is taken, 1 unless it would go back and forth.

    Near-Gaussian sources make Newton's step oscillate, W to W' and from there to W again: a step
    that ends nearer to the directions before the last step than to the present ones is halved,
    and grows again while directions turn less and less. The fixed points are the same. Steps that
    merely turn farther than the last are taken whole: they are on their way.
    """

    def __init__(self) -> None:
        self.now, self.last, self.before = 1.0, np.inf, np.zeros(0)

    def of(self, W: np.ndarray, new: np.ndarray, away: float) -> float:
        """The part of the step from W to `new`, directions in rows, which turn by `away`."""
        if self.before.size and largest_turn(new, self.before) < BACK * away:
            self.now = max(self.now / 2, LEAST)
        elif away < self.last:
            self.now = min(1.0, GROWTH * self.now)
        self.before, self.last = W, away
        return self.now


def largest_turn(new: np.ndarray, old: np.ndarray) -> float:
    """1 - |cos| of the direction that turned most."""
    return float(np.abs(np.abs(np.sum(new * old, axis=1)) - 1).max())


def symmetric(sums: Sums, W: np.ndarray, max_iter: int, tol: float, tick: Any) -> Solution:
    """All directions together, from W (k, k)."""
    W, message, step, step_length = orthonormal(W), "", 0, StepLength()
    for step in range(1, max_iter + 1):
        found = sums(W)
        new = orthonormal(_newton(found, W))
        away = largest_turn(new, W)
        if away < tol:
            return Solution(new, step, float(found.value.sum() / found.weight))
        part = step_length.of(W, new, away)
        if part < 1:
            new = orthonormal((1 - part) * W + part * _same_side(new, W))
        W = new
        message = f"directions still turn by {away:.1e} (tol is {tol:g})."
        if tick(step, None):
            message = f"the time was up, and {message}"
            break
    return Solution(W, step, None, False, message)


def _same_side(new: np.ndarray, W: np.ndarray) -> np.ndarray:
    return np.asarray(new * np.where(np.sum(new * W, axis=1) < 0, -1.0, 1.0)[:, None])


def deflation(sums: Sums, W: np.ndarray, max_iter: int, tol: float, tick: Any) -> Solution:
    """One direction after the other, from the rows of W (k, k); n_iter is the longest of them."""
    found, longest, message = np.zeros_like(W), 0, ""
    for j in range(len(W)):
        before, step_length = found[:j], StepLength()
        w = _unit(W[j], before)
        for step in range(1, max_iter + 1):
            new = _unit(_newton(sums(w[None]), w[None])[0], before)
            away = largest_turn(new[None], w[None])
            part = step_length.of(w[None], new[None], away)
            if part < 1 and away >= tol:
                new = _unit((1 - part) * w + part * _same_side(new[None], w[None])[0], before)
            w, longest = new, max(longest, step)
            late = tick(longest, None)
            if away < tol or late:
                break
        else:
            message = f"direction {j} still turns by {away:.1e} (tol is {tol:g})."
        if late:
            message = f"the time was up at direction {j}; those after it are only orthogonal."
            found[j:] = _completed_basis(W, w, before)
            break
        found[j] = w
    return Solution(found, longest, None, not message, message)


def _unit(w: np.ndarray, before: np.ndarray) -> np.ndarray:
    w = w - before.T @ (before @ w)
    size = float(np.linalg.norm(w))
    if size > 1e-12:
        return np.asarray(w / size)
    # a start inside the span of the others: the coordinate that lies farthest from it
    rest = np.eye(len(w)) - before.T @ before
    j = int(np.diag(rest).argmax())
    return np.asarray(rest[j] / np.linalg.norm(rest[j]))


def _completed_basis(W: np.ndarray, w: np.ndarray, before: np.ndarray) -> np.ndarray:
    """w and further rows of W, orthogonal to all before them."""
    done = np.vstack([before, w[None]])
    for j in range(len(done), len(W)):
        done = np.vstack([done, _unit(W[j], done)[None]])
    return done[len(before) :]


ALGORITHMS: dict[str, Callable[..., Solution]] = {"parallel": symmetric, "deflation": deflation}
