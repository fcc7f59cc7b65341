"""Ridge, kernel ridge and random kitchen sinks beside their peers."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from benchmarks.task import Task

GAMMA = 1 / 100


def smooth(n: int, d: int, dtype: str = "f8", seed: int = 0, width: int = 300) -> tuple:
    """A smooth non-linear function of d inputs with noise, and 2 000 rows held out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 2_000, d)).astype(dtype)
    W = rng.standard_normal((d, width)).astype(dtype) / np.sqrt(d).astype(dtype)
    y = np.empty(len(X), dtype=dtype)
    a = rng.standard_normal(width).astype(dtype) / np.sqrt(width).astype(dtype)
    for at in range(0, len(X), 20_000):
        y[at : at + 20_000] = np.tanh(X[at : at + 20_000] @ W) @ a
    y = y / y.std() + 0.3 * rng.standard_normal(len(X)).astype(dtype)
    return X[:n], y[:n], X[n:], y[n:]


def r2(model: Any, data: tuple) -> dict[str, float]:
    _, _, X, y = data
    error = np.asarray(model.predict(X)).ravel() - y
    return {"test_r2": float(1 - np.mean(error**2) / np.var(y))}


def _kernel_ridge(data: tuple, **params: Any) -> Any:
    import kilogram as kg

    return kg.KernelRidge(alpha=1.0, kernel="rbf", gamma=GAMMA, **params).fit(*data[:2])


def _sklearn_kernel_ridge(data: tuple) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(alpha=1.0, kernel="rbf", gamma=GAMMA).fit(*data[:2])


def _nystroem_ridge(data: tuple) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    basis = Nystroem(gamma=GAMMA, n_components=1000, random_state=0)
    return make_pipeline(basis, Ridge(1.0)).fit(*data[:2])


def _kernel_ridge_double(data: tuple) -> Any:
    """The solver used when float32 breaks down; this process has no other use."""
    from kilogram.solvers.linear import positive_definite as positive

    positive.MIXED_FROM = sys.maxsize
    return _kernel_ridge(data, solver="cholesky")


def _exact(n: int, *, peers: bool = True, long: bool = False) -> Task:
    d = 50
    run = {
        "kilogram": _kernel_ridge,
        "kilogram float32 factor": partial(_kernel_ridge, solver="cholesky"),
        "kilogram float64 factor": _kernel_ridge_double,
    }
    return Task(
        name=f"kernel_ridge_{n}",
        title=f"KernelRidge, Gaussian, exact, n = {n:,}, d = {d}",
        make=lambda: smooth(n, d),
        run={**run, **({"scikit-learn": _sklearn_kernel_ridge} if peers else {})},
        quality=r2,
        floor=lambda rates: rates.floor(flops=n * n * d + n**3 / 3, exps=n * n / 2),
        counted="half the Gram matrix and n^3/3 flops in float64",
        ours=tuple(run),
        repeats=1,
        long=long,
    )


def _large() -> Task:
    n, d = 500_000, 28
    return Task(
        name="kernel_ridge_500000",
        title=f"KernelRidge beyond memory, n = {n:,}, d = {d}, float32, within 12 GiB",
        make=lambda: smooth(n, d, "f4"),
        run={
            "kilogram": partial(_kernel_ridge, max_memory="11GiB", random_state=0),
            "scikit-learn Nystroem(1000) + Ridge": _nystroem_ridge,
        },
        quality=r2,
        floor=lambda rates: rates.floor(flops=2 * n * 4000 * d, exps=n * 4000, dtype="f4"),
        counted="one pass of the kernel between all rows and 4 000 centres",
        repeats=1,
        long=True,
    )


def _path(data: tuple) -> Any:
    import kilogram as kg

    alphas = np.logspace(-4, 3, 50)
    return kg.KernelRidgeCV(alphas=alphas, kernel="rbf", gamma=GAMMA).fit(*data[:2])


def _one_eigh(data: tuple) -> Any:
    """One exact fit by eigendecomposition: the yardstick of the path."""
    import scipy.linalg
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = data[:2]
    values, vectors = scipy.linalg.eigh(rbf_kernel(X, gamma=GAMMA))
    model = KernelRidge(alpha=1.0, kernel="rbf", gamma=GAMMA)
    model.X_fit_, model.n_features_in_ = X, X.shape[1]
    model.dual_coef_ = vectors @ ((vectors.T @ y) / (values + 1.0))
    return model


def _path_task() -> Task:
    n, d = 5_000, 20
    return Task(
        name="kernel_ridge_cv_5000",
        title=f"KernelRidgeCV, 50 lambdas with leave-one-out, n = {n:,}",
        make=lambda: smooth(n, d),
        run={"kilogram": _path, "one fit by eigendecomposition (SciPy)": _one_eigh},
        quality=r2,
        floor=lambda rates: rates.floor(flops=4 / 3 * n**3 + 2 * n**3),
        counted="reduction to tridiagonal form and back-transformation at the gemm rate",
        repeats=1,
    )


def _sinks(dtype: str) -> Task:
    n, d, D = 200_000, 50, 2_000
    kind = "float64" if dtype == "f8" else "float32"

    def ours(data: tuple) -> Any:
        import kilogram as kg

        return kg.KitchenSinksRegressor(n_components=D, gamma=GAMMA, random_state=0).fit(*data[:2])

    def peer(data: tuple) -> Any:
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        sampler = RBFSampler(gamma=GAMMA, n_components=D, random_state=0)
        return make_pipeline(sampler, Ridge(1.0)).fit(*data[:2])

    def intel(data: tuple) -> Any:
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.pipeline import make_pipeline
        from sklearnex.linear_model import Ridge

        sampler = RBFSampler(gamma=GAMMA, n_components=D, random_state=0)
        return make_pipeline(sampler, Ridge(1.0)).fit(*data[:2])

    return Task(
        name=f"kitchen_sinks_{dtype}",
        title=f"Random kitchen sinks, {D:,} features, n = {n:,}, d = {d}, {kind}",
        make=lambda: smooth(n, d, dtype),
        run={"kilogram": ours, "scikit-learn": peer, "scikit-learn-intelex Ridge": intel},
        quality=r2,
        floor=lambda rates: rates.floor(
            flops=2.0 * n * d * D + 1.0 * n * D * D, exps=n * D, dtype=dtype
        ),
        counted="2ndD + nD^2 (syrk) flops and nD cosines",
        repeats=1,
        needs={"scikit-learn-intelex Ridge": "sklearnex"},
    )


def _linear() -> Task:
    n, d = 500_000, 100

    def ours(data: tuple) -> Any:
        import kilogram as kg

        return kg.Ridge(1.0).fit(*data[:2])

    def peer(data: tuple) -> Any:
        from sklearn.linear_model import Ridge

        return Ridge(1.0).fit(*data[:2])

    def intel(data: tuple) -> Any:
        from sklearnex.linear_model import Ridge

        return Ridge(1.0).fit(*data[:2])

    return Task(
        name="ridge_500000",
        title=f"Ridge, n = {n:,}, d = {d}",
        make=lambda: smooth(n, d),
        run={"kilogram": ours, "scikit-learn": peer, "scikit-learn-intelex": intel},
        quality=r2,
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=8 * n * d),
        counted="X'X (syrk) or one read of X",
        needs={"scikit-learn-intelex": "sklearnex"},
    )


TASKS = [
    _linear(),
    _exact(8_000),
    _exact(12_000),
    _exact(20_000, peers=False, long=True),
    _large(),
    _path_task(),
    _sinks("f8"),
    _sinks("f4"),
]
