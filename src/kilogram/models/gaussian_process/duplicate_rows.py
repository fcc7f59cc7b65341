"""Duplicate rows: where the likelihood of a Gaussian process has no maximum.

r rows equal in X and in y hold, whatever the kernel, the factor

    r^(-1/2) (2 pi s)^(-(r - 1) / 2)        s the noise

which grows without limit as s falls to 0. A kernel whose widths fall with it keeps the rest of the
likelihood finite: rows that differ are uncorrelated, and every duplicate is predicted exactly.
Leave-one-out does not detect this, since the duplicate stays among the other rows. Mixtures of
normal densities have the same singularities, and there too an interior maximum is meant.

The likelihood of the distinct rows has no such factor. Where the search over all rows ends with
next to no noise, the distinct rows are searched as well. If they have no noise either, or the
difference is small, nothing is changed; if they clearly have noise, the search over all rows
continues from their maximum.

Reference: Day, Estimating the components of a mixture of normal distributions, 1969.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.kernels import Kernel
from kilogram.solvers.gaussian_process.exact import Observations
from kilogram.solvers.solution import Solution

NO_NOISE = 1e-3  # noise below this fraction of the prior variance counts as none: our choice
# More of the distinct rows' log-likelihood than without noise: 5 % level of a likelihood ratio test
# (1.92).
CLEARLY = 2.0


def noiseless(kernel: Kernel, data: Observations) -> bool:
    """Whether the rows' noise is next to none beside the prior variance."""
    noise, prior = (to_numpy(v) for v in (data.noise(kernel), kernel.diag(data.X)))
    return bool(np.mean(noise) < NO_NOISE * np.mean(prior))


def without_copies(data: Observations) -> tuple[Observations, int]:
    """Every distinct row once, of weight 1 at most; and how many repetitions that leaves out."""
    keys = _keys(data.X, to_numpy(data.Y))
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    w = np.ones(len(keys)) if data.w is None else to_numpy(data.w)
    total = np.bincount(group.ravel(), weights=w)
    extra = float(np.sum(np.maximum(total - 1.0, 0.0)))
    if not extra:
        return data, 0
    order = np.argsort(first)
    part = replace(data, w=None).part(first[order])
    return replace(part, w=like(np.minimum(total[order], 1.0), data.Y)), max(1, round(extra))


def _keys(X: Any, Y: np.ndarray) -> np.ndarray:
    """Something for every row (and its targets) that is equal where rows are."""
    # adding 0 makes one zero of the two
    Y = np.ascontiguousarray(Y) + 0.0
    if is_sparse(X):
        A = X.tocsr(copy=True)
        A.eliminate_zeros()
        A.sort_indices()
        ends = zip(A.indptr[:-1], A.indptr[1:], Y, strict=True)
        rows = [A.indices[i:j].tobytes() + A.data[i:j].tobytes() + y.tobytes() for i, j, y in ends]
        # as numbers: NumPy's own bytes drop zeros at their end
        names = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        return np.asarray([names[row] for row in rows])
    table = np.hstack([to_numpy(X) + 0.0, Y])
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()


def avoid_duplicates(problem: Any, found: Solution, search: Any) -> Solution:
    """`found`, or where duplicates alone make it noiseless, the maximum of the distinct rows.

    `search(problem)` is the whole search of a problem, `search(problem, theta)` one climb.
    """
    data, tuning = problem.data, problem.tuning
    if not noiseless(tuning.at(found.value), data):
        return found
    distinct, copies = without_copies(data)
    if not copies:
        return found
    once = replace(problem, data=distinct)
    likeness = search(once)
    steps = found.n_iter + likeness.n_iter
    gain = likeness.objective - once.objective(found.value)[0]
    if noiseless(tuning.at(likeness.value), data) or not gain > CLEARLY:
        return replace(found, n_iter=steps)
    inside = search(problem, likeness.value)
    steps += inside.n_iter
    if noiseless(tuning.at(inside.value), data):
        inside = replace(likeness, objective=problem.objective(likeness.value)[0])
    why = (
        f"{copies:,} rows are duplicates, target included, and as the noise falls to 0 they raise "
        f"the likelihood without limit (log-likelihood {found.objective:.6g} where the search "
        "stopped). The maximum that the distinct rows lead to is used "
        f"({inside.objective:.6g}). Drop the duplicates if they are one observation each; to fit "
        "rows without noise, remove White() from the kernel."
    )
    message = f"{inside.message} {why}".strip()
    return replace(inside, n_iter=steps, message=message)
