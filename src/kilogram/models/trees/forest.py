"""Random forests: the average of trees that err in different ways.

    f(x) = 1/T sum_t f_t(x)          variance  (1 - rho) sigma^2 / T + rho sigma^2

with sigma^2 the variance of one tree and rho the mean correlation of two (the lectures print
(T - 1)/T rho for the second term, which is not sigma^2 at T = 1). Each tree sees a bootstrap sample
of the rows and, at every cut, a few columns drawn at random: that lowers rho at the price of a
larger sigma^2. Beyond T of about 10 (1 - rho) / rho more trees gain little.

A tree has not seen a share 1/e of the rows; averaged over the trees that have not seen it, a row
gets an honest answer at no cost: the out-of-bag error. Reference: Breiman 2001.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from kilogram.base import Laws
from kilogram.models.trees.answers import TreeClassifier, TreeRegressor
from kilogram.models.trees.growth import Forest

DRAWN = "rows are drawn by their place, and a row of weight 2 is drawn as one, not as two"


class RandomForestRegressor(RegressorMixin, Forest, TreeRegressor):
    """The mean of regression trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
min_impurity_decrease, ccp_alpha : see `DecisionTreeRegressor`
    max_features : None, "sqrt", "log2", int or float, default=1.0
        Columns that a cut looks at.
    bootstrap : bool, default=True
        Grow each tree on rows drawn with replacement; else on all of them.
    oob_score : bool, default=False
        Judge the forest by the rows that its trees have not seen.
    n_jobs : int or None, default=None
        Threads; None takes those that are set, -1 all.
    random_state : int, RandomState or None, default=None
    max_samples : None, int or float, default=None
        Rows drawn for each tree; None as many as there are.

    Attributes
    ----------
    trees_ : Trees
        The nodes of all trees.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the fall of the impurity.
    oob_score_, oob_prediction_ : float, ndarray of shape (n,)
        R^2 and answers out of the bag; only with `oob_score`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

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
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            n_estimators=n_estimators, bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs,
            max_samples=max_samples,
        )  # fmt: skip


class RandomForestClassifier(ClassifierMixin, Forest, TreeClassifier):
    """The mean of the class shares of trees on bootstrap samples.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
min_impurity_decrease, class_weight, ccp_alpha : see `DecisionTreeClassifier`
    max_features : None, "sqrt", "log2", int or float, default="sqrt"
        Columns that a cut looks at; more where most columns say nothing.
    bootstrap, oob_score, n_jobs, random_state, max_samples : see `RandomForestRegressor`

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    trees_ : Trees
        The nodes of all trees.
    feature_importances_ : ndarray of shape (d,)
        Share of each column in the fall of the impurity.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n, n_classes)
        Accuracy and shares out of the bag; only with `oob_score`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

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
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
    ):
        super().__init__(
            criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, random_state=random_state,
            min_impurity_decrease=min_impurity_decrease, ccp_alpha=ccp_alpha,
            n_estimators=n_estimators, bootstrap=bootstrap, oob_score=oob_score, n_jobs=n_jobs,
            max_samples=max_samples,
        )  # fmt: skip
        self.class_weight = class_weight
