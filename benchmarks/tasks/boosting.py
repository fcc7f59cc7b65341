"""Boosting beside scikit-learn, LightGBM, XGBoost, interpret: tables, stumps, Haar features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task, jobs

N, D, HELD = 500_000, 28, 20_000
SMALL_N, SMALL_D = 1000, 20
OPTIONAL = {"LightGBM": "lightgbm", "LightGBM, quantised": "lightgbm", "XGBoost": "xgboost"}
WINDOWS, SIDE, N_HAAR = 100, 12, 10344


def _table(n: int, d: int, held: int) -> tuple:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + held, d))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3:8].sum(axis=1)
    y = (f + rng.logistic(size=n + held) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:], y[n:]


def _run(module: str, name: str, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        return getattr(import_module(module), name)(**params).fit(data[0], data[1])

    return run


def _score(model: Any, data: tuple) -> dict[str, float]:
    return {"accuracy on other rows": float(model.score(data[2], data[3]))}


def _task(name: str, title: str, n: int, d: int, run: dict[str, Any]) -> Task:
    return Task(
        name=name,
        title=title,
        make=lambda: _table(n, d, HELD),
        run=run,
        quality=_score,
        needs={name: module for name, module in OPTIONAL.items() if name in run},
        floor=lambda rates: rates.floor(bytes=8 * n * d),
        counted="one read of X",
        repeats=2,
    )


def _hist(early: dict[str, Any]) -> dict[str, Any]:
    name = "HistGradientBoostingClassifier"
    return {
        "kilogram": _run("kilogram", name, **early),
        "scikit-learn": _run("sklearn.ensemble", name, **early),
        "LightGBM": _run("lightgbm", "LGBMClassifier", n_jobs=jobs(), verbose=-1),
        "LightGBM, quantised": _run(
            "lightgbm", "LGBMClassifier", n_jobs=jobs(), verbose=-1, use_quantized_grad=True
        ),
        "XGBoost": _run(
            "xgboost", "XGBClassifier", n_jobs=jobs(), learning_rate=0.1, max_leaves=31,
            grow_policy="lossguide", max_depth=0,
        ),
    }  # fmt: skip


def _ada() -> dict[str, Any]:
    return {
        "kilogram": _run("kilogram", "AdaBoostClassifier", n_estimators=100),
        "scikit-learn": _run("sklearn.ensemble", "AdaBoostClassifier", n_estimators=100),
    }


def _additive(data: tuple) -> Any:
    return import_module("kilogram").AdditiveBoostingClassifier(random_state=0).fit(*data[:2])


def _explainable(data: tuple) -> Any:
    glassbox = import_module("interpret.glassbox")
    return glassbox.ExplainableBoostingClassifier(random_state=0, n_jobs=jobs()).fit(*data[:2])


def _additive_task() -> Task:
    run = {"kilogram": _additive, "interpret": _explainable}
    task = _task("additive_boosting", "AdditiveBoostingClassifier, 10 pairs, 10,000 x 10",
                 10_000, 10, run)  # fmt: skip
    return replace(task, needs={"interpret": "interpret"}, repeats=1)


def _haar(X: np.ndarray) -> Any:
    return import_module("kilogram").HaarFeatures((SIDE, SIDE)).fit_transform(X)


def _haar_scikit_image(X: np.ndarray) -> np.ndarray:
    feature, transform = import_module("skimage.feature"), import_module("skimage.transform")
    coordinates, types = feature.haar_like_feature_coord(SIDE, SIDE)
    each = [
        feature.haar_like_feature(
            transform.integral_image(x.reshape(SIDE, SIDE)), 0, 0, SIDE, SIDE,
            feature_type=types, feature_coord=coordinates,
        )
        for x in X
    ]  # fmt: skip
    return np.stack(each)


HAAR = Task(
    name="haar_features",
    title=f"HaarFeatures, all features of {WINDOWS} windows of {SIDE} x {SIDE}",
    make=lambda: np.random.default_rng(0).random((WINDOWS, SIDE * SIDE)),
    run={"kilogram": _haar, "scikit-image": _haar_scikit_image},
    quality=lambda Z, X: {"features": float(Z.shape[1])},
    floor=lambda rates: rates.floor(bytes=8 * WINDOWS * N_HAAR),
    counted="one write of the features",
    needs={"scikit-image": "skimage"},
)

TASKS = [
    _task("hist_boosting", f"HistGradientBoostingClassifier, 100 rounds, n = {N:,}, d = {D}",
          N, D, _hist({"early_stopping": False})),
    _task("small_hist_boosting", "HistGradientBoostingClassifier, 100 rounds, "
          f"{SMALL_N:,} x {SMALL_D}", SMALL_N, SMALL_D, _hist({"early_stopping": False})),
    _task("adaboost_stumps", f"AdaBoostClassifier, 100 stumps, n = 10,000, d = {D}",
          10_000, D, _ada()),
    _additive_task(),
    HAAR,
]  # fmt: skip
