"""PCA and kernel PCA beside their peers: tall, wide, sparse, and with a kernel."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.task import Task


def _tall(n: int, d: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((20, d)) * np.linspace(3, 0.5, 20)[:, None]
    X = np.empty((n, d), dtype=dtype)
    for at in range(0, n, 20_000):
        rows = min(20_000, n - at)
        X[at : at + rows] = rng.standard_normal((rows, 20)) @ factors
        X[at : at + rows] += 0.5 * rng.standard_normal((rows, d)) + 1.0
    return X


def _words(n: int = 20_000, d: int = 30_000, per_row: int = 60) -> sp.csr_array:
    """Rows like tf-idf text: few words each, a few topics, heavy-tailed word frequencies."""
    rng = np.random.default_rng(0)
    rank = rng.zipf(1.3, size=n * per_row) % d
    columns = (rank + 37 * rng.integers(0, 20, size=n).repeat(per_row)) % d
    X = sp.csr_array(
        (rng.random(n * per_row), (np.arange(n).repeat(per_row), columns)), shape=(n, d)
    )
    X.sum_duplicates()
    return X


def _ours(X: Any, k: int = 20, **params: Any) -> Any:
    import kilogram as kg

    return kg.PCA(n_components=k, random_state=0, **params).fit(X)


def _sklearn(X: Any, k: int = 20, **params: Any) -> Any:
    from sklearn.decomposition import PCA

    return PCA(n_components=k, random_state=0, **params).fit(X)


def _intel(X: Any, k: int = 20) -> Any:
    from sklearnex.decomposition import PCA

    return PCA(n_components=k).fit(X)


def _explained(model: Any, X: Any) -> dict[str, float]:
    return {"explained_variance": float(np.sum(model.explained_variance_))}


def _pca_tall(dtype: str) -> Task:
    n, d = 200_000, 200
    size = 8 if dtype == "f8" else 4
    return Task(
        name=f"pca_tall_{dtype}",
        title=f"PCA, n = {n:,}, d = {d}, 20 components, {'float64' if size == 8 else 'float32'}",
        make=lambda: _tall(n, d, dtype),
        run={"kilogram": _ours, "scikit-learn": _sklearn, "scikit-learn-intelex": _intel},
        quality=_explained,
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=size * n * d, dtype=dtype),
        counted="X'X (syrk) or one read of X",
        repeats=5,
        needs={"scikit-learn-intelex": "sklearnex"},
    )


def _pca_wide() -> Task:
    n, d = 2_000, 20_000
    return Task(
        name="pca_wide",
        title=f"PCA, n = {n:,}, d = {d:,}, 20 components",
        make=lambda: _tall(n, d, "f8"),
        run={
            "kilogram": _ours,
            "scikit-learn auto": _sklearn,
            "scikit-learn arpack": partial(_sklearn, svd_solver="arpack"),
        },
        quality=_explained,
        floor=lambda rates: rates.floor(flops=n * n * d, bytes=8 * n * d),
        counted="XX' (syrk) in full; a Krylov method may need less",
        repeats=2,
    )


def _pca_sparse() -> Task:
    return Task(
        name="pca_sparse",
        title="PCA of sparse rows, 20 000 x 30 000, 20 components",
        make=_words,
        run={
            "kilogram": _ours,
            "scikit-learn arpack": partial(_sklearn, svd_solver="arpack"),
        },
        quality=_explained,
        floor=lambda rates: rates.floor(bytes=60 * 12 * 20_000 * 2 * 10),
        counted="ten passes over the stored entries, both ways",
        repeats=2,
    )


def _kernel_pca() -> Task:
    n, d, k = 10_000, 30, 10

    def ours(X: Any) -> Any:
        import kilogram as kg

        return kg.KernelPCA(k, kernel="rbf", gamma=0.02, random_state=0).fit(X)

    def peer(X: Any, solver: str) -> Any:
        from sklearn.decomposition import KernelPCA

        return KernelPCA(k, kernel="rbf", gamma=0.02, eigen_solver=solver, random_state=0).fit(X)

    return Task(
        name="kernel_pca_10000",
        title=f"KernelPCA, Gaussian, {k} components, n = {n:,}",
        make=lambda: _tall(n, d, "f8") / 3,
        run={
            "kilogram": ours,
            "scikit-learn arpack": partial(peer, solver="arpack"),
            "scikit-learn randomized": partial(peer, solver="randomized"),
        },
        quality=lambda model, X: {
            "sum_of_eigenvalues": float(np.sum(model.eigenvalues_)),
            "tenth": float(model.eigenvalues_[9]),
        },
        floor=lambda rates: rates.floor(flops=n * n * d + 2 * n * n * 60, exps=n * n / 2),
        counted="half the Gram matrix and 60 products with it",
        repeats=1,
    )


def _pca_of_a_file() -> Task:
    """1.2 GB of rows on disk; the column `peak` is to stay below 512 MiB."""
    n, d, step = 1_500_000, 100, 50_000

    def make() -> Path:
        path = Path(tempfile.mkdtemp(prefix="kilogram-bench-")) / "rows.npy"
        rows = np.lib.format.open_memmap(path, "w+", "f8", (n, d))
        scales = 1.0 / np.sqrt(1.0 + np.arange(d))
        for i in range(0, n, step):
            rows[i : i + step] = np.random.default_rng(i).normal(size=(step, d)) * scales
        rows.flush()
        atexit.register(shutil.rmtree, path.parent)
        return path

    def mapped(path: Path) -> Any:
        import kilogram as kg

        return kg.PCA(20).fit(np.load(path, mmap_mode="r"))

    def on_dask(path: Path) -> Any:
        import dask
        import dask.array as da

        import kilogram as kg

        @dask.delayed
        def block(i: int) -> np.ndarray:
            return np.array(np.load(path, mmap_mode="r")[i : i + step])

        # `from_array` would copy the whole file into the graph
        blocks = [da.from_delayed(block(i), (step, d), "f8") for i in range(0, n, step)]
        return kg.PCA(20).fit(da.concatenate(blocks))

    def peer(path: Path) -> Any:
        from sklearn.decomposition import IncrementalPCA

        return IncrementalPCA(20, batch_size=step).fit(np.load(path, mmap_mode="r"))

    return Task(
        name="pca_file",
        title=f"PCA of a memory map, n = {n:,}, d = {d}, 1.2 GB, 20 components",
        make=make,
        run={"kilogram": mapped, "kilogram dask": on_dask, "scikit-learn incremental": peer},
        quality=_explained,
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=8 * n * d),
        counted="X'X (syrk) or one read of X",
        ours=("kilogram", "kilogram dask"),
        repeats=1,
        needs={"kilogram dask": "dask"},
        long=True,
    )


TASKS = [
    _pca_of_a_file(),
    _pca_tall("f8"),
    _pca_tall("f4"),
    _pca_wide(),
    _pca_sparse(),
    _kernel_pca(),
]
