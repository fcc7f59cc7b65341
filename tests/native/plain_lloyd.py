"""Lloyd's algorithm along a solver of native passes, every step held against all distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Pass = Callable[..., Any]  # of centres and weights, `inertia`, `labels` and `sums`


def rows(n, d, k, dtype, seed=0):
    """Rows (n, d), centres (k, d) and weights (n,)."""
    rng = np.random.default_rng(seed + n)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    return X.astype(dtype), C.astype(dtype), rng.random(n).astype(dtype)


def unit_of(X, shift):
    length = float(np.sqrt(((X.astype(float) - shift) ** 2).sum(axis=1).mean()))
    return length if length > 0 else 1.0


def assert_steps(
    one_pass: Pass,
    X,
    C,
    w,
    shift,
    *,
    steps: int,
    rtol: float,
    fraction: float = 1e-3,
    reference: float | None = None,
    measured: int = 5,
    jump: int | None = None,
    after: Callable[..., None] | None = None,
):
    """The labels, sums and, every `measured` steps, inertia of each pass; returns the last.

    Between two centres a row may lose `rtol` of its distance, squared, and of that `fraction` of
    |x|^2 + |c|^2; the inertia it reports, or `rtol`. At the step `jump` the centres go
    somewhere else. `after(D, moved, labels)` looks at bounds.
    """
    kept: dict[str, Any] = {}
    moved = (X - shift.astype(X.dtype)).astype(float)
    u = np.ones(len(X)) if w is None else w.astype(float)
    for step in range(steps):
        D = ((moved[:, None] - C[None].astype(float)) ** 2).sum(axis=2)
        got = one_pass(C, w, inertia=step % measured == 0, **kept)
        near, size = D[np.arange(len(X)), got.labels], np.abs(moved).max() * u.sum() + 1
        far = (moved**2).sum(axis=1) + (C.astype(float) ** 2).sum(axis=1).max()
        assert (near <= D.min(axis=1) + rtol * (D.min(axis=1) + fraction * far)).all()
        sums = np.zeros((len(C), X.shape[1] + 1))
        np.add.at(sums, got.labels, np.c_[moved, np.ones(len(X))] * u[:, None])
        np.testing.assert_allclose(got.sums, sums, rtol=0, atol=max(rtol, 1e-12) * size)
        if step % measured == 0:
            off = rtol if reference is None else reference
            assert got.inertia == pytest.approx(u @ near, rel=off, abs=1e-12 * u @ far)
        if after is not None:
            after(D, moved, got.labels)
        there = got.sums[:, -1] > 1e-9
        means = got.sums[:, :-1] / np.where(there, got.sums[:, -1], 1.0)[:, None]
        C = np.where(there[:, None], means, C).astype(X.dtype)
        C = C[::-1].copy() * X.dtype.type(1.3) if step == jump else C
        kept = {"labels": got.labels, "sums": got.sums}
    return got


def apart(dtype, k, d=50, n=3000):
    """Rows around k centres far from each other: rows, centres, the centre of each."""
    rng = np.random.default_rng(0)
    C = (3 * rng.standard_normal((k, d))).astype(dtype)
    own = rng.integers(0, k, n)
    return (C[own] + rng.standard_normal((n, d))).astype(dtype), C, own


def uneven(dtype, n, d, k, scale):
    """A few rows and centres far out, one at the origin, columns of different sizes."""
    X, C, w = rows(n, d, k, dtype, seed=3)
    X[:, :3] *= 30
    X[::50] *= 1000
    C[::7] *= 300
    C[1] = 0
    return X * dtype(scale), C * dtype(scale), w
