"""The histogram as a density, of one column or several.

    p(x) = (N_l + alpha / L) / ((N + alpha) V_l)        for x in bin l of L, of volume V_l; else 0

Heights N_l / (N V_l) minimise int (p - q)^2 over step functions q, less a constant:

    sum_l p_l^2 V_l - 2 sum_l p_l N_l / N

Every column has bins of one width over the range of its values, half open, the last one closed.
With d columns there are L_1 .. L_d bins, nearly all of them empty from d = 5 on; only those that
hold a row are kept. Four rules choose the width, `kilogram.functions.histograms`. A column that
does not vary has one bin of width 1 around its value. References: Scott 1979; Freedman and Diaconis
1981; Shimazaki and Shinomoto 2007.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.rows import reduce_rows, row_count, take_rows
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    OneOf,
    RandomState,
    Real,
    check_parameter,
)
from kilogram.base.host_rows import rows_of_positive_weight
from kilogram.base.random_state import as_generator
from kilogram.functions.histograms import RULES, bin_width
from kilogram.models.density.bins import BinGrid, CellCounts
from kilogram.models.density.density import DensityEstimator, checked_n_samples
from kilogram.operators.cost import rates
from kilogram.statistics.class_histograms import RULE_ROWS
from kilogram.statistics.ranges import Ranges

EDGE = 8  # bytes of an edge; three more copies of a column's edges are there while they are made


class HistogramDensity(DensityEstimator):
    """Counts in bins, divided by their volume.

    ``p_l = N_l / (N V_l)`` minimises ``int (p - q)^2`` over all p that are constant on bins.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"}, int or sequence, \
default="freedman_diaconis"
        The rule for the width of the bins, their number, or one of these for each column.
    alpha : float, default=0.0
        Weight of one pseudo-row spread over all bins: no bin within the range is impossible.
    max_bins : int, default=256
        Maximum number of bins per column.
    random_state : int, RandomState or None, default=None
        Draws the 20 000 rows that the rules use, and the halves of "held_out"; None is 0.

    Attributes
    ----------
    bin_edges_ : list of d arrays of shape (L_j + 1,)
        Edges of the bins of each column.
    cells_ : array of shape (k,)
        The bins that hold a row, numbered as by `numpy.ravel_multi_index`.
    counts_ : array of shape (k,)
        Weights of these bins.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HistogramNB : A histogram for every column and class.

    Examples
    --------
    >>> from kilogram import HistogramDensity
    >>> model = HistogramDensity(bins=2).fit([[0.0], [1.0], [1.5], [2.0]])
    >>> model.bin_edges_[0].tolist(), model.counts_.tolist()
    ([0.0, 1.0, 2.0], [1.0, 3.0])
    >>> float(model.score_samples([[3.0]])[0])
    -inf
    """

    laws: ClassVar[Laws] = Laws(
        shift="a value at the edge of a bin falls to either side of it after rounding",
        sparse="a density over mostly zero columns has no volume to speak of: rows are dense",
        partial_fit="the bins lie over the range of all rows",
        example={"bins": 4},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "bins": OneOf(*RULES) | Integer(1) | ArrayLike(),
        "alpha": Real(0.0, np.inf, "left"),
        "max_bins": Integer(1),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        bins: Any = "freedman_diaconis",
        *,
        alpha: float = 0.0,
        max_bins: int = 256,
        random_state: Any = None,
    ):
        self.bins = bins
        self.alpha = alpha
        self.max_bins = max_bins
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows X (n, d) in bins; y is ignored.

        Returns
        -------
        self
        """
        X, _, w = self._validate(X, None, sample_weight, sparse=False)
        ranges = reduce_rows(_weighted_ranges, X, w)
        self._ensure_finite(ranges.high - ranges.low, X)
        grid = self._choose(X, w, ranges)
        most = int(grid.numbers.max())
        size = EDGE * int(grid.numbers.sum()) + 3 * EDGE * most
        self._ensure_memory(size, f"the edges of up to {most} bins a column", "fewer bins")
        self.grid_ = grid
        found = reduce_rows(partial(CellCounts.of, grid=self.grid_), X, w)
        self.cells_, self.counts_ = found.cells, found.counts
        self.bin_edges_ = self.grid_.edges()
        total = float(self.counts_.sum()) + self.alpha
        part = self.alpha / np.exp(self.grid_.log_cells)
        self._log_heights = np.log((self.counts_ + part) / total) - self.grid_.log_volume
        empty = np.log(self.alpha / total) - self.grid_.log_cells if self.alpha else -np.inf
        self._log_empty = float(empty - self.grid_.log_volume)
        return self

    def _rules(self, d: int) -> list[Any]:
        """A rule or a number for each column."""
        one = isinstance(self.bins, str) or not isinstance(self.bins, Iterable)
        each = [self.bins] * d if one else list(self.bins)
        if len(each) != d:
            raise ValueError(f"bins has {len(each)} entries for {d} columns.")
        for rule in each:
            check_parameter("bins", rule, OneOf(*RULES) | Integer(1))
        return each

    def _choose(self, X: Any, w: Any, ranges: Ranges) -> BinGrid:
        rules = self._rules(len(ranges.low))
        span, numbers = ranges.high - ranges.low, np.ones(len(rules), dtype=np.int64)
        sample, weights, size = None, None, 0.0
        if any(isinstance(rule, str) for rule in rules):
            sample, weights, size = self._sample(X, w)
        for j, rule in enumerate(rules):
            if span[j] == 0:
                continue
            if isinstance(rule, str) and sample is not None:
                rng = as_generator(self.random_state or 0)
                width = bin_width(rule, sample[:, j], weights, size=size, rng=rng)
                count = np.ceil(span[j] / width - 1e-9) if width > 0 else self.max_bins
                numbers[j] = int(np.clip(count, 1, self.max_bins))
            else:
                numbers[j] = min(int(rule), 2**62)  # which the grid refuses by name
        return BinGrid.over(ranges.low, ranges.high, numbers)

    def _sample(self, X: Any, w: Any) -> tuple[np.ndarray, Any, float]:
        """The rows that the rules use, their weights, and the weight of all rows."""
        n = row_count(X)
        rng = as_generator(self.random_state or 0)
        rows = np.arange(n) if n <= RULE_ROWS else np.sort(rng.choice(n, RULE_ROWS, replace=False))
        part, weights = take_rows(X, rows), None if w is None else take_rows(w, rows)
        sample, weights = rows_of_positive_weight(part, weights)
        size = float(n) if weights is None else float(weights.sum()) * n / len(rows)
        return sample, weights, size

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        cell = self.grid_.cells(X)
        at = np.minimum(np.searchsorted(self.cells_, cell), len(self.cells_) - 1)
        occupied = self.cells_[at] == cell
        found = np.where(occupied, self._log_heights[at], self._log_empty)
        return np.where(cell < 0, -np.inf, found)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d): a bin, then a place in it."""
        check_is_fitted(self)
        n_samples, rng = checked_n_samples(n_samples), as_generator(random_state)
        fraction = self.counts_ / self.counts_.sum()
        cells = self.cells_[rng.choice(len(fraction), n_samples, p=fraction)]
        if self.alpha:
            pseudo = rng.random(n_samples) < self.alpha / (self.counts_.sum() + self.alpha)
            anywhere = rng.integers(0, np.prod(self.grid_.numbers), n_samples)
            cells = np.where(pseudo, anywhere, cells)
        place = np.stack(np.unravel_index(cells, tuple(self.grid_.numbers)), axis=1)
        g = self.grid_
        return g.starts + (place + rng.random(place.shape)) * g.widths

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        most = max(self.max_bins if isinstance(rule, str) else rule for rule in self._rules(d))
        work = 4.0 * n * d / rates(8).multiply_adds
        return self._costs(n, d, "counts of bins", work, 16 * n + EDGE * (d + 3) * int(most))


def _weighted_ranges(X: Any, w: Any = None) -> Ranges:
    """The ranges of the columns over the rows that count."""
    rows, _ = rows_of_positive_weight(X, w)
    if len(rows) == 0:  # all of this block weigh nothing
        d = X.shape[1]
        return Ranges(np.full(d, np.inf), np.full(d, -np.inf))
    if not np.isfinite(rows).all():  # streaming rows; those in memory have been validated
        return Ranges(np.full(X.shape[1], np.nan), np.full(X.shape[1], np.nan))
    return Ranges.of(rows)
