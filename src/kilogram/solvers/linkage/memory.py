"""What a tree of clusters keeps in memory, before it is grown.

    rows      single and Ward's linkage of Euclidean rows: distances as they are asked for
    rounds    complete and average linkage of Euclidean rows: in the first rounds all rows that are
              each other's nearest merge, found from the rows; then a float64 matrix of the clusters
              that are left
    matrix    the others: n^2 distances in the float type of the rows
    medoids   twice: distances of rows, and those of the clusters

How many clusters the rounds leave depends on the rows. Of most data a round takes a quarter to a
third of the clusters away; of a chain of growing gaps, or of copies of few rows, none, and the
matrix is that of all rows. Where that one does not fit, the pairs of the first round are counted
before anything is stored: no less than these will merge.
"""

from __future__ import annotations

from math import isqrt, sqrt
from typing import Literal

import numpy as np

from kilogram.native.neighbors import nearest_rows
from kilogram.solvers.lloyd.pairwise_distances import BLOCK, Distance

FEW_COLUMNS = 64  # beyond, one product of matrices is cheaper than distances taken singly
AT_ONCE = 2**25  # bytes of a matrix that is stored without any rounds: 2 000 rows
# A round over n rows saves time while SPARED m^2 > (BASE + COLUMN d) n^2; it is the last one if
# fewer than one of FEW_PAIRS clusters merge: as in native/src/linkage/euclidean.cpp.
SPARED, BASE, COLUMN = 8.0, 1.0, 0.12
FEW_PAIRS = 24
SURE = 1e-11  # nearer than the next neighbour by this fraction of the squares: so for any rounding
OF_A_ROW, OF_ALL = 128, 2**21  # bytes of a row's place in the tree, and of tiles that pass through

Strategy = Literal["rows", "rounds", "matrix", "medoids"]


def tree_strategy(
    linkage: str, distance: Distance, shape: tuple[int, int], size: int, memory_limit: int
) -> Strategy:
    """How dense rows on the host are merged: `size` bytes a number, `memory_limit` for a matrix."""
    (n, d), plain = shape, distance.euclidean and not distance.given
    if (
        plain
        and linkage in ("single", "ward")
        and (d <= FEW_COLUMNS or size * n * n > memory_limit)
    ):
        return "rows"
    if plain and not distance.squared and linkage in ("complete", "average") and d <= FEW_COLUMNS:
        return "rounds"
    return "medoids" if linkage == "medoid" else "matrix"


def square_bytes(strategy: Strategy, n: int, size: int) -> int:
    """Bytes of the largest matrices of distances that may be needed."""
    return {"rows": 0, "rounds": 8, "matrix": size, "medoids": 2 * size}[strategy] * n * n


def tree_bytes(strategy: Strategy, distance: Distance, n: int, d: int, size: int) -> int:
    """At most, with copies of the rows and the tree itself."""
    copies = 0 if distance.given else 24 * n * d
    blocks = 0 if distance.euclidean or distance.given else 16 * BLOCK * n
    return square_bytes(strategy, n, size) + copies + blocks + OF_A_ROW * n + OF_ALL


def usually_left(n: int, d: int) -> int:
    """Clusters left by the rounds, at most, if every round finds enough pairs."""
    return min(n, max(isqrt(AT_ONCE // 8), int(n * sqrt((BASE + COLUMN * d) / SPARED))))


def surely_left(rows: np.ndarray) -> int:
    """Clusters left by the first round of these rows (n, d), at most; n^2 d time, n memory."""
    n, d = rows.shape
    if n < 3 or BASE + COLUMN * d >= SPARED:  # no round saves time
        return n
    squares, index = nearest_rows(rows, None, 2)
    doubt = SURE * (np.einsum("ij,ij->i", rows, rows).max() + squares[:, 1])
    near = np.where(squares[:, 1] - squares[:, 0] > doubt, index[:, 0], -1)
    own = np.arange(n)
    pairs = int(np.count_nonzero((near >= 0) & (near[near] == own))) // 2
    return n if FEW_PAIRS * pairs < n else n - pairs
