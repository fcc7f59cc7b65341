"""Trees cut back: by a price for every leaf, or on rows they have not seen.

The cost of a node as a leaf is the squared error of its value v on rows of weight w,

    R = sum_i w_i |y_i - v|^2          classes: y_i is 1 for the row's class, else 0

relative to the weight of all rows. On the rows the tree was grown on that is weight times impurity.

ccp_alpha    the smallest subtree that minimises R + alpha (number of leaves): Breiman's
             cost-complexity pruning. One run from the leaves to the root finds it for a given alpha
"cv"         alpha is chosen by five folds
"held_out"   a tree of two thirds of the rows loses the subtrees that do not pay on the last third;
             the values of its leaves are then taken from all rows
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kilogram.models.trees.nodes import Links, Trees

PRUNING = (None, "held_out", "cv")
FOLDS = 5
PENALTIES = 24

Grow = Callable[[np.ndarray], Trees]


def own_costs(tree: Trees) -> np.ndarray:
    """R of every node on the rows it was grown on."""
    return tree.weight * tree.impurity / tree.weight[0]


def simplified(tree: Trees, penalty: float) -> Trees:
    """The smallest subtree of least R + penalty (leaves)."""
    return tree.kept(Links(*tree.links).paying(own_costs(tree), penalty))


def node_sums(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weight, squares |y|^2 and sums of y of these rows in every node, (nodes, 2 + width)."""
    leaf = tree.apply(X)[:, 0]
    columns = np.column_stack([np.ones(len(X)), (Y * Y).sum(axis=1), Y]) * w[:, None]
    held = np.zeros((tree.links.shape[1], columns.shape[1]))
    np.add.at(held, leaf, columns)
    return Links(*tree.links).sums(held)


def seen_costs(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R of every node on other rows."""
    sums = node_sums(tree, X, Y, w)
    v = tree.value
    R = sums[:, 1] - 2 * (v * sums[:, 2:]).sum(axis=1) + (v * v).sum(axis=1) * sums[:, 0]
    return R / max(float(w.sum()), 1e-300)


def pruned(
    how: str | None,
    grow: Grow,
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    rows: np.ndarray,
    rng: np.random.Generator,
) -> Trees:
    """A tree grown on these rows and cut back as asked for; Y (n, width)."""
    if how is None or len(rows) < 2 * FOLDS:
        return grow(rows)
    part = rng.permutation(len(rows))
    if how == "cv":
        tree = grow(rows)
        return simplified(tree, _penalty(grow, X, Y, w, rows, part % FOLDS, _candidates(tree)))
    own = part >= len(rows) // 3
    tree, other = grow(rows[own]), rows[~own]
    cut = tree.kept(Links(*tree.links).paying(seen_costs(tree, X[other], Y[other], w[other])))
    return _refilled(cut, X[rows], Y[rows], w[rows])


def _refilled(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> Trees:
    """The same splits with the values of these rows."""
    sums = node_sums(tree, X, Y, w)
    weight = np.maximum(sums[:, 0], 1e-300)
    value = np.where(sums[:, :1] > 0, sums[:, 2:] / weight[:, None], tree.value)
    impurity = np.maximum(sums[:, 1] / weight - (value * value).sum(axis=1), 0.0)
    return replace(tree, weight=sums[:, 0], impurity=impurity, value=value)


def _candidates(tree: Trees) -> np.ndarray:
    """Penalties between the smallest and the largest gain of a split."""
    cost = own_costs(tree)
    feature, left, right = tree.links
    inner = feature >= 0
    gains = cost[inner] - cost[left[inner]] - cost[right[inner]]
    gains = gains[gains > 0]
    if len(gains) == 0:
        return np.zeros(1)
    spread = np.geomspace(max(gains.min(), gains.max() * 1e-6), gains.max() * 1.01, PENALTIES)
    return np.concatenate([np.zeros(1), spread])


def _penalty(
    grow: Grow,
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    rows: np.ndarray,
    fold: np.ndarray,
    tried: np.ndarray,
) -> float:
    """The penalty of the least error on rows held out, over the folds."""
    total = np.zeros(len(tried))
    for k in range(FOLDS):
        tree, other = grow(rows[fold != k]), rows[fold == k]
        cost = own_costs(tree)
        seen = seen_costs(tree, X[other], Y[other], w[other])
        for i, penalty in enumerate(tried):
            keep = Links(*tree.links).paying(cost, float(penalty))
            links, there = Links(*tree.links).without(keep)
            total[i] += seen[there][links.feature < 0].sum()
    return float(tried[int(np.argmin(total))])
