"""How many parts? Entries held out: the rank that predicts best what it has not seen.

The training error only falls with the rank, and rows held out are no better: their loadings are
fitted to the very entries they are judged by. Entries held out here and there leave both factors to
be found from the others (Wold 1978); `missing="em"` does that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.models.factorization.nmf import NMF
from kilogram.models.factorization.nmf_fitting import loss_of


class RankTable(NamedTuple):
    """Rank by rank: the mean loss of an entry held out and its standard error over the splits."""

    ranks: np.ndarray
    losses: np.ndarray
    errors: np.ndarray
    best: int
    simplest: int


def nmf_rank(
    X: Any,
    ranks: Iterable[int] = range(1, 11),
    *,
    model: NMF | None = None,
    holdout: float = 0.1,
    n_splits: int = 3,
    random_state: Any = None,
) -> RankTable:
    """The loss on held-out entries for each number of components.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Non-negative; NaN are missing and never held out.
    ranks : iterable of int, default=1 .. 10
    model : NMF or None, default=None
        Whose loss, solver and penalties to use.
    holdout : float, default=0.1
        Fraction of the entries held out in each split.
    n_splits : int, default=3
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Returns
    -------
    RankTable
        `best` has the least loss, `simplest` is the smallest rank within one standard error of it.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import nmf_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 3)) @ rng.random((3, 40)) + 0.05 * rng.random((60, 40))
    >>> nmf_rank(X, range(1, 7), random_state=0).best
    3
    """
    X = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    asked = list(ranks) if isinstance(ranks, Iterable) else [ranks]
    if not asked:
        raise ValueError("ranks must have at least one rank, got an empty sequence.")
    for k in asked:
        check_parameter("ranks", k, Integer(1))
    listed = np.unique(np.asarray(asked, dtype=int))
    check_parameter("holdout", holdout, Real(0, 1, "neither"))
    check_parameter("n_splits", n_splits, Integer(1))
    base = NMF(max_iter=500) if model is None else model
    rng, seen = as_generator(random_state), ~np.isnan(X)
    found = np.empty((n_splits, len(listed)))
    for i in range(n_splits):
        held = (rng.random(X.shape) < holdout) & seen
        if not held.any():
            raise ValueError(
                f"holdout={holdout!r} of {int(seen.sum())} entries holds none back to judge by: "
                "raise it, or bring more rows."
            )
        rows = np.where(held, np.nan, X)
        for j, k in enumerate(listed):
            seed = int(rng.integers(2**31))
            fitted = clone(base).set_params(n_components=int(k), missing="em", random_state=seed)
            P = fitted.inverse_transform(fitted.fit_transform(rows))
            found[i, j] = _loss(X[held], P[held], loss_of(fitted.beta_loss))
    losses = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0 * losses
    best = int(losses.argmin())
    near = losses <= losses[best] + errors[best]
    return RankTable(listed, losses, errors, int(listed[best]), int(listed[near.argmax()]))


def _loss(x: np.ndarray, p: np.ndarray, loss: str) -> float:
    if loss == "frobenius":
        return float(((x - p) ** 2).mean())
    p = np.maximum(p, 1e-12)
    ratio = np.where(x > 0, x, 1.0) / np.where(x > 0, p, 1.0)
    return float((x * np.log(ratio) - x + p).mean())
