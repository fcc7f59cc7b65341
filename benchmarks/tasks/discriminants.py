"""Discriminants, centroids and naive Bayes beside scikit-learn's: fits, use, and small data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets, discriminant_analysis, naive_bayes, neighbors

from benchmarks.task import Task

N, D, CLASSES = 500_000, 50, 5
BATCH = 10  # one timing of small data is this many fits


def _rows() -> tuple:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, N)
    return 0.4 * rng.standard_normal((CLASSES, D))[y] + rng.standard_normal((N, D)), y


def _counts() -> tuple:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, N)
    rates = rng.gamma(2.0, 0.5, (CLASSES, D))
    return rng.poisson(rates[y]).astype(float), y


def _quality(model: Any, data: tuple) -> dict[str, float]:
    """Accuracy and mean log-likelihood of the labels, on some rows."""
    X, y = data[0][:5000], data[1][:5000]
    found = {"accuracy": float(model.score(X, y))}
    if hasattr(model, "predict_log_proba"):
        p = np.asarray(model.predict_log_proba(X))
        at = np.searchsorted(model.classes_, y)
        found["log_likelihood"] = float(np.mean(p[np.arange(len(y)), at]))
    return found


def _fit(name: str, module: Any, **params: Any) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        import kilogram as kg

        return getattr(kg if module is None else module, name)(**params).fit(*data)

    return run


def _large(
    name: str, cls: str, module: Any, flops: float, make: Callable[[], tuple] = _rows
) -> Task:
    return Task(
        name=f"{name}_500000",
        title=f"{cls}, n = {N:,}, d = {D}, {CLASSES} classes",
        make=make,
        run={"kilogram": _fit(cls, None), "scikit-learn": _fit(cls, module)},
        quality=_quality,
        floor=lambda rates: rates.floor(flops=flops, bytes=8 * N * D),
        counted="the scatter within the classes (syrk) or one read of X"
        if flops
        else "one read of X",
        repeats=7,
    )


def _use(name: str, cls: str, module: Any, flops: float) -> Task:
    """predict_proba of all rows by a model fitted on some."""

    def run(owner: Any) -> Callable[[tuple], Any]:
        def ask(data: tuple) -> Any:
            model = _fit(cls, owner)((data[0][:20_000], data[1][:20_000]))
            model.predict_proba(data[0])
            return model

        return ask

    return Task(
        name=f"{name}_use_500000",
        title=f"{cls}.predict_proba, n = {N:,}, d = {D}, {CLASSES} classes",
        make=_rows,
        run={"kilogram": run(None), "scikit-learn": run(module)},
        quality=_quality,
        floor=lambda rates: rates.floor(flops=flops, bytes=8 * N * (D + CLASSES)),
        counted="the products with the rows, or one read and one write",
    )


def _small(cls: str, module: Any, **params: Any) -> Task:
    def run(owner: Any) -> Callable[[tuple], Any]:
        def fits(data: tuple) -> Any:
            for _ in range(BATCH):
                model = _fit(cls, owner, **params)(data)
            return model

        return fits

    return Task(
        name=f"small_{cls}",
        title=f"Digits, {BATCH} fits: {cls}",
        make=_digits,
        run={"kilogram": run(None), "scikit-learn": run(module)},
        quality=_quality,
        floor=lambda rates: BATCH * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
        repeats=7,
    )


def _binned(X: Any, y: Any) -> Any:
    """What scikit-learn has beside HistogramNB: bins of one width, then categories."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer

    bins = KBinsDiscretizer(30, encode="ordinal", strategy="uniform")
    return make_pipeline(bins, naive_bayes.CategoricalNB(min_categories=30)).fit(X, y)


def _histogram(name: str, make: Callable[[], tuple], times: int, size: int) -> Task:
    def ours(data: tuple) -> Any:
        import kilogram as kg

        for _ in range(times):
            model = kg.HistogramNB(bins=30).fit(*data)
        return model

    def theirs(data: tuple) -> Any:
        for _ in range(times):
            model = _binned(*data)
        return model

    return Task(
        name=name,
        title=f"HistogramNB, 30 bins{f', digits, {times} fits' if times > 1 else f', n = {N:,}'}",
        make=make,
        run={"kilogram": ours, "scikit-learn (KBinsDiscretizer + CategoricalNB)": theirs},
        quality=_quality,
        floor=lambda rates: times * rates.floor(bytes=8 * size),
        counted="one read of X each",
        repeats=7 if times > 1 else 3,
    )


def _digits() -> tuple:
    return datasets.load_digits(return_X_y=True)


LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
TASKS = [
    _large("lda", LDA, discriminant_analysis, N * D * D),
    _large("qda", QDA, discriminant_analysis, N * D * D),
    _large("centroid", "NearestCentroid", neighbors, 0),
    _large("gaussian_nb", "GaussianNB", naive_bayes, 0),
    _large("multinomial_nb", "MultinomialNB", naive_bayes, 0, _counts),
    _large("complement_nb", "ComplementNB", naive_bayes, 0, _counts),
    _large("bernoulli_nb", "BernoulliNB", naive_bayes, 0, _counts),
    _large("categorical_nb", "CategoricalNB", naive_bayes, 0, _counts),
    _histogram("histogram_nb_500000", _rows, 1, N * D),
    _use("lda", LDA, discriminant_analysis, 2 * N * D * CLASSES),
    _use("qda", QDA, discriminant_analysis, 2 * N * D * D * CLASSES),
    _use("gaussian_nb", "GaussianNB", naive_bayes, 4 * N * D * CLASSES),
    _small(LDA, discriminant_analysis),
    _small(QDA, discriminant_analysis, reg_param=0.1),
    _small("NearestCentroid", neighbors),
    _small("GaussianNB", naive_bayes),
    _small("MultinomialNB", naive_bayes),
    _small("ComplementNB", naive_bayes),
    _small("BernoulliNB", naive_bayes),
    _small("CategoricalNB", naive_bayes),
    _histogram("small_HistogramNB", _digits, BATCH, 1797 * 64),
]
