"""Density tree: boxes that follow the data, one constant density in each.

    p_l = N_l / (N V_l)       leaves l that tile the bounding box of the rows

The integrated squared error int (p - q)^2 = int q^2 - sum_l p_l^2 V_l falls with every split; a cut
that gives a fraction q of a node's rows and s of its volume to one side gains

    (N_l / N)^2 / V_l [q^2 / s + (1 - q)^2 / (1 - s) - 1]       0 at s = q, convex in s

so of a gap between two values only the ends can be best: 2 N_l - 2 places for each column. The log
likelihood gains (N_l / N) [q log(q/s) + (1 - q) log((1 - q)/(1 - s))] in the same way. As a child's
volume goes to 0 either gain grows without bound: leaves have a least weight, and a least side.
Where nothing was seen, outside the box, the density is 0. References: Ram and Gray 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.parameters import numbers
from kilogram.base.random_state import as_generator
from kilogram.base.tree_parameters import MAX_FEATURES, features_per_split
from kilogram.models.density.density import DensityEstimator, checked_n_samples
from kilogram.models.density.tree_growth import CRITERIA, DensitySplitRules, bounding_box, fitted
from kilogram.operators.cost import rates


def checked_box(box: Any, X: np.ndarray) -> np.ndarray:
    """The root's box (2, d), which must hold all rows."""
    if box is None:
        return bounding_box(X)
    found = numbers(box, "box")
    whole = found.shape == (2, X.shape[1]) and np.isfinite(found).all()
    if not whole or not (found[0] < found[1]).all():
        raise ValueError(
            f"box must be two rows, lower below upper ends, of {X.shape[1]} finite numbers each."
        )
    if (found[0] > X).any() or (found[1] < X).any():
        raise ValueError("some rows of X lie outside `box`; widen it or leave them out.")
    return found


class DensityTreeModel(DensityEstimator):
    """The parameters of growth that a tree and a forest share."""

    criterion: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_density: float
    min_improvement: float
    min_width: float
    epsilon: float
    min_fraction: float
    max_features: Any
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "criterion": OneOf(*CRITERIA),
        "max_depth": Integer(1) | Null(),
        "min_samples_split": Real(0.0, np.inf, "left"),
        "min_samples_leaf": Real(0.0, np.inf, "left"),
        "min_density": Real(0.0, np.inf, "left"),
        "min_improvement": Real(0.0, np.inf, "left"),
        # a leaf without width would have an infinite density
        "min_width": Real(0.0, 0.5, "neither"),
        "epsilon": Real(0.0, 0.5, "neither"),
        "min_fraction": Real(0.0, 0.5, "left"),
        "max_features": MAX_FEATURES,
        "box": ArrayLike() | Null(),
        "random_state": RandomState(),
    }

    def _rules(self, n_features: int) -> DensitySplitRules:
        return DensitySplitRules(
            self.criterion,
            None if self.max_depth is None else int(self.max_depth),
            float(self.min_samples_split),
            float(self.min_samples_leaf),
            float(self.min_density),
            float(self.min_improvement),
            float(self.min_width),
            float(self.epsilon),
            float(self.min_fraction),
            features_per_split(self.max_features, n_features),
        )


class DensityTree(DensityTreeModel):
    """A density that is constant on boxes, found by greedy splitting.

    ``p_l = N_l / (N V_l)`` in leaf l; every split is the one that lowers ``int (p - q)^2`` most, or
    raises the likelihood most.

    Parameters
    ----------
    criterion : {"squared_error", "likelihood"}, default="squared_error"
        What a split improves: the integrated squared error or the log likelihood.
    max_depth : int or None, default=None
        Maximum depth of the tree.
    min_samples_split : float, default=2
        Minimum weight of a node that is split.
    min_samples_leaf : float, default=10
        Minimum weight of a leaf.
    min_density : float, default=0.0
        A node is split while its density is at least this, in units of the root's.
    min_improvement : float, default=0.0
        Least gain of a split; the squared error in units of 1 / volume of the root.
    min_width : float, default=1e-3
        Smallest side of a leaf, as a fraction of the root's.
    epsilon : float, default=1e-6
        Distance of a threshold from a value, as a fraction of the node's side.
    min_fraction : float, default=0.0
        Smallest fraction of a node's rows on either side of its split. Where no single split gains,
        as among ranks, the best one cuts off an edge; about 0.2 keeps the tree balanced.
    max_features : None, "sqrt", "log2", int or float, default=None
        Features that a split considers, drawn at random; None is all.
    prune : {None, "held_out", "cv"}, default=None
        Prune the tree on rows it was not grown on; "cv" by five-fold cross-validation.
    box : array of shape (2, d) or None, default=None
        Lower and upper ends of the root; None is the range of the rows.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    tree_ : Tree
        Nodes with their boxes and weights.
    n_leaves_ : int
        Number of leaves.
    leaf_boxes_ : array of shape (n_leaves, 2, d)
        Lower and upper corner of every leaf.
    leaf_densities_ : array of shape (n_leaves,)
        Density in every leaf.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    DensityForest : The average of many.

    Examples
    --------
    >>> from kilogram import DensityTree
    >>> x = [[0.0], [0.1], [0.2], [0.3], [4.0]]
    >>> model = DensityTree(min_samples_leaf=1, max_depth=1).fit(x)
    >>> model.leaf_boxes_[:, :, 0].round(3).tolist()
    [[0.0, 0.3], [0.3, 4.0]]
    >>> model.leaf_densities_.round(3).tolist()
    [2.667, 0.054]
    """

    laws: ClassVar[Laws] = Laws(
        sparse="a density over mostly zero columns has no volume to speak of: rows are dense",
        shift="after rounding a cut may fall on the other end of a gap of equal gain",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **DensityTreeModel.parameter_constraints,
        "prune": OneOf("held_out", "cv") | Null(),
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 10,
        min_density: float = 0.0,
        min_improvement: float = 0.0,
        min_width: float = 1e-3,
        epsilon: float = 1e-6,
        min_fraction: float = 0.0,
        max_features: Any = None,
        prune: str | None = None,
        box: Any = None,
        random_state: Any = None,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_density = min_density
        self.min_improvement = min_improvement
        self.min_width = min_width
        self.epsilon = epsilon
        self.min_fraction = min_fraction
        self.max_features = max_features
        self.prune = prune
        self.box = box
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Split the box of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        _, rows, w = self._validate_in_memory(X, sample_weight)
        rules = self._rules(rows.shape[1])
        box = checked_box(self.box, rows)
        self.tree_ = fitted(rows, w, box, rules, self.prune, as_generator(self.random_state))
        self._log_densities = self.tree_.log_densities()
        leaves = self.tree_.leaves
        self.n_leaves_ = len(leaves)
        self.leaf_boxes_ = np.stack([self.tree_.lower[leaves], self.tree_.upper[leaves]], axis=1)
        with np.errstate(over="ignore"):  # in tiny boxes a density may pass the largest float
            self.leaf_densities_ = np.exp(self._log_densities[leaves])
        return self

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        leaf = self.tree_.apply(X)
        return np.where(leaf < 0, -np.inf, self._log_densities[leaf])

    def apply(self, X: Any) -> np.ndarray:
        """The number of the leaf of each row among `leaf_boxes_`, (n,); -1 outside."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X
        leaf = self.tree_.apply(np.asarray(X, dtype=float))
        return np.where(leaf < 0, -1, np.searchsorted(self.tree_.leaves, leaf))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d): a leaf, then a place in its box."""
        check_is_fitted(self)
        return self.tree_.draw(checked_n_samples(n_samples), as_generator(random_state))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 60.0 * n * d * np.log2(n + 2) / rates(8).multiply_adds
        return self._costs(n, d, "sorting and splitting the columns", work, 24 * n * d)
