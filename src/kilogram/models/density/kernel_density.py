"""Kernel density: a small density on every row, averaged.

    p(x) = sum_i w_i k((x - x_i) / h) / (W c h^d)          c = the integral of k

The width h matters most: too small a width overfits, too large a width oversmooths. `k` is a
function of the distance, or with `product` a product over the columns. The sums are exact, or for
Gaussians in up to three columns within the stated tolerance (`kernel_sums.py`), and fast: windows
of sorted rows for kernels that end, polynomials in boxes for Gaussians in one or two columns, all
threads for the rest. References: Rosenblatt 1956; Parzen 1962; Silverman 1986.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real as RealNumber
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_numpy, like, namespace
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.functions.density_kernels import KERNELS, draws, log_integral, scott, silverman
from kilogram.models.density.bandwidths import likelihood_width
from kilogram.models.density.density import DensityEstimator, checked_n_samples
from kilogram.models.density.kernel_sums import KernelSums, device_log_sums
from kilogram.operators.cost import rates

RULES = ("scott", "silverman", "likelihood")


class KernelDensity(DensityEstimator):
    """Kernel density estimate: the average of kernels centred at the rows.

    ``p(x) = sum_i w_i k((x - x_i) / h) / (W c h^d)`` with W = sum_i w_i, c the integral of k.
    Takes scikit-learn's parameters and gives its results.

    Parameters
    ----------
    bandwidth : float, array of shape (d,), or {"scott", "silverman", "likelihood"}, default=1.0
        The width h, or one for each column. "likelihood" has the largest leave-one-out
        likelihood. The first two rules are for columns of unit variance, as in scikit-learn.
    algorithm : {"auto", "pairs", "kd_tree", "ball_tree"}, default="auto"
        "pairs" sums over all pairs of rows. The names of trees mean "auto": there are none here.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
default="gaussian"
        The kernel, a density of the distance in units of the bandwidth.
    metric : {"euclidean"}, default="euclidean"
        The distance of radial kernels.
    atol, rtol : float, default=0, 1e-8
        A density may be off by atol + rtol times itself; with both 0 all pairs are summed.
        Everything but Gaussians in up to three columns is exact anyway.
    metric_params : None
        The Euclidean distance has no parameters.
    breadth_first, leaf_size : default=True, 40
        For compatibility with scikit-learn, where they control the trees.
    product : bool, default=False
        Multiply the kernels of the columns, instead of taking that of the distance.
    standardize : bool, default=False
        Widths are in units of each column's standard deviation.
    random_state : int, RandomState or None, default=None
        Draws the sample that "likelihood" uses if there are more than 8 000 rows; None is 0.

    Attributes
    ----------
    bandwidth_ : float or array of shape (d,)
        The width; one for each column if they differ.
    rows_ : array of shape (n, d)
        The rows the kernels stand on; those of weight 0 are left out.
    weights_ : array of shape (n,) or None
        Weights of the training rows; None if all weigh the same.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HistogramDensity : Counts in bins.
    DensityTree : Boxes that follow the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KernelDensity
    >>> x = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = KernelDensity(bandwidth="silverman").fit(x)
    >>> bool(abs(np.exp(model.score_samples([[0.0]]))[0] - 0.399) < 0.03)
    True
    """

    laws: ClassVar[Laws] = Laws(
        sparse="a density over mostly zero columns has no volume to speak of: rows are dense",
        example={"bandwidth": 0.8},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "bandwidth": Real(0.0, np.inf, "neither") | OneOf(*RULES) | ArrayLike(),
        "algorithm": OneOf("auto", "pairs", "kd_tree", "ball_tree"),
        "kernel": OneOf(*KERNELS),
        "metric": OneOf("euclidean"),
        "metric_params": Null(),  # the Euclidean distance has none
        "atol": Real(0.0, np.inf, "left"),
        "rtol": Real(0.0, np.inf, "left"),
        "product": Boolean(),
        "standardize": Boolean(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 1e-8,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: Any = None,
        product: bool = False,
        standardize: bool = False,
        random_state: Any = None,
    ):
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.product = product
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Place kernels on the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        came, rows, w = self._validate_in_memory(X, sample_weight)
        if self.standardize or isinstance(self.bandwidth, str):  # by deviations, of squares
            self._ensure_squares(rows)
            self._ensure_felt(rows)
        unit = self._units(rows, w)
        h = self._widths(rows / unit, w) * unit
        self.bandwidth_ = float(h[0]) if (h == h[0]).all() else h
        self._origin = rows.mean(axis=0)
        fast = self.algorithm != "pairs" and (self.rtol > 0 or self.atol > 0)
        with np.errstate(over="ignore", invalid="ignore"):  # refused in the next line
            scaled = (rows - self._origin) / h
        if not np.isfinite(scaled).all():
            raise ValueError(
                "KernelDensity: the values of X are finite, but divided by the bandwidth they "
                "overflow. Divide the columns by their scale first, or give a larger bandwidth."
            )
        self._sums = KernelSums.of(self.kernel, scaled, w, product=self.product, fast=fast)
        self.rows_ = like(rows, came)
        self.weights_ = w
        d = rows.shape[1]
        c = log_integral(self.kernel, d, product=self.product)
        self._log_scale = -c - float(np.log(h).sum()) - float(np.log(self._sums.total))
        return self

    def _units(self, X: np.ndarray, w: Any) -> np.ndarray:
        """Unit of the bandwidth in each column."""
        if not self.standardize:
            return np.ones(X.shape[1])
        spread = np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, 0, weights=w))
        return np.where((np.ptp(X, axis=0) > 0) & (spread > 0), spread, 1.0)

    def _widths(self, X: np.ndarray, w: Any) -> np.ndarray:
        """One width for each column, positive."""
        n, d = float(len(X)) if w is None else float(w.sum()), X.shape[1]
        given = self.bandwidth
        if isinstance(given, str):
            if given == "likelihood":
                rng = as_generator(self.random_state or 0)
                width = likelihood_width(self.kernel, X, w, product=self.product, rng=rng)
            else:
                width = (scott if given == "scott" else silverman)(n, d)
            return np.full(d, width)
        h = (
            np.full(d, float(given))
            if isinstance(given, RealNumber)
            else np.asarray(given, dtype=float)
        )
        if h.shape != (d,) or not (np.isfinite(h) & (h > 0)).all():
            raise ValueError(
                f"bandwidth must be a positive number, one for each of {d} columns, or one of "
                f"{RULES}; got {given!r}."
            )
        return h

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # infinitely many bandwidths away
            Q = (X - self._origin) / self.bandwidth_
        far = ~np.isfinite(Q).all(axis=1)
        Q[far] = 0.0
        atol = self.atol * float(np.exp(min(-self._log_scale - np.log(self._sums.total), 700.0)))
        found = self._sums.log_sums(Q, self.rtol, atol) + self._log_scale
        found[far] = -np.inf
        return found

    def _score_block(self, block: Any) -> Any:
        if is_numpy(block):
            return super()._score_block(block)
        # on its own device, every pair: moving the rows to the host would cost more
        xp = namespace(block)
        put = [like(np.asarray(a), block) for a in (self._origin, self.bandwidth_)]
        Q, Y = ((a - put[0]) / put[1] for a in (block, like(self.rows_, block)))
        w = None if self.weights_ is None else like(self.weights_, block)
        found = device_log_sums(self.kernel, Q, Y, w, product=self.product)
        return xp.astype(found + self._log_scale, block.dtype, copy=False)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d): a row of the data, moved by a kernel."""
        check_is_fitted(self)
        n_samples, rng = checked_n_samples(n_samples), as_generator(random_state)
        rows = np.asarray(like(self.rows_, np.empty(0)), dtype=float)
        n, d = rows.shape
        fraction = None if self.weights_ is None else self.weights_ / self.weights_.sum()
        centre = rows[rng.choice(n, n_samples, p=fraction)]
        moved = draws(self.kernel, n_samples, d, rng, product=self.product)
        return centre + moved * self.bandwidth_

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 1.0 * n * d / rates(8).multiply_adds
        return self._costs(n, d, "the rows, sorted", work, 24 * n * d)
