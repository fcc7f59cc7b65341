"""Sparse rows in svmlight form: `target index:value index:value ...`, as columns `f1`, `f2`, ...

The target becomes the column `target`. Columns are dense here, so a file of very many features is
refused with a sentence rather than unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.read.blocks import FileSource, RowBlocks
from kilogram.kitchen.read.compressed import unpacked

_ROWS = 20_000  # made dense at once: 160 MB for 1 000 columns


def svmlight(origin: FileSource) -> RowBlocks:
    """A file of sparse rows."""

    def run() -> Iterator[pa.Table]:
        most = origin.limit // 8
        with unpacked(origin) as file:
            if len(file.read(most + 1)) > most:
                raise KitchenError(_too_large(origin))
        with unpacked(origin) as file:
            try:
                X, y = load_svmlight_file(file)
            except (ValueError, OverflowError) as bad:
                raise KitchenError(f"{origin.name} is no valid svmlight file: {bad}.") from None
        if 8 * X.shape[0] * (X.shape[1] + 1) > origin.limit // 4:
            raise KitchenError(_too_large(origin))
        names = ["target", *(f"f{k + 1}" for k in range(X.shape[1]))]
        for start in range(0, max(X.shape[0], 1), _ROWS):
            rows = X[start : start + _ROWS].toarray()
            arrays = [pa.array(y[start : start + _ROWS]), *map(pa.array, np.asfortranarray(rows).T)]
            yield pa.Table.from_arrays(arrays, names=names)

    return RowBlocks(run)


def _too_large(origin: FileSource) -> str:
    return (
        f"{origin.name} has too many values for a table of dense columns in the memory at hand. "
        "Load it with sklearn.datasets.load_svmlight_file and give the sparse matrix to an "
        "estimator of Kilogram."
    )
