"""Swaps of medoids: the best of all subsets on small data, and a local minimum elsewhere."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kilogram.solvers.lloyd.k_medoids import improve, start

rng = np.random.default_rng(0)
X = rng.standard_normal((14, 2))
D, W = cdist(X, X), rng.random(14)


def total(medoids, w):
    return float(D[list(medoids)].min(axis=0) @ w)


def never(step, value):
    return False


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["fasterpam", "pam"])
def test_no_swap_lowers_the_total_at_the_end(method, weighted):
    w = W if weighted else None
    first = start(D, w, 3, "build", np.random.default_rng(0))
    found = improve(D, w, first, method=method, max_iter=100, tick=never)
    u = np.ones(14) if w is None else w
    assert found.converged
    assert found.objective == pytest.approx(total(found.value, u))
    assert found.objective <= total(first, u) + 1e-12
    for out in range(3):
        for other in set(range(14)) - set(found.value.tolist()):
            swapped = found.value.copy()
            swapped[out] = other
            assert total(swapped, u) >= found.objective - 1e-12


def test_several_starts_find_the_best_subset():
    best = min(total(m, np.ones(14)) for m in combinations(range(14), 3))
    found = min(
        improve(
            D,
            None,
            start(D, None, 3, "k-medoids++", np.random.default_rng(seed)),
            method="fasterpam",
            max_iter=100,
            tick=never,
        ).objective
        for seed in range(8)
    )
    assert found == pytest.approx(best)
