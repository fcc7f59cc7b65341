"""Naive Bayes for categories: each column one of V_j values, 0 to V_j - 1.

    p_cj(v) = (N_cjv + alpha) / (N_cj + alpha V_j)        sums to one over the V_j values
    log p(x, c) = log prior_c + sum_j log p_cj(x_j)

V_j is the number of values, not the largest of them. A missing entry (NaN) is left out of the
counts of its column and of the sum. A value that no row had is an error or, with
handle_unknown="ignore", ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import like, to_numpy
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, Integer, Null, OneOf, Real
from kilogram.base.generative import class_statistic
from kilogram.base.sampling import SamplingClassifier
from kilogram.functions.bayes import log_of
from kilogram.models.naive_bayes.discrete import DiscreteNB
from kilogram.native.class_sums import column_ranges
from kilogram.statistics.class_counts import CategoryCounts, category_sizes

# Categories of one column, 128 MB of counts for a class: beyond, these are measurements.
MOST = 2**24


def checked_sizes(X: np.ndarray) -> np.ndarray:
    """(d,): the categories each column needs, from 0 to its greatest; refused if they are none."""
    low, high, odd = column_ranges(X, MOST)
    lowest, highest = low.min(initial=0.0), high.max(initial=0.0)
    if np.isinf(lowest) or np.isinf(highest):
        raise ValueError("Input X contains infinity, which is no category.")
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to CategoricalNB (input X): the lowest is {lowest:g}. "
            "Number the categories from 0 (OrdinalEncoder does)."
        )
    if highest >= MOST:
        raise ValueError(
            f"the category {highest:g} would need a table of that size: number the categories from "
            "0 without gaps (OrdinalEncoder does)."
        )
    if odd.any():
        raise ValueError(
            "CategoricalNB needs whole numbers, one for each category: use OrdinalEncoder, or "
            "HistogramNB for measurements."
        )
    return category_sizes(high)


def categories(X: Any) -> np.ndarray:
    """Whole numbers (n, d) on the host, -1 where X is NaN; refused if they are no categories."""
    X = to_numpy(X)
    checked_sizes(X)
    lost = np.isnan(X)
    return np.where(lost, -1.0, X).astype(np.int64) if lost.any() else X.astype(np.int64)


@dataclass(frozen=True)
class Categories:
    """The statistic of rows of categories."""

    def of(self, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> CategoryCounts:
        X = to_numpy(X)
        return CategoryCounts.of(X, codes, w, n_classes=n_classes, sizes=checked_sizes(X))


def look_up(values: np.ndarray, tables: list[np.ndarray], priors: np.ndarray) -> np.ndarray:
    """log prior + sum over columns of the logs of their values, (m, K); below 0: nothing."""
    joint = np.repeat(priors[None, :], len(values), axis=0)
    columns, found = np.ascontiguousarray(values.T), np.empty_like(joint)
    gaps = bool((columns < 0).any())
    for column, table in zip(columns, tables, strict=True):
        rows = np.ascontiguousarray(table.T)  # (V, K): a value's logs lie side by side
        if gaps:
            rows = np.vstack([rows, np.zeros(len(priors))])
            column = np.where(column < 0, len(rows) - 1, column)
        joint += np.take(rows, column, axis=0, out=found, mode="clip")
    return joint


class CategoricalNB(SamplingClassifier, DiscreteNB):
    """Naive Bayes for categorical features, encoded from 0. Missing values (NaN) are allowed.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every value; 0 for none.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 becomes 1e-10.
    fit_prior : bool, default=True
        Whether to estimate the class probabilities; if False, they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities.
    min_categories : int or array-like of shape (d,), default=None
        At least this many values in every column, seen or not.
    handle_unknown : {"error", "ignore"}, default="error"
        A value beyond those known in use is refused, or left out of the sum like a missing one.

    Attributes
    ----------
    category_count_ : list of d arrays of shape (n_classes, V_j)
        Weighted counts of each category, by class.
    class_count_ : array of shape (n_classes,)
        Weight of the training rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithm of the probability of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    feature_log_prob_ : list of d arrays of shape (n_classes, V_j)
        Logarithm of the probability of each feature value, by class.
    n_categories_ : array of shape (d,)
        Number of categories V_j of each column.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 2], [0, 1], [1, 0], [1, 0]], [0, 0, 1, 1])
    >>> model.predict([[1, 0]])
    array([1])
    """

    laws: ClassVar[Laws] = Laws(
        partial_fit=True,
        shift="categories are names: X + c are other ones",
        sparse="a category 0 is a value like others, so columns are dense",
        example={"min_categories": 16},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **DiscreteNB.parameter_constraints,
        "alpha": Real(0, closed="left"),
        "min_categories": Integer(1) | ArrayLike() | Null(),
        "handle_unknown": OneOf("error", "ignore"),
    }
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": False, "sparse": False}
    _predict_checks: ClassVar[dict[str, Any]] = {"finite": "allow-nan", "sparse": False}

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        handle_unknown: str = "error",
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.handle_unknown = handle_unknown

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        return class_statistic(Categories(), X, y, w, self.classes_)

    def _learn(self, found: CategoryCounts, X: Any, y: Any, w: Any) -> None:
        sizes = np.broadcast_to(self._least_categories(), (len(found.tables),))
        found = found.widened(sizes)
        alpha = self._smoothing()
        self.category_count_ = list(found.tables)
        self.n_categories_ = np.array([table.shape[1] for table in found.tables])
        self.feature_log_prob_ = [_logs(table, alpha) for table in found.tables]
        self._learn_priors(found.weights)

    def _least_categories(self) -> Any:
        if self.min_categories is None:
            return 0
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(
                f"'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.shape not in ((), (self.n_features_in_,)):
            raise ValueError(
                f"'min_categories' should have shape ({self.n_features_in_},) when an array-like "
                f"is provided. Got {least.shape} instead."
            )
        return least

    def _joint_log_likelihood(self, block: Any) -> Any:
        values = categories(block)
        unknown = values >= self.n_categories_[None, :]
        if unknown.any():
            i, j = (int(k[0]) for k in np.nonzero(unknown))
            if self.handle_unknown == "error":
                raise ValueError(
                    f"column {j} has the value {values[i, j]}, where fit found "
                    f"{self.n_categories_[j]} categories from 0: set min_categories before fit, or "
                    "handle_unknown='ignore'."
                )
            values = np.where(unknown, -1, values)
        found = look_up(values, self.feature_log_prob_, self._log_priors)
        return like(found, block)

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        columns = []
        for table in self.feature_log_prob_:
            p = np.exp(table[c])
            columns.append(rng.choice(len(p), m, p=p / p.sum()))
        return np.stack(columns, axis=1).astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        return tags


def _logs(table: np.ndarray, alpha: Any) -> np.ndarray:
    """Logarithms of the smoothed class frequencies; 0 for a class without a value."""
    smoothed = table + alpha
    total = smoothed.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, 0.0, log_of(smoothed / np.where(empty, 1.0, total)))
