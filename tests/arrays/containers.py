"""One matrix in every container the rows functions take."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse

from kilogram.arrays.row_files import open_rows
from tests.optional import torch


def strict(a):
    return array_api_strict.asarray(np.array(a))


def names(d):
    return [f"c{j}" for j in range(d)]


def cut(a, size):
    return [a[i : i + size] for i in range(0, a.shape[0], size)]


def memory_map(folder, X):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def parquet(folder, X, row_group_size=37):
    """X in two files of small row groups."""
    table = pa.table(dict(zip(names(X.shape[1]), X.T, strict=True)))
    half = X.shape[0] // 2
    pq.write_table(table[:half], folder / "part0.parquet", row_group_size=row_group_size)
    pq.write_table(table[half:], folder / "part1.parquet", row_group_size=row_group_size)
    return open_rows(folder / "part*.parquet")


#: name -> f(folder, X) for containers made of NumPy data on this machine
CONTAINERS = {
    "numpy": lambda folder, X: X,
    "fortran": lambda folder, X: np.asfortranarray(X),
    "list": lambda folder, X: X.tolist(),
    "memmap": memory_map,
    "view of memmap": lambda folder, X: np.asarray(memory_map(folder, X)),
    "csr_array": lambda folder, X: scipy.sparse.csr_array(X),
    "csc_matrix": lambda folder, X: scipy.sparse.csc_matrix(X),
    "pandas": lambda folder, X: pd.DataFrame(X),
    "polars": lambda folder, X: pl.DataFrame(X, schema=names(X.shape[1])),
    "pyarrow": lambda folder, X: pa.table(dict(zip(names(X.shape[1]), X.T, strict=True))),
    "torch": lambda folder, X: torch.asarray(X),
    "array-api-strict": lambda folder, X: strict(X),
    "parquet": parquet,
    "blocks": lambda folder, X: cut(X, 17),
    "sparse blocks": lambda folder, X: [scipy.sparse.csr_array(b) for b in cut(X, 17)],
    "frame blocks": lambda folder, X: [pd.DataFrame(b) for b in cut(X, 17)],
    "function": lambda folder, X: lambda: iter(cut(X, 17)),
}


def dense(a):
    """Whatever came out, as a NumPy array."""
    return a.toarray() if scipy.sparse.issparse(a) else np.asarray(a)
