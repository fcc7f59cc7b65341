"""Naive Bayes for columns of any distribution: a histogram for every column and class.

    p_cj(x) = (N_cjl + alpha/(L_j + 2)) / ((N_cj + alpha) Delta_j)     for x in bin l
    log p(x, c) = log prior_c + sum_j log p_cj(x_j)

A column has L_j bins of one width over the range of its values, the same for all classes, and one
bin on either side for what lies beyond. `alpha` is the weight of one pseudo-row spread over them
all, so the shares of the bins sum to one and no bin is impossible. The width is the smallest that
the rule finds for the values of a single class, so that the narrowest class is resolved; rules look
at no more than 20 000 rows. A missing entry (NaN) is left out of its column's counts and sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import block_length, is_streamed, reduce_rows, row_count, take_rows
from kilogram.base import Laws
from kilogram.base.checks import is_whole, number
from kilogram.base.estimate import ensure_room
from kilogram.base.labels import codes_of
from kilogram.functions.histograms import RULES, bin_width
from kilogram.models.classification.discriminants import checked_priors
from kilogram.models.classification.generative import GenerativeClassifier, class_statistic
from kilogram.models.classification.naive_bayes_categorical import looked_up
from kilogram.models.classification.naive_bayes_discrete import dense
from kilogram.statistics.class_counts import CategoryCounts
from kilogram.statistics.ranges import Ranges

RULE_ROWS = 20_000
COPIES = 3  # of the table of one column, while its logarithms are made
BEYOND = 2**60  # bins that no memory holds


@dataclass(frozen=True, eq=False)
class Bins:
    """starts (d,), widths (d,) and numbers (d,) of the inner bins of every column."""

    starts: np.ndarray
    widths: np.ndarray
    numbers: np.ndarray

    def places(self, X: Any) -> np.ndarray:
        """The bin of every value: 0 below, 1..L inside, L + 1 beyond, NaN for NaN; on the host."""
        X = to_numpy(dense(X)).astype(np.float64)
        at = np.floor((X - self.starts) / self.widths) + 1
        np.clip(at, 0, self.numbers + 1, out=at)
        last = self.starts + self.numbers * self.widths
        ends = (at == self.numbers + 1) & (last + 1e-9 * self.widths >= X)
        np.copyto(at, self.numbers, where=ends)  # the last bin holds its right end
        return at

    def of(self, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> CategoryCounts:
        """The counts of the bins of rows X, by class."""
        sizes = self.numbers + 2
        return CategoryCounts.of(self.places(X), codes, w, n_classes=n_classes, sizes=sizes)


def chosen_bins(
    rule: Any, sample: tuple, ranges: Ranges, total: float, most: int, rng: Any
) -> Bins:
    """Bins of every column: the rule's smallest width over the classes, at most `most` bins."""
    X, codes, w = sample
    known = ranges.high >= ranges.low
    low = np.where(known, ranges.low, 0.0)
    span = np.where(known, ranges.high - ranges.low, 0.0)
    numbers = np.ones(X.shape[1], dtype=np.int64)
    for j in np.flatnonzero(span > 0):
        width = min(_widths(rule, X[:, j], codes, w, total, rng), default=0.0)
        numbers[j] = int(np.clip(np.ceil(span[j] / width), 1, most)) if width > 0 else most
        if is_whole(rule):
            numbers[j] = min(int(rule), BEYOND)
    return Bins(low, np.where(span > 0, span, 1.0) / numbers, numbers)


def _widths(rule: Any, x: np.ndarray, codes: np.ndarray, w: Any, total: float, rng: Any) -> list:
    """The rule's width for each class that varies."""
    if is_whole(rule):
        return []
    found, there = [], ~np.isnan(x)
    whole = float(len(x)) if w is None else float(w.sum())
    for c in np.unique(codes):
        own = there & (codes == c)
        if own.sum() < 2:
            continue
        weights = None if w is None else w[own]
        size = (own.sum() if weights is None else weights.sum()) * total / whole
        found.append(bin_width(rule, x[own], weights, size=float(size), rng=rng))
    return [width for width in found if width > 0]


class HistogramNB(GenerativeClassifier):
    """Naive Bayes with a histogram for every column and class. Missing values (NaN) are allowed.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"} or int, \
default="freedman_diaconis"
        The rule for the width of the bins, or their number.
    alpha : float, default=1.0
        Weight of the pseudo-row that is spread over the bins of each histogram.
    max_bins : int, default=256
        At most this many bins for one column.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None takes their shares of the rows.
    random_state : int or None, default=None
        Draws the rows that the rules look at, and the halves of "held_out"; None is 0.

    Attributes
    ----------
    bin_counts_ : list of d arrays of shape (n_classes, L_j + 2)
        Weights in the bins; the first and the last bin hold what lies beyond the range.
    bins_ : Bins
        Starts, widths and numbers of the bins.
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : array of shape (n_classes,)
    classes_ : array of shape (n_classes,)
    feature_log_density_ : list of d arrays of shape (n_classes, L_j + 2)
        log p_cj of the bins.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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
    _use_door: ClassVar[dict[str, Any]] = {"finite": "allow-nan"}

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

    def _check_params(self) -> None:
        named = isinstance(self.bins, str) and self.bins in RULES
        if not (named or (is_whole(self.bins) and self.bins >= 1)):
            raise ValueError(f"bins must be one of {RULES} or a number, got {self.bins!r}.")
        if not number(self.alpha) > 0:
            raise ValueError(
                f"alpha must be positive: an empty bin rules no class out; got {self.alpha!r}."
            )
        if not (is_whole(self.max_bins) and self.max_bins >= 1):
            raise ValueError(f"max_bins must be an integer of at least 1, got {self.max_bins!r}.")

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        if not hasattr(self, "statistic_"):
            self.bins_ = self._choose(X, y, w)
        rows = None if is_streamed(X) or is_sparse(X) else block_length(X)
        return class_statistic(self.bins_, X, y, w, self.classes_, rows)

    def _choose(self, X: Any, y: Any, w: Any) -> Bins:
        ranges = reduce_rows(Ranges.of, X)
        beyond = np.isinf(np.where(ranges.high >= ranges.low, ranges.high - ranges.low, 0.0))
        self._ensure_finite(np.where(beyond, np.inf, 0.0), X)
        n, rng = row_count(X), np.random.default_rng(self.random_state or 0)
        rows = np.arange(n) if n <= RULE_ROWS else np.sort(rng.choice(n, RULE_ROWS, replace=False))
        part, labels, weights = (None if a is None else take_rows(a, rows) for a in (X, y, w))
        codes = codes_of(labels, self.classes_)
        weights = None if weights is None else to_numpy(weights).astype(np.float64)
        drawn = float(len(rows)) if weights is None else float(weights.sum())
        sample = (to_numpy(dense(part)).astype(np.float64), codes, weights)
        most, size = self.max_bins, drawn * n / len(rows)
        found = chosen_bins(self.bins, sample, ranges, size, most, rng)
        K, L = len(self.classes_), found.numbers
        room = 8.0 * K * (2 * float(L.sum(dtype=float)) + COPIES * int(L.max()))
        what = f"the counts of {K} classes in up to {int(L.max())} bins a column"
        ensure_room(self, room, what, "fewer bins")
        return found

    def _learn(self, found: CategoryCounts, X: Any, y: Any, w: Any) -> None:
        shares = found.weights / found.weights.sum()
        self.class_count_ = found.weights
        self.class_prior_ = checked_priors(self.priors, shares)
        self.bin_counts_ = list(found.tables)
        self.feature_log_density_ = [
            np.log(
                (table + self.alpha / table.shape[1])
                / (table.sum(axis=1, keepdims=True) + self.alpha)
            )
            - np.log(width)  # which may be so small that a density overflows
            for table, width in zip(found.tables, self.bins_.widths, strict=True)
        ]

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(self.class_prior_, 1e-300))

    def _joint(self, block: Any) -> Any:
        at = self.bins_.places(block)
        places = np.where(np.isnan(at), -1.0, at).astype(np.int64)
        found = looked_up(places, self.feature_log_density_, self._log_priors)
        return like(found, np.empty(0, dtype=block.dtype) if is_sparse(block) else block)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x, c), (n, K)."""
        return self._mapped(self._joint, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
