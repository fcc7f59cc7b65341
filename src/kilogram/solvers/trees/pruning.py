"""Pruning of grown trees: by a penalty for every leaf, or on held-out rows.

The cost of a node as a leaf is the squared error of its value v on rows of weight w,

    R = sum_i w_i |y_i - v|^2          classes: y_i is 1 for the row's class, else 0

relative to the weight of all rows. On the rows the tree was grown on that is weight times impurity.

ccp_alpha    the smallest subtree that minimises R + alpha (number of leaves): Breiman's
             cost-complexity pruning. For a given alpha one pass from the leaves to the root finds
             it
"cv"         alpha is chosen by five-fold cross-validation
"held_out"   a tree of two thirds of the rows loses the subtrees that do not lower the cost on the
             last third; the values of its leaves are then computed from all rows
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kilogram.solvers.trees.nodes import Links, Trees

FOLDS = 5  # of the cross-validation that prunes: usual, and scikit-learn's
PENALTIES = 24  # candidates over six decades, four for each
SMALLEST_GAIN = 1e-6  # of the largest gain of a split: smaller ones are ties of rounded costs

Grow = Callable[[np.ndarray], Trees]


class PruningPath(NamedTuple):
    """Effective alphas of minimal cost-complexity pruning, and the leaves' cost of each subtree."""

    ccp_alphas: np.ndarray
    impurities: np.ndarray


def training_costs(tree: Trees) -> np.ndarray:
    """R of every node on the rows it was grown on."""
    return tree.weight * tree.impurity / tree.weight[0]


def cost_complexity_pruned(tree: Trees, alpha: float) -> Trees:
    """The smallest subtree of least R + alpha (leaves)."""
    return tree.kept(Links(*tree.links).worthwhile(training_costs(tree), alpha))


def pruning_path(tree: Trees) -> PruningPath:
    """All subtrees of weakest-link pruning, from the whole tree to its root.

    The next alpha is the least increase of cost for every leaf saved, (R(t) - R(T_t)) / (|T_t| - 1)
    over the nodes t that are still split; nodes of that increase become leaves.
    """
    links = Links(*tree.links)
    cost = training_costs(tree)
    parent = np.full(len(cost), -1)
    for child in (links.left, links.right):
        parent[child[links.inner]] = links.inner
    leaf = links.feature < 0
    below = links.sums(np.where(leaf, cost, 0.0))  # R of the leaves below
    leaves = links.sums(leaf.astype(np.float64))
    there = np.ones(len(cost), dtype=bool)
    alphas, impurities = [0.0], [float(below[0])]
    while not leaf[0]:
        inner = np.flatnonzero(there & ~leaf)
        increase = (cost[inner] - below[inner]) / (leaves[inner] - 1)
        weakest = int(inner[np.argmin(increase)])
        alpha = max(float(increase.min()), alphas[-1])
        _remove_below(weakest, links, there)
        leaf[weakest] = True
        saved, more = leaves[weakest] - 1, cost[weakest] - below[weakest]
        node = weakest
        while node >= 0:
            leaves[node] -= saved
            below[node] += more
            node = int(parent[node])
        if alpha == alphas[-1]:
            impurities[-1] = float(below[0])
        else:
            alphas.append(alpha)
            impurities.append(float(below[0]))
    return PruningPath(np.array(alphas), np.array(impurities))


def _remove_below(node: int, links: Links, there: np.ndarray) -> None:
    stack = [node]
    while stack:
        i = stack.pop()
        if links.feature[i] >= 0 and there[links.left[i]]:
            children = [int(links.left[i]), int(links.right[i])]
            there[children] = False
            stack.extend(children)


def node_sums(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Count, weight, squares |y|^2 and sums of y of the rows in every node, (nodes, 3 + width)."""
    leaf = tree.apply(X)[:, 0]
    columns = np.column_stack([np.ones(len(X)), (Y * Y).sum(axis=1), Y]) * w[:, None]
    columns = np.column_stack([np.ones(len(X)), columns])
    in_leaves = np.zeros((tree.links.shape[1], columns.shape[1]))
    np.add.at(in_leaves, leaf, columns)
    return Links(*tree.links).sums(in_leaves)


def held_out_costs(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R of every node on other rows."""
    _, weight, squares, *sums = node_sums(tree, X, Y, w).T
    v = tree.value
    R = squares - 2 * (v * np.stack(sums, axis=1)).sum(axis=1) + (v * v).sum(axis=1) * weight
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
    """A tree grown on these rows and pruned by one of the methods; Y (n, width)."""
    if how is None or len(rows) < 2 * FOLDS:
        return grow(rows)
    part = rng.permutation(len(rows))
    if how == "cv":
        tree = grow(rows)
        penalties = Links(*tree.links).candidate_penalties(
            training_costs(tree), PENALTIES, SMALLEST_GAIN
        )
        alpha = _cross_validated(grow, X, Y, w, rows, part % FOLDS, penalties)
        return cost_complexity_pruned(tree, alpha)
    own = part >= len(rows) // 3
    tree, other = grow(rows[own]), rows[~own]
    cost = held_out_costs(tree, X[other], Y[other], w[other])
    smaller = tree.kept(Links(*tree.links).worthwhile(cost))
    return _refitted(smaller, X[rows], Y[rows], w[rows])


def _refitted(tree: Trees, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> Trees:
    """The tree with its splits kept and the values of these rows in its nodes."""
    sums = node_sums(tree, X, Y, w)
    weight = np.maximum(sums[:, 1], 1e-300)
    value = np.where(sums[:, 1:2] > 0, sums[:, 3:] / weight[:, None], tree.value)
    impurity = np.maximum(sums[:, 2] / weight - (value * value).sum(axis=1), 0.0)
    return replace(tree, weight=sums[:, 1], samples=sums[:, 0], impurity=impurity, value=value)


def _cross_validated(
    grow: Grow,
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    rows: np.ndarray,
    fold: np.ndarray,
    penalties: np.ndarray,
) -> float:
    """The penalty of the least error on held-out rows, over the folds."""
    total = np.zeros(len(penalties))
    for k in range(FOLDS):
        tree, other = grow(rows[fold != k]), rows[fold == k]
        cost = training_costs(tree)
        held_out = held_out_costs(tree, X[other], Y[other], w[other])
        for i, penalty in enumerate(penalties):
            keep = Links(*tree.links).worthwhile(cost, float(penalty))
            links, there = Links(*tree.links).without(keep)
            total[i] += held_out[there][links.feature < 0].sum()
    return float(penalties[int(np.argmin(total))])
