"""Growth of a density tree, and its pruning on held-out rows.

Costs of a node as a leaf, n_l its fraction of the rows, v_l of the volume and m_l of the held-out
rows (m_l = n_l for the rows it was grown on):

    squared error   n_l^2 / v_l - 2 n_l m_l / v_l              int p^2 - 2 int p q
    likelihood      -m_l log(n_l / v_l)

"held_out" grows on two thirds of the rows and prunes every subtree that does not lower the cost on
the rest. "cv" adds a penalty for every leaf, chosen by five folds, to the cost on the rows
themselves. In the end all rows are counted in the remaining leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.models.density.tree_nodes import DensityNodes
from kilogram.native.cancel import CancelFlag
from kilogram.native.density import grow_density_tree
from kilogram.native.trees import NO_LIMIT
from kilogram.solvers.trees.pruning import FOLDS, PENALTIES

CRITERIA = ("squared_error", "likelihood")
SMALLEST_GAIN = 1e-9  # of the largest gain of a split


@dataclass(frozen=True)
class DensitySplitRules:
    """When to split and where: the parameters of `DensityTree`."""

    criterion: str = "squared_error"
    max_depth: int | None = None
    min_split: float = 2.0
    min_leaf: float = 10.0
    min_density: float = 0.0
    min_improvement: float = 0.0
    min_width: float = 1e-3
    epsilon: float = 1e-6
    min_fraction: float = 0.0
    columns: int | None = None


def bounding_box(X: np.ndarray) -> np.ndarray:
    """(2, d): the range of every column; width 1 around the value of one that does not vary."""
    low, high = X.min(axis=0), X.max(axis=0)
    flat = low == high
    # far from 0 a half may vanish in rounding: then the next numbers
    low_flat = np.minimum(low - 0.5, np.nextafter(low, -np.inf))
    high_flat = np.maximum(high + 0.5, np.nextafter(high, np.inf))
    return np.stack([np.where(flat, low_flat, low), np.where(flat, high_flat, high)])


def grow_tree(
    X: np.ndarray,
    w: np.ndarray | None,
    box: np.ndarray,
    rules: DensitySplitRules,
    seed: int,
    cancel: CancelFlag | None = None,
) -> DensityNodes:
    """A tree on rows (n, d), grown until the rules stop it."""
    weights = np.ones(len(X)) if w is None else w
    limits = np.array(
        [
            rules.min_split,
            rules.min_leaf,
            rules.min_density,
            rules.min_improvement,
            rules.min_width,
            rules.epsilon,
            rules.min_fraction,
        ]
    )
    found = grow_density_tree(
        X,
        weights,
        box,
        likelihood=rules.criterion == "likelihood",
        max_depth=NO_LIMIT if rules.max_depth is None else rules.max_depth,
        limits=limits,
        columns=X.shape[1] if rules.columns is None else rules.columns,
        seed=seed,
        cancel=cancel,
    )
    return DensityNodes.of(found, box)


def costs(tree: DensityNodes, seen: np.ndarray, criterion: str) -> np.ndarray:
    """The cost of every node as a leaf; seen (nodes,) are the weights it is judged by."""
    n, m = tree.mass / tree.mass[0], seen / max(seen[0], 1e-300)
    log_v = tree.log_shares()
    if criterion == "likelihood":
        with np.errstate(divide="ignore"):
            return -m * np.where(m > 0, np.log(n) - log_v, 0.0)
    with np.errstate(over="ignore"):
        return n * (n - 2 * m) * np.exp(np.minimum(-log_v, 700.0))


def fitted(
    X: np.ndarray,
    w: np.ndarray | None,
    box: np.ndarray,
    rules: DensitySplitRules,
    prune: str | None,
    rng: np.random.Generator,
) -> DensityNodes:
    """A tree, grown and pruned."""
    seed = int(rng.integers(2**62))
    if prune is None or len(X) < 2 * FOLDS:
        return grow_tree(X, w, box, rules, seed)
    part = rng.permutation(len(X))
    if prune == "held_out":
        own = part >= len(X) // 3
        tree = grow_tree(X[own], None if w is None else w[own], box, rules, seed)
        seen = tree.weights_of(X[~own], None if w is None else w[~own])
        return tree.collapsed(costs(tree, seen, rules.criterion)).refilled(X, w)
    tree = grow_tree(X, w, box, rules, seed)
    own_cost = costs(tree, tree.mass, rules.criterion)
    penalties = tree.links.candidate_penalties(own_cost, PENALTIES, SMALLEST_GAIN)
    penalty = _penalty(X, w, box, rules, part % FOLDS, penalties, seed)
    return tree.collapsed(own_cost, penalty)


def _penalty(
    X: np.ndarray,
    w: np.ndarray | None,
    box: np.ndarray,
    rules: DensitySplitRules,
    fold: np.ndarray,
    tried: np.ndarray,
    seed: int,
) -> float:
    """The penalty of the least cost on held-out rows, over the folds."""
    total = np.zeros(len(tried))
    for k in range(FOLDS):
        own = fold != k
        here, there = (None, None) if w is None else (w[own], w[~own])
        tree = grow_tree(X[own], here, box, rules, seed)
        cost = costs(tree, tree.mass, rules.criterion)
        for i, penalty in enumerate(tried):
            cut = tree.collapsed(cost, float(penalty))
            cost_there = costs(cut, cut.weights_of(X[~own], there), rules.criterion)
            total[i] += cost_there[cut.leaves].sum()
    return float(tried[int(np.argmin(total))])
