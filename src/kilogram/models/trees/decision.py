"""Decision trees: boxes with a constant answer in each, cut one column at a time.

    regression       leaf = mean of y         impurity  sum_i w_i (y_i - mean)^2 / W
    classification   leaf = class shares p    impurity  1 - sum_c p_c^2 (Gini) or -sum_c p_c log p_c

A node is cut at the column and the place, among all gaps between its values, where the children's
impurity, weighted by their share of the node, is least. Cuts go on until a node is pure, too deep
or too small. A tree that is grown out knows its rows by heart: limit it, prune it (pruning.py) or
average many (forest.py). Greedy cuts look one step ahead: where no single column says anything, as
for XOR, the first cut is a guess and the next ones make it good.

Columns are sorted once and worked on as ranks (native/src/trees.cpp), so the answers do not change
if a column is squeezed by an increasing function.
References: Breiman and others 1984; Quinlan 1993.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.base import Estimate, Laws
from kilogram.base.estimate import within
from kilogram.models.densities.density import generator
from kilogram.models.trees.answers import TreeClassifier, TreeRegressor
from kilogram.models.trees.nodes import Trees
from kilogram.models.trees.params import TreeModel
from kilogram.models.trees.pruning import PRUNING, pruned, simplified
from kilogram.native.trees import CodedColumns, Target, grow_tree
from kilogram.operators.memory_plan import rates

TIES = "of columns that cut a node equally well the first is taken"


class SingleTree(TreeModel):
    """Growth and pruning of one tree."""

    def __init__(self, *, prune: str | None, **shared: Any):
        super().__init__(**shared)
        self.prune = prune

    def _grow(self, X: np.ndarray, target: Target, w: np.ndarray) -> None:
        if self.prune not in PRUNING:
            raise ValueError(f"prune must be one of {PRUNING}, got {self.prune!r}.")
        rows = np.flatnonzero(w > 0)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        columns, rng = CodedColumns.of(X), generator(self.random_state)
        seed = int(rng.integers(2**62))

        def grow(part: np.ndarray) -> Trees:
            return Trees.of([grow_tree(columns, target, w, part, self.criterion, limits, seed)])

        Y = np.eye(target.classes)[target.label] if target.classes else target.y[:, None]
        tree = pruned(self.prune, grow, X, Y, w, rows, rng)
        self.trees_ = simplified(tree, float(self.ccp_alpha)) if self.ccp_alpha > 0 else tree
        self.feature_importances_ = self.trees_.importances(X.shape[1])

    def get_depth(self) -> int:
        """Cuts on the longest way down."""
        check_is_fitted(self)
        return self.trees_.depth()

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.trees_.leaves)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 60.0 * n * d * np.log2(n + 2) / rates(8).multiply_adds
        return within(self, n, d, "sorting and cutting the columns", work, 24 * n * d)


class DecisionTreeRegressor(RegressorMixin, SingleTree, TreeRegressor):
    """A tree whose leaves answer with the mean of their rows.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        What a cut makes least: the squared error of the children.
    max_depth : int or None, default=None
        Most cuts on a way down.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is cut.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Least share of all weight in a leaf.
    max_features : None, "sqrt", "log2", int or float, default=None
        Columns that a cut looks at, drawn at random; None is all.
    random_state : int, RandomState or None, default=None
        For the columns and the folds that are drawn.
    min_impurity_decrease : float, default=0.0
        Least fall of the impurity by a cut, times the node's share of the rows.
    ccp_alpha : float, default=0.0
        Price of a leaf in cost-complexity pruning.
    prune : {None, "held_out", "cv"}, default=None
        Cut the tree back on rows it was not grown on; "cv" chooses the price by five folds.

    Attributes
    ----------
    trees_ : Trees
        The nodes: columns, thresholds, children, weights, impurities, values.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the fall of the impurity.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    RandomForestRegressor : The average of many.

    Examples
    --------
    >>> from kilogram import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 5, 7])
    >>> model.predict([[0.4], [9.0]])
    array([0., 6.])
    """

    laws: ClassVar[Laws] = Laws(permutation=TIES, example={"random_state": 0})

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        prune: str | None = None,
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha, prune=prune,
        )  # fmt: skip


class DecisionTreeClassifier(ClassifierMixin, SingleTree, TreeClassifier):
    """A tree whose leaves answer with the shares of the classes among their rows.

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        Impurity that a cut makes least: 1 - sum p^2, or -sum p log p.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, \
random_state, min_impurity_decrease, ccp_alpha, prune : see `DecisionTreeRegressor`
    class_weight : dict, "balanced" or None, default=None
        Factors of the rows' weights by class; "balanced" gives all classes the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    trees_ : Trees
        The nodes: columns, thresholds, children, weights, impurities, shares.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the fall of the impurity.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    RandomForestClassifier : The average of many.

    Examples
    --------
    >>> from kilogram import DecisionTreeClassifier
    >>> xor = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> DecisionTreeClassifier().fit(xor, ["no", "yes", "yes", "no"]).predict(xor).tolist()
    ['no', 'yes', 'yes', 'no']
    """

    laws: ClassVar[Laws] = Laws(permutation=TIES, example={"random_state": 0})

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        prune: str | None = None,
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha, prune=prune,
        )  # fmt: skip
        self.class_weight = class_weight
