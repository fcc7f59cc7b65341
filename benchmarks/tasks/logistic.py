"""Logistic regression and the perceptron beside their peers.

Data sets that are not made here are read from the folder $KILOGRAM_DATA (MNIST as idx files, 20
newsgroups as csv); without it those tasks say so.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.task import Task
from benchmarks.tasks.svm import two_classes


def _folder() -> Path:
    folder = os.environ.get("KILOGRAM_DATA")
    if not folder:
        raise FileNotFoundError(
            "set KILOGRAM_DATA to the folder with mnist/ and newsgroups20_train"
        )
    return Path(folder)


def mnist() -> tuple:
    """70 000 digits of 784 pixels in [0, 1]."""

    def read(path: Path) -> np.ndarray:
        with gzip.open(path) as file:
            raw = file.read()
        shape = [int.from_bytes(raw[4 + 4 * k : 8 + 4 * k], "big") for k in range(raw[3])]
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)

    files = sorted((_folder() / "mnist").iterdir())
    images = np.concatenate([read(f) for f in files if "images" in f.name])
    labels = np.concatenate([read(f) for f in files if "labels" in f.name])
    return images.reshape(len(images), -1) / 255.0, labels.astype(int)


def newsgroups() -> tuple:
    """tf-idf of 11 293 messages; comp.* against the rest."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    csv.field_size_limit(sys.maxsize)
    with gzip.open(_folder() / "newsgroups20_train.csv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    X = TfidfVectorizer().fit_transform([row["text"] for row in rows])
    return X, np.array([int(row["label"].startswith("comp")) for row in rows])


def digits() -> tuple:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def objective(model: Any, data: tuple, *, penalised: bool = False) -> dict[str, float]:
    """1/2 |W|^2 + sum of losses at C = 1, from any library's coefficients."""
    X, y = data[:2]
    W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    Z = np.asarray(X @ W.T) + b
    size = 0.5 * float(np.sum(W * W)) + (0.5 * float(b @ b) if penalised else 0.0)
    if Z.shape[1] == 1:
        loss = np.logaddexp(0, -np.where(y == 1, 1, -1) * Z[:, 0]).sum()
    else:
        top = Z.max(axis=1)
        loss = np.sum(np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y])
    return {"objective": float(loss) + size}


def _sparse_objective(model: Any, data: tuple) -> dict[str, float]:
    """|W|_1 + C sum of losses at C = 0.01."""
    W = np.asarray(model.coef_)
    loss = objective(model, data)["objective"] - 0.5 * float(np.sum(W * W))
    value = 0.01 * loss + float(np.abs(W).sum())
    return {"nonzero": float(np.count_nonzero(W)), "objective": value}


def _logistic(library: str, repeat: int = 1, **params: Any) -> Callable[[tuple], Any]:
    def fit(data: tuple) -> Any:
        import importlib

        home = {"kilogram": "kilogram", "sklearnex": "sklearnex.linear_model"}
        module = importlib.import_module(home.get(library, "sklearn.linear_model"))
        for _ in range(repeat):
            model = module.LogisticRegression(**params).fit(*data[:2])
        return model

    return fit


def _glum(data: tuple) -> Any:
    from glum import GeneralizedLinearRegressor

    X, y = data[:2]
    model = GeneralizedLinearRegressor(
        family="binomial", alpha=1.0 / len(y), l1_ratio=0.0, gradient_tol=1e-4
    ).fit(X, y)
    model.coef_, model.intercept_ = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return model


def _perceptron(library: str) -> Callable[[tuple], Any]:
    def fit(data: tuple) -> Any:
        import importlib

        home = "kilogram" if library == "kilogram" else "sklearn.linear_model"
        model = importlib.import_module(home).Perceptron(max_iter=20, tol=None, random_state=0)
        return model.fit(*data[:2])

    return fit


TASKS = [
    Task(
        name="logistic",
        title="LogisticRegression, n = 500 000, d = 50",
        make=lambda: two_classes(500_000, 50),
        run={
            "kilogram": _logistic("kilogram"),
            "scikit-learn newton-cholesky": _logistic("sklearn", solver="newton-cholesky"),
            "scikit-learn lbfgs": _logistic("sklearn"),
            "scikit-learn-intelex": _logistic("sklearnex"),
            "glum": _glum,
        },
        quality=objective,
        floor=lambda rates: rates.floor(bytes=8.0 * 500_000 * 50 * 3),
        counted="three reads of X",
        needs={"scikit-learn-intelex": "sklearnex", "glum": "glum"},
    ),
    Task(
        name="logistic_l1",
        title="LogisticRegression(l1_ratio=1, C=0.01), n = 100 000, d = 50",
        make=lambda: two_classes(100_000, 50),
        run={
            "kilogram": _logistic("kilogram", l1_ratio=1.0, C=0.01),
            "scikit-learn liblinear": _logistic(
                "sklearn", l1_ratio=1.0, C=0.01, solver="liblinear", intercept_scaling=100.0
            ),
            "scikit-learn saga": _logistic("sklearn", l1_ratio=1.0, C=0.01, solver="saga"),
        },
        quality=_sparse_objective,
        floor=lambda rates: rates.floor(bytes=8.0 * 100_000 * 50 * 3),
        counted="three reads of X",
    ),
    Task(
        name="logistic_mnist",
        title="LogisticRegression, ten classes, MNIST 70 000 x 784",
        make=mnist,
        run={"kilogram": _logistic("kilogram"), "scikit-learn lbfgs": _logistic("sklearn")},
        quality=objective,
        floor=lambda rates: rates.floor(bytes=8.0 * 70_000 * 784 * 10),
        counted="ten reads of X",
        repeats=1,
    ),
    Task(
        name="logistic_text",
        title="LogisticRegression(solver='liblinear'), 20 newsgroups tf-idf, two classes",
        make=newsgroups,
        run={
            "kilogram": _logistic("kilogram", solver="liblinear"),
            "scikit-learn liblinear": _logistic("sklearn", solver="liblinear"),
            "scikit-learn lbfgs": _logistic("sklearn"),
        },
        quality=lambda model, data: objective(model, data, penalised=True),
        floor=lambda rates: rates.floor(bytes=12.0 * 1.7e6 * 20),
        counted="twenty reads of X",
    ),
    Task(
        name="small_logistic",
        title="Digits, 10 fits: LogisticRegression, ten classes",
        make=digits,
        run={"kilogram": _logistic("kilogram", 10), "scikit-learn": _logistic("sklearn", 10)},
        quality=objective,
        floor=lambda rates: 10 * rates.floor(bytes=8 * 1797 * 64),
        counted="one read of X each",
    ),
    Task(
        name="perceptron",
        title="Perceptron, twenty passes, n = 100 000, d = 50",
        make=lambda: two_classes(100_000, 50),
        run={"kilogram": _perceptron("kilogram"), "scikit-learn": _perceptron("sklearn")},
        quality=lambda model, data: {
            "test_accuracy": float(np.mean(model.predict(data[2]) == data[3]))
        },
        floor=lambda rates: rates.floor(bytes=20 * 8.0 * 100_000 * 50),
        counted="twenty reads of X",
    ),
]
