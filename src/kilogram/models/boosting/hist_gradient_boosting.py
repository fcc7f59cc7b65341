"""Gradient boosting on histograms: trees grown leaf by leaf on values in at most 255 bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.base import Laws
from kilogram.base.constraints import Constraint, Dictionary, Null, OneOf, Real
from kilogram.base.labels import largest
from kilogram.functions.boosting_losses import HUBER_QUANTILE, BoostingLoss, weighted_quantile
from kilogram.models.boosting.boosted_model import BoostedClassifier, BoostedRegressor
from kilogram.models.boosting.gradient_boosting import HistGradientBoosting

REGRESSION_LOSSES = (
    "squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber",
)  # fmt: skip
TIES = "of splits that gain the same, the one of the first feature is taken"


class HistGradientBoostingRegressor(BoostedRegressor, HistGradientBoosting):
    """Regression by gradient boosting of trees on binned features.

    Each round adds the tree that most lowers the second-order expansion of

        sum_i w_i loss(y_i, F(x_i)) + l2_regularization / 2 sum_leaves v^2

    about the present raw predictions F, times `learning_rate`. Features are sorted into at most
    `max_bins` bins once; splits are found from histograms of gradients, exactly and whatever
    the number of threads. NaN is a value of its own: each split learns the side it goes to.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber"}, \
default="squared_error"
        "gamma" and "poisson" predict exp(F). "huber" is quadratic up to delta and linear beyond,
        where delta is the `quantile` (0.9 if None) of ``|y - median(y)|``.
    quantile : float in [0, 1] or None, default=None
        The level of loss="quantile".
    learning_rate : float, default=0.1
        Shrinkage: factor applied to the values of the leaves.
    max_iter : int, default=100
        Maximum number of boosting rounds.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves per tree.
    max_depth : int or None, default=None
        Maximum depth of a tree: splits between root and leaf.
    min_samples_leaf : int, default=20
        Minimum number of rows m in a leaf, which must also have the second derivatives (weights
        included) of m - 1 average rows of its parent: rows predicted with certainty count for less.
    l2_regularization : float, default=0
        Penalty of squared leaf values.
    max_features : float in (0, 1], default=1.0
        Fraction of the features that a split considers, drawn at random.
    max_bins : int, default=255
        Maximum number of bins per feature, besides one for missing values.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
default="from_dtype"
        Features whose values have no order: columns of categorical type of a data frame, or
        those given by mask, position or name. Categories unknown to the fit count as missing.
    monotonic_cst : array-like of int, dict or None, default=None
        1: predictions never decrease with the feature, -1: never increase, 0: free.
    interaction_cst : "pairwise", "no_interactions", sequence of sets of int or None, default=None
        Features that may appear together on a path of a tree.
    warm_start : bool, default=False
        Continue with the rounds of the last fit.
    early_stopping : "auto" or bool, default="auto"
        Stop when the score no longer improves; "auto" with more than 10 000 rows.
    scoring : str, callable or None, default="loss"
        What early stopping watches; None is the `score` method.
    validation_fraction : float, int or None, default=0.1
        Rows held out for early stopping, before bins are made; None watches the training rows.
    n_iter_no_change : int, default=10
        Rounds without improvement after which the fit ends.
    tol : float, default=1e-7
        Improvements up to this count as none.
    verbose : int, default=0
        Print a line after the fit.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the held-out rows, the features drawn, and the 200 000 rows from
        which bins of larger tables are made.

    Attributes
    ----------
    n_iter_ : int
        Number of boosting rounds.
    n_trees_per_iteration_ : int
        Number of trees per round, 1.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,)
        Scores of early stopping; empty without it.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the loss that is due to each feature.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    ensemble_ : BoostedTrees
        The fitted trees as arrays.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import HistGradientBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> bool(HistGradientBoostingRegressor().fit(X, y).score(X, np.sin(X[:, 0])) > 0.97)
    True
    """

    laws: ClassVar[Laws] = Laws(
        example={"max_iter": 10, "min_samples_leaf": 1, "max_leaf_nodes": 8, "random_state": 0}
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **HistGradientBoosting.parameter_constraints,
        "loss": OneOf(*REGRESSION_LOSSES),
        "quantile": Real(0.0, 1.0) | Null(),
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
    ):
        super().__init__(
            learning_rate=learning_rate, max_iter=max_iter, max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth, min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization, max_features=max_features, max_bins=max_bins,
            categorical_features=categorical_features, monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst, warm_start=warm_start, early_stopping=early_stopping,
            scoring=scoring, validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change, tol=tol, verbose=verbose, random_state=random_state,
        )  # fmt: skip
        self.loss = loss
        self.quantile = quantile

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit on rows X and targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense. NaN is missing.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : as X, y and sample_weight, default=None
            Rows for early stopping instead of held-out ones.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _make_loss(self, y: np.ndarray, w: np.ndarray | None) -> BoostingLoss:
        if self.loss == "quantile":
            if self.quantile is None:
                raise ValueError("loss='quantile' needs quantile, a float in [0, 1], got None.")
            return BoostingLoss("quantile", float(self.quantile))
        if self.loss == "huber":
            away = np.abs(y - weighted_quantile(y, w, 0.5))
            level = HUBER_QUANTILE if self.quantile is None else float(self.quantile)
            delta = weighted_quantile(away, w, level)
            return BoostingLoss("huber", delta if delta > 0 else float(away.max()) or 1.0)
        return BoostingLoss(self.loss)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after every round.

        Yields
        ------
        ndarray of shape (n,)
        """
        for raw in self._staged_raw(X):
            yield self._loss.predict(raw).copy()


class HistGradientBoostingClassifier(BoostedClassifier, HistGradientBoosting):
    """Classification by gradient boosting of trees on binned features.

    The log-loss of the class probabilities, from one raw prediction (two classes) or one for every
    class, is lowered by trees as in `HistGradientBoostingRegressor`.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The loss that is minimised.
    learning_rate, max_iter, max_leaf_nodes, max_depth, min_samples_leaf, l2_regularization, \
max_features, max_bins, categorical_features, monotonic_cst, interaction_cst, warm_start, \
early_stopping, scoring, validation_fraction, n_iter_no_change, tol, verbose, random_state : \
see `HistGradientBoostingRegressor`
        Held-out rows are drawn by class. Monotone constraints hold for the probability of the
        second of two classes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes all classes
        weigh the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_iter_ : int
        Number of boosting rounds.
    n_trees_per_iteration_ : int
        1 for two classes, else the number of classes.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,)
        Scores of early stopping; empty without it.
    feature_importances_ : ndarray of shape (d,)
        Fraction of the decrease of the loss that is due to each feature.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    ensemble_ : BoostedTrees
        The fitted trees as arrays.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kilogram import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> float(HistGradientBoostingClassifier().fit(X, y).score(X, y))
    1.0
    """

    laws: ClassVar[Laws] = Laws(
        permutation=TIES,
        example={"max_iter": 5, "min_samples_leaf": 1, "max_leaf_nodes": 8, "random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **HistGradientBoosting.parameter_constraints,
        "loss": OneOf("log_loss"),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        super().__init__(
            learning_rate=learning_rate, max_iter=max_iter, max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth, min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization, max_features=max_features, max_bins=max_bins,
            categorical_features=categorical_features, monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst, warm_start=warm_start, early_stopping=early_stopping,
            scoring=scoring, validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change, tol=tol, verbose=verbose, random_state=random_state,
        )  # fmt: skip
        self.loss = loss
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit on rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Gathered and made dense. NaN is missing.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : float or array-like of shape (n,), default=None
            Rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : as X, y and sample_weight, default=None
            Rows for early stopping instead of held-out ones.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Raw predictions after every round."""
        for raw in self._staged_raw(X):
            yield (raw[:, 0] if len(self.classes_) == 2 else raw).copy()

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after every round."""
        for raw in self._staged_raw(X):
            yield self._probabilities(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted classes after every round."""
        for scores in self.staged_decision_function(X):
            yield largest(scores, self.classes_)
