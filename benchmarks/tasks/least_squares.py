"""Least squares beside its peers: long, small, close to dependent, sparse, and beyond memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.task import Task
from benchmarks.tasks.ridge import r2, smooth

INTEL = {"scikit-learn-intelex": "sklearnex"}


def _fit(module: str, data: tuple, *, times: int = 1, **params: Any) -> Any:
    """LinearRegression of a library; the mean of `times` fits where they are short."""
    from importlib import import_module

    make = import_module(module).LinearRegression
    for _ in range(times):
        model = make(**params).fit(*data[:2])
    return model


PEERS: dict[str, Callable[[Any], Any]] = {
    "kilogram": partial(_fit, "kilogram"),
    "scikit-learn": partial(_fit, "sklearn.linear_model"),
    "scikit-learn-intelex": partial(_fit, "sklearnex.linear_model"),
}


def _long(d: int) -> Task:
    n = 500_000
    return Task(
        name=f"linear_{n}_{d}",
        title=f"LinearRegression, n = {n:,}, d = {d}",
        make=lambda: smooth(n, d),
        run=PEERS,
        quality=r2,
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=8 * n * d),
        counted="X'X (syrk) or one read of X",
        needs=INTEL,
        repeats=7,  # a few hundredths of a second each: the first ones warm up
    )


def _digits() -> Task:
    def make() -> tuple:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X / 16.0, y.astype(float), X / 16.0, y.astype(float)

    times = 10
    return Task(
        name="small_linear",
        title=f"Digits, {times} fits: LinearRegression",
        make=make,
        run={who: partial(run, times=times) for who, run in PEERS.items()},
        quality=r2,
        floor=lambda rates: times * rates.floor(flops=1797 * 64 * 64, bytes=8 * 1797 * 64),
        counted="X'X or one read of X, each",
        needs=INTEL,
        repeats=7,
    )


def _near(n: int = 100_000, d: int = 50) -> Task:
    """A column that is almost another: a method that squares kappa would lose ten digits."""

    def make() -> tuple:
        X, _, new, _ = smooth(n, d - 1)
        rng = np.random.default_rng(1)
        X = np.column_stack([X, X[:, 0] + 1e-6 * rng.standard_normal(n)])
        new = np.column_stack([new, new[:, 0]])
        truth = np.ones(d)
        return X, X @ truth, new, new @ truth

    def error(model: Any, data: tuple) -> dict[str, float]:
        return {"worst coefficient error": float(np.abs(model.coef_ - 1.0).max())}

    return Task(
        name="linear_near_dependent",
        title=f"LinearRegression, two columns alike to 1e-6, n = {n:,}, d = {d}",
        make=make,
        run=PEERS,
        quality=error,
        floor=lambda rates: rates.floor(flops=2 * n * d * d, bytes=8 * n * d),
        counted="2nd^2 flops of a QR",
        needs=INTEL,
        repeats=2,
    )


def _sparse(n: int = 200_000, d: int = 500) -> Task:
    def make() -> tuple:
        import scipy.sparse as sp

        X = sp.random_array((n + 2000, d), density=0.02, format="csr", rng=np.random.default_rng(0))
        y = X @ np.random.default_rng(1).standard_normal(d)
        y = y + 0.1 * np.random.default_rng(2).standard_normal(len(y))
        return X[:n], y[:n], X[n:], y[n:]

    return Task(
        name="linear_sparse",
        title=f"LinearRegression, sparse, 2 % of n = {n:,}, d = {d}",
        make=make,
        run={who: PEERS[who] for who in ("kilogram", "scikit-learn")},
        quality=r2,
        floor=lambda rates: rates.floor(bytes=12 * 0.02 * n * d),
        counted="one read of the entries of X",
        repeats=2,
    )


CHILD = """
import resource, sys
import kilogram as kg
rows = kg.open_rows(sys.argv[1])
model = kg.LinearRegression().fit(rows.drop("y"), rows.column("y"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, *model.coef_)
"""


def _file(n: int = 3_000_000, d: int = 50) -> Task:
    """A Parquet file of 1.2 GB of rows, read in a process of its own whose peak is measured."""

    def make() -> tuple:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = tempfile.TemporaryDirectory()  # gone with this process
        path = Path(folder.name) / "rows.parquet"
        rng = np.random.default_rng(0)
        schema = pa.schema([(f"x{j}", "f8") for j in range(d)] + [("y", "f8")])
        with pq.ParquetWriter(path, schema, compression="none") as writer:
            for _ in range(n // 50_000):
                X = rng.standard_normal((50_000, d))
                y = X @ np.arange(d) + rng.standard_normal(len(X))
                columns = {f"x{j}": X[:, j] for j in range(d)}
                writer.write_table(pa.table({**columns, "y": y}))
        return path, n, d, folder

    def ours(data: tuple) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(data[0])],
            capture_output=True,
            text=True,
            check=True,
            env=dict(os.environ),
        )
        peak, *coef = map(float, done.stdout.split())
        return peak, np.array(coef)

    def quality(found: tuple, data: tuple) -> dict[str, float]:
        peak, coef = found
        return {
            "peak_GB": peak / 1e9,
            "file_GB": data[0].stat().st_size / 1e9,
            "worst coefficient error": float(np.abs(coef - np.arange(data[2])).max()),
        }

    return Task(
        name="linear_parquet",
        title=f"LinearRegression of a Parquet file, n = {n:,}, d = {d}",
        make=make,
        run={"kilogram": ours},
        quality=quality,
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=8 * n * d),
        counted="X'X or one read of X, from memory",
        repeats=1,
        long=True,
    )


TASKS = [_long(50), _long(100), _digits(), _near(), _sparse(), _file()]
