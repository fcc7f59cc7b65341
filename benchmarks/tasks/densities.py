"""Densities beside scikit-learn's: the same log densities, to the same tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets, neighbors, preprocessing

from benchmarks.task import Task

N = 100_000
RTOL = 1e-8  # of the densities, for both
BATCH = 10  # one timing of small data is this many fits


def _width(n: int, d: int) -> float:
    return (n * (d + 2) / 4) ** (-1 / (d + 4))  # Silverman's


def _clouds(d: int, queries: int) -> Callable[[], tuple]:
    """Two round clouds, and other rows of the same to be asked about."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N + queries, d))
        X[:, 0] += 4.0 * (rng.random(N + queries) < 0.4)
        return X[:N], X[N:]

    return make


def _kernel(owner: str, d: int, kernel: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import kilogram as kg

        module: Any = kg if owner == "kilogram" else neighbors
        X, new = data
        model = module.KernelDensity(bandwidth=_width(N, d), kernel=kernel, rtol=RTOL)
        return model.fit(X).score_samples(new)

    return run


def _mean(logs: Any, data: Any) -> dict[str, float]:
    logs = np.asarray(logs)
    known = logs > -30  # beyond a kernel's reach the peer leaves rounding where the density is 0
    return {"mean_log_density": float(logs[known].mean()), "without": float((~known).sum())}


def _large(d: int, queries: int, kernel: str = "gaussian") -> Task:
    return Task(
        name=f"kernel_density_{d}" + ("" if kernel == "gaussian" else f"_{kernel}"),
        title=f"KernelDensity, {kernel}, n = {N:,}, d = {d}, {queries:,} rows asked about, "
        f"to {RTOL:g}",
        make=_clouds(d, queries),
        run={
            "kilogram": _kernel("kilogram", d, kernel),
            "scikit-learn": _kernel("sklearn", d, kernel),
        },
        quality=_mean,
        floor=lambda rates: rates.floor(bytes=8 * N * d),
        counted="one read of X",
        repeats=1 if d == 10 else 2,
    )


def _digits(task: str, ours: Callable[[], Any], peer: Callable[[], Any]) -> Task:
    def run(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def fits(X: np.ndarray) -> Any:
            for _ in range(BATCH):
                logs = make().fit(X).score_samples(X[:200])
            return logs

        return fits

    return Task(
        name=f"small_{task}",
        title=f"Digits, {BATCH} fits and 200 rows asked about each: {task}",
        make=lambda: datasets.load_digits().data,
        run={"kilogram": run(ours), "scikit-learn": run(peer)},
        quality=lambda logs, data: {"mean_log_density": float(np.mean(logs))},
        floor=lambda rates: BATCH * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
        repeats=3,
    )


def _kg(name: str, **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        import kilogram as kg

        return getattr(kg, name)(**params)

    return make


def _ranks() -> Task:
    def run(make: Callable[[], Any]) -> Callable[[tuple], Any]:
        return lambda data: make().fit_transform(data[0])

    return Task(
        name="rank_transform",
        title=f"Columns to uniform by all their ranks, n = {N:,}, d = 10",
        make=_clouds(10, 1),
        run={
            "kilogram": run(_kg("RankTransform")),
            "scikit-learn": run(
                lambda: preprocessing.QuantileTransformer(n_quantiles=N, subsample=None)
            ),
        },
        quality=lambda U, data: {"mean": float(U.mean()), "mean_square": float((U**2).mean())},
        floor=lambda rates: rates.floor(bytes=16 * N * 10),
        counted="one read of X and one write",
        repeats=1,  # the peer's time grows with n^2: a minute
    )


def _tree() -> Task:
    return Task(
        name="density_tree",
        title=f"DensityTree and DensityForest of 20, n = {N:,}, d = 10",
        make=_clouds(10, 1000),
        run={
            "kilogram": lambda data: (
                _kg("DensityTree", min_samples_leaf=50)().fit(data[0]).score_samples(data[0][:1000])
            ),
            "kilogram, forest": lambda data: (
                _kg("DensityForest", n_estimators=20, min_samples_leaf=50, random_state=0)()
                .fit(data[0])
                .score_samples(data[0][:1000])
            ),
        },
        quality=_mean,
        floor=lambda rates: rates.floor(bytes=8 * N * 10),
        counted="one read of X",
        ours=("kilogram", "kilogram, forest"),
        repeats=1,
    )


TASKS = [
    _large(1, 2000),
    _large(2, 2000),
    _large(10, 500),
    _large(1, 4000, "epanechnikov"),
    _large(2, 20_000, "epanechnikov"),
    _large(2, 500, "exponential"),
    _digits(
        "kernel_density",
        _kg("KernelDensity", bandwidth=3.0),
        lambda: neighbors.KernelDensity(bandwidth=3.0, rtol=RTOL),
    ),
    _ranks(),
    _tree(),
]
