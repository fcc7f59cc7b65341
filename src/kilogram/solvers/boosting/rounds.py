"""The rounds of gradient boosting.

In every round the loss is expanded about the raw predictions F,

    sum_i g_i t(x_i) + h_i t(x_i)^2 / 2 + l2 / 2 sum_leaves v^2,     g, h the derivatives at F(x_i),

a tree t is grown whose splits lower this most, and F <- F + learning_rate t. The value of a leaf is
-G / (H + l2); losses without curvature (absolute error, quantile) take the quantile of the
residuals instead, Huber's loss the bound 1 of its curvature, by which no step raises it.
References: Friedman 2001, Chen and Guestrin 2016, Ke et al. 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kilogram.functions.boosting_losses import BoostingLoss
from kilogram.native.boosting import Grower, Growth, Tree, gradients
from kilogram.solvers.boosting.bins import column_limits
from kilogram.solvers.boosting.ensemble import BoostedTrees

MIN_HESSIAN = 1e-3  # of a leaf, in units of the mean weight: scikit-learn's and LightGBM's number


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows (n, d), targets (n,) and weights of the fit, and what holds for their columns."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None
    n_categories: np.ndarray  # (d,), 0 for numeric columns
    monotone: np.ndarray  # (d,) -1, 0, 1
    groups: list[list[int]]  # columns that may be split together; empty: all


@dataclass(frozen=True)
class BoostingRules:
    """Parameters of the rounds."""

    learning_rate: float
    max_leaves: int
    max_depth: int
    min_leaf: int
    l2: float
    max_features: float
    max_bins: int
    seed: int


#: Called after every round with raw predictions (n_outputs, n) and the new trees; True: stop.
Monitor = Callable[[np.ndarray, list[Tree]], bool]


def boost(
    rows: TrainingRows,
    loss: BoostingLoss,
    rules: BoostingRules,
    start: BoostedTrees,
    n_rounds: int,
    monitor: Monitor | None = None,
) -> BoostedTrees:
    """`start` with up to `n_rounds` further rounds, fewer where the monitor ends the fit."""
    limits = column_limits(rows.X, rows.n_categories, rules.max_bins, rules.seed)
    grower = Grower(rows.X, limits, rows.n_categories, rows.monotone, rows.groups)
    w = None if rows.w is None else np.ascontiguousarray(rows.w, np.float64)
    growth = Growth(
        rules.max_leaves, rules.max_depth, rules.min_leaf, rules.l2,
        MIN_HESSIAN * (1.0 if w is None else min(float(w.mean()), 1.0)),
        rules.learning_rate, rules.max_features,
    )  # fmt: skip
    raw = np.ascontiguousarray(start.raw(rows.X).T)
    g, h = np.empty_like(raw), np.empty_like(raw)
    trees: list[Tree] = []
    for _ in range(n_rounds):
        gradients(loss.name, loss.parameter, rows.y, w, raw, g, h)
        new: list[Tree] = []
        for k in range(loss.n_outputs):
            seed = rules.seed + len(start.roots) + len(trees) + len(new)
            grower.grow(g[k], h[k], growth, seed)
            if loss.quantile is not None:
                grower.line_search(rows.y - raw[k], w, loss.quantile)
            grower.add_values(raw[k])
            new.append(grower.tree())
        trees += new
        if monitor is not None and monitor(raw, new):
            break
    return start.extended(trees)
