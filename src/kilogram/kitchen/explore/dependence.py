"""Which columns depend on each other, and in more than a monotone way?

Distance correlation compares the distances between the rows in one column with those in another: it
is 0 only for independent columns, whatever the form of the dependence, and takes numbers, dates,
ordered and unordered categories alike. Numbers enter by their ranks. The bias-corrected statistic R
(Szekely and Rizzo 2014) is near 0 for independent columns of any length; n R + 1 is compared with
chi^2 of one degree of freedom, a bound that holds for levels up to 0.05 (Shen, Panda and Vogelstein
2022). Missing cells are left out pair by pair; whether a cell is missing is a column of its own.

More than monotone: one column's normal scores less their linear regression on the other's; if what
is left still depends on the other column, a bend or a change of spread is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from kilogram.kitchen.features.columns import Column, Layout

MAX_ROWS, MAX_COLUMNS, MAX_BENT = 500, 40, 16
SIGNIFICANT = 0.05  # after Holm's correction for all pairs: the usual level
# Ties of fewer distinct values leave a pattern of their own beside a trend: our choice.
FEWEST_VALUES = 12
# Strength below which a dependence is not worth showing, however significant: 1 % of the variance.
LEAST = 0.1


@dataclass(frozen=True)
class Pair:
    """Two columns: distance correlation, adjusted p, Spearman's correlation of two numbers.

    `bend` is the distance correlation that a monotone trend leaves, with its own adjusted p.
    """

    first: str
    second: str
    strength: float
    p_value: float
    rank_correlation: float | None = None
    bend: float | None = None
    bend_p_value: float | None = None

    @property
    def significant(self) -> bool:
        return self.p_value <= SIGNIFICANT and self.strength >= LEAST

    @property
    def bent(self) -> bool:
        """Is there significantly more than a monotone trend?"""
        return (self.bend_p_value is not None and self.bend_p_value <= SIGNIFICANT
                and (self.bend or 0.0) >= LEAST)  # fmt: skip


@dataclass(frozen=True)
class Dependence:
    """All pairs of the columns compared, the strongest first, and those with missing cells.

    `missing` pairs whether a column is missing with the values of another.
    """

    columns: tuple[str, ...]
    pairs: tuple[Pair, ...]
    missing: tuple[Pair, ...]
    rows: int
    skipped: int

    def matrix(self) -> np.ndarray:
        """(columns, columns) strengths, signed where both columns have an order; NaN: none."""
        place = {name: k for k, name in enumerate(self.columns)}
        out = np.full((len(place), len(place)), np.nan)
        for pair in self.pairs:
            sign = np.sign(pair.rank_correlation) if pair.rank_correlation else 1.0
            i, j = place[pair.first], place[pair.second]
            out[i, j] = out[j, i] = sign * pair.strength
        return out


def dependence(layout: Layout, X: np.ndarray, seed: int = 0) -> Dependence:
    """Dependence between the used columns of a layout, from (n, d) cells."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(X))[:MAX_ROWS])
    every = [(k, c) for k, c in enumerate(layout.used) if c.kind not in ("text", "image")]
    looked = every[:MAX_COLUMNS]
    if len(looked) < 2 or len(rows) < 10:
        return Dependence(tuple(c.name for _, c in looked), (), (), len(rows), len(every))
    cells = [X[rows, k].astype(float) for k, _ in looked]
    columns = [c for _, c in looked]
    centred = [_centred(_values(x, c), unordered=c.kind == "categorical")
               for x, c in zip(cells, columns, strict=True)]  # fmt: skip
    R, count = _correlations(centred, centred)
    bends = _nonmonotone_parts(cells, columns)
    pairs = []
    total = len(columns) * (len(columns) - 1) // 2
    for i in range(len(columns)):
        for j in range(i):
            a, b = columns[j], columns[i]
            bend = bends.get((j, i))
            pairs.append(Pair(
                a.name, b.name, _root(R[i, j]), _p(R[i, j], count[i, j], total),
                _spearman(cells[j], cells[i], a, b),
                None if bend is None else _root(bend[0]),
                None if bend is None else _p(bend[0], bend[1], 2 * len(bends)),
            ))  # fmt: skip
    return Dependence(
        tuple(c.name for c in columns), tuple(sorted(pairs, key=lambda p: -p.strength)),
        _of_missing(cells, columns, centred), len(rows), len(every) - len(looked),
    )  # fmt: skip


def _of_missing(
    cells: list[np.ndarray], columns: list[Column], centred: list[np.ndarray]
) -> tuple[Pair, ...]:
    """Does it depend on another column whether a cell is missing?"""
    gaps = [(k, np.isnan(x).astype(float)) for k, x in enumerate(cells)]
    gaps = [(k, gap) for k, gap in gaps if 0 < gap.mean() < 1]
    if not gaps:
        return ()
    R, count = _correlations([_centred(gap, unordered=True) for _, gap in gaps], centred)
    total = len(gaps) * (len(columns) - 1)
    found = [
        Pair(columns[k].name, columns[j].name, _root(R[i, j]), _p(R[i, j], count[i, j], total))
        for i, (k, _) in enumerate(gaps) for j in range(len(columns)) if j != k
    ]  # fmt: skip
    return tuple(sorted((p for p in found if p.significant), key=lambda p: -p.strength))


def _values(x: np.ndarray, column: Column) -> np.ndarray:
    """Ranks of ordered values in [0, 1], codes of categories; NaN where missing."""
    return x if column.kind == "categorical" else _ranks(x)


def _ranks(x: np.ndarray) -> np.ndarray:
    known = np.isfinite(x)
    out = np.full(len(x), np.nan)
    out[known] = stats.rankdata(x[known]) / (known.sum() + 1)
    return out


def _centred(x: np.ndarray, *, unordered: bool = False) -> np.ndarray:
    """(n, n) U-centred distances: rows sum to 0 off the diagonal; 0 where a cell is missing."""
    known = np.isfinite(x)
    n, out = int(known.sum()), np.zeros((len(x), len(x)))
    if n < 4:
        return out
    v = x[known]
    D = (v[:, None] != v).astype(float) if unordered else np.abs(v[:, None] - v)
    mean = D.sum(axis=1) / (n - 2)
    D = D - mean[:, None] - mean + D.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(D, 0.0)
    out[np.ix_(known, known)] = D
    return out


def _correlations(left: list[np.ndarray], right: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Bias-corrected squared distance correlations of all pairs, and the rows of each pair."""
    A, B = (np.stack([one.ravel() for one in side]) for side in (left, right))
    here, there = (np.stack([np.abs(one).sum(axis=1) > 0 for one in side]).astype(float)
                   for side in (left, right))  # fmt: skip
    own = np.stack([np.outer(m, m).ravel() for m in there])
    other = np.stack([np.outer(m, m).ravel() for m in here])
    spread = ((A * A) @ own.T) * (other @ (B * B).T)
    with np.errstate(divide="ignore", invalid="ignore"):
        R = np.where(spread > 0, (A @ B.T) / np.sqrt(spread), 0.0)
    return R, here @ there.T


def _nonmonotone_parts(
    cells: list[np.ndarray], columns: list[Column]
) -> dict[tuple[int, int], tuple]:
    """(R, rows) of what a monotone trend leaves, the stronger of both directions."""
    ordered = [k for k, c in enumerate(columns) if c.kind != "categorical"]
    ordered = [
        k for k in ordered if len(np.unique(cells[k][np.isfinite(cells[k])])) >= FEWEST_VALUES
    ]
    found: dict[tuple[int, int], tuple] = {}
    for a, i in enumerate(ordered[:MAX_BENT]):
        for j in ordered[:a]:
            both = np.isfinite(cells[i]) & np.isfinite(cells[j])
            if both.sum() < 20:
                continue
            x, y = (stats.norm.ppf(_ranks(cells[k][both])) for k in (j, i))
            r = float(np.corrcoef(x, y)[0, 1])
            tested = [_single(y - r * x, x), _single(x - r * y, y)]
            found[j, i] = max(tested), int(both.sum())
    return found


def _single(x: np.ndarray, y: np.ndarray) -> float:
    A, B = _centred(_ranks(x)), _centred(_ranks(y))
    spread = float(np.sum(A * A)) * float(np.sum(B * B))
    return float(np.sum(A * B)) / spread**0.5 if spread > 0 else 0.0


def _spearman(x: np.ndarray, y: np.ndarray, a: Column, b: Column) -> float | None:
    if "categorical" in (a.kind, b.kind):
        return None
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < 3 or np.ptp(x[both]) == 0 or np.ptp(y[both]) == 0:
        return None
    return float(stats.spearmanr(x[both], y[both]).statistic)


def _root(R: float) -> float:
    return float(np.sqrt(min(max(R, 0.0), 1.0)))


def _p(R: float, rows: float, tests: int) -> float:
    """Of the chi^2 test, multiplied by the number of tests (Bonferroni)."""
    return float(min(1.0, tests * stats.chi2.sf(max(rows * R + 1, 0.0), 1)))
