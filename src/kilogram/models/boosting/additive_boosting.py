"""Additive boosting: one shape function for every feature, and for chosen pairs of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.rows import map_rows
from kilogram.base import Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.functions.boosting_losses import BoostingLoss, weighted_quantile
from kilogram.models.boosting.constraints import monotone_signs
from kilogram.models.boosting.early_stopping import ValidationRows, hold_out_positions
from kilogram.models.boosting.outputs import BoostedClassifier, BoostedModel, BoostedRegressor
from kilogram.models.boosting.rows import dense_rows
from kilogram.models.boosting.shape_functions import Axis, ShapeFunction
from kilogram.solvers.boosting.additive import AdditiveRules, AdditiveTerms, Bag, fit_additive
from kilogram.solvers.boosting.rounds import TrainingRows

FEW_ROWS = 100  # below, early_stopping="auto" holds no rows out
MOST_BINS, MOST_PAIR_BINS = 4096, 200
HUBER_QUANTILE = 0.9  # of |y - median|: where Huber's loss turns linear
IN_TURN = "features are boosted in their order"


class AdditiveBoosting(BoostedModel):
    """Parameters and fit of additive boosting."""

    terms_: AdditiveTerms
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Real(0.0, np.inf, "neither"),
        "max_iter": Integer(1),
        "max_leaf_nodes": Integer(2),
        "min_samples_leaf": Integer(1),
        "l2_regularization": Real(0.0, np.inf, "left"),
        "max_bins": Integer(2, MOST_BINS),
        "interactions": Integer(0) | Real(0.0, np.inf, "left") | ArrayLike(),
        "max_interaction_bins": Integer(2, MOST_PAIR_BINS),
        "n_bags": Integer(1),
        "categorical_features": OneOf("from_dtype") | ArrayLike() | Null(),
        "monotonic_cst": ArrayLike() | Dictionary() | Null(),
        "early_stopping": OneOf("auto") | Boolean(),
        "validation_fraction": Real(0.0, 1.0, "neither"),
        "n_iter_no_change": Integer(1),
        "tol": Real(0.0, np.inf, "left"),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        learning_rate: float,
        max_iter: int,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        l2_regularization: float,
        max_bins: int,
        interactions: Any,
        max_interaction_bins: int,
        n_bags: int,
        categorical_features: Any,
        monotonic_cst: Any,
        early_stopping: Any,
        validation_fraction: float,
        n_iter_no_change: int,
        tol: float,
        random_state: Any,
    ):
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.interactions = interactions
        self.max_interaction_bins = max_interaction_bins
        self.n_bags = n_bags
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        rows = self._validated(self._encoded(X, reset=True), y, w, reset=True)
        if rows.w is not None and not (rows.w > 0).all():
            rows = rows.take(np.flatnonzero(rows.w > 0))
        seed = int(as_generator(self.random_state).integers(2**31))
        loss, d = self._make_loss(rows.y, rows.w), rows.X.shape[1]
        names = getattr(self, "feature_names_in_", None)
        signs = monotone_signs(self.monotonic_cst, d, names, self.is_categorical_)
        if signs.any() and loss.n_outputs > 1:
            raise ValueError(
                "monotonic constraints are not supported for multiclass classification."
            )
        rules = AdditiveRules(
            float(self.learning_rate), int(self.max_iter), int(self.max_leaf_nodes),
            int(self.min_samples_leaf), float(self.l2_regularization), int(self.max_bins),
            self._pairs(d, names, signs), int(self.max_interaction_bins),
            int(self.n_iter_no_change), float(self.tol), seed,
        )  # fmt: skip
        categories = np.zeros(d, np.int64) if self._codes is None else self._codes.counts()
        training = TrainingRows(*rows, categories, signs, [])
        found = fit_additive(training, loss, rules, self._bags(rows, seed))
        if not all(np.isfinite(table).all() for table in found.tables):
            raise ValueError(
                f"{type(self).__name__}: the targets are so large that sums of gradients "
                "overflow. Divide y by its scale or lower learning_rate."
            )
        self._loss, self.terms_ = loss, found
        self._range = column_range(rows.X)

    def _pairs(self, d: int, names: Any, signs: np.ndarray) -> int | list[tuple[int, int]]:
        """The number of pairs, or the pairs given."""
        given = self.interactions
        if isinstance(given, (int, np.integer)):
            return int(given)
        if isinstance(given, (float, np.floating)):
            return int(np.ceil(given * d))
        places = {} if names is None else {name: k for k, name in enumerate(names)}
        pairs: list[tuple[int, int]] = []
        for pair in given:
            found = sorted({places.get(k, -1) if isinstance(k, str) else int(k) for k in pair})
            if len(found) != 2 or not 0 <= found[0] < found[1] < d:
                raise ValueError(
                    f"interactions must be pairs of different features, got {pair!r}. Use "
                    f"positions from 0 to {d - 1}, or names of columns."
                )
            if any(signs[k] for k in found):
                raise ValueError(
                    f"interactions: {pair!r} has a feature with a monotonic constraint. Such "
                    "features have no pairs."
                )
            pairs.append((found[0], found[1]))
        return list(dict.fromkeys(pairs))

    def _bags(self, rows: ValidationRows, seed: int) -> list[Bag]:
        n, stop = len(rows.y), self.early_stopping
        if stop == "auto":
            stop = n >= FEW_ROWS
        if not stop:  # all bags would be the same
            return [Bag(np.arange(n), np.arange(0))]
        fraction = float(self.validation_fraction)
        return [
            Bag(*hold_out_positions(rows, fraction, seed + b, is_classifier(self)))
            for b in range(int(self.n_bags))
        ]

    def _raw_rows(self, X: np.ndarray) -> np.ndarray:
        return self.terms_.raw(X)

    # -- the model one can read ------------------------------------------------------------------

    @property
    def n_iter_(self) -> int:
        """The most rounds over the features of any bag; 1 if none improved the held-out loss."""
        check_is_fitted(self)
        return max(int(self.terms_.n_iter[:, 0].max()), 1)

    @property
    def intercept_(self) -> Any:
        """The raw prediction where all shape functions are 0."""
        check_is_fitted(self)
        start = self.terms_.baseline
        return float(start[0]) if len(start) == 1 else start.copy()

    @property
    def interactions_(self) -> list[tuple[int, int]]:
        """The pairs of features with a shape function, the most useful first."""
        check_is_fitted(self)
        return [f for f in self.terms_.features if len(f) == 2]

    @property
    def shape_functions_(self) -> list[ShapeFunction]:
        """One for every feature, then one for every pair."""
        check_is_fitted(self)
        t, several = self.terms_, self.terms_.n_outputs > 1
        found = []
        for features, values, errors, weights in zip(
            t.features, t.tables, t.errors, t.weights, strict=True
        ):
            axes = tuple(self._axis(k, pair=len(features) == 2) for k in features)
            parts = (values, errors) if several else (values[..., 0], errors[..., 0])
            found.append(ShapeFunction(features, axes, *parts, weights))
        return found

    def _axis(self, k: int, pair: bool) -> Axis:
        bins, t = self.terms_.bins, self.terms_
        names = getattr(self, "feature_names_in_", None)
        name = f"x{k}" if names is None else str(names[k])
        group, has_missing = t.coarse[k][:-1], bool(t.weights[k][-1] > 0)
        if bins.categorical[k]:
            assert self._codes is not None
            labels = [str(c) for c in self._codes.categories[k]] or ["none"]
            if pair:
                members = [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]
                labels = [", ".join(labels[i] for i in m) for m in members]
            return Axis(name, np.empty(0), labels, has_missing)
        edges = np.concatenate([self._range[:1, k], bins.limits[k], self._range[1:, k]])
        if pair:  # limits between two groups
            inner = bins.limits[k][np.flatnonzero(np.diff(group.astype(np.int64)))]
            edges = np.concatenate([edges[:1], inner, edges[-1:]])
        return Axis(name, edges, [], has_missing)

    @property
    def term_importances_(self) -> np.ndarray:
        """The mean absolute contribution of every shape function over the training rows."""
        check_is_fitted(self)
        return self.terms_.importances()

    @property
    def feature_importances_(self) -> np.ndarray:
        """The same by feature, pairs counted half for each of theirs, normalised to sum 1."""
        total = np.zeros(self.n_features_in_)
        for features, value in zip(self.terms_.features, self.term_importances_, strict=True):
            total[list(features)] += value / len(features)
        whole = total.sum()
        return total / whole if whole > 0 else total

    def contributions(self, X: Any) -> Any:
        """What each shape function adds to the raw predictions of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, terms), or (n, terms, n_classes)
            With `intercept_`, their sum is the raw prediction (`decision_function`; of a
            regressor the prediction, or its logarithm for "poisson" and "gamma").
        """

        def of_block(block: Any) -> np.ndarray:
            found = self.terms_.contributions(dense_rows(self, block))
            return found[:, :, 0] if found.shape[2] == 1 else found

        return map_rows(of_block, self._validated_rows(X))

    def plot_shape(self, term: Any, ax: Any = None, *, output: int | None = None) -> Any:
        """Draw the shape function of a feature or of a pair.

        Parameters
        ----------
        term : int, str or pair of them
            A feature, or a pair that is among `interactions_`.
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        output : int or None, default=None
            Position of the class, where there are more than two.

        Returns
        -------
        ax : matplotlib Axes
        """
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", []))
        asked = term if isinstance(term, (tuple, list)) else (term,)
        wanted = tuple(sorted(names.index(k) if k in names else k for k in asked))
        for shape in self.shape_functions_:
            if shape.features == wanted:
                return shape.plot(ax, output=output)
        raise ValueError(
            f"term={term!r} has no shape function. There is one for each feature and for the "
            f"pairs {self.interactions_}."
        )


def column_range(X: np.ndarray) -> np.ndarray:
    """Smallest and largest value of every column, (2, d); 0 where all are missing."""
    known = ~np.isnan(X)
    low = np.where(known, X, np.inf).min(axis=0)
    high = np.where(known, X, -np.inf).max(axis=0)
    return np.where(known.any(axis=0), np.stack([low, high]), 0.0).astype(np.float64)


class AdditiveBoostingRegressor(BoostedRegressor, AdditiveBoosting):
    """Regression by a sum of shape functions, boosted one feature at a time.

    The prediction is a sum that one can read: one function of every feature and, for chosen pairs,
    one of both (a generalised additive model with interactions, as explainable boosting machines
    are). They lower

        sum_i w_i loss(y_i, F(x_i)),     F(x) = intercept + sum_k f_k(x_k) + sum_jk f_jk(x_j, x_k)

    In every round each feature in turn gets a tree with a few leaves, times `learning_rate`. Pairs
    are screened by what one tree with four leaves gains on what the features leave, and the best
    are boosted next. What of a pair depends on one feature alone counts as that feature's.

    Parameters
    ----------
    loss : {"squared_error", "poisson", "gamma", "huber"}, default="squared_error"
        "gamma" and "poisson" predict exp(F). "huber" is quadratic up to delta and linear beyond,
        where delta is the 0.9-quantile of ``|y - median(y)|``.
    learning_rate : float, default=0.1
        Factor of the values of a step.
    max_iter : int, default=2000
        The most rounds over the features, and over the pairs.
    max_leaf_nodes : int, default=3
        The most leaves of a feature's tree in one round.
    min_samples_leaf : int, default=4
        The fewest rows of a leaf.
    l2_regularization : float, default=0
        Penalty of squared leaf values.
    max_bins : int, default=255
        The most bins of a feature, besides one for missing values; 4096 at most.
    interactions : int, float or list of pairs, default=10
        The number of pairs, as a multiple of the number of features (float), or which pairs:
        positions or names of two features each.
    max_interaction_bins : int, default=32
        The most bins of a feature in a pair.
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
        Of held-out rows, and of the 200 000 rows from which bins of larger tables are made.

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
        The most rounds of a bag.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    terms_ : AdditiveTerms
        Tables of the shape functions as predictions read them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

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
    feature and of chosen pairs, as in `AdditiveBoostingRegressor`; the log-loss is lowered.

    Parameters
    ----------
    learning_rate, max_iter, max_leaf_nodes, min_samples_leaf, l2_regularization, max_bins, \
interactions, max_interaction_bins, n_bags, categorical_features, monotonic_cst, early_stopping, \
validation_fraction, n_iter_no_change, tol, random_state : see `AdditiveBoostingRegressor`
        Held-out rows are drawn by class. Monotone constraints hold for the probability of the
        second of two classes.
    class_weight : dict, "balanced" or None, default=None
        Factors of the rows' weights by class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
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
        The most rounds of a bag.
    is_categorical_ : ndarray of shape (d,) or None
        Which features are categorical.
    terms_ : AdditiveTerms
        Tables of the shape functions as predictions read them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

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
