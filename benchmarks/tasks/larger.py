"""A Parquet file three times the memory that a fit may use: each class fits within the limit.

The limit is the kernel's (RLIMIT_DATA: heap and anonymous maps), set after the libraries are
loaded: whoever asks for more gets a MemoryError. The quality is the largest difference from the
coefficients of a fit in memory. scikit-learn's way to fit such a file is to read it whole.
Arrow's own allocator reserves a gigabyte that it does not use, so that of the system is asked for.
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.task import Task

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # read when pyarrow is imported
N, D = 2_250_000, 50  # 900 MB of float64
ALLOWED = 300_000_000
PATH = Path(tempfile.gettempdir()) / "kilogram_benchmark_900MB.parquet"
ATTRIBUTES = ("coef_", "intercept_", "means_", "covariance_", "theta_", "var_")


def _file() -> Path:
    """The file, written once: columns x0 .. x49, a target and a label."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if PATH.exists():
        return PATH
    rng = np.random.default_rng(0)
    w, part = rng.standard_normal(D) / np.sqrt(D), PATH.with_suffix(".part")
    names = [*(f"x{j}" for j in range(D)), "target", "label"]
    schema = pa.schema([(name, pa.int64() if name == "label" else pa.float64()) for name in names])
    with pq.ParquetWriter(part, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, N, 50_000):
            X = rng.standard_normal((min(50_000, N - start), D)) + 1.0
            y = X @ w + rng.standard_normal(len(X))
            columns = [*np.ascontiguousarray(X.T), y, (y > w.sum()).astype(np.int64)]
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))
    part.rename(PATH)
    return PATH


@contextmanager
def _limited() -> Any:
    with open("/proc/self/status") as lines:
        used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + ALLOWED, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _warm(model: Any, target: str) -> None:
    """Threads and buffers of the libraries are there before the limit is."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, D))
    model.fit(X, X[:, 0] if target == "target" else (X[:, 0] > 0).astype(int))


def _ours(name: str, target: str) -> Callable[[Path], Any]:
    def fit(path: Path) -> Any:
        import kilogram as kg

        _warm(getattr(kg, name)(), target)
        with _limited():
            rows = kg.open_rows(path)
            return getattr(kg, name)().fit(rows.drop("target", "label"), rows.column(target))

    return fit


def _read_whole(name: str, home: str, target: str) -> Callable[[Path], Any]:
    def fit(path: Path) -> Any:
        import importlib

        import pandas as pd

        model = getattr(importlib.import_module(f"sklearn.{home}"), name)
        _warm(model(), target)
        with _limited():
            table = pd.read_parquet(path, use_threads=False)  # a refused thread would hang
            return model().fit(table.drop(columns=["target", "label"]), table[target])

    return fit


def _difference(target: str) -> Callable[[Any, Path], dict[str, float]]:
    def quality(model: Any, path: Path) -> dict[str, float]:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        X = np.column_stack([table.column(j).to_numpy() for j in range(D)])
        whole = type(model)().fit(X, table.column(target).to_numpy())
        found = [n for n in ATTRIBUTES if hasattr(whole, n)]
        far = [np.max(np.abs(np.subtract(getattr(model, n), getattr(whole, n)))) for n in found]
        return {"difference": float(max(far))}

    return quality


def _task(name: str, home: str, target: str = "label") -> Task:
    return Task(
        name=f"larger_{name}",
        title=f"{name}, a Parquet file of 900 MB, 300 MB allowed",
        make=_file,
        run={
            "kilogram": _ours(name, target),
            "scikit-learn, read whole": _read_whole(name, home, target),
        },
        quality=_difference(target),
        floor=lambda rates: rates.floor(bytes=8.0 * N * D),
        counted="one read of the file",
        repeats=1,
        long=True,
    )


TASKS = [
    _task("LinearRegression", "linear_model", "target"),
    _task("Ridge", "linear_model", "target"),
    _task("LogisticRegression", "linear_model"),
    _task("LinearDiscriminantAnalysis", "discriminant_analysis"),
    _task("QuadraticDiscriminantAnalysis", "discriminant_analysis"),
    _task("GaussianNB", "naive_bayes"),
]
