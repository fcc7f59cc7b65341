"""Online NMF: one batch of rows after the other, and the sums that remember them.

    w = best loadings of the batch          A <- f A + W'X     G <- f G + W'W
    H <- a few sweeps on 1/2 tr(H'GH) - tr(A'H)                (Mairal et al. 2010)
    Poisson: A <- f A + H * W'(X / WH),  g <- f g + W'1,  H <- A / g

The sums forget slowly (f < 1): the loadings of the first batches were found for poor parts. What is
multiplied stays 0 if it is 0, so a column that is new in a batch, a word not met before, is put
into all parts alike first: one step then gives each part its fraction.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.models.factorization.nmf_fitting import block_loadings
from kilogram.models.factorization.nmf_updates import Rules
from kilogram.solvers.factorization.nmf_half_updates import Half, Parts, half
from kilogram.solvers.factorization.nmf_tables import improve_components


class OnlineSums(NamedTuple):
    """What the batches so far leave behind: A (k, d) and gram (k, k + 1)."""

    A: Any
    gram: np.ndarray


def _batch(block: Any, s: Any, H: Any, final: Any, once: Any, missing: bool) -> Half:
    """The loadings of a batch and their sums."""
    W = block_loadings(block, H, final, missing)
    return half(block, W, s, Parts.of(H, once), once, missing=missing)


def _column_sums(block: Any, s: Any) -> np.ndarray:
    """Weighted sums of the columns, missing values left out."""
    w = np.ones(block.shape[0]) if s is None else np.asarray(to_numpy(s), dtype=np.float64)
    if is_sparse(block):
        return np.asarray(block.T @ w, dtype=np.float64)
    return w @ np.nan_to_num(np.asarray(to_numpy(block), dtype=np.float64))


def revive_columns(H: Any, X: Any, s: Any) -> Any:
    """H with something in columns that no part has so far and this batch does."""
    known = np.asarray(to_numpy(H), dtype=np.float64)
    empty = known.sum(axis=0) == 0
    if not empty.any():
        return H
    sums = np.asarray(reduce_rows(_column_sums, X, s))
    return like(np.where(empty & (sums > 0), known.mean(), known), H)


def batch_step(
    X: Any,
    s: Any,
    H: Any,
    all_rules: Rules,
    before: OnlineSums | None,
    *,
    forget_factor: float,
    missing: bool,
) -> tuple[Any, OnlineSums]:
    """New components and new sums, from those before and a batch X of rows with weights s."""
    poisson = all_rules.rows.update == "poisson"
    H = revive_columns(H, X, s) if poisson else H
    once = all_rules.rows._replace(sweeps=1, update="poisson" if poisson else "cd")
    final = all_rules.final._replace(l1=once.l1, l2=once.l2)
    batch = partial(_batch, H=H, final=final, once=once, missing=missing)
    found = reduce_rows(batch, X, s)
    A = like(found.A, H) * H if poisson else like(found.A, H)
    gram = found.gram
    if before is not None:
        A, gram = A + forget_factor * before.A, gram + forget_factor * before.gram
    sums = OnlineSums(A, gram)
    columns = all_rules.columns
    if not poisson:
        return improve_components(H, A, gram, columns._replace(update="cd", sweeps=8))[0], sums
    xp = namespace(H)
    under = like(np.asarray(to_numpy(gram))[:, -1:] + columns.l1, H) + columns.l2 * H
    return xp.where(under > 0, A / xp.where(under > 0, under, xp.ones_like(under)), H), sums
