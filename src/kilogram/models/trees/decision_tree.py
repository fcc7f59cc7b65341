"""Decision trees: boxes with a constant prediction in each, split one feature at a time.

    regression       leaf = mean of y                impurity  sum_i w_i (y_i - mean)^2 / W
    classification   leaf = class proportions p      impurity  1 - sum_c p_c^2 (Gini) or
                                                               -sum_c p_c log p_c (entropy)

A node is split at the feature and the threshold, among all gaps between its values, where the
children's impurity, weighted by their fraction of the node, is least. Splitting ends at nodes that
are pure, too deep or too small. A fully grown tree overfits: limit it, prune it (`solvers/trees`)
or average many (`RandomForestClassifier`). Splits are greedy: where no single feature lowers the
impurity, as for XOR, the first split is arbitrary and the next ones make up for it.

Columns are sorted once and worked on as ranks (native/src/trees/), so predictions do not change
under an increasing function of a feature. References: Breiman and others 1984; Quinlan 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.threads import n_threads
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import ArrayLike, Constraint, Dictionary, Null, OneOf
from kilogram.base.random_state import as_generator
from kilogram.models.trees.fitted_tree import FittedTree
from kilogram.models.trees.prediction import MultiLabelMixin, TreeClassifier, TreeRegressor
from kilogram.models.trees.tree_model import ALLOW_NAN, TreeModel
from kilogram.native.trees import CodedColumns, Target, grow_tree
from kilogram.operators.cost import rates
from kilogram.solvers.trees.nodes import Trees
from kilogram.solvers.trees.pruning import (
    cost_complexity_pruned,
    pruned,
    pruning_path,
)

TIES = "of features that split a node equally well the first is taken"
CLASSIFICATION_CRITERIA = OneOf("gini", "entropy", "log_loss")
REGRESSION_CRITERIA = OneOf("squared_error", "friedman_mse", "absolute_error", "poisson")


class SingleTree(TreeModel):
    """Growth and pruning of one tree."""

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **TreeModel.parameter_constraints,
        "splitter": OneOf("best", "random"),
        "prune": OneOf("held_out", "cv") | Null(),
    }

    def __init__(self, *, splitter: str, prune: str | None, **shared: Any):
        super().__init__(**shared)
        self.splitter = splitter
        self.prune = prune

    def _random_splits(self) -> bool:
        return self.splitter == "random"

    def _grow(
        self, X: np.ndarray, target: Target, w: np.ndarray, inverse: Callable[[Any], Any]
    ) -> tuple[Trees, None]:
        rows = np.flatnonzero(w > 0)
        limits = self._limits(len(rows), X.shape[1], float(w.sum()))
        columns, rng = CodedColumns.of(X), as_generator(self.random_state)
        seed, rules, threads = int(rng.integers(2**62)), self._rules(target, columns), n_threads()

        def grow(part: np.ndarray) -> Trees:
            grown = grow_tree(columns, target, w, part, rules, limits, seed, threads=threads)
            return Trees.of([grown])

        tree = pruned(self.prune, grow, X, indicators(target), w, rows, rng)
        if self.ccp_alpha > 0:
            tree = cost_complexity_pruned(tree, float(self.ccp_alpha))
        self.max_features_ = limits.columns
        return replace(tree, value=inverse(tree.value)), None

    @property
    def tree_(self) -> FittedTree:
        """The nodes under scikit-learn's names: children_left, feature, threshold, value, ..."""
        check_is_fitted(self, "trees_")
        found = vars(self).get("_tree")
        if found is None or found.nodes is not self.trees_:
            one = np.ones(self.n_outputs_, np.int64)
            n_classes = np.atleast_1d(getattr(self, "n_classes_", one))
            self._tree = found = FittedTree(self.trees_, self.n_features_in_, n_classes)
        return found

    def get_depth(self) -> int:
        """The number of splits on the longest path to a leaf."""
        check_is_fitted(self, "trees_")
        return self.trees_.depth()

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self, "trees_")
        return len(self.trees_.leaves)

    def apply(self, X: Any, check_input: bool = True) -> np.ndarray:
        """The leaf of every row, (n,), as its number among the nodes of `tree_`.

        `check_input=False` skips the search for infinite values.
        """
        leaves = self._leaf_table(X, ALLOW_NAN if check_input else False)[1]
        return leaves[:, 0].astype(np.int64)

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """(n, nodes), sparse: 1 where a row passes through a node of `tree_`.

        `check_input=False` skips the search for infinite values.
        """
        rows, _ = self._leaf_table(X, ALLOW_NAN if check_input else False)
        return self.trees_.decision_path(rows)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Effective alphas of minimal cost-complexity pruning of the tree grown on these rows.

        Returns
        -------
        PruningPath
            With `ccp_alphas`, increasing, and `impurities`, the sum of the leaves' impurities of
            the subtree for each.
        """
        full = clone(self).set_params(ccp_alpha=0.0, prune=None).fit(X, y, sample_weight)
        return pruning_path(full.trees_)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 60.0 * n * d * np.log2(n + 2) / rates(8).multiply_adds
        return self._costs(n, d, "sorting and splitting the columns", work, 24 * n * d)


def indicators(target: Target) -> np.ndarray:
    """Numbers as they are; 1 for the class of a row and 0 for others, (n, width)."""
    if not len(target.classes):
        return target.y
    codes = zip(target.label.T, target.classes, strict=True)
    return np.hstack([np.eye(int(classes))[label] for label, classes in codes])


class DecisionTreeRegressor(RegressorMixin, SingleTree, TreeRegressor):
    """Decision tree: predicts the mean target of the training rows in a leaf.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
default="squared_error"
        What a split minimises: the squared error of the children ("friedman_mse" is another name
        for it), the absolute error, whose leaves predict medians, or the half Poisson deviance of
        targets of at least 0.
    splitter : {"best", "random"}, default="best"
        The best threshold of a feature, or one drawn at random between its least and largest value.
    max_depth : int or None, default=None
        Largest depth of the tree.
    min_samples_split : int or float, default=2
        Smallest number of rows, or fraction of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Smallest number of rows, or fraction of all rows, of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Smallest fraction of the total weight in a leaf.
    max_features : None, "sqrt", "log2", int or float, default=None
        Features that a split considers, drawn at random; None is all.
    random_state : int, RandomState or None, default=None
        Seed or generator for the features and folds drawn.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves; the split that lowers the impurity most comes first.
    min_impurity_decrease : float, default=0.0
        Smallest decrease of the impurity by a split, times the node's fraction of the weight.
    ccp_alpha : float, default=0.0
        Penalty of a leaf in cost-complexity pruning.
    monotonic_cst : array-like of shape (d,) or None, default=None
        1 where the prediction must not fall with a feature, -1 where it must not rise, else 0.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
default="from_dtype"
        Features whose values have no order: columns of categorical type of a data frame, or those
        given by mask, position or name; at most 256 categories each. A split sends a set of
        categories to the left. Categories that were not seen go with missing values.
    prune : {None, "held_out", "cv"}, default=None
        Prune the tree on rows it was not grown on; "cv" chooses the penalty of a leaf by five-fold
        cross-validation.

    Attributes
    ----------
    tree_ : FittedTree
        The nodes as arrays: children_left, children_right, feature, threshold, impurity,
        n_node_samples, weighted_n_node_samples, value, missing_go_to_left; node_count, max_depth,
        n_leaves.
    trees_ : Trees
        The same nodes as the solvers use them.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    max_features_ : int
        Number of features that a split considers.
    n_outputs_ : int
        The number of targets.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

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
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **SingleTree.parameter_constraints,
        "criterion": REGRESSION_CRITERIA,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        prune: str | None = None,
    ):
        super().__init__(
            criterion=criterion, splitter=splitter, max_depth=max_depth,
            min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf, max_features=max_features,
            random_state=random_state, max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst, categorical_features=categorical_features, prune=prune,
        )  # fmt: skip


class DecisionTreeClassifier(MultiLabelMixin, SingleTree, TreeClassifier):
    """Decision tree: predicts the class proportions of the training rows in a leaf.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that a split minimises: 1 - sum p^2, or -sum p log2 p under either of two names.
    splitter, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_features, random_state, max_leaf_nodes, min_impurity_decrease, ccp_alpha, \
categorical_features, prune : see `DecisionTreeRegressor`
    class_weight : dict, list of dict, "balanced" or None, default=None
        Factors of the rows' weights by class; "balanced" gives all classes the same. A list has one
        dict for every output.
    monotonic_cst : array-like of shape (d,) or None, default=None
        1 where the probability of the second of two classes must not fall with a feature, -1 where
        it must not rise, else 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them
        The classes, for every output if there are several.
    n_classes_ : int or ndarray of int
        Number of classes; a list of them for several outputs.
    tree_ : FittedTree
        The nodes as arrays: children_left, children_right, feature, threshold, impurity,
        n_node_samples, weighted_n_node_samples, value, missing_go_to_left; node_count, max_depth,
        n_leaves.
    trees_ : Trees
        The same nodes as the solvers use them.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    max_features_ : int
        Number of features that a split considers.
    n_outputs_ : int
        The number of targets.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

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
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **SingleTree.parameter_constraints,
        "criterion": CLASSIFICATION_CRITERIA,
        "class_weight": Dictionary() | OneOf("balanced") | ArrayLike() | Null(),
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        prune: str | None = None,
    ):
        super().__init__(
            criterion=criterion, splitter=splitter, max_depth=max_depth,
            min_samples_split=min_samples_split, min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf, max_features=max_features,
            random_state=random_state, max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst, categorical_features=categorical_features, prune=prune,
        )  # fmt: skip
        self.class_weight = class_weight
