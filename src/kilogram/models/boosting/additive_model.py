"""What the additive boosting models share: their fit, and the shape functions one can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.rows import map_rows
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
from kilogram.models.boosting.boosted_model import BoostedModel
from kilogram.models.boosting.constraints import monotone_signs
from kilogram.models.boosting.early_stopping import ValidationRows, hold_out_positions
from kilogram.models.boosting.shape_functions import Axis, ShapeFunction
from kilogram.models.boosting.validated_rows import dense_rows
from kilogram.solvers.boosting.additive import AdditiveRules, AdditiveTerms, Bag, fit_additive
from kilogram.solvers.boosting.rounds import TrainingRows

FEW_ROWS = 100  # below, early_stopping="auto" holds no rows out: 15 of them would decide nothing
MOST_BINS, MOST_PAIR_BINS = 4096, 200


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
            both = np.atleast_1d(pair).tolist()
            found = sorted({places.get(k, -1) if isinstance(k, str) else int(k) for k in both})
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
        """Importance of each feature, a pair counting half for each of its two, with sum 1."""
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
