"""Extremely randomised trees: thresholds are drawn at random instead of searched.

Each considered feature gets one threshold, uniform between its least and largest value in the node,
and the best of these splits is taken. One such tree is a poor model; averaged over many the random
thresholds lower the correlation of the trees, and no column is sorted. Reference: Geurts, Ernst and
Wehenkel 2006.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kilogram.base import Laws
from kilogram.models.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

RANDOM = "features and thresholds are drawn by their place"


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree whose thresholds are drawn at random.

    Parameters
    ----------
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
random_state, min_impurity_decrease, max_leaf_nodes, ccp_alpha, monotonic_cst, \
categorical_features, prune : see `DecisionTreeRegressor`
    splitter : {"random", "best"}, default="random"
        One random threshold for each considered feature, or the best one.
    max_features : None, "sqrt", "log2", int or float, default=1.0
        Number of features that a split considers.

    Attributes
    ----------
    tree_ : FittedTree
        The nodes as arrays; see `DecisionTreeRegressor`.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    max_features_, n_outputs_, n_features_in_ : int
        Number of features that a split considers, of outputs, and of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    ExtraTreesRegressor : The average of many.

    Examples
    --------
    >>> from kilogram import ExtraTreeRegressor
    >>> model = ExtraTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 4])
    >>> model.predict([[2.5]])
    array([4.])
    """

    laws: ClassVar[Laws] = Laws(permutation=RANDOM, example={"random_state": 0})

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
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


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree whose thresholds are drawn at random.

    Parameters
    ----------
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
random_state, max_leaf_nodes, min_impurity_decrease, class_weight, ccp_alpha, monotonic_cst, \
categorical_features, prune : see `DecisionTreeClassifier`
    splitter : {"random", "best"}, default="random"
        One random threshold for each considered feature, or the best one.
    max_features : None, "sqrt", "log2", int or float, default="sqrt"
        Number of features that a split considers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them
        The classes, for every output if there are several.
    n_classes_ : int or ndarray of int
        Number of classes; a list of them for several outputs.
    tree_ : FittedTree
        The nodes as arrays; see `DecisionTreeClassifier`.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    max_features_, n_outputs_, n_features_in_ : int
        Number of features that a split considers, of outputs, and of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    ExtraTreesClassifier : The average of many.

    Examples
    --------
    >>> from kilogram import ExtraTreeClassifier
    >>> model = ExtraTreeClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> model.predict([[2.5]]).tolist()
    ['b']
    """

    laws: ClassVar[Laws] = Laws(permutation=RANDOM, example={"random_state": 0})

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
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
