"""Support vector machines on public data; KILOGRAM_DATA names a folder that holds it.

Known answers: a9a 84.8 % (C = 1, gamma = 1/123) and 85.1 % (C = 8, gamma = 1/32), MNIST 1.4 to
1.5 % errors (C = 10, gamma = 0.02, pixels / 255).
"""

from __future__ import annotations

import gzip
import io
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.task import Task
from benchmarks.tasks.svm import machine

FOLDER = Path(os.environ.get("KILOGRAM_DATA", "no such folder"))


def a9a() -> tuple:
    from sklearn.datasets import load_svmlight_file

    def read(name: str) -> tuple:
        content = gzip.decompress((FOLDER / "libsvm" / name).read_bytes())
        X, y = load_svmlight_file(io.BytesIO(content), n_features=123)
        return X.toarray(), y

    return *read("a9a.svm.gz"), *read("a9a.t.svm.gz")


def covtype() -> tuple:
    data = np.load(FOLDER / "covtype_20k.npz")
    X, y = np.asarray(data["X"], dtype=float), np.asarray(data["y"]).ravel() == 2
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order].astype(int)
    scale = X[:15_000].std(axis=0)
    X = (X - X[:15_000].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return X[:15_000], y[:15_000], X[15_000:], y[15_000:]


def mnist(n: int) -> tuple:
    def read(name: str, skip: int) -> np.ndarray:
        content = gzip.decompress((FOLDER / "mnist" / name).read_bytes())
        return np.frombuffer(content, dtype=np.uint8, offset=skip)

    def images(name: str) -> np.ndarray:
        return (read(name, 16).reshape(-1, 784) / 255.0).astype(np.float32)

    X, new = images("train-images-idx3-ubyte.gz"), images("t10k-images-idx3-ubyte.gz")
    y, held = read("train-labels-idx1-ubyte.gz", 8), read("t10k-labels-idx1-ubyte.gz", 8)
    return X[:n], y[:n], new, held


def _task(
    name: str,
    title: str,
    make: Callable[[], tuple],
    params: dict[str, Any],
    peers: tuple[str, ...],
    count: tuple[int, int, int],
) -> Task:
    n, vectors, d = count
    names = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex"}

    def fit(library: str, data: tuple) -> Any:
        return machine(library, "SVC")(**params).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        start = time.perf_counter()
        predicted = model.predict(data[2])
        return {
            "predict_seconds": time.perf_counter() - start,
            "test_accuracy": float(np.mean(predicted == data[3])),
            "support_vectors": float(np.sum(model.n_support_)),
        }

    return Task(
        name=name,
        title=title,
        make=make,
        run={
            "kilogram": partial(fit, "kilogram"),
            **{names[peer]: partial(fit, peer) for peer in peers},
        },
        quality=quality,
        floor=lambda rates: rates.floor(flops=2.0 * n * vectors * d, exps=float(n * vectors)),
        counted="each kernel column of a support vector once",
        repeats=1,
        needs={"scikit-learn-intelex": "sklearnex"},
        long=True,
    )


BOTH = ("sklearn", "sklearnex")
A9A = {"C": 1.0, "gamma": 1 / 123}
COVTYPE = {"C": 10.0, "gamma": 1 / 54}
MNIST = {"C": 10.0, "gamma": 0.02}
TASKS = [
    task
    for found, task in (
        (
            (FOLDER / "libsvm" / "a9a.svm.gz").is_file(),
            _task("svc_a9a", "SVC, a9a, 32 561 x 123", a9a, A9A, BOTH, (32_561, 11_954, 123)),
        ),
        (
            (FOLDER / "covtype_20k.npz").is_file(),
            _task(
                "svc_covtype",
                "SVC, covtype, 15 000 x 54",
                covtype,
                COVTYPE,
                BOTH,
                (15_000, 7_000, 54),
            ),
        ),
        (
            (FOLDER / "mnist").is_dir(),
            _task(
                "svc_mnist_10000",
                "SVC, MNIST, 10 000 x 784, float32",
                partial(mnist, 10_000),
                MNIST,
                BOTH,
                (2_000, 700 * 45, 784),
            ),
        ),
        (
            (FOLDER / "mnist").is_dir(),
            _task(
                "svc_mnist_60000",
                "SVC, MNIST, 60 000 x 784, float32",
                partial(mnist, 60_000),
                MNIST,
                BOTH,
                (12_000, 1_300 * 45, 784),
            ),
        ),
    )
    if found
]
