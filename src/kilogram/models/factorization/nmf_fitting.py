"""The fits of `NMF`: what is known of the rows, where to begin, and the loadings of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import column_count, is_streamed, reduce_rows, row_count
from kilogram.base.constraints import OneOf, Real, check_parameter
from kilogram.base.validation.validate import is_foreign, raise_why_not_finite
from kilogram.native.factorization import HalfUpdateRule
from kilogram.solvers.factorization.nmf_half_updates import (
    Half,
    Parts,
    half,
    plain_loss,
    sparse_loss,
)
from kilogram.solvers.factorization.nmf_initialization import Start, start

LOSSES = {"frobenius": "frobenius", 2: "frobenius", "kullback-leibler": "poisson", 1: "poisson"}
# Bytes of one pass over the entries: a few of them stay near the last-level cache.
BLOCK = 4 * 2**20


class About(NamedTuple):
    """Of the entries: squares, how many are negative, missing, infinite; the weight of the rows."""

    squares: float
    mean: float
    negative: float
    missing: float
    infinite: float
    weight: float
    d: int
    dtype: Any
    put: Callable[[Any], Any]


def _entries(block: Any, s: Any) -> np.ndarray:
    """Squares of what is there, counts of negative, missing and infinite entries, weight."""
    x = block.data[None] if is_sparse(block) else block
    xp = namespace(x)
    w = float(block.shape[0]) if s is None else float(namespace(s).sum(s))
    total, negative = float(xp.sum(x)), 0.0
    if math.prod(x.shape) and not float(xp.min(x)) >= 0:  # NaN is not either
        negative = float(xp.sum(xp.astype(x < 0, x.dtype)))
    if not np.isfinite(total):
        gone, far = xp.isnan(x), xp.isinf(x)
        counts = [float(xp.sum(xp.astype(a, x.dtype))) for a in (gone, far)]
        x = xp.where(gone | far, xp.zeros_like(x), x)
    else:
        counts = [0.0, 0.0]
    total = total if np.isfinite(total) else float(xp.sum(x))
    if s is not None and is_sparse(block):
        by = np.asarray(s)
        squares = float(np.asarray(block.multiply(block).sum(axis=1)).ravel() @ by)
        total = float(np.asarray(block.sum(axis=1)).ravel() @ by)
    elif s is not None:
        squares = float(xp.sum(xp.sum(x * x, axis=1) * like(s, block)))
        total = float(xp.sum(xp.sum(x, axis=1) * like(s, block)))
    elif is_numpy(x) and x.flags.c_contiguous and x.dtype == np.float64:
        squares = float(np.dot(x.reshape(-1), x.reshape(-1)))
    else:
        squares = float(xp.sum(xp.astype(x, xp.float64) ** 2))
    return np.array([squares, total, negative, *counts, w])


def inspect_rows(estimator: BaseEstimator, X: Any, s: Any, *, allow_missing: bool) -> About:
    """One pass over the entries; negative, infinite and unexpected missing ones are errors.

    The errors name the estimator.
    """
    rows = None
    if is_numpy(X) and X.size:
        rows = max(1, BLOCK // max(1, X.itemsize * X.shape[1]))
    with np.errstate(invalid="ignore", over="ignore"):
        found = reduce_rows(_entries, X, s, block_rows=rows)
    squares, total, negative, missing, infinite, w = (float(v) for v in found)
    if infinite or (missing and not (allow_missing and not is_sparse(X))):
        if is_sparse(X) and missing and allow_missing:
            raise ValueError("NaN in a sparse X: missing='em' needs dense rows. Use X.toarray().")
        raise_why_not_finite(estimator, X, np.array([np.nan if missing else np.inf]))
    if negative:
        raise ValueError(
            f"Negative values in data passed to {type(estimator).__name__} (input X): "
            f"{int(negative)} of them. Its factors are non-negative, so is what they can describe; "
            "use PCA."
        )
    dtype: Any = np.dtype(np.float64)
    put: Callable[[Any], Any] = _host
    if not is_streamed(X):
        dtype = np.dtype(np.float32 if str(X.dtype).endswith("float32") else np.float64)
        put = partial(like, ref=X[:1, :]) if is_foreign(X) else _host
    if not squares < float(np.finfo(dtype).max):
        raise_why_not_finite(estimator, X, np.array([squares]))
    d = column_count(X)
    return About(squares, total / (w * d), negative, missing, infinite, w, d, dtype, put)


def _host(found: Any) -> Any:
    return found


def loss_of(beta_loss: Any) -> str:
    """ "frobenius" or "poisson"."""
    check_parameter(
        "beta_loss", beta_loss, OneOf("frobenius", "kullback-leibler") | Real(1, 1) | Real(2, 2)
    )
    return LOSSES[beta_loss]


def check_loss(beta_loss: Any, solver: str) -> None:
    """Coordinate descent minimises squares only."""
    if loss_of(beta_loss) == "poisson" and solver == "cd":
        raise ValueError(
            "Invalid beta_loss parameter: solver 'cd' does not handle beta_loss = "
            f"{beta_loss!r}. Use solver='mu'."
        )


def given_factors(W: Any, H: Any, n: int, d: int, k: int | None) -> Start:
    """The factors given for init="custom", checked; k is None where they decide."""
    if W is None or H is None:
        raise ValueError("init='custom' needs both W and H, given to fit_transform.")
    return _checked_factors(W, H, n, d, len(H) if k is None else k)


def initial_factors(init: str | None, X: Any, s: Any, k: int, about: About, rng: Any) -> Start:
    """Where to begin, by one of the named methods; None chooses."""
    n, d = row_count(X), about.d
    if init is None:
        init = "nndsvda" if k <= min(n, d) else "random"
    if init.startswith("nndsvd") and k > min(n, d):
        raise ValueError(
            f"init={init!r} can only be used when n_components <= min(n_samples, n_features): "
            f"{k} > {min(n, d)}. Use init='random', or fewer components."
        )
    return start(init, X, s, k, d, about.mean, rng)


def _checked_factors(W: Any, H: Any, n: int, d: int, k: int) -> Start:
    W, H = (np.asarray(to_numpy(a), dtype=np.float64) for a in (W, H))
    if W.shape != (n, k) or H.shape != (k, d):
        raise ValueError(
            f"W has shape {W.shape} and H {H.shape}; ({n}, {k}) and ({k}, {d}) are needed."
        )
    if not all(((a >= 0) & (a < np.inf)).all() for a in (W, H)):
        raise ValueError("Negative values, NaN or infinity in the W or H given: both are >= 0.")
    return Start(W, H)


def block_loadings(block: Any, H: Any, rule: HalfUpdateRule, missing: bool) -> Any:
    """The loadings of rows, each by itself: (m, k) in the library of the block."""
    parts = Parts.of(H, rule)
    W = first_loadings(block, H, rule)
    if not missing or is_sparse(block):
        return half(block, W, None, parts, rule, sums=False).W[0]
    # between two fillings of the holes a few sweeps are enough
    inner = rule._replace(sweeps=3 if rule.update == "cd" else 1)
    for _ in range(rule.sweeps):
        xp, before = namespace(block), W
        W = half(block, W, None, parts, inner, missing=True, sums=False).W[0]
        top = float(xp.max(W)) if W.shape[0] else 0.0
        if not float(xp.max(xp.abs(W - before))) > max(rule.tol, 1e-9) * top:
            break
    return W


def first_loadings(block: Any, H: Any, rule: HalfUpdateRule) -> Any:
    """Zeros; for multiplied ones the size of the row."""
    m, k = block.shape[0], H.shape[0]
    if rule.update == "cd":
        ref = np.empty(0, dtype=block.dtype) if is_sparse(block) else block
        return namespace(ref).zeros((m, k), dtype=block.dtype, device=ref.device)
    if is_sparse(block):
        sums, ones = np.asarray(block.sum(axis=1)).ravel(), np.ones((1, k), dtype=block.dtype)
    else:
        xp = namespace(block)
        sums = xp.sum(xp.where(xp.isnan(block), xp.zeros_like(block), block), axis=1)
        ones = xp.ones((1, k), dtype=block.dtype, device=block.device)
    total = float(namespace(ones).sum(like(H, ones)))
    # parts that are 0 describe nothing, however they are loaded
    return sums[:, None] * ones / total if total > 0 else 0.0 * sums[:, None] * ones


def _final(block: Any, parts: Parts, rule: HalfUpdateRule) -> Half:
    return half(block, first_loadings(block, parts.H, rule), None, parts, rule, sums=False)


def final_pass(X: Any, H: Any, rule: HalfUpdateRule) -> tuple[Any, float]:
    """The best loadings of rows in memory, and 1/2 w'Bw - a'w + l1 sum w of all of them."""
    found = reduce_rows(partial(_final, parts=Parts.of(H, rule), rule=rule), X)
    blocks = found.W
    return blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks), found.loss


def losses(X: Any, s: Any, H: Any, rule: HalfUpdateRule, missing: bool) -> np.ndarray:
    """The sums of `block_loss` over the rows."""
    return np.asarray(reduce_rows(partial(block_loss, H=H, rule=rule, missing=missing), X, s))


def final_losses(
    X: Any, s: Any, H: Any, rule: HalfUpdateRule, about: About, missing: bool
) -> tuple[float, float, Any]:
    """The loss and the penalty on W, with the best loadings; those loadings where at hand."""
    W, fit, extra = None, 0.0, 0.0
    if s is None and not about.missing and not is_streamed(X) and rule.update == "cd":
        W, value = final_pass(X, H, rule)
        extra = rule.l1 * float(namespace(W).sum(W)) + 0.5 * rule.l2 * float(
            namespace(W).sum(W * W)
        )
        fit = 0.5 * about.squares + value - extra
    if not fit > 1e-6 * about.squares:  # what cancels there must be summed entry by entry
        fit, extra = (float(v) for v in losses(X, s, H, rule, missing))
    return fit, extra, W


def block_loss(block: Any, s: Any, H: Any, rule: HalfUpdateRule, missing: bool) -> np.ndarray:
    """F without the penalty on H: half the squares or the divergence, and the penalty on W."""
    W = block_loadings(block, H, rule, missing)
    xp = namespace(W)
    weights = None if s is None else like(s, W)[:, None]
    if is_sparse(block):
        fit = sparse_loss(block, W, s, H, rule)
    else:
        seen = ~xp.isnan(block) if missing else None
        fit = plain_loss(block, W, like(H, block), rule, seen, weights)
    fit = fit if rule.update == "poisson" else 0.5 * fit
    sW = W if weights is None else W * weights
    extra = rule.l1 * float(xp.sum(sW)) + 0.5 * rule.l2 * float(xp.sum(sW * W))
    return np.array([fit, extra])


def rebuilt(block: Any, H: Any) -> Any:
    """The rows with these loadings."""
    return block @ (to_numpy(H) if is_sparse(block) else like(H, block))
