"""Support vector machines beside their peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.task import Task

GAMMA = 1 / 50


def two_classes(n: int, d: int, dtype: str = "f8", held: int = 5_000, seed: int = 0) -> tuple:
    """Correlated standardised columns, labels by a random network, 5 % of them flipped."""
    rng = np.random.default_rng(seed)
    r = max(4, d // 2)
    A = rng.standard_normal((r, d)) * (0.9 ** np.arange(r))[:, None]
    X = np.empty((n + held, d))
    for at in range(0, len(X), 50_000):
        Z = rng.standard_normal((min(50_000, len(X) - at), r))
        Z[:, ::3] += 0.5 * Z[:, ::3] ** 2
        X[at : at + len(Z)] = Z @ A + 0.4 * rng.standard_normal((len(Z), d))
    X = (X - X.mean(0)) / X.std(0)
    W = rng.standard_normal((d, 12)) / np.sqrt(d) * 1.5
    s = np.tanh(X @ W + 0.3) @ np.linspace(-1, 1, 12) + 0.15 * X[:, 0] * X[:, 1] + 0.2 * X[:, 2]
    y = (s > np.median(s)).astype(int)
    y = np.where(rng.random(len(y)) < 0.05, 1 - y, y)
    X = X.astype(dtype)
    return X[:n], y[:n], X[n:], y[n:]


def regression(n: int, d: int) -> tuple:
    X, _, new, _ = two_classes(n, d)
    rng = np.random.default_rng(1)
    w = rng.standard_normal((d, 8)) / np.sqrt(d)

    def f(Z: np.ndarray) -> np.ndarray:
        return np.tanh(Z @ w) @ np.linspace(-1, 1, 8) + 0.2 * rng.standard_normal(len(Z))

    return X, f(X), new, f(new)


def accuracy(model: Any, data: tuple) -> dict[str, float]:
    _, _, X, y = data
    found = {"test_accuracy": float(np.mean(model.predict(X) == y))}
    if hasattr(model, "dual_coef_") and hasattr(model, "support_vectors_"):
        found["dual_objective"] = dual_objective(model)
    return found


def dual_objective(model: Any) -> float:
    """1/2 b'K b - sum |b| of a two-class Gaussian machine, from any library."""
    from kilogram.native import kernel_matmul

    b = np.asarray(model.dual_coef_, dtype=float).ravel()
    X = np.ascontiguousarray(model.support_vectors_, dtype=float)
    return float(0.5 * b @ kernel_matmul("gaussian", X, None, (GAMMA,), b) - np.abs(b).sum())


def _svc(library: str, data: tuple, **params: Any) -> Any:
    return machine(library, "SVC")(C=1.0, gamma=GAMMA, **params).fit(*data[:2])


def machine(library: str, name: str) -> Callable[..., Any]:
    """The class of this name from one of the three libraries."""
    if library == "kilogram":
        import kilogram as kg

        return getattr(kg, name)
    if library == "sklearnex":
        import sklearnex.svm

        return getattr(sklearnex.svm, name)
    import sklearn.svm

    return getattr(sklearn.svm, name)


def _kernel(n: int, dtype: str, *, peers: bool = True, long: bool = False) -> Task:
    d, vectors = 50, 0.4 * n
    run = {"kilogram": partial(_svc, "kilogram")}
    if peers:
        run["scikit-learn"] = partial(_svc, "sklearn")
    run["scikit-learn-intelex"] = partial(_svc, "sklearnex")
    if not peers:
        run = {"kilogram": partial(_svc, "kilogram", max_memory="4GiB")}
    kind = "float64" if dtype == "f8" else "float32"
    return Task(
        name=f"svc_{n}_{dtype}",
        title=f"SVC, Gaussian, n = {n:,}, d = {d}, {kind}",
        make=lambda: two_classes(n, d, dtype),
        run=run,
        quality=accuracy,
        floor=lambda rates: rates.floor(flops=2 * n * vectors * d, exps=n * vectors, dtype=dtype),
        counted="each kernel column of a support vector once",
        repeats=3 if peers else 1,
        needs={"scikit-learn-intelex": "sklearnex"},
        long=long,
    )


def _predict() -> Task:
    n, d = 20_000, 50

    def make() -> tuple:
        X, y, new, held = two_classes(n, d)
        return X, y, new, held, _svc("kilogram", (X, y))

    def ours(data: tuple) -> Any:
        return data[4].predict(data[2])

    def peer(data: tuple) -> Any:
        return _as_sklearn(data[4], data).predict(data[2])

    def quality(found: Any, data: tuple) -> dict[str, float]:
        return {"test_accuracy": float(np.mean(found == data[3]))}

    return Task(
        name="svc_predict",
        title="SVC, Gaussian, 5,000 predictions from about 8,000 support vectors",
        make=make,
        run={"kilogram": ours, "scikit-learn": peer},
        quality=quality,
        floor=lambda rates: rates.floor(flops=2 * 5_000 * 8_000 * d, exps=5_000 * 8_000),
        counted="one kernel value per row and support vector",
    )


_CACHE: dict[int, Any] = {}


def _as_sklearn(model: Any, data: tuple) -> Any:
    """scikit-learn's machine fitted once on the same rows; only its predictions are timed."""
    if id(model) not in _CACHE:
        _CACHE[id(model)] = _svc("sklearn", data)
    return _CACHE[id(model)]


def _linear(loss: str, *, long: bool = False) -> Task:
    n, d = 200_000, 100
    power = 2 if loss == "squared_hinge" else 1

    def fit(library: str, data: tuple) -> Any:
        dual = {} if library == "kilogram" else {"dual": loss == "hinge"}
        return machine(library, "LinearSVC")(loss=loss, **dual).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        X, y = data[:2]
        h = np.maximum(0, 1 - np.where(y == 1, 1, -1) * (X @ model.coef_[0] + model.intercept_))
        w = np.append(model.coef_[0], model.intercept_)
        return {"objective": float(0.5 * w @ w + np.sum(h**power)) / n, **accuracy(model, data)}

    return Task(
        name=f"linear_svc_{loss}",
        title=f"LinearSVC, {loss.replace('_', ' ')}, n = {n:,}, d = {d}",
        make=lambda: two_classes(n, d),
        run={
            "kilogram": partial(fit, "kilogram"),
            "scikit-learn": partial(fit, "sklearn"),
        },
        quality=quality,
        floor=lambda rates: rates.floor(flops=8 * n * d * d, bytes=8 * 8 * n * d),
        counted="8 Newton steps, X'X and one read of X each",
        repeats=1 if long else 2,
        long=long,
    )


def _path(loss: str) -> Task:
    n, d, Cs = 200_000, 100, np.logspace(-3, 1, 10)

    def path(data: tuple) -> Any:
        import kilogram as kg

        return kg.svm_path(kg.LinearSVC(loss=loss), *data[:2], Cs).models[-1]

    def one(data: tuple) -> Any:
        import kilogram as kg

        return kg.LinearSVC(C=10.0, loss=loss).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        return {"objective": model.objective_, **accuracy(model, data)}

    return Task(
        name=f"linear_svc_path_{loss}",
        title=f"LinearSVC, {loss.replace('_', ' ')}, ten values of C, n = {n:,}, d = {d}",
        make=lambda: two_classes(n, d),
        run={"kilogram": path, "kilogram, the last value alone": one},
        ours=("kilogram", "kilogram, the last value alone"),
        quality=quality,
        floor=lambda rates: rates.floor(flops=8 * n * d * d, bytes=8 * 8 * n * d),
        counted="8 Newton steps, X'X and one read of X each",
    )


def _kernel_path() -> Task:
    n, d, Cs = 20_000, 50, np.logspace(-2, 1, 10)

    def path(data: tuple) -> Any:
        import kilogram as kg

        return kg.svm_path(kg.SVC(gamma=GAMMA), *data[:2], Cs).models[-1]

    def one(data: tuple) -> Any:
        import kilogram as kg

        return kg.SVC(C=10.0, gamma=GAMMA).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        return {"objective": model.objective_, **accuracy(model, data)}

    return Task(
        name="svc_path",
        title=f"SVC, Gaussian, ten values of C from 0.01 to 10, n = {n:,}, d = {d}",
        make=lambda: two_classes(n, d),
        run={"kilogram": path, "kilogram, the last value alone": one},
        ours=("kilogram", "kilogram, the last value alone"),
        quality=quality,
        floor=lambda rates: rates.floor(flops=2 * n * 0.4 * n * d, exps=0.4 * n * n),
        counted="each kernel column of a support vector once",
        repeats=1,
    )


def _digits(name: str, **params: Any) -> Task:
    """Small data with ten classes: 1 797 rows of 64."""

    def make() -> tuple:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X[::2] / 16.0, y[::2], X[1::2] / 16.0, y[1::2]

    def fit(library: str, data: tuple) -> Any:
        for _ in range(10):
            model = machine(library, name)(**params).fit(*data[:2])
        return model

    def quality(model: Any, data: tuple) -> dict[str, float]:
        return {"test_accuracy": float(np.mean(model.predict(data[2]) == data[3]))}

    words = "_".join(str(v) for v in params.values())
    return Task(
        name=f"digits_{name.lower()}_{words}".rstrip("_"),
        title=f"Digits, 10 fits: {name} {words}".rstrip(),
        make=make,
        run={"kilogram": partial(fit, "kilogram"), "scikit-learn": partial(fit, "sklearn")},
        quality=quality,
        floor=lambda rates: 10 * rates.floor(bytes=8 * 898 * 64),
        counted="one read of X each",
        repeats=7,
    )


def _svr() -> Task:
    n, d = 8_000, 50

    def fit(library: str, data: tuple) -> Any:
        return machine(library, "SVR")(C=1.0, gamma=GAMMA).fit(*data[:2])

    def quality(model: Any, data: tuple) -> dict[str, float]:
        error = np.ravel(model.predict(data[2])) - data[3]
        return {"test_r2": float(1 - np.mean(error**2) / np.var(data[3]))}

    return Task(
        name="svr_8000",
        title=f"SVR, Gaussian, n = {n:,}, d = {d}",
        make=lambda: regression(n, d),
        run={
            "kilogram": partial(fit, "kilogram"),
            "scikit-learn": partial(fit, "sklearn"),
            "scikit-learn-intelex": partial(fit, "sklearnex"),
        },
        quality=quality,
        floor=lambda rates: rates.floor(flops=2 * n * 0.7 * n * d, exps=0.7 * n * n),
        counted="each kernel column of a support vector once",
        needs={"scikit-learn-intelex": "sklearnex"},
    )


TASKS = [
    _kernel(20_000, "f8"),
    _kernel(20_000, "f4"),
    _kernel(100_000, "f8", peers=False, long=True),
    _predict(),
    _svr(),
    _linear("squared_hinge"),
    _linear("hinge", long=True),
    _path("squared_hinge"),
    _path("hinge"),
    _kernel_path(),
    _digits("SVC"),
    _digits("SVC", kernel="linear"),
    _digits("LinearSVC"),
    _digits("LinearSVC", loss="hinge"),
]
