"""Targets that are formulas of other columns: sums of parts, products, ratios, thresholds.

linear      y = b + sum_j c_j x_j over all numeric columns: parts that add up, a difference
product     log |y| = b + sum_j c_j log |x_j|: products, ratios, powers, where nothing is zero
monotone    y rises, or falls, along one column without exception
threshold   the classes are stretches of one column: low = weight < 2500

A fit leaves less than `EXACT` of the variance, which measurement error never does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kilogram.kitchen.audit.audit_data import AuditData
from kilogram.kitchen.audit.checks_columns import SURE
from kilogram.kitchen.audit.column_skill import numbers_skill
from kilogram.kitchen.audit.finding import Finding
from kilogram.kitchen.errors import quoted

# Variance that rounded cells leave, as a part of that of the target: cells of two or three digits.
EXACT = 1e-4
# A column belongs to the formula if the fit without it leaves this many times as much; that without
# an irrelevant one leaves about 1 / rows more.
NEEDED = 10.0
MAX_COLUMNS = 200  # bounds the time of the linear fits: at most as many fits of n 200^2 operations
MIN_ROWS = 30  # fewer fit a formula by chance: three times as many as the parts of a typical one
# Rows at a cut, as a fraction of those beside it, below which two clusters are apart: our choice;
# of evenly spread rows the fraction is 1.
VALLEY = 0.7


def formulas(subject: AuditData) -> Iterator[Finding]:
    """KG-A07: the target is computed from other columns."""
    if subject.question is None or subject.rows < MIN_ROWS:
        return
    if subject.classes:
        yield from _thresholds(subject)
        return
    names, X = _numeric(subject)
    if not names:
        return
    for k, name in enumerate(names):
        if _monotone(X[:, k], subject.y) and numbers_skill(X[:, k], subject) < SURE:
            yield Finding(
                "KG-A07", "serious",
                f"{subject.question.target!r} is a monotone function of {name!r}: it rises or "
                "falls along it without exception.",
                (name,), {"columns": [name]},
            )  # fmt: skip
    found = _linear(X, subject.y)
    form = "a linear combination of"
    if found is None and np.all(subject.y != 0):
        whole = np.all(X != 0, axis=0)
        names = [name for name, use in zip(names, whole, strict=True) if use]
        found = _linear(np.log(np.abs(X[:, whole])), np.log(np.abs(subject.y)))
        form = "a product or ratio of"
    # a single column that gives the target away is found by its own skill
    if found is not None and len(found) > 1:
        parts = [names[k] for k in found]
        yield Finding(
            "KG-A07", "serious",
            f"{subject.question.target!r} is {form} {quoted(parts, 6)}: together they leave less "
            f"than {EXACT:.2%} of its variance.",
            tuple(parts), {"columns": parts},
        )  # fmt: skip


def _numeric(subject: AuditData) -> tuple[list[str], np.ndarray]:
    """Numeric columns without missing values that vary."""
    names: list[str] = []
    columns: list[np.ndarray] = []
    for column in subject.in_time(subject.layout.used):
        if column.kind == "numeric" and len(names) < MAX_COLUMNS:
            x = subject.numbers(column)
            if np.all(np.isfinite(x)) and np.ptp(x) > 0:
                names.append(column.name)
                columns.append(x)
    return names, np.column_stack(columns) if columns else np.empty((subject.rows, 0))


def _monotone(x: np.ndarray, y: np.ndarray) -> bool:
    """Does y only rise, or only fall, along x, with as many values as half the rows?"""
    if min(len(np.unique(x)), len(np.unique(y))) < len(x) / 2:
        return False
    step = np.diff(y[np.lexsort((y, x))])
    back = np.diff(y[np.lexsort((-y, x))])
    return bool(np.all(step >= 0) or np.all(back <= 0))


def _linear(X: np.ndarray, y: np.ndarray) -> list[int] | None:
    """The columns of an exact linear formula for y; None where there is none."""
    n, p = X.shape
    if not 0 < p < n / 5 or np.ptp(y) == 0:
        return None
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    t = (y - y.mean()) / y.std()
    if _unexplained_fraction(Z, t) > EXACT:
        return None
    kept = list(range(p))
    order = np.argsort(np.abs(np.linalg.lstsq(Z, t, rcond=None)[0]))
    for k in order:  # the least needed first: what the others say too is left out
        rest = [j for j in kept if j != k]
        if rest and _unexplained_fraction(Z[:, rest], t) < min(
            EXACT, NEEDED * max(_unexplained_fraction(Z[:, kept], t), 1e-12)
        ):
            kept = rest
    return kept


def _unexplained_fraction(Z: np.ndarray, t: np.ndarray) -> float:
    """Fraction of the variance of t that a linear fit leaves."""
    c = np.linalg.lstsq(Z, t, rcond=None)[0]
    return float(np.mean((t - Z @ c) ** 2))


def _thresholds(subject: AuditData) -> Iterator[Finding]:
    """Columns along which every class is one stretch: serious unless the rows keep a distance."""
    assert subject.question is not None
    for column in subject.in_time(subject.layout.used):
        if column.kind not in ("numeric", "date", "time", "ordinal"):
            continue
        x = subject.numbers(column)
        known = np.isfinite(x)
        if known.sum() < MIN_ROWS or len(np.unique(x[known])) < 2 * subject.classes + 5:
            continue
        cuts = _cuts(x[known], subject.y[known].astype(np.int64))
        if cuts is None:
            continue
        where = ", ".join(f"{cut:.4g}" for cut in cuts[:3])
        apart = all(_is_sparse_at(x[known], subject.y[known], cut) for cut in cuts)
        if apart:
            yield Finding(
                "KG-A07", "warning",
                f"{column.name!r} separates the classes of {subject.question.target!r} without "
                f"exception, at {where}.",
                (column.name,), {"thresholds": cuts},
            )  # fmt: skip
            continue
        yield Finding(
            "KG-A07", "serious",
            f"{subject.question.target!r} is a threshold of {column.name!r}: its classes change at "
            f"{where} and nowhere else.",
            (column.name,), {"thresholds": cuts},
        )  # fmt: skip


def _is_sparse_at(x: np.ndarray, y: np.ndarray, cut: float) -> bool:
    """Are rows rarer at the cut than on both sides of it, as between two clusters?"""
    below, above = x[(x < cut) & (y == y[x < cut][np.argmax(x[x < cut])])], x[x > cut]
    above = x[(x > cut) & (y == y[x > cut][np.argmin(above)])]
    h = (np.median(above) - np.median(below)) / 10
    at = np.sum(np.abs(x - cut) <= h)
    left = np.sum((x >= cut - 3 * h) & (x < cut - h))
    right = np.sum((x > cut + h) & (x <= cut + 3 * h))
    return bool(at < VALLEY * min(left, right))


def _cuts(x: np.ndarray, y: np.ndarray) -> list[float] | None:
    """Where the class changes along x; None unless every class is one stretch of it."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    change = np.flatnonzero(y[1:] != y[:-1])
    if not len(change) or len(change) != len(np.unique(y)) - 1:
        return None
    if np.any(x[change] == x[change + 1]):
        return None
    return [float((x[k] + x[k + 1]) / 2) for k in change]
