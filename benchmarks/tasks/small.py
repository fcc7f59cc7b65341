"""Small data, where fixed overhead decides: the bundled digits, 1 797 rows of 64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets, decomposition, kernel_approximation, kernel_ridge, linear_model

from benchmarks.task import Task

BATCH = 10  # one timing is the mean of this many fits


def _digits() -> tuple:
    X, y = datasets.load_digits(return_X_y=True)
    return X / 16.0, y.astype(float)


def _task(name: str, ours: Callable[[], Any], peer: Callable[[], Any], target: bool) -> Task:
    def run(make: Callable[[], Any]) -> Callable[[tuple], Any]:
        def fit(data: tuple) -> Any:
            X, y = data
            for _ in range(BATCH):
                model = make().fit(X, y) if target else make().fit(X)
            return model

        return fit

    def quality(model: Any, data: tuple) -> dict[str, float]:
        X, y = data
        out = model.predict(X) - y if target else model.transform(X)
        return {"mean_square": float(np.mean(np.asarray(out) ** 2))}

    return Task(
        name=f"small_{name}",
        title=f"Digits, {BATCH} fits: {name}",
        make=_digits,
        run={"kilogram": run(ours), "scikit-learn": run(peer)},
        quality=quality,
        floor=lambda rates: BATCH * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
        repeats=7,
    )


def _kg(name: str, **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        import kilogram as kg

        return getattr(kg, name)(**params)

    return make


TASKS = [
    _task("ridge", _kg("Ridge"), linear_model.Ridge, True),
    _task("ridge_cv", _kg("RidgeCV"), linear_model.RidgeCV, True),
    _task(
        "kernel_ridge",
        _kg("KernelRidge", kernel="rbf"),
        lambda: kernel_ridge.KernelRidge(kernel="rbf"),
        True,
    ),
    _task("pca", _kg("PCA", n_components=20), lambda: decomposition.PCA(n_components=20), False),
    _task(
        "kernel_pca",
        _kg("KernelPCA", n_components=20, kernel="rbf"),
        lambda: decomposition.KernelPCA(n_components=20, kernel="rbf"),
        False,
    ),
    _task(
        "nystroem",
        _kg("Nystroem", n_components=100, random_state=0),
        lambda: kernel_approximation.Nystroem(n_components=100, random_state=0),
        False,
    ),
    _task(
        "fourier",
        _kg("FourierFeatures", n_components=100, gamma=1.0, random_state=0),
        lambda: kernel_approximation.RBFSampler(n_components=100, random_state=0),
        False,
    ),
]
