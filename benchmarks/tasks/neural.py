"""Networks beside scikit-learn and a plain torch loop: epochs of Adam on rows like MNIST's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.task import Task

EPOCHS = 3
UNITS = 100
BATCH = 200


def _digits(n: int, dtype: str) -> Callable[[], tuple]:
    """n rows of 784 grey values in ten overlapping classes, and 5 000 more to predict."""

    def make() -> tuple:
        rng = np.random.default_rng(0)
        strokes = rng.random((40, 784)) * (rng.random((40, 784)) < 0.15)
        style = rng.integers(0, 40, n + 5000)
        noise = rng.random((n + 5000, 784)) * (rng.random((n + 5000, 784)) < 0.3)
        X = np.minimum(0.5 * strokes[style] + noise, 1.0).astype(dtype)
        return X[:n], style[:n] % 10, X[n:], style[n:] % 10

    return make


def _fit(module: str) -> Callable[[tuple], Any]:
    def run(data: tuple) -> Any:
        make = import_module(module).MLPClassifier
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of epochs is part of the task
            model = make((UNITS,), batch_size=BATCH, max_iter=EPOCHS, random_state=0)
            return model.fit(data[0], data[1]).predict

    return run


def _torch(data: tuple) -> Any:
    """The loop a user of torch writes: cross-entropy, Adam, shuffled batches."""
    import torch

    torch.manual_seed(0)
    X, y = torch.asarray(data[0]), torch.asarray(data[1])
    kind = X.dtype
    net = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], UNITS, dtype=kind),
        torch.nn.ReLU(),
        torch.nn.Linear(UNITS, 10, dtype=kind),
    )
    optimizer, loss = torch.optim.Adam(net.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        for index in torch.randperm(len(X)).split(BATCH):
            optimizer.zero_grad()
            loss(net(X[index]), y[index]).backward()
            optimizer.step()
    return lambda new: net(torch.asarray(new)).argmax(dim=1).numpy()


def _accuracy(predict: Any, data: tuple) -> dict[str, float]:
    return {"accuracy": float(np.mean(predict(data[2]) == data[3]))}


def _epochs(n: int, dtype: str) -> Task:
    kind = "float32" if dtype == "f4" else "float64"
    return Task(
        name=f"mlp_{n // 1000}k_{kind}",
        title=f"MLPClassifier, {n:,} x 784, {UNITS} units, batches of {BATCH}, {EPOCHS} epochs, "
        f"{kind}",
        make=_digits(n, dtype),
        run={
            "kilogram": _fit("kilogram"),
            "scikit-learn": _fit("sklearn.neural_network"),
            "torch": _torch,
        },
        quality=_accuracy,
        needs={"torch": "torch"},
        floor=lambda rates: rates.floor(flops=4.0 * EPOCHS * n * 784 * UNITS, dtype="f4"),
        counted="two products of all rows with the first layer an epoch, in float32",
        repeats=2,
    )


TASKS: tuple[Task, ...] = (_epochs(60_000, "f8"), _epochs(60_000, "f4"), _epochs(2_000, "f8"))
