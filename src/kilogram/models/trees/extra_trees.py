"""Forests of extremely randomised trees (`extra_tree`), by default each on all rows."""

from __future__ import annotations

from typing import Any, ClassVar

from kilogram.base import Laws
from kilogram.models.trees.extra_tree import RANDOM, ExtraTreeClassifier, ExtraTreeRegressor
from kilogram.models.trees.random_forest import RandomForestClassifier, RandomForestRegressor

EXAMPLE = {"n_estimators": 5, "random_state": 0}


class ExtraTreesRegressor(RandomForestRegressor):
    """The mean of regression trees whose thresholds are drawn at random.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_features, max_leaf_nodes, min_impurity_decrease, oob_score, n_jobs, random_state, verbose, \
warm_start, ccp_alpha, max_samples, monotonic_cst, categorical_features : see \
`RandomForestRegressor`
    bootstrap : bool, default=False
        Grow each tree on rows drawn with replacement; else on all of them.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        The unfitted tree whose parameters all trees have.
    estimators_ : list of ExtraTreeRegressor
        The trees, as fitted estimators.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    oob_score_, oob_prediction_ : float, ndarray of shape (n,)
        R^2 and predictions of the out-of-bag rows; only with `oob_score`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import ExtraTreesRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = ExtraTreesRegressor(random_state=0).fit(x, np.sin(x[:, 0]))
    >>> bool(model.score(x + 0.01, np.sin(x[:, 0] + 0.01)) > 0.99)
    True
    """

    laws: ClassVar[Laws] = Laws(permutation=RANDOM, example=EXAMPLE)
    tree_class: ClassVar[type] = ExtraTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state, max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst, categorical_features=categorical_features,
            n_estimators=n_estimators, bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs,
            verbose=verbose, warm_start=warm_start, max_samples=max_samples,
        )  # fmt: skip


class ExtraTreesClassifier(RandomForestClassifier):
    """The mean of the class proportions of trees whose thresholds are drawn at random.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_features, max_leaf_nodes, min_impurity_decrease, oob_score, n_jobs, random_state, verbose, \
warm_start, class_weight, ccp_alpha, max_samples, monotonic_cst, categorical_features : see \
`RandomForestClassifier`
    bootstrap : bool, default=False
        Grow each tree on rows drawn with replacement; else on all of them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them
        The classes, for every output if there are several.
    n_classes_ : int or ndarray of int
        Number of classes; a list of them for several outputs.
    estimator_ : ExtraTreeClassifier
        The unfitted tree whose parameters all trees have.
    estimators_ : list of ExtraTreeClassifier
        The trees, as fitted estimators.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the impurity that is due to each feature.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n, n_classes)
        Accuracy and class probabilities of the out-of-bag rows; only with `oob_score`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kilogram import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ExtraTreesClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True
    """

    laws: ClassVar[Laws] = Laws(permutation=RANDOM, example=EXAMPLE)
    tree_class: ClassVar[type] = ExtraTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state, max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst, categorical_features=categorical_features,
            n_estimators=n_estimators, bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs,
            verbose=verbose, warm_start=warm_start, max_samples=max_samples,
        )  # fmt: skip
        self.class_weight = class_weight
