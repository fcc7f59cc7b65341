"""Gaussian processes beside their peers: one likelihood with gradient, whole fits, predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.task import Task


def process(n: int, d: int = 8, seed: int = 0) -> tuple:
    """A smooth function of d inputs with noise, and 500 rows held out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 500, d))
    W = rng.standard_normal((d, 4)) / np.sqrt(d)
    y = np.sin(X @ W).sum(axis=1) / 2.0 + 0.2 * rng.standard_normal(len(X))
    return X[:n], y[:n], X[n:], y[n:]


def labelled(n: int) -> tuple:
    """The same with two classes."""
    X, y, new, truth = process(n)
    return X, (y > 0).astype(int), new, (truth > 0).astype(int)


def _sklearn_kernel() -> Any:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    return ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)


def _models() -> dict[str, Callable[[str], Any]]:
    """The classes by the name of the contestant."""

    def ours(kind: str) -> Any:
        import kilogram as kg

        return getattr(kg, f"GaussianProcess{kind}")

    def theirs(kind: str) -> Any:
        from sklearn import gaussian_process

        return getattr(gaussian_process, f"GaussianProcess{kind}")

    return {"kilogram": ours, "scikit-learn": theirs}


def _likelihood(n: int) -> Task:
    """The models are conditioned on the data when it is made; only the likelihood is timed."""

    def make() -> dict[str, Any]:
        X, y = process(n)[:2]
        kernel = _sklearn_kernel()
        return {
            name: find("Regressor")(kernel, optimizer=None).fit(X, y)
            for name, find in _models().items()
        }

    def run(name: str) -> Callable[[Any], Any]:
        theta = np.log([1.3, 2.2, 0.08])
        return lambda data: data[name].log_marginal_likelihood(theta, eval_gradient=True)

    return Task(
        name=f"process_likelihood_{n}",
        title=f"Gaussian process, one marginal likelihood with gradient, n = {n:,}, d = 8",
        make=make,
        run={name: run(name) for name in _models()},
        quality=lambda result, data: {
            "log_likelihood": float(result[0]),
            "gradient_norm": float(np.linalg.norm(result[1])),
        },
        floor=lambda rates: rates.floor(flops=n**3, exps=n * n / 2),
        counted="Cholesky n^3/3, inverse 2n^3/3, half the kernel matrix",
        repeats=3,
    )


def _fit(n: int) -> Task:
    def run(find: Callable[[str], Any]) -> Callable[[Any], Any]:
        return lambda data: find("Regressor")(_sklearn_kernel()).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        mean, std = model.predict(data[2], return_std=True)
        z = (data[3] - mean) / std
        return {
            "log_likelihood": float(model.log_marginal_likelihood_value_),
            "test_log_density": float(np.mean(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2 * np.pi))),
        }

    return Task(
        name=f"process_fit_{n}",
        title=f"GaussianProcessRegressor, parameters tuned, n = {n:,}, d = 8",
        make=lambda: process(n),
        run={name: run(find) for name, find in _models().items()},
        quality=quality,
        floor=lambda rates: rates.floor(flops=12.0 * n**3, exps=6 * n * n),
        counted="12 likelihoods with gradient",
        repeats=1,
    )


def _predict(n: int, m: int) -> Task:
    def make() -> dict[str, Any]:
        X, y = process(n)[:2]
        kernel = _sklearn_kernel()
        fitted = {
            name: find("Regressor")(kernel, optimizer=None).fit(X, y)
            for name, find in _models().items()
        }
        return {**fitted, "new": process(m, seed=1)[0]}

    def run(name: str) -> Callable[[Any], Any]:
        return lambda data: data[name].predict(data["new"], return_std=True)

    return Task(
        name=f"process_predict_{n}",
        title=f"Gaussian process, mean and deviation of {m:,} rows from n = {n:,}",
        make=make,
        run={name: run(name) for name in _models()},
        quality=lambda result, data: {"mean_std": float(np.mean(result[1]))},
        floor=lambda rates: rates.floor(flops=1.0 * n * n * m, exps=n * m),
        counted="one triangular solve with all rows",
    )


def _classify(n: int) -> Task:
    def kernel() -> Any:
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        return ConstantKernel(1.0) * RBF(2.0)

    def run(find: Callable[[str], Any]) -> Callable[[Any], Any]:
        return lambda data: find("Classifier")(kernel()).fit(*data[:2])

    return Task(
        name=f"process_classifier_{n}",
        title=f"GaussianProcessClassifier, parameters tuned, n = {n:,}, d = 8",
        make=lambda: labelled(n),
        run={name: run(find) for name, find in _models().items()},
        quality=lambda model, data: {
            "log_likelihood": float(model.log_marginal_likelihood_value_),
            "test_accuracy": float(np.mean(model.predict(data[2]) == data[3])),
        },
        floor=lambda rates: rates.floor(flops=12 * (5 / 3 + 2 / 3) * n**3, exps=6 * n * n),
        counted="12 likelihoods, each five Cholesky factors and one inverse",
        repeats=1,
    )


TASKS = [_likelihood(3_000), _fit(3_000), _predict(3_000, 5_000), _classify(1_000)]
