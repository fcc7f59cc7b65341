"""`cook` as scikit-learn estimators: fit compares the recipes, predict uses the chosen one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from kilogram.base.warnings import warn
from kilogram.kitchen.artifact.uncertainty import predict_with_details
from kilogram.kitchen.audit.finding import CODES, check_codes, findings_text
from kilogram.kitchen.cook import cook
from kilogram.kitchen.question import Task
from kilogram.kitchen.read.dialect import MISSING, is_number, number
from kilogram.kitchen.read.table import read_table
from kilogram.kitchen.settings import SearchMethod

TARGET = "target"


class CookEstimator(BaseEstimator):
    """Base of `CookClassifier` and `CookRegressor`.

    Parameters
    ----------
    measure, cost, recipes, folds, repeats, search, max_time
        See `kilogram.kitchen.cook`.
    accept : collection of codes
        Serious findings of the audit that are known. Others give a warning; `kilogram.kitchen.cook`
        stops there, but in a cross-validation around this estimator a score of its own is kept.
    random_state : int, default=0
        Seed of folds and recipes.

    Attributes
    ----------
    result_ : Cooked
        Scores, evidence, verdict and model; `result_.save(folder)` writes the report.
    """

    _task: Task

    def __init__(
        self,
        *,
        measure: str | None = None,
        cost: Any = None,
        recipes: Collection[str] = (),
        folds: int = 5,
        repeats: int | None = None,
        search: SearchMethod = "halving",
        max_time: float | None = 600.0,
        accept: Collection[str] = (),
        random_state: int = 0,
    ):
        self.measure = measure
        self.cost = cost
        self.recipes = recipes
        self.folds = folds
        self.repeats = repeats
        self.search = search
        self.max_time = max_time
        self.accept = accept
        self.random_state = random_state

    def _cook(self, X: Any, y: np.ndarray, cells: Any, name: str | None) -> Self:
        """Cook the validated rows with the target `cells`; `name` is that of the series y."""
        data = self._table(X, reset=True)
        if data.num_rows != len(y):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {data.num_rows}, "
                f"{len(y)}."
            )
        self.target_ = name or TARGET
        while self.target_ in data.column_names:
            self.target_ += "_"
        data = data.append_column(self.target_, pa.array(cells))
        known = check_codes(self.accept)
        found = cook(
            data, self.target_, task=self._task, measure=self.measure, cost=self.cost,
            recipes=self.recipes,
            folds=self.folds, repeats=self.repeats, search=self.search, max_time=self.max_time,
            accept=tuple(CODES), seed=self.random_state,
        )  # fmt: skip
        # the audit stops nothing here, but only what the user knows counts as accepted
        self.result_ = replace(
            found,
            audit=replace(found.audit, accepted=known),
            settings=replace(found.settings, accept=known),
        )
        serious = self.result_.audit.serious
        if serious:
            warn(
                "The audit found data leakage that would invalidate the score in result_; add the "
                f"code to accept if it is known.\n{findings_text(serious)}"
            )
        return self

    def _cells(self, X: Any) -> np.ndarray:
        """The rows as the model takes them."""
        check_is_fitted(self, "result_")
        return self.result_.model.layout.array(read_table(self._table(X, reset=False)).data)

    def _table(self, X: Any, *, reset: bool) -> Any:
        """A data frame as an Arrow table; anything else as numbers in columns x0, x1, ..."""
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            if hasattr(X, "columns"):
                validate_data(self, X, reset=reset, skip_check_array=True)
            elif reset:
                self.n_features_in_ = X.num_columns
            return read_table(X).data
        cells = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        if cells.dtype == object:
            cells = check_array(cells, dtype=float, ensure_all_finite="allow-nan")
        return pa.table({f"x{k}": cells[:, k] for k in range(cells.shape[1])})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _name(y: Any) -> str | None:
    """The name of a series."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name.strip() else None


def class_names(labels: np.ndarray) -> list[str]:
    """Names under which a table holds the sorted `labels`: their text, where it is kept as it is.

    Texts that mean a missing value, differ only in blanks, or that tables sort in another order
    (numbers by size) become numbers with leading zeros.
    """
    names = [str(label) for label in labels]
    kept = len({" ".join(name.split()) for name in names}) == len(names)
    if all(map(is_number, names)):
        kept = kept and names == sorted(names, key=number)
    else:
        kept = kept and names == sorted(names)
    if kept and not any(name in MISSING or name != name.strip() for name in names):
        return names
    return [f"{code:09d}" for code in range(len(names))]


class CookRegressor(RegressorMixin, CookEstimator):
    """Regression by the recipe that `cook` chooses.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import CookRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=60)
    >>> model = CookRegressor(folds=2, repeats=1, search="path", recipes=["linear"]).fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _task: Task = "regression"

    def fit(self, X: Any, y: Any) -> Self:
        """Compare the recipes on a data frame or an array and fit the chosen one."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is "
                             "None.")  # fmt: skip
        name = _name(y)
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=float), warn=True)
        return self._cook(X, y, y, name)

    def predict(self, X: Any) -> np.ndarray:
        cells = self._cells(X)
        return self.result_.model.predict_cells(cells)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the prediction intervals."""
        cells = self._cells(X)
        found = predict_with_details(self.result_.model, cells, coverage)
        assert found.low is not None
        assert found.high is not None
        return found.low, found.high


class CookClassifier(ClassifierMixin, CookEstimator):
    """Classification by the recipe that `cook` chooses; classes with too few rows are left out."""

    _task: Task = "classification"

    def fit(self, X: Any, y: Any) -> Self:
        """Compare the recipes on a data frame or an array and fit the chosen one."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is "
                             "None.")  # fmt: skip
        name = _name(y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError("A classifier needs at least two classes, got one class.")
        names = class_names(labels)
        self._cook(X, y, [names[code] for code in codes], name)
        self.classes_ = labels[[names.index(known) for known in self.result_.model.classes]]
        return self

    def predict(self, X: Any) -> np.ndarray:
        cells = self._cells(X)
        return self.classes_[self.result_.model.predict_cells(cells)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) calibrated probabilities."""
        cells = self._cells(X)
        found = predict_with_details(self.result_.model, cells, 0.9)
        if found.probabilities is None:
            raise AttributeError("The chosen recipe has no probabilities.")
        return found.probabilities
