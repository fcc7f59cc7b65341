"""Additive boosting: one shape function for every feature, and for chosen pairs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Laws
from kilogram.base.constraints import Constraint, Dictionary, Null, OneOf
from kilogram.functions.boosting_losses import HUBER_QUANTILE, BoostingLoss, weighted_quantile
from kilogram.models.boosting.additive_model import AdditiveBoosting
from kilogram.models.boosting.boosted_model import BoostedClassifier, BoostedRegressor

IN_TURN = "features are boosted in their order"


class AdditiveBoostingRegressor(BoostedRegressor, AdditiveBoosting):
    """Regression by a sum of shape functions, boosted one feature at a time.

    The prediction is a sum that one can read: one function of every feature and, for chosen pairs,
    one of both (a generalised additive model with interactions, as explainable boosting machines
    are). They lower

        sum_i w_i loss(y_i, F(x_i)),     F(x) = intercept + sum_k f_k(x_k) + sum_jk f_jk(x_j, x_k)

    In a round features in turn get a tree with a few leaves, times `learning_rate`: all of them, or
    with early stopping in most rounds those whose last step was among the largest. Pairs
    are screened by what one tree with four leaves gains on what the features leave, and the best
    are boosted next. What of a pair depends on one feature alone counts as that feature's.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma", "huber"}, default="squared_error"
        "gamma" and "poisson" predict exp(F). "huber" is quadratic up to delta and linear beyond,
        where delta is the 0.9-quantile of ``|y - median(y)|``.
    learning_rate : float, default=0.1
        Shrinkage: factor applied to the values of each step.
    max_iter : int, default=2000
        Maximum number of rounds over the features, and over the pairs.
    max_leaf_nodes : int, default=3
        Maximum number of leaves of a feature's tree in one round.
    min_samples_leaf : int, default=4
        Minimum number of rows in a leaf.
    l2_regularization : float, default=0
        Penalty of squared leaf values.
    max_bins : int, default=255
        Maximum number of bins per feature, besides one for missing values; 4096 at most.
    interactions : int, float or list of pairs, default=10
        The number of pairs, as a multiple of the number of features (float), or which pairs:
        positions or names of two features each.
    max_interaction_bins : int, default=32
        Maximum number of bins per feature in a pair.
    n_bags : int, default=8
        Fits whose shape functions are averaged; each holds out rows of its own. Without early
        stopping all would be the same, and one is made.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
default="from_dtype"
        Features whose values have no order: columns of categorical type of a data frame, or
        those given by mask, position or name. Categories unknown to the fit count as missing.
    monotonic_cst : array-like of int, dict or None, default=None
        1: the shape function never decreases, -1: it never increases, 0: free. Features with a
        constraint have no pairs.
    early_stopping : "auto" or bool, default="auto"
        Keep the rounds with the least loss on held-out rows; "auto" from 100 rows on.
    validation_fraction : float, default=0.15
        Fraction of the rows that each bag holds out.
    n_iter_no_change : int, default=50
        Rounds without improvement after which a bag ends.
    tol : float, default=0
        Improvements up to this count as none.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the held-out rows, and for the 200 000 rows from which bins of larger
        tables are made.

    Attributes
    ----------
    shape_functions_ : list of ShapeFunction
        Bins, values and their standard deviation over the bags: for every feature, then for every
        pair. `plot_shape` draws one.
    intercept_ : float
        The raw prediction where all shape functions are 0: each has mean 0 over the training rows.
    interactions_ : list of tuple
        The pairs, the most useful first.
    term_importances_ : ndarray of shape (terms,)
        Mean absolute contribution of every shape function.
    feature_importances_ : ndarray of shape (d,)
        The same by feature, pairs divided among both, with sum 1.
    n_iter_ : int
        Largest number of rounds of a bag.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    terms_ : AdditiveTerms
        Tables of the shape functions as predictions read them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import AdditiveBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (800, 3))
    >>> f = np.sin(X[:, 0]) + np.abs(X[:, 1])
    >>> y = f + 0.1 * rng.standard_normal(800)
    >>> model = AdditiveBoostingRegressor(interactions=0, random_state=0).fit(X, y)
    >>> bool(model.score(X, f) > 0.97)
    True
    >>> [shape.name for shape in model.shape_functions_]
    ['x0', 'x1', 'x2']
    """

    laws: ClassVar[Laws] = Laws(
        permutation=IN_TURN,
        example={
            "max_iter": 10, "min_samples_leaf": 1, "interactions": 2, "early_stopping": False,
            "random_state": 0,
        },
    )  # fmt: skip
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **AdditiveBoosting.parameter_constraints,
        "loss": OneOf("squared_error", "poisson", "gamma", "huber"),
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 2000,
        max_leaf_nodes: int = 3,
        min_samples_leaf: int = 4,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        interactions: Any = 10,
        max_interaction_bins: int = 32,
        n_bags: int = 8,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.15,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        random_state: Any = None,
    ):
        super().__init__(
            learning_rate=learning_rate, max_iter=max_iter, max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf, l2_regularization=l2_regularization,
            max_bins=max_bins, interactions=interactions,
            max_interaction_bins=max_interaction_bins, n_bags=n_bags,
            categorical_features=categorical_features, monotonic_cst=monotonic_cst,
            early_stopping=early_stopping, validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change, tol=tol, random_state=random_state,
        )  # fmt: skip
        self.loss = loss

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense. NaN is missing.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    def _make_loss(self, y: np.ndarray, w: np.ndarray | None) -> BoostingLoss:
        if self.loss != "huber":
            return BoostingLoss(self.loss)
        away = np.abs(y - weighted_quantile(y, w, 0.5))
        delta = weighted_quantile(away, w, HUBER_QUANTILE)
        return BoostingLoss("huber", delta if delta > 0 else float(away.max()) or 1.0)


class AdditiveBoostingClassifier(BoostedClassifier, AdditiveBoosting):
    """Classification by sums of shape functions, boosted one feature at a time.

    The log-odds of two classes, or one raw prediction for every class, are sums of functions of one
    feature and of chosen pairs, as in `AdditiveBoostingRegressor`; the log-loss is minimised.

    Parameters
    ----------
    learning_rate, max_iter, max_leaf_nodes, min_samples_leaf, l2_regularization, max_bins, \
interactions, max_interaction_bins, n_bags, categorical_features, monotonic_cst, early_stopping, \
validation_fraction, n_iter_no_change, tol, random_state : see `AdditiveBoostingRegressor`
        Held-out rows are drawn by class. Monotone constraints hold for the probability of the
        second of two classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes all classes
        weigh the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    shape_functions_ : list of ShapeFunction
        Bins, values and their standard deviation over the bags: for every feature, then for every
        pair. `plot_shape` draws one.
    intercept_ : float, or ndarray of shape (n_classes,)
        The raw prediction where all shape functions are 0: each has mean 0 over the training rows.
    interactions_ : list of tuple
        The pairs, the most useful first.
    term_importances_ : ndarray of shape (terms,)
        Mean absolute contribution of every shape function.
    feature_importances_ : ndarray of shape (d,)
        The same by feature, pairs divided among both, with sum 1.
    n_iter_ : int
        Largest number of rounds of a bag.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    terms_ : AdditiveTerms
        Tables of the shape functions as predictions read them.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kilogram import AdditiveBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdditiveBoostingClassifier(interactions=0, n_bags=2, random_state=0)
    >>> model = model.fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.92)
    True
    """

    laws: ClassVar[Laws] = Laws(
        permutation=IN_TURN,
        example={
            "max_iter": 5, "min_samples_leaf": 1, "interactions": 2, "early_stopping": False,
            "random_state": 0,
        },
    )  # fmt: skip
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **AdditiveBoosting.parameter_constraints,
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
    }

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        max_iter: int = 2000,
        max_leaf_nodes: int = 3,
        min_samples_leaf: int = 4,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        interactions: Any = 10,
        max_interaction_bins: int = 32,
        n_bags: int = 8,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.15,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        super().__init__(
            learning_rate=learning_rate, max_iter=max_iter, max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf, l2_regularization=l2_regularization,
            max_bins=max_bins, interactions=interactions,
            max_interaction_bins=max_interaction_bins, n_bags=n_bags,
            categorical_features=categorical_features, monotonic_cst=monotonic_cst,
            early_stopping=early_stopping, validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change, tol=tol, random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense. NaN is missing.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : float or array-like of shape (n,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self
