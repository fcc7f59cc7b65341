"""How many clusters: slides 10 (algorithm 2), lecture_notes L23, first_encounter ch. 3.

instability   for each k, r times: a fresh bootstrap sample, k-means on it, all points to their
              nearest centre; the mean distance of the clusterings, the least over the names of
              the clusters. One sample for all repetitions shows the luck of the start only.
elbow         SSE_k / SSE_1 against k: the point nearest to the origin, both axes scaled to 0..1,
              or the point where the curve bends most
held out      mean of D_in / D over folds, squared distances within clusters and all of them; it
              falls with every cluster, so it too wants an elbow
thumb         sqrt(N / 2), whatever the points are
code          bits of the model, then bits of the points given the model; the least sum
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from kilogram.textbook.k_means import lloyd, plus_plus
from kilogram.textbook.state import Array, States, begin, run


def clustering_distance(a: Array, b: Array) -> float:
    """The least fraction of points with different labels over all renamings of the clusters."""
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), 1)
    return float(1 - table[linear_sum_assignment(table, maximize=True)].sum() / len(a))


def _centres(X: Array, k: int, starts: int, rng: np.random.Generator) -> Array:
    """k-means with restarts."""
    ends = [run(lloyd(X, run(plus_plus(X, k, rng))["mu"])) for _ in range(starts)]
    return np.array(min(ends, key=lambda s: s.objective or 0.0)["mu"])


def instability(
    X: Array, K: int, r: int, rng: np.random.Generator, starts: int = 5, inside: bool = True
) -> States:
    """Algorithm 2 for k = 2..K; `inside` False draws the resample before the loop, as printed."""
    found: list[float] = []
    yield (s := begin("1 one cluster is always stable", k=np.arange(2, K + 1)))
    for k in range(2, K + 1):
        labels: list[Array] = []
        sample = X[rng.integers(0, len(X), len(X))]
        for _ in range(r):
            if inside:
                sample = X[rng.integers(0, len(X), len(X))]
            mu = _centres(sample, k, starts, rng)
            labels.append(((X[:, None] - mu[None]) ** 2).sum(axis=2).argmin(axis=1))
        pairs = [clustering_distance(a, b) for i, a in enumerate(labels) for b in labels[:i]]
        found.append(float(np.mean(pairs)))
        yield (s := s.then("2 the clusterings compared", objective=found[-1], instability=found))
    return s


def elbow(X: Array, K: int, rng: np.random.Generator, starts: int = 5) -> States:
    """SSE_k / SSE_1 for k = 1..K: the point nearest to the origin, and the sharpest bend."""
    fractions: list[float] = []
    yield (s := begin("1 all points in one cluster", k=np.arange(1, K + 1)))
    for k in range(1, K + 1):
        mu = _centres(X, k, starts, rng)
        sse = float(((X[:, None] - mu[None]) ** 2).sum(axis=2).min(axis=1).sum())
        fractions.append(sse if k == 1 else sse / fractions[0])
        yield (s := s.then("2 one more cluster", objective=sse))
    fractions[0] = 1.0
    away = np.linspace(0, 1, K) ** 2 + np.array(fractions) ** 2
    yield (
        s := s.then("3 nearest to the origin", fraction=fractions, choice=1 + int(away.argmin()))
    )
    if K > 2:
        bend = np.diff(fractions, 2)  # at k = 2..K - 1
        yield (s := s.then("4 the sharpest bend", bend=bend, sharpest=2 + int(bend.argmax())))
    return s


def thumb(N: int) -> int:
    """sqrt(N / 2): a number to begin with, which does not look at the points."""
    return round(np.sqrt(N / 2))


def held_out(X: Array, K: int, folds: int, rng: np.random.Generator, starts: int = 5) -> States:
    """D_in / D of held-out points for k = 1..K; k-means on the others, then nearest centres."""
    fold, fractions = rng.permutation(len(X)) % folds, np.zeros(K)
    yield (s := begin("1 folds", fold=fold))
    for k in range(1, K + 1):
        for f in range(folds):
            mu, test = _centres(X[fold != f], k, starts, rng), X[fold == f]
            c = ((test[:, None] - mu[None]) ** 2).sum(axis=2).argmin(axis=1)
            D = ((test[:, None] - test[None]) ** 2).sum(axis=2)
            fractions[k - 1] += D[c[:, None] == c[None]].sum() / D.sum() / folds
        yield (
            s := s.then(
                "2 one more cluster", float(fractions[k - 1]), fraction=fractions[:k].copy()
            )
        )
    return s


def two_part_code(X: Array, labels: Array) -> States:
    """Bits to send points: who belongs where, the clusters, and the points around them.

    N H(fractions) + N/2 log2 det S + (k - 1 + k D)/2 log2 N, less a constant.
    """
    N, D = X.shape
    p = np.bincount(labels) / N
    yield (s := begin("1 fractions", p=p))
    which = -N * float((p[p > 0] * np.log2(p[p > 0])).sum())
    mu = np.array([X[labels == k].mean(axis=0) for k in range(len(p))])
    S = (X - mu[labels]).T @ (X - mu[labels]) / N
    yield (s := s.then("2 within the clusters", mu=mu, S=S, which=which))
    where = N / 2 * float(np.linalg.slogdet(S)[1]) / np.log(2)
    model = 0.5 * (len(p) - 1 + len(p) * D) * np.log2(N)
    total = which + where + model
    yield (s := s.then("3 all bits", objective=total, where=where, model=model))
    return s
