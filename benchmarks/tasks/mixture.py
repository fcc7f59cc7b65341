"""Gaussian mixtures beside scikit-learn and daal4py: the same start, the same steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets, mixture

from benchmarks.task import Task

N, D, K = 100_000, 20, 10
STEPS = 20
BATCH = 10  # one timing of small data is this many fits


def _rows(dtype: str, apart: float) -> Callable[[], tuple]:
    """Rows of K tilted Gaussians, and where all begin: rows as means, unit covariances."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        centres = apart * rng.standard_normal((K, D))
        shapes = np.eye(D) + 0.3 * rng.standard_normal((K, D, D))
        own = rng.integers(0, K, N)
        z = rng.standard_normal((N, D))
        X = np.empty((N, D))
        for c in range(K):
            X[own == c] = centres[c] + z[own == c] @ shapes[c]
        return X.astype(dtype), X[rng.choice(N, K, replace=False)].astype(dtype)

    return make


def _given(data: tuple, kind: str) -> dict[str, Any]:
    start = data[1]
    k, d = start.shape
    shape = {"full": np.stack([np.eye(d)] * k), "tied": np.eye(d), "diag": np.ones((k, d))}
    return {
        "weights_init": np.full(k, 1 / k),
        "means_init": start.astype(np.float64),
        "precisions_init": shape[kind],
    }


def _fit(owner: str, kind: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else mixture
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # max_iter is too small on purpose
            model = module.GaussianMixture(
                K, covariance_type=kind, tol=0.0, max_iter=STEPS, **_given(data, kind)
            )
            model.fit(data[0])
        return np.asarray(model.weights_), np.asarray(model.means_), np.asarray(model.covariances_)

    return run


def _daal(kind: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import daal4py

        X, start = data
        k, d = start.shape
        storage = "full" if kind == "full" else "diagonal"
        fptype = "float" if X.dtype == np.float32 else "double"
        one = np.eye(d) if kind == "full" else np.ones((1, d))
        found = daal4py.em_gmm(
            k,
            fptype=fptype,
            maxIterations=STEPS,
            accuracyThreshold=1e-300,
            covarianceStorage=storage,
        ).compute(X, np.full((1, k), 1 / k), start.astype(np.float64), [one] * k)
        return (
            np.ravel(found.weights),
            np.asarray(found.means),
            np.stack([np.asarray(C) for C in found.covariances]).reshape((k, *one.shape)),
        )

    return run


def _likelihood(found: Any, data: tuple) -> dict[str, float]:
    """The mean log-likelihood of a row under the components found, in float64."""
    weights, means, C = (np.asarray(a, dtype=np.float64) for a in found)
    X = data[0].astype(np.float64)
    logs = []
    for c in range(len(weights)):
        own = C if C.ndim == 2 and C.shape[0] == C.shape[1] == X.shape[1] else C[c]
        L = np.linalg.cholesky(own if own.shape[0] == own.shape[-1] and own.ndim == 2
                               else np.diag(np.ravel(own)))  # fmt: skip
        y = np.linalg.solve(L, (X - means[c]).T)
        logs.append(np.log(weights[c]) - 0.5 * (y * y).sum(0) - np.log(np.diag(L)).sum())
    total = np.logaddexp.reduce(logs, axis=0) - 0.5 * X.shape[1] * np.log(2 * np.pi)
    return {"log_likelihood": float(total.mean())}


def _large(kind: str, dtype: str, apart: float = 1.0) -> Task:
    speed = 2 if dtype == "float32" else 1  # flops are counted in float64
    size = 4 if dtype == "float32" else 8
    each = {"full": 2.0 * D * (D + 1), "tied": 2.0 * D, "diag": 8.0 * D}[kind]
    peers: dict[str, Any] = {"scikit-learn": _fit("sklearn", kind)}
    if kind != "tied":
        peers["daal4py"] = _daal(kind)
    clouds = "overlapping" if apart == 1.0 else "separate"
    return Task(
        name=f"mixture_{kind}_{dtype}" + ("" if apart == 1.0 else "_separate"),
        title=f"GaussianMixture, {kind}, n = {N:,}, d = {D}, k = {K}, {STEPS} steps, {dtype}, "
        f"{clouds} clouds",
        make=_rows(dtype, apart),
        run={"kilogram": _fit("kilogram", kind), **peers},
        quality=_likelihood,
        floor=lambda rates: STEPS * rates.floor(flops=each * N * K / speed, bytes=size * N * D),
        counted="densities and scatters by triangles, or one read of X, each step",
        needs={"daal4py": "daal4py"},
        repeats=2,
    )


def _small(name: str, title: str, make: Callable[[], np.ndarray], k: int, **params: Any) -> Task:
    def run(owner: str) -> Callable[[Any], Any]:
        def fits(X: np.ndarray) -> Any:
            import kilogram as kg

            module: Any = kg if owner == "kilogram" else mixture
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [
                    module.GaussianMixture(k, random_state=s, **params).fit(X) for s in range(BATCH)
                ]
            return float(np.median([model.score(X) for model in found]))

        return fits

    return Task(
        name=f"small_mixture_{name}",
        title=f"{title}, {BATCH} fits: GaussianMixture, k = {k}, {params or 'defaults'}",
        make=make,
        run={"kilogram": run("kilogram"), "scikit-learn": run("sklearn")},
        quality=lambda score, data: {"median_log_likelihood": score},
        floor=lambda rates: BATCH * rates.floor(bytes=8 * make().size),
        counted="one read of X each",
        repeats=5,
    )


def _geyser() -> np.ndarray:
    """Two clouds of minutes, as of eruptions and of waiting for them."""
    rng = np.random.default_rng(0)
    long = rng.random(272) < 0.64
    minutes = np.where(long[:, None], [4.3, 80.0], [2.0, 54.5])
    return minutes + rng.standard_normal((272, 2)) * [0.4, 6.0]


TASKS = [
    _large("full", "float64"),
    _large("full", "float32"),
    _large("full", "float64", 3.0),
    _large("tied", "float64"),
    _large("diag", "float64"),
    _large("diag", "float32"),
    _small("geyser", "272 eruptions", _geyser, 2),
    _small("digits", "Digits", lambda: datasets.load_digits().data, 10, covariance_type="diag"),
    _small("digits_full", "Digits", lambda: datasets.load_digits().data, 10, reg_covar=1e-2),
]
