"""Checks of rows: duplicates and near-duplicates, which random folds would separate.

Whether copies are a surprise depends on the columns: three yes/no columns repeat by chance, ten
measurements do not. Two distinct rows agree in column j with the probability p_j, estimated on the
distinct rows; if columns were independent, n rows would hold n (n - 1) / 2 * prod_j p_j equal pairs
by chance. Fewer than those are no news, nor are copies among columns of few values each: such rows
are alike because their columns depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.neighbors import NearestNeighbors

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.finding import Finding, Severity
from kilogram.kitchen.formatting import percent

SERIOUS, WARNING = 0.10, 0.01
# Columns with more different values than this are measurements rather than choices.
SOME, MANY = 20, 100
NEAR_SERIOUS, NEAR_WARNING = 0.20, 0.05
MAX_NEAR_ROWS = 3000  # bounds the time of comparing all pairs, 4.5 million: under a second
# Rows are nearly equal when they are this much closer than neighbours usually are.
NEAR, COPIES = 0.01, 4


def duplicates(subject: AuditData) -> Iterator[Finding]:
    """KG-A04: rows equal in every column that is used, and in the target."""
    key = row_keys(list(subject.codes.values()), _target(subject))
    extra = subject.rows - len(np.unique(key))
    if not extra or not subject.codes:
        return
    chance = chance_pairs(list(subject.codes.values()), key)
    surprise = extra > 3 * chance + 1 and _rich(subject)
    fraction = extra / subject.rows
    severity: Severity = "note"
    if surprise and fraction >= WARNING and extra >= 3:
        severity = "serious" if fraction >= SERIOUS else "warning"
    torn = 1 - 1 / subject.folds
    reason = "" if surprise else " With so few distinct values that happens by chance."
    yield Finding(
        "KG-A04", severity,
        f"{extra:,} of {subject.rows:,} rows ({percent(fraction, 1)}) duplicate another row, "
        f"target included; {percent(torn)} of them would have a duplicate in another fold.{reason}",
        (), {"rows": extra, "fraction": fraction, "by_chance": chance},
    )  # fmt: skip


def _rich(subject: AuditData) -> bool:
    """Are there columns whose values seldom meet? Else rows repeat for being alike, as votes do."""
    distinct = [int(codes.max()) + 1 for codes in subject.codes.values()]
    return sum(count > SOME for count in distinct) > 1 or max(distinct) > MANY


def row_keys(columns: list[np.ndarray], y: np.ndarray | None = None) -> np.ndarray:
    """(n,) numbers that are equal where rows are (64 bits: a clash is one in billions)."""
    rows = len(columns[0]) if columns else len(y if y is not None else [])
    key = np.zeros(rows, dtype=np.uint64)
    parts = columns if y is None else [*columns, np.unique(y, return_inverse=True)[1]]
    with np.errstate(over="ignore"):
        for codes in parts:
            key = (key ^ codes.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
    return key


def chance_pairs(columns: list[np.ndarray], key: np.ndarray) -> float:
    """Equal pairs of rows to be expected if the columns knew nothing of each other."""
    first = np.unique(key, return_index=True)[1]
    m, n = len(first), len(key)
    if m < 2:
        return float("inf")
    log_p = 0.0
    for codes in columns:
        counts = np.bincount(codes[first] + 1)
        pairs = float(np.sum(counts * (counts - 1.0)))
        if pairs == 0:
            return 0.0
        log_p += np.log(pairs / (m * (m - 1.0)))
    return float(n * (n - 1.0) / 2.0 * np.exp(log_p))


def near_duplicates(subject: AuditData) -> Iterator[Finding]:
    """KG-A05: distinct rows much closer to each other than neighbours usually are."""
    Z = _standard(subject)
    if Z is None:
        return
    distances = NearestNeighbors(n_neighbors=COPIES + 2).fit(Z).kneighbors(Z)[0]
    # even if every row had that many near copies, the next neighbour would be a usual one
    nearest, usual = distances[:, 1], float(np.median(distances[:, -1]))
    near = float(np.mean(nearest < NEAR * usual)) if usual > 0 else 0.0
    if near < NEAR_WARNING:
        return
    yield Finding(
        "KG-A05",
        "serious" if near >= NEAR_SERIOUS else "warning",
        f"{percent(near)} of the rows have a nearest neighbour at less than 1 % of the typical "
        f"distance.",
        (),
        {"fraction": near, "usual_distance": usual},
    )


def _standard(subject: AuditData) -> np.ndarray | None:
    """Distinct rows of the columns with numbers, mean 0 and spread 1; None if too few of either."""
    columns = [c for c in subject.layout.used if c.kind in ("numeric", "ordinal", "date", "time")]
    if len(columns) < 3:
        return None
    rng = np.random.default_rng(subject.seed)
    keys = row_keys([subject.codes[c.name] for c in columns])
    first = np.unique(keys, return_index=True)[1]
    if len(first) < 50:
        return None
    if len(first) > MAX_NEAR_ROWS:
        first = _whole_neighbourhoods(subject, columns, first, rng)
    Z = np.column_stack([subject.numbers(c)[first] for c in columns])
    Z = Z - np.nanmean(Z, axis=0)
    Z = np.where(np.isfinite(Z), Z, 0.0)
    return Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)


def _whole_neighbourhoods(
    subject: AuditData, columns: list, first: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """A part of the rows that tears no near copies apart: a slice along a random direction."""
    total = np.zeros(len(first))
    for column in columns[:50]:
        x = subject.numbers(column)[first]
        spread = np.nanstd(x) or 1.0
        total += rng.normal() * np.nan_to_num((x - np.nanmean(x)) / spread)
    order = np.argsort(total, kind="stable")
    start = int(rng.integers(0, len(first) - MAX_NEAR_ROWS + 1))
    return first[order[start : start + MAX_NEAR_ROWS]]


def _target(subject: AuditData) -> np.ndarray | None:
    return subject.y if subject.question is not None else None
