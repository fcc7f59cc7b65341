"""Random forests: the average of trees that err in different ways.

    f(x) = 1/T sum_t f_t(x)          variance  (1 - rho) sigma^2 / T + rho sigma^2

with sigma^2 the variance of one tree and rho the mean correlation of two (the lectures print
(T - 1)/T rho for the second term, which is not sigma^2 at T = 1). Each tree sees a bootstrap sample
of the rows and, at every split, a few features drawn at random: that lowers rho and raises
sigma^2. Beyond T of about 10 (1 - rho) / rho more trees gain little.

A bootstrap sample lacks a fraction 1/e of the rows. Averaged over the trees that did not draw it, a
row gets a prediction that did not use its target: the out-of-bag error is an estimate of the test
error without further fits. Reference: Breiman 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, Dictionary, Null, OneOf
from kilogram.models.trees.decision_tree import (
    CLASSIFICATION_CRITERIA,
    REGRESSION_CRITERIA,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from kilogram.models.trees.forest import Forest
from kilogram.models.trees.prediction import MultiLabelMixin, TreeClassifier, TreeRegressor
from kilogram.native.trees import Target

DRAWN = "rows are drawn by their place, and a row of weight 2 is drawn as one, not as two"
SUBSAMPLE = "balanced_subsample"
FOREST_CLASS_WEIGHTS = Dictionary() | OneOf("balanced", SUBSAMPLE) | ArrayLike() | Null()


class ForestOfRegressors(Forest, TreeRegressor):
    """The mean of regression trees."""

    tree_class: ClassVar[type] = DecisionTreeRegressor

    def _as_estimators(self) -> list[Any]:
        found = []
        for t, seed in enumerate(self._seeds):
            tree = self.estimator_.set_params(random_state=int(seed))
            tree.trees_, tree.n_features_in_ = self.trees_.one(t), self.n_features_in_
            tree._codes, tree.is_categorical_ = self._codes, self.is_categorical_
            tree.max_features_, tree.n_outputs_ = self.max_features_, self.n_outputs_
            tree._float64_target = self._float64_target
            found.append(tree)
        return found


class ForestOfClassifiers(Forest, TreeClassifier):
    """The mean of the class proportions of trees."""

    tree_class: ClassVar[type] = DecisionTreeClassifier

    def _class_weight(self) -> Any:
        if not isinstance(self.class_weight, str) or self.class_weight != SUBSAMPLE:
            return self.class_weight
        return None if self.bootstrap else "balanced"  # else by `_bootstrap_factors`

    def _bootstrap_factors(self, target: Target, rows: np.ndarray, counts: np.ndarray) -> Any:
        if not isinstance(self.class_weight, str) or self.class_weight != SUBSAMPLE:
            return None
        factors = np.ones(len(rows))
        for label, classes in zip(target.label[rows].T, target.classes, strict=True):
            drawn = np.bincount(label, counts, int(classes))
            present = np.maximum(drawn, 1.0)  # a class that was not drawn has no rows to weight
            factors *= (counts.sum() / ((drawn > 0).sum() * present))[label]
        return factors

    def _as_estimators(self) -> list[Any]:
        single = self.n_outputs_ == 1
        found = []
        for t, seed in enumerate(self._seeds):
            tree = self.estimator_.set_params(random_state=int(seed))
            tree.trees_, tree.n_features_in_ = self.trees_.one(t), self.n_features_in_
            tree._codes, tree.is_categorical_ = self._codes, self.is_categorical_
            tree.max_features_, tree.n_outputs_ = self.max_features_, self.n_outputs_
            places = [np.arange(float(c)) for c in np.atleast_1d(self.n_classes_)]
            tree.classes_ = places[0] if single else places
            tree.n_classes_ = self.n_classes_
            found.append(tree)
        return found


class RandomForestRegressor(RegressorMixin, ForestOfRegressors):
    """The mean of regression trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst, categorical_features : see \
`DecisionTreeRegressor`
    max_features : None, "sqrt", "log2", int or float, default=1.0
        Number of features that a split considers.
    bootstrap : bool, default=True
        Grow each tree on rows drawn with replacement; else on all of them.
    oob_score : bool or callable, default=False
        Compute predictions of the out-of-bag rows and their score: R^2, or metric(y, predicted).
    n_jobs : int or None, default=None
        Threads; None uses the configured number, -1 all.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    verbose : int, default=0
        Above 0 a line is printed for every tree.
    warm_start : bool, default=False
        Keep the trees of the fit before and grow `n_estimators` less their number more.
    max_samples : None, int or float, default=None
        Rows drawn for each tree, as a number or a fraction of the rows; None draws n of them.

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor
        The unfitted tree whose parameters all trees have.
    estimators_ : list of DecisionTreeRegressor
        The trees, as fitted estimators.
    estimators_samples_ : list of ndarray
        The rows drawn for each tree.
    trees_ : Trees
        The nodes of all trees as the solvers use them.
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
    >>> from kilogram import DecisionTreeRegressor, RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> x, new = rng.uniform(0, 6, (2, 300, 1))
    >>> y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(300)
    >>> forest = RandomForestRegressor(random_state=0).fit(x, y)
    >>> tree = DecisionTreeRegressor().fit(x, y)
    >>> bool(forest.score(new, np.sin(new[:, 0])) > tree.score(new, np.sin(new[:, 0])))
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight=DRAWN, permutation=DRAWN, example={"n_estimators": 5, "random_state": 0}
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **Forest.parameter_constraints,
        "criterion": REGRESSION_CRITERIA,
    }

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
        bootstrap: bool = True,
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


class RandomForestClassifier(MultiLabelMixin, ForestOfClassifiers):
    """The mean of the class proportions of trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_leaf_nodes, min_impurity_decrease, ccp_alpha, monotonic_cst, categorical_features : see \
`DecisionTreeClassifier`
    max_features : None, "sqrt", "log2", int or float, default="sqrt"
        Features that a split considers; take more where most features are irrelevant.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, default=None
        Factors of the rows' weights by class; "balanced" gives all classes the same weight,
        "balanced_subsample" in every bootstrap sample anew.
    bootstrap, oob_score, n_jobs, random_state, verbose, warm_start, max_samples : see \
`RandomForestRegressor`

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them
        The classes, for every output if there are several.
    n_classes_ : int or ndarray of int
        Number of classes; a list of them for several outputs.
    estimator_ : DecisionTreeClassifier
        The unfitted tree whose parameters all trees have.
    estimators_ : list of DecisionTreeClassifier
        The trees, as fitted estimators.
    estimators_samples_ : list of ndarray
        The rows drawn for each tree.
    trees_ : Trees
        The nodes of all trees as the solvers use them.
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
    >>> from kilogram import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(RandomForestClassifier(oob_score=True, random_state=0).fit(X, y).oob_score_ > 0.93)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight=DRAWN, permutation=DRAWN, example={"n_estimators": 5, "random_state": 0}
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **Forest.parameter_constraints,
        "criterion": CLASSIFICATION_CRITERIA,
        "class_weight": FOREST_CLASS_WEIGHTS,
    }

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
        bootstrap: bool = True,
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
