"""Naive Bayes for columns of any distribution: a histogram for every column and class.

    p_cj(x) = (N_cjl + alpha/(L_j + 2)) / ((N_cj + alpha) Delta_j)     for x in bin l
    log p(x, c) = log prior_c + sum_j log p_cj(x_j)

Bins are those of `kilogram.statistics.class_histograms`: common to all classes, one more on either
side of the range. A missing entry (NaN) is left out of its column's counts and sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import block_length, is_streamed, reduce_rows
from kilogram.base import Laws
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.gaussian_rule import checked_priors
from kilogram.base.generative import NaiveBayesClassifier, class_statistic, reference
from kilogram.base.random_state import as_generator
from kilogram.base.sampling import SamplingClassifier
from kilogram.functions.histograms import RULES
from kilogram.models.naive_bayes.categorical import look_up
from kilogram.statistics.class_counts import CategoryCounts
from kilogram.statistics.class_histograms import ColumnBins, choose_bins
from kilogram.statistics.ranges import Ranges


class HistogramNB(SamplingClassifier, NaiveBayesClassifier):
    """Naive Bayes with a histogram for every column and class. Missing values (NaN) are allowed.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"} or int, \
default="freedman_diaconis"
        The rule for the width of the bins, or their number.
    alpha : float, default=1.0
        Weight of the pseudo-row that is spread over the bins of each histogram.
    max_bins : int, default=256
        Maximum number of bins per column.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None uses the class frequencies.
    random_state : int or None, default=None
        Draws the rows that the rules use, and the halves of "held_out"; None is 0.

    Attributes
    ----------
    bin_counts_ : list of d arrays of shape (n_classes, L_j + 2)
        Weights in the bins; the first and the last bin hold what lies beyond the range.
    bins_ : Bins
        Starts, widths and numbers of the bins.
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : array of shape (n_classes,)
        Probability of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    feature_log_density_ : list of d arrays of shape (n_classes, L_j + 2)
        Logarithm of the density in each bin, by class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import HistogramNB
    >>> x = np.linspace(-3, 3, 301)[:, None]
    >>> inner = abs(x[:, 0]) < 1  # no line separates these
    >>> bool(HistogramNB().fit(x, inner).score(x, inner) > 0.95)
    True
    """

    laws: ClassVar[Laws] = Laws(
        shift="a value at the edge of a bin falls to either side of it after rounding",
        partial_fit="the bins are those of the first rows",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "bins": OneOf(*RULES) | Integer(1),
        "alpha": Real(0.0, np.inf, "neither"),  # 0 would leave bins of probability 0
        "max_bins": Integer(1),
        "priors": ArrayLike() | Null(),
        "random_state": RandomState(),
    }
    _predict_checks: ClassVar[dict[str, Any]] = {"finite": "allow-nan"}

    def __init__(
        self,
        bins: Any = "freedman_diaconis",
        *,
        alpha: float = 1.0,
        max_bins: int = 256,
        priors: Any = None,
        random_state: int | None = None,
    ):
        self.bins = bins
        self.alpha = alpha
        self.max_bins = max_bins
        self.priors = priors
        self.random_state = random_state

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        if not hasattr(self, "statistic_"):
            self.bins_ = self._choose_bins(X, y, w)
        rows = None if is_streamed(X) or is_sparse(X) else block_length(X)
        return class_statistic(self.bins_, X, y, w, self.classes_, rows)

    def _choose_bins(self, X: Any, y: Any, w: Any) -> ColumnBins:
        ranges = reduce_rows(Ranges.of, X)
        beyond = np.isinf(np.where(ranges.high >= ranges.low, ranges.high - ranges.low, 0.0))
        self._ensure_finite(np.where(beyond, np.inf, 0.0), X)
        rng = as_generator(0 if self.random_state is None else self.random_state)
        found = choose_bins(self.bins, self.max_bins, ranges, (X, y, w), self.classes_, rng)
        K = len(self.classes_)
        what = f"the counts of {K} classes in up to {int(found.numbers.max())} bins a column"
        self._ensure_memory(found.bytes(K), what, "fewer bins")
        return found

    def _learn(self, found: CategoryCounts, X: Any, y: Any, w: Any) -> None:
        frequencies = found.weights / found.weights.sum()
        self.class_count_ = found.weights
        self.class_prior_ = checked_priors(self.priors, frequencies)
        self.bin_counts_ = list(found.tables)
        self.feature_log_density_ = self.bins_.log_densities(found, float(self.alpha))

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(self.class_prior_, 1e-300))

    def _joint_log_likelihood(self, block: Any) -> Any:
        at = self.bins_.places(block)
        places = np.where(np.isnan(at), -1.0, at).astype(np.int64)
        found = look_up(places, self.feature_log_density_, self._log_priors)
        return like(found, reference(block))

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        """A bin by its probability, then a uniform place in it; outer bins have the same width."""
        columns = []
        for j, table in enumerate(self.feature_log_density_):
            start, width = self.bins_.starts[j], self.bins_.widths[j]
            p = np.exp(table[c] + np.log(width))
            at = rng.choice(len(p), m, p=p / p.sum())
            columns.append(start + width * (at - 1 + rng.random(m)))
        return np.stack(columns, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
