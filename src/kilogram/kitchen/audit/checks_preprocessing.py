"""Checks of preprocessing on all rows before the split: KG-A17.

scaled        mean 0 and standard deviation (or length) 1 to many digits
encoded       a value v for each category l with  v_l (n_l + m) = s_l + m prior  for one m >= 0
              and one prior, where the targets of its n_l rows sum to s_l: target encoding, with or
              without shrinkage. The targets of the test rows are in it.
made up       rows of one class that lie exactly on the line between two others of it, as SMOTE
              and similar oversampling makes them; their parents are in other folds

Scaling leaks little and is a warning; target encoding and oversampling are serious.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.neighbors import NearestNeighbors

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.errors import quoted
from kilogram.kitchen.features.columns import Column, values
from kilogram.kitchen.formatting import percent
from kilogram.kitchen.read.table import Table

DIGITS = 1e-4  # a scaled column has mean 0 to its written digits: four at least
FEW_ROWS, FEW_LEVELS = 30, 4
MAX_LOOKED, NEIGHBOURS = 300, 40
STRAIGHT = 1e-6  # cosine of an angle: rounding of cells written with six digits
MADE_UP = 0.1  # of the rows: measured rows lie on such lines only by chance; our choice
#: Columns in which rows on a line must differ: what agrees in all but one or two columns does.
MOVED_COLUMNS = 3
#: Rounded measurements divide lines at simple fractions by chance (8 % of 78 rows with one decimal
#: and three columns); interpolation divides them anywhere.
SIMPLE_FRACTIONS = np.unique([p / q for q in range(1, 11) for p in range(q + 1)])
NEAR_FRACTION = 1e-3  # covers 6 % of the places on a line


def preprocessing_findings(subject: AuditData, table: Table) -> Iterator[Finding]:
    """KG-A17, all three kinds."""
    if table.data.num_rows < FEW_ROWS:
        return
    yield from _scaled(subject, table)
    if subject.question is None:
        return
    yield from _encoded(subject)
    if subject.classes:
        yield from _made_up(subject)


def _scaled(subject: AuditData, table: Table) -> Iterator[Finding]:
    """Columns with mean 0 and spread 1 over the whole table, as it was read."""
    names = []
    for column in _numeric(subject):
        if column.distinct <= 10:
            continue
        x = (subject.numbers(column) if subject.rows == table.data.num_rows
             else values(column, table.data.column(column.name)))  # fmt: skip
        x = x[np.isfinite(x)]
        n = len(x)
        if n < FEW_ROWS:
            continue
        spread = float(x.std())
        sample = spread * (n / (n - 1)) ** 0.5
        far = min(abs(spread - 1), abs(sample - 1), abs(spread * n**0.5 - 1))
        if far < DIGITS and abs(float(x.mean())) < DIGITS * spread:
            names.append(column.name)
    if names:
        yield Finding(
            "KG-A17",
            "warning",
            f"{quoted(names, 4)}: mean 0 and standard deviation 1 to four digits over all rows, as "
            f"after "
            "scaling on all of them.",
            tuple(names),
            {"kind": "scaled", "columns": len(names)},
        )


def _encoded(subject: AuditData) -> Iterator[Finding]:
    """Columns that hold the mean target of each of their levels."""
    targets = [subject.y.astype(float)]
    if subject.classes:
        targets = [(subject.y == c).astype(float) for c in range(subject.classes)]
    assert subject.question is not None
    for column in subject.in_time(_numeric(subject)):
        # codes count the values that are there: a level for every row or two is no word
        if not FEW_LEVELS <= int(subject.codes[column.name].max()) + 1 <= subject.rows / 3:
            continue
        x = subject.numbers(column)
        if any(is_mean_target(x, y) for y in targets):
            yield Finding(
                "KG-A17", "serious",
                f"{column.name!r} holds, for each of its {column.distinct:,} values, the mean of "
                f"{subject.question.target!r} over the rows with that value: a target encoding, "
                "which contains the targets of the test rows.",
                (column.name,), {"kind": "encoded"},
            )  # fmt: skip


def is_mean_target(x: np.ndarray, y: np.ndarray) -> bool:
    """Is each level of x the mean of y over its rows, drawn towards one prior or not?"""
    here = np.isfinite(x)
    levels, codes, counts = np.unique(x[here], return_inverse=True, return_counts=True)
    y = y[here]
    if not FEW_LEVELS <= len(levels) <= len(y) / 3 or np.var(y) == 0:
        return False
    sums = np.bincount(codes, y)
    means = sums / counts
    within = float(np.mean((y - means[codes]) ** 2))
    if within < 0.01 * np.var(y):
        return False  # the target itself under another name: KG-A07
    # v (n + m) = s + m prior  <=>  s - v n = m v - m prior
    left = sums - levels * counts
    A = np.column_stack([levels, -np.ones(len(levels))])
    (m, shift), *_ = np.linalg.lstsq(A, left, rcond=None)
    off = np.abs(left - A @ np.array([m, shift])) / counts
    # as many digits as a table is usually written with
    return bool(np.all(off <= 1e-5 * np.std(y)) and m > -1e-6 and np.std(means) > 0)


def _made_up(subject: AuditData) -> Iterator[Finding]:
    """Rows of the smaller classes that lie between two others."""
    assert subject.question is not None
    columns = [c for c in _numeric(subject) if c.distinct > max(50, 0.3 * subject.rows)]
    if len(columns) < MOVED_COLUMNS:
        return
    X = np.column_stack([subject.numbers(column) for column in columns])
    X = X[:, np.isfinite(X).all(axis=0)]
    if X.shape[1] < MOVED_COLUMNS:
        return
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    for c, name in enumerate(subject.question.classes):
        fraction = fraction_between_neighbours(
            X[subject.y == c], np.random.default_rng(subject.seed)
        )
        if fraction >= MADE_UP:
            yield Finding(
                "KG-A17", "serious",
                f"{percent(fraction)} of the rows of {name!r} lie exactly on a line between two "
                "others of it, as interpolating oversampling makes them.",
                (), {"kind": "made up", "class": name, "fraction": fraction},
            )  # fmt: skip


def fraction_between_neighbours(X: np.ndarray, rng: np.random.Generator) -> float:
    """Fraction of up to 300 rows that lie between two of their neighbours."""
    X = np.unique(X, axis=0)
    if len(X) < FEW_ROWS:
        return 0.0
    looked = rng.permutation(len(X))[:MAX_LOOKED]
    near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(X) - 1) + 1).fit(X)
    hits = 0
    for i, others in zip(looked, near.kneighbors(X[looked], return_distance=False), strict=True):
        hits += _is_interpolated(X[others[others != i]] - X[i])
    return hits / len(looked)


def _is_interpolated(away: np.ndarray) -> bool:
    """Do two of the differences from a row to others show that it was interpolated?"""
    away = away[np.count_nonzero(away, axis=1) >= MOVED_COLUMNS]
    if len(away) < 2:
        return False
    lengths = np.linalg.norm(away, axis=1)
    away = away / lengths[:, None]
    first, second = np.nonzero(np.triu(away @ away.T < -1 + STRAIGHT))
    places = lengths[first] / (lengths[first] + lengths[second])
    from_fraction = np.abs(places[:, None] - SIMPLE_FRACTIONS).min(axis=1, initial=1.0)
    return bool(np.any(from_fraction > NEAR_FRACTION))


def _numeric(subject: AuditData) -> list[Column]:
    return [column for column in subject.layout.used if column.kind == "numeric"]
