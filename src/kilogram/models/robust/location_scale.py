"""Robust location and scale of one variable.

location     median                  half of the values may be anything
             huber                   M-estimate at the scale of the median absolute deviation
             biweight                a redescending one: far values count for nothing
scale        mad                     1.4826 median |x - median|; efficiency 37 % at normal values
             sn                      1.1926 himed_i lomed_j |x_i - x_j|; 58 %, no centre needed
             qn                      2.2191 times the k-th smallest |x_i - x_j|, i < j; 82 %
             biweight                from the biweight midvariance; 86 %

k = h (h - 1) / 2, h = n // 2 + 1. All have breakdown point one half. Sn and Qn take O(n log n): for
every value the median, for all pairs the k-th distance, is found by bisection in sorted values.

References: Rousseeuw and Croux 1993; Croux and Rousseeuw 1992; Mosteller and Tukey 1977.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Boolean, Null, OneOf, Real, check_parameter
from kilogram.functions.m_losses import LOSSES, MAD

Array = np.ndarray
SN = 1.1926  # consistent for normal data: Rousseeuw and Croux 1993, section 2
QN = 2.21914446598508  # 1 / (sqrt(2) Phi^-1(5/8)), Rousseeuw and Croux 1993, section 3
SN_SMALL = (0.743, 1.851, 0.954, 1.351, 0.993, 1.198, 1.005, 1.131)  # n = 2 to 9
#: n = 2 to 12.
QN_SMALL = (
    0.399356, 0.99365, 0.51321, 0.84401, 0.61220, 0.85877,
    0.66993, 0.87344, 0.72014, 0.88906, 0.75743,
)  # fmt: skip


def robust_location(x: Any, method: str = "huber", *, tuning: float | None = None) -> float:
    """A robust centre of the values of x.

    Parameters
    ----------
    x : array-like of shape (n,)
    method : {"huber", "biweight", "median"}, default="huber"
        M-estimates start at the median and keep the median absolute deviation as scale.
    tuning : float or None, default=None
        Constant of the loss, in standard deviations; None: 1.5 for "huber", 6 median absolute
        deviations (4.05 standard deviations) for "biweight".

    Returns
    -------
    float

    Examples
    --------
    >>> from kilogram import robust_location
    >>> robust_location([1.0, 2.0, 3.0, 4.0, 500.0], "median")
    3.0
    """
    check_parameter("method", method, OneOf("huber", "biweight", "median"))
    check_parameter("tuning", tuning, Real(0, closed="neither") | Null())
    values = _values(x)
    centre = float(np.median(values))
    s = MAD * float(np.median(np.abs(values - centre)))
    if method == "median" or s == 0.0:
        return centre
    c = tuning or (1.5 if method == "huber" else 6.0 / MAD)
    loss = LOSSES[method]
    for _ in range(200):
        w = loss.weight(np.abs(values - centre) / s, c)
        new = float(w @ values / w.sum())
        if abs(new - centre) <= 1e-12 * s:
            return new
        centre = new
    return centre


def robust_scale(x: Any, method: str = "qn", *, finite_sample: bool = True) -> float:
    """A robust standard deviation of the values of x.

    Parameters
    ----------
    x : array-like of shape (n,)
    method : {"qn", "sn", "mad", "biweight"}, default="qn"
    finite_sample : bool, default=True
        Correct "qn" and "sn" for small samples, as R's robustbase does.

    Returns
    -------
    float
        0.0 where more than half of the values are equal.

    Examples
    --------
    >>> from kilogram import robust_scale
    >>> round(robust_scale([1.0, 2.0, 3.0, 4.0, 500.0], "mad"), 4)
    1.4826
    """
    check_parameter("method", method, OneOf("qn", "sn", "mad", "biweight"))
    check_parameter("finite_sample", finite_sample, Boolean())
    values = np.sort(_values(x))
    n = len(values)
    if n == 1:
        return 0.0
    if method == "mad":
        return MAD * float(np.median(np.abs(values - np.median(values))))
    if method == "biweight":
        return _biweight_midvariance(values)
    if method == "sn":
        return SN * _sn(values) * (_sn_factor(n) if finite_sample else 1.0)
    return QN * _qn(values) * (_qn_factor(n) if finite_sample else 1.0)


def _values(x: Any) -> Array:
    values = np.asarray(to_numpy(x), dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"x must be one-dimensional and not empty, got an array of shape {values.shape}. "
            "Call the function for every column."
        )
    if not np.isfinite(values).all():
        raise ValueError("x contains NaN or infinity.")
    return values


def _biweight_midvariance(x: Array) -> float:
    """sqrt(n sum (x - M)^2 (1 - u^2)^4) / |sum (1 - u^2)(1 - 5 u^2)|, u = (x - M) / 9 MAD."""
    d = x - np.median(x)
    raw = float(np.median(np.abs(d)))
    if raw == 0.0:
        return 0.0
    u = (d / (9.0 * raw)) ** 2
    inside = u < 1
    d, u = d[inside], u[inside]
    top = np.sqrt(len(x) * np.sum(d * d * (1 - u) ** 4))
    return float(top / abs(np.sum((1 - u) * (1 - 5 * u))))


def _sn(x: Array) -> float:
    """himed_i of the h-th smallest |x_i - x_j| over all j (x_i itself included), x sorted."""
    n = len(x)
    h = n // 2 + 1
    # the h nearest of a sorted value are a window [a, a + h): bisect its first position
    i = np.arange(n)
    low, high = np.maximum(i - h + 1, 0), np.minimum(i, n - h)
    while (low < high).any():
        middle = (low + high) // 2
        end = np.minimum(middle + h, n - 1)
        right = x[i] - x[middle] > x[end] - x[i]  # a window further right is shorter
        low, high = np.where(right & (low < high), middle + 1, low), np.where(right, high, middle)
        high = np.maximum(high, low)
    reach = np.maximum(x[i] - x[low], x[np.minimum(low + h - 1, n - 1)] - x[i])
    return float(np.sort(reach)[(n + 1) // 2 - 1])


def _sn_factor(n: int) -> float:
    if n <= 9:
        return SN_SMALL[n - 2]
    return n / (n - 0.9) if n % 2 else 1.0


def _qn(x: Array) -> float:
    """The k-th smallest x_j - x_i, i < j, x sorted: weighted medians of the rows of differences.

    Row i holds x_j - x_i for j in (first_i, last_i]; each round counts the differences below a
    trial value and discards at least a quarter of those left (Johnson and Mizoguchi).
    """
    n = len(x)
    h = n // 2 + 1
    k = h * (h - 1) // 2
    i = np.arange(n)
    first, last = i + 1, np.full(n, n)  # candidates of row i: j in [first_i, last_i)
    while True:
        left = np.maximum(last - first, 0)
        total = int(left.sum())
        if total <= max(4 * n, 64):
            break
        on = np.flatnonzero(left)
        medians = x[first[on] + left[on] // 2] - x[on]
        order = np.argsort(medians, kind="stable")
        weights = np.cumsum(left[on][order])
        trial = medians[order[np.searchsorted(weights, 0.5 * weights[-1])]]
        below = np.searchsorted(x, x + trial, side="left")
        below = np.maximum(_adjusted(x, below, trial, strict=True), i + 1)
        upto = np.searchsorted(x, x + trial, side="right")
        upto = np.maximum(_adjusted(x, upto, trial, strict=False), i + 1)
        less, most = int((below - i - 1).sum()), int((upto - i - 1).sum())
        if k <= less:
            last = np.minimum(last, below)
        elif k > most:
            first = np.maximum(first, upto)
        else:
            return float(trial)
    known = int((first - i - 1).sum())
    rows = np.repeat(i, left)
    offsets = np.arange(total) - np.repeat(np.cumsum(left) - left, left)
    candidates = x[np.repeat(first, left) + offsets] - x[rows]
    return float(np.partition(candidates, k - known - 1)[k - known - 1])


def _adjusted(x: Array, at: Array, trial: float, *, strict: bool) -> Array:
    """Positions of x_j - x_i < trial (<= trial), which rounding of x_i + trial may miss by one."""
    n = len(x)
    for _ in range(2):
        here = x[np.minimum(at, n - 1)] - x
        more = (at < n) & ((here < trial) if strict else (here <= trial))
        before = x[np.maximum(at - 1, 0)] - x
        fewer = (at > 0) & ((before >= trial) if strict else (before > trial))
        at = at + more.astype(at.dtype) - fewer.astype(at.dtype)
    return at


def _qn_factor(n: int) -> float:
    if n <= 12:
        return QN_SMALL[n - 2]
    if n % 2:
        return 1.0 / (1.0 + (1.60188 + (-2.1284 - 5.172 / n) / n) / n)
    return 1.0 / (1.0 + (3.67561 + (1.9654 + (6.987 - 77.0 / n) / n) / n) / n)
