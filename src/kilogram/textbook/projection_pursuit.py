"""Projection pursuit: directions worth looking at (first_encounter ch. 2; the search is ours).

To look without a search: every pair of attributes, D (D - 1) / 2 scatter plots (`pairs`), or the
histogram of a projection (`look`), of a random one too. Random ones look Gaussian where attributes
are many and nearly independent.

y = X w, |w| = 1; an index measures how interesting the numbers y are:

    variance     mean (y - y_bar)^2                  its best direction is the first of PCA
    kurtosis     mean z^4 - 3                        z = y standardised; heavy tails, as in ICA
    bimodality   (1 + (mean z^3)^2) / mean z^4       1 for two points, 5/9 uniform, 1/3 Gaussian

The text names the criteria and gives no algorithm. Any index is maximised here by turning w in
one plane after another, (w, axis j), through a fan of angles that halves after each round. The
axes are those of the sphered data (every direction has variance 1), so a direction of small
variance is met as easily as a large one; the index itself is always of X w with |w| = 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.state import Array, States, begin


def _standard(y: Array) -> Array:
    """Mean 0 and variance 1, column by column."""
    y = y - y.mean(axis=0)
    return y / np.sqrt((y**2).mean(axis=0))


def variance(y: Array) -> Array:
    """High variance."""
    return y.var(axis=0)


def kurtosis(y: Array) -> Array:
    """Heavy tails: 0 for the Gaussian, 3 for the Laplace density."""
    return (_standard(y) ** 4).mean(axis=0) - 3


def bimodality(y: Array) -> Array:
    """Two modes: Sarle's coefficient, at most 1."""
    z = _standard(y)
    return (1 + (z**3).mean(axis=0) ** 2) / (z**4).mean(axis=0)


INDICES: dict[str, Callable[[Array], Array]] = {
    "variance": variance,
    "kurtosis": kurtosis,
    "bimodality": bimodality,
}


def pairs(D: int) -> Array:
    """Attributes (i, j), i < j, of all scatter plots along the axes, (D (D - 1) / 2, 2)."""
    return np.stack(np.triu_indices(D, 1), axis=1)


def look(X: Array, w: Array, bins: int = 30) -> States:
    """The histogram of X w, w taken to length 1: counts of points in bars of equal width."""
    y = X @ (w / np.linalg.norm(w))
    yield (s := begin("1 projection", y=y))
    counts, edges = np.histogram(y, bins)
    yield (s := s.then("2 bars", counts=counts, edges=edges))
    return s


def sphering(X: Array) -> Array:
    """T (D, R) with (X - mean) T of unit covariance; directions without variance are left out."""
    X_c = X - X.mean(axis=0)
    _, singular, V = np.linalg.svd(X_c, full_matrices=False)
    kept = singular > singular[0] * max(X.shape) * np.finfo(float).eps
    if not kept.any():
        raise ValueError("all rows of X are equal: no direction has variance, nothing to look at.")
    return V[kept].T / singular[kept] * np.sqrt(len(X))


def pursue(
    X: Array, index: Callable[[Array], Array], rng: np.random.Generator, *,
    starts: int = 5, rounds: int = 12, angles: int = 24,
) -> States:  # fmt: skip
    """The unit vector w with the largest index of X w, the best of several random starts.

    `index` takes projections (N, M) and answers with M numbers: one of INDICES, or your own.
    """
    X_c, T = X - X.mean(axis=0), sphering(X)
    yield (s := begin("1 axes of the sphered data", X=X_c, T=T))
    best, winner = -np.inf, T[:, 0]
    for start in range(starts):
        u = rng.standard_normal((T.shape[1],))
        fan = np.linspace(-np.pi / 2, np.pi / 2, angles + 1)  # its middle keeps u as it is
        for _ in range(rounds):
            for axis in np.eye(len(u)):
                u = u / np.linalg.norm(u)
                W = T @ (np.outer(u, np.cos(fan)) + np.outer(axis, np.sin(fan)))
                # u = +-axis turned by 90 degrees may vanish: such a column is no direction
                size = np.linalg.norm(W, axis=0)
                here = size > 1e-9 * size.max()
                W, turned = W[:, here] / size[here], fan[here]
                values = index(X_c @ W)
                j = int(values.argmax())
                u = np.cos(turned[j]) * u + np.sin(turned[j]) * axis
            fan = fan / 2
        if values[j] > best:
            best, winner = float(values[j]), W[:, j]
        yield (s := s.then(f"2 start {start + 1}", best, w=winner, y=X_c @ winner))
    return s
