"""Binary problems for several classes, and how their decision values are combined.

    one-vs-one    k (k - 1) / 2 machines on pairs (i, j), i < j, value > 0 for class i; the class
                  with most votes is predicted
    one-vs-rest   k machines on all rows, value > 0 for class i; the largest value is predicted
    two classes   one machine, value > 0 for the second class

dual_coef_ has scikit-learn's layout: one-vs-one keeps (k - 1, n_support), where the row r of a
support vector of class i belongs to the pair of i and the r-th other class.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import namespace

Array = np.ndarray


class BinaryProblem(NamedTuple):
    """The positive class, and the negative class (None: all others)."""

    first: int
    second: int | None

    def rows(self, codes: Array) -> Array:
        """Positions of the rows of both classes."""
        if self.second is None:
            return np.arange(codes.shape[0])
        return np.nonzero((codes == self.first) | (codes == self.second))[0]

    def signs(self, codes: Array) -> Array:
        """+1 for the positive class, -1 for the others."""
        return np.where(codes == self.first, 1.0, -1.0)


def binary_problems(k: int, multi_class: str) -> list[BinaryProblem]:
    """The binary problems of k classes, one-vs-one ("ovo") or one-vs-rest ("ovr")."""
    if k == 2:
        return [BinaryProblem(1, 0)]
    if multi_class == "ovr":
        return [BinaryProblem(i, None) for i in range(k)]
    return [BinaryProblem(i, j) for i, j in combinations(range(k), 2)]


def packed(V: Array, codes: Array, k: int, multi_class: str) -> Array:
    """dual_coef_ from V (n_support, machines); codes are the classes of the support vectors."""
    if k == 2 or multi_class == "ovr":
        return np.ascontiguousarray(V.T)
    out = np.zeros((k - 1, V.shape[0]))
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        out[j - 1, codes == i] = V[codes == i, machine]
        out[i, codes == j] = V[codes == j, machine]
    return out


def unpacked(dual_coef: Array, n_support: Array, multi_class: str) -> Array:
    """V (n_support, machines) from dual_coef_ and the number of support vectors of each class."""
    k = n_support.shape[0]
    if k == 2 or multi_class == "ovr":
        return np.ascontiguousarray(dual_coef.T)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    V = np.zeros((dual_coef.shape[1], k * (k - 1) // 2))
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        a, b = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        V[a, machine] = dual_coef[j - 1, a]
        V[b, machine] = dual_coef[i, b]
    return V


def votes(values: Any, k: int) -> Any:
    """Votes of the one-vs-one machines for each class, (n, k); a value of 0 is for the second."""
    xp = namespace(values)
    won = xp.astype(values > 0, values.dtype)
    columns = [0.0 * values[:, 0] for _ in range(k)]
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        columns[i] = columns[i] + won[:, machine]
        columns[j] = columns[j] + (1.0 - won[:, machine])
    return xp.stack(columns, axis=1)


def one_vs_rest_values(values: Any, k: int) -> Any:
    """Votes plus less than a third of a vote for the summed values: (n, k), as scikit-learn's."""
    xp = namespace(values)
    sums = [0.0 * values[:, 0] for _ in range(k)]
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        sums[i] = sums[i] + values[:, machine]
        sums[j] = sums[j] - values[:, machine]
    total = xp.stack(sums, axis=1)
    return votes(values, k) + total / (3.0 * (xp.abs(total) + 1.0))
