"""What both gradient boosting estimators share: parameters, the fit, raw predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Dictionary,
    Function,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.host_rows import rows_in_memory
from kilogram.base.random_state import as_generator
from kilogram.base.tree_parameters import Fraction
from kilogram.models.boosting.boosted_model import BoostedModel
from kilogram.models.boosting.constraints import interaction_groups, monotone_signs
from kilogram.models.boosting.early_stopping import ScoreMonitor, ValidationRows, hold_out
from kilogram.models.boosting.validated_rows import dense_rows
from kilogram.native.trees import NO_LIMIT
from kilogram.solvers.boosting.ensemble import BoostedTrees
from kilogram.solvers.boosting.rounds import BoostingRules, TrainingRows, boost

MANY_ROWS = 10_000  # rows from which early_stopping="auto" stops early: scikit-learn's number


class AnyString(Constraint):
    """A string; which ones are known is for whoever looks it up."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)

    def describe(self) -> str:
        return "a string"


class HistGradientBoosting(BoostedModel):
    """Parameters and fit of gradient boosting on histograms."""

    ensemble_: BoostedTrees
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Real(0.0, np.inf, "neither"),
        "max_iter": Integer(1),
        "max_leaf_nodes": Integer(2) | Null(),
        "max_depth": Integer(1) | Null(),
        "min_samples_leaf": Integer(1),
        "l2_regularization": Real(0.0, np.inf, "left"),
        "max_features": Fraction(),
        "max_bins": Integer(2, 255),
        "categorical_features": OneOf("from_dtype") | ArrayLike() | Null(),
        "monotonic_cst": ArrayLike() | Dictionary() | Null(),
        "interaction_cst": OneOf("pairwise", "no_interactions") | ArrayLike() | Null(),
        "warm_start": Boolean(),
        "early_stopping": OneOf("auto") | Boolean(),
        "scoring": AnyString() | Function() | Null(),
        "validation_fraction": Integer(1) | Real(0.0, 1.0, "neither") | Null(),
        "n_iter_no_change": Integer(1),
        "tol": Real(0.0, np.inf, "left"),
        "verbose": Integer(0) | Boolean(),
        "random_state": RandomState(),
    }

    def __init__(self, **parameters: Any):
        for name, value in parameters.items():
            setattr(self, name, value)

    # -- the fit ---------------------------------------------------------------------------------

    @abstractmethod
    def _labels(self, y: np.ndarray) -> np.ndarray:
        """Targets as the user gave them."""

    def _fit(self, X: Any, y: Any, w: Any, validation: tuple[Any, Any, Any]) -> None:
        fitted = self.warm_start and hasattr(self, "ensemble_")
        rows = self._validated(self._encoded(X, reset=not fitted), y, w, reset=not fitted)
        if not fitted:
            self._seed = int(as_generator(self.random_state).integers(2**31))
        held = self._validation_rows(*validation)
        stop = len(rows.y) > MANY_ROWS if self.early_stopping == "auto" else self.early_stopping
        if held is None and stop and self.validation_fraction is not None:
            rows, held = hold_out(rows, self.validation_fraction, self._seed, is_classifier(self))
        if rows.w is not None and not (rows.w > 0).all():
            rows = rows.take(np.flatnonzero(rows.w > 0))
            if not len(rows.y):
                raise ValueError("All rows have weight zero. Give some of them a positive weight.")
        if not fitted:
            self._loss = self._make_loss(rows.y, rows.w)
            start = BoostedTrees.empty(self._loss.baseline(rows.y, rows.w))
        else:
            start = self.ensemble_
            if self.max_iter < start.n_iter:
                raise ValueError(
                    f"max_iter={self.max_iter} must be larger than or equal to "
                    f"n_iter_={start.n_iter} when warm_start==True"
                )
        monitor = self._monitor(rows, held, start, fitted) if stop else None
        found = boost(
            self._training_rows(rows), self._loss, self._rules(), start,
            int(self.max_iter) - start.n_iter, monitor,
        )  # fmt: skip
        if not np.isfinite(found.nodes["value"]).all():
            raise ValueError(
                f"{type(self).__name__}: the targets are so large that sums of gradients "
                "overflow. Divide y by its scale or lower learning_rate."
            )
        self.ensemble_, self.do_early_stopping_ = found, bool(stop)
        self.n_trees_per_iteration_ = found.n_outputs
        self.train_score_ = np.array([] if monitor is None else monitor.train_scores)
        self.validation_score_ = np.array([] if monitor is None else monitor.held_scores)
        if self.verbose:
            print(f"{type(self).__name__}: {self.n_iter_} rounds, {len(found.nodes)} nodes")

    def _validation_rows(self, X: Any, y: Any, w: Any) -> ValidationRows | None:
        if X is None and y is None:
            return None
        if X is None or y is None:
            given, other = ("X_val", "y_val") if y is None else ("y_val", "X_val")
            raise ValueError(f"{given} is provided, but {other} was not provided.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "When passing X_val and y_val to fit, early_stopping should be set to either "
                "'auto' or True."
            )
        return self._validated(self._encoded(X, reset=False), y, w, reset=False)

    def _monitor(
        self, rows: ValidationRows, held: ValidationRows | None, start: BoostedTrees, fitted: bool
    ) -> ScoreMonitor:
        return ScoreMonitor(
            self._loss, rows, held, start, self.n_iter_no_change, self.tol, self._seed,
            None if self.scoring == "loss" else self._scorer(),
            list(self.train_score_) if fitted else [],
            list(self.validation_score_) if fitted else [],
        )  # fmt: skip

    def _scorer(self) -> Any:
        """The scorer of `scoring`, on raw predictions that are known already."""
        scorer = check_scoring(self, self.scoring)
        model = copy(self)
        model._codes, model.ensemble_ = None, BoostedTrees.empty(np.zeros(self._loss.n_outputs))
        if hasattr(model, "feature_names_in_"):
            del model.feature_names_in_

        def score(rows: ValidationRows, raw: np.ndarray) -> float:
            model._known_raw = (rows.X, raw)
            weights = {} if rows.w is None else {"sample_weight": rows.w}
            return float(scorer(model, rows.X, self._labels(rows.y), **weights))

        return score

    def _rules(self) -> BoostingRules:
        return BoostingRules(
            float(self.learning_rate),
            NO_LIMIT if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            NO_LIMIT if self.max_depth is None else int(self.max_depth),
            int(self.min_samples_leaf),
            float(self.l2_regularization),
            float(self.max_features),
            int(self.max_bins),
            self._seed,
        )

    def _training_rows(self, rows: ValidationRows) -> TrainingRows:
        d = rows.X.shape[1]
        names = getattr(self, "feature_names_in_", None)
        signs = monotone_signs(self.monotonic_cst, d, names, self.is_categorical_)
        if signs.any() and self._loss.n_outputs > 1:
            raise ValueError(
                "monotonic constraints are not supported for multiclass classification."
            )
        return TrainingRows(
            *rows,
            np.zeros(d, np.int64) if self._codes is None else self._codes.counts(),
            signs,
            interaction_groups(self.interaction_cst, d),
        )

    # -- predictions -----------------------------------------------------------------------------

    def _raw(self, X: Any) -> Any:
        """Raw predictions (n, n_outputs) of rows in the library of X."""
        known = getattr(self, "_known_raw", None)
        if known is not None and known[0] is X:
            return known[1]
        return super()._raw(X)

    def _raw_rows(self, X: np.ndarray) -> np.ndarray:
        return self.ensemble_.raw(X)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        """Raw predictions after every round, in host memory; one array, updated in place."""
        dense = dense_rows(self, rows_in_memory(self._validated_rows(X))[0])
        out = np.empty((len(dense), self.ensemble_.n_outputs))
        out[:] = self.ensemble_.baseline
        for i in range(self.n_iter_):
            self.ensemble_.add(dense, out, i, i + 1)
            yield out

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        check_is_fitted(self)
        return self.ensemble_.n_iter

    @property
    def feature_importances_(self) -> np.ndarray:
        """Decrease of the loss by the splits of each feature, normalised to sum 1."""
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)
