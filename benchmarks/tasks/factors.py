"""NMF, FastICA and robust PCA: to the same residual, or the same contrast, as scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets, decomposition

from benchmarks.task import Task

N, D, K = 5_000, 2_000, 20
STEPS = 100
BATCH = 10  # one timing of small data is this many fits


def _quietly(fit: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # max_iter is too small on purpose
        return fit()


def _parts(dtype: str) -> Callable[[], dict]:
    """Twenty parts and noise; what scikit-learn reaches in 100 steps from the same start."""

    def make() -> dict:
        rng = np.random.default_rng(0)
        X = rng.random((N, K)) @ rng.random((K, D)) + 0.5 * rng.random((N, D))
        size = np.sqrt(X.mean() / K)
        W, H = (
            size * np.abs(rng.standard_normal((N, K))),
            size * np.abs(rng.standard_normal((K, D))),
        )
        return {key: a.astype(dtype) for key, a in (("X", X), ("W", W), ("H", H))}

    return make


def _nmf(owner: str, steps: int) -> Callable[[dict], Any]:
    def run(data: dict) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else decomposition
        model = module.NMF(K, init="custom", max_iter=steps, tol=0.0)
        W = _quietly(lambda: model.fit_transform(data["X"], W=data["W"], H=data["H"].copy()))
        return W, model.components_

    return run


def _residual(found: tuple, data: dict) -> dict[str, float]:
    W, H = (np.asarray(a, dtype=np.float64) for a in found)
    return {"residual": float(np.linalg.norm(data["X"] - W @ H))}


def _dense(dtype: str) -> Task:
    size, speed = (4, 2) if dtype == "float32" else (8, 1)
    return Task(
        name=f"nmf_{dtype}",
        title=f"NMF {N:,} x {D:,}, k = {K}, {dtype}, one start: 100 steps, Kilogram 15",
        make=_parts(dtype),
        run={"kilogram": _nmf("kilogram", 15), "scikit-learn": _nmf("sklearn", STEPS)},
        quality=_residual,
        floor=lambda rates: STEPS * rates.floor(flops=4.0 * N * D * K / speed, bytes=size * N * D),
        counted="two products with X, or one read of it, for each of 100 steps",
        repeats=1,
    )


def word_counts() -> Any:
    """tf-idf of the 20 newsgroups where they are at hand, else rows of Zipf's law."""
    import scipy.sparse as sp

    folder = os.environ.get("KILOGRAM_DATA")
    path = Path(folder or ".") / "newsgroups20_train.csv.gz"
    if folder and path.exists():
        import pandas as pd
        from sklearn.feature_extraction.text import TfidfVectorizer

        table = pd.read_csv(path)
        texts = table["text"].fillna("").astype(str)
        return TfidfVectorizer(min_df=3, stop_words="english").fit_transform(texts)
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(8000), 80)
    columns = np.minimum(rng.zipf(1.3, rows.size) - 1, 29_999)
    return sp.csr_matrix((rng.random(rows.size), (rows, columns)), (8000, 30_000))


def _begun() -> tuple[Any, np.ndarray, np.ndarray]:
    """The words and a start, the same for all: from another one either may end lower."""
    from sklearn.decomposition._nmf import _initialize_nmf

    X = word_counts()
    return X, *_initialize_nmf(X, K, init="nndsvda", random_state=0)


def _topics(owner: str, **params: Any) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else decomposition
        model = module.NMF(K, random_state=0, **params)
        if isinstance(data, tuple):
            X, W, H = data
            _quietly(lambda: model.fit_transform(X, W=W.copy(), H=H.copy()))
        else:
            _quietly(lambda: model.fit(data))
        return model.reconstruction_err_

    return run


def _sparse(name: str, details: str, make: Callable[[], Any], **params: Any) -> Task:
    return Task(
        name=f"nmfword_counts{name}",
        title=f"NMF of tf-idf texts, sparse, k = {K}, {details}",
        make=make,
        run={"kilogram": _topics("kilogram", **params), "scikit-learn": _topics("sk", **params)},
        quality=lambda error, data: {"residual": float(error)},
        floor=lambda rates: 50 * rates.floor(flops=4.0 * 1e6 * K),
        counted="two products with a million entries, 50 times",
        repeats=1,
    )


def _mixture(dtype: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        rng = np.random.default_rng(0)
        n = 100_000
        S = np.c_[
            rng.laplace(size=(n, 10)), rng.uniform(-1, 1, (n, 10)), rng.standard_t(5, (n, 10))
        ]
        return (S @ rng.standard_normal((30, 30))).astype(dtype)

    return make


def _ica(owner: str, **params: Any) -> Callable[[np.ndarray], Any]:
    def run(X: np.ndarray) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else decomposition
        return _quietly(lambda: module.FastICA(random_state=0, **params).fit(X)).components_

    return run


def _contrast(M: Any, X: np.ndarray) -> dict[str, float]:
    U = (X - X.mean(axis=0)).astype(np.float64) @ np.asarray(M, dtype=np.float64).T
    U /= U.std(axis=0)
    gaussian = 0.3745672075
    return {"contrast": float(((np.log(np.cosh(U)).mean(axis=0) - gaussian) ** 2).sum())}


def _sources(dtype: str, **params: Any) -> Task:
    name = "".join(f"_{value}" for value in params.values())
    return Task(
        name=f"ica_{dtype}{name}",
        title=f"FastICA, n = 100,000, d = 30, {dtype}, {params or 'defaults'}",
        make=_mixture(dtype),
        run={
            "kilogram": _ica("kilogram", **params),
            "scikit-learn": _ica("sk", **params),
            "scikit-learn eigh": _ica("sk", whiten_solver="eigh", **params),
        },
        quality=_contrast,
        floor=lambda rates: 8 * rates.floor(flops=4.0 * 1e5 * 900),
        counted="two products with the white rows, eight times",
        repeats=2,
    )


def _small(name: str, make: Callable[[Any, int], Any], quality: str) -> Task:
    def run(owner: str) -> Callable[[Any], Any]:
        def fits(X: np.ndarray) -> Any:
            import kilogram as kg

            module: Any = kg if owner == "kilogram" else decomposition
            found = [_quietly(lambda s=s: make(module, s).fit(X)) for s in range(BATCH)]
            return float(np.median([getattr(m, quality, 0.0) for m in found]))

        return fits

    return Task(
        name=f"small_{name}",
        title=f"Digits, {BATCH} fits: {name}",
        make=lambda: datasets.load_digits().data,
        run={"kilogram": run("kilogram"), "scikit-learn": run("sklearn")},
        quality=lambda value, data: {quality: value},
        floor=lambda rates: BATCH * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
        repeats=2,
    )


def _plain_pursuit(X: np.ndarray) -> Any:
    """The textbook's loop, a full SVD a step."""
    from kilogram.textbook.robust_pca import pursuit
    from kilogram.textbook.state import run

    return run(pursuit(X, m=200, tol=1e-7))["L"]


def _pursuit(X: np.ndarray) -> Any:
    import kilogram as kg

    return _quietly(lambda: kg.RobustPCA().fit(X)).low_rank_


def _gross() -> np.ndarray:
    rng = np.random.default_rng(0)
    L = rng.standard_normal((1500, 10)) @ rng.standard_normal((10, 300))
    return L + np.where(rng.random(L.shape) < 0.05, 30 * rng.standard_normal(L.shape), 0.0)


def _recovered(L: Any, X: np.ndarray) -> dict[str, float]:
    rng = np.random.default_rng(0)
    true = rng.standard_normal((1500, 10)) @ rng.standard_normal((10, 300))
    return {"relative_error": float(np.linalg.norm(L - true) / np.linalg.norm(true))}


TASKS = [
    _dense("float64"),
    _dense("float32"),
    _sparse("", "the same start", _begun, init="custom"),
    _sparse("_default", "a start of its own", word_counts),
    _sparse(
        "_poisson",
        "Poisson, 100 multiplicative steps",
        word_counts,
        solver="mu",
        beta_loss="kullback-leibler",
        max_iter=100,
    ),
    _sources("float64"),
    _sources("float32"),
    _sources("float64", fun="exp"),
    Task(
        name="robust_pca",
        title="Robust PCA, 1,500 x 300, rank 10, 5 % gross errors, against a full SVD a step",
        make=_gross,
        run={"kilogram": _pursuit, "full SVD": _plain_pursuit},
        quality=_recovered,
        floor=lambda rates: 30 * rates.floor(flops=2.0 * 1500 * 300 * 300),
        counted="one Gram matrix for each of 30 steps",
        repeats=1,
    ),
    _small("nmf", lambda module, s: module.NMF(10, random_state=s), "reconstruction_err_"),
    _small("ica", lambda module, s: module.FastICA(10, random_state=s), "n_iter_"),
]
