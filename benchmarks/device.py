"""Methods on a GPU: tensors of torch there, beside plain torch programs and our NumPy answers.

    python -m benchmarks.device --out results.json [--only network --only ridge] [--no-host]

Ours and a torch program of the same work run in one process on the same tensors, in turn, after a
warm-up of both, with the device synchronised before the clock is read; times are the smallest of
`--repeats` runs. `ratio` is ours over torch's (below 1: ours is faster), `agreement` compares the
two results and says how, `host` is the same fit of ours on NumPy's copy of the data and `host
agreement` how far the two are apart. `--device cpu --small` tries the script where there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kilogram as kg
from benchmarks.tasks.neural import _digits as digits
from kilogram.arrays.namespace import to_numpy

torch: Any = None  # imported by main, so that --help works without it


class Case(NamedTuple):
    """Work on a tuple of arrays, ours and torch's; `compare(ours, theirs)` are figures to print."""

    name: str
    title: str
    data: tuple[np.ndarray, ...]
    ours: Callable[..., Any]
    plain: Callable[..., Any]
    compare: Callable[[Any, Any], dict[str, float]]
    #: The fit repeats a step this many times: times are for one.
    steps: int = 1


@dataclass
class Row:
    """Figures of one case; times in seconds."""

    name: str
    title: str
    ours: float = math.nan
    torch: float = math.nan
    ratio: float = math.nan
    agreement: dict[str, float] | None = None
    host: float | None = None
    host_agreement: dict[str, float] | None = None
    error: str | None = None


# ---- the cases -----------------------------------------------------------------------------------


def networks(small: bool) -> Iterator[Case]:
    """Epochs of Adam on rows like MNIST's, the whole fit included."""
    n, epochs = (2_000, 2) if small else (60_000, 4)
    X, y, new, truth = digits(n, "float32")()
    for hidden in ((100,), (512, 256)):
        for batch in (200, 1024):

            def ours(X: Any, y: Any, new: Any, hidden: Any = hidden, batch: int = batch) -> Any:
                model = kg.MLPClassifier(
                    hidden, batch_size=batch, max_iter=epochs, random_state=0, n_iter_no_change=99
                )
                return model.fit(X, y).predict_proba(new).argmax(axis=1)

            def plain(X: Any, y: Any, new: Any, hidden: Any = hidden, batch: int = batch) -> Any:
                return _network_loop(X, y, hidden, batch, epochs)(new).argmax(dim=1)

            def compare(ours: Any, theirs: Any) -> dict[str, float]:
                right = [float(np.mean(to_numpy(found) == truth)) for found in (ours, theirs)]
                return {"accuracy": right[0], "accuracy of the other": right[1]}

            yield Case(
                f"network_{'x'.join(map(str, hidden))}_batch_{batch}",
                f"MLPClassifier {hidden}, {n:,} x 784, batches of {batch}: an epoch of Adam",
                (X, y, new), ours, plain, compare, epochs,
            )  # fmt: skip


def _network_loop(X: Any, y: Any, hidden: tuple[int, ...], batch: int, epochs: int) -> Any:
    """What a user of torch writes: cross-entropy, Adam, shuffled batches on the device."""
    torch.manual_seed(0)
    sizes, layers = (X.shape[1], *hidden, int(y.max()) + 1), []
    for a, b in pairwise(sizes):
        layers += [torch.nn.Linear(a, b, dtype=X.dtype), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1]).to(X.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4 / batch)
    loss = torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        for index in torch.randperm(len(X), device=X.device).split(batch):
            optimizer.zero_grad()
            loss(net(X[index]), y[index]).backward()
            optimizer.step()
    return net.eval()


def neighbours(small: bool) -> Iterator[Case]:
    n, m, k = (5_000, 500, 10) if small else (200_000, 20_000, 10)
    rng = np.random.default_rng(0)
    X, Q = (rng.standard_normal((rows, 64)).astype(np.float32) for rows in (n, m))

    def ours(X: Any, Q: Any) -> Any:
        return kg.NearestNeighbors(n_neighbors=k).fit(X).kneighbors(Q)

    def plain(X: Any, Q: Any, block: int = 2_000) -> Any:
        parts = [torch.cdist(q, X).topk(k, dim=1, largest=False) for q in Q.split(block)]
        return torch.cat([p.values for p in parts]), torch.cat([p.indices for p in parts])

    def compare(ours: Any, theirs: Any) -> dict[str, float]:
        distances = _apart(ours[0], theirs[0])
        same = float(np.mean(to_numpy(ours[1]) == to_numpy(theirs[1])))
        return {"largest difference of distances": distances, "equal indices": same}

    yield Case(
        "neighbours", f"NearestNeighbors, {m:,} x {n:,}, d = 64, k = {k}", (X, Q),
        ours, plain, compare,
    )  # fmt: skip


def kmeans(small: bool) -> Iterator[Case]:
    n, k, steps = (5_000, 20, 5) if small else (500_000, 100, 20)
    rng = np.random.default_rng(0)
    centres = 0.7 * rng.standard_normal((k, 50))  # near enough that no cluster becomes empty
    X = (rng.standard_normal((n, 50)) + centres[rng.integers(0, k, n)]).astype(np.float32)
    start = X[rng.choice(n, k, replace=False)]

    def ours(X: Any, start: Any) -> float:
        model = kg.KMeans(k, init=start, n_init=1, max_iter=steps, tol=0).fit(X)
        return float(model.inertia_)

    def plain(X: Any, start: Any) -> float:
        centres, ones = start.clone(), torch.ones_like(X[:, 0])
        for _ in range(steps):
            labels = _squared(X, centres).argmin(dim=1)
            sums = torch.zeros_like(centres).index_add_(0, labels, X)
            counts = torch.zeros_like(centres[:, 0]).index_add_(0, labels, ones)
            moved = torch.where(counts[:, None] > 0, sums / counts.clamp(min=1)[:, None], centres)
            if torch.equal(moved, centres):
                break
            centres = moved
        return float(_squared(X, centres).min(dim=1).values.double().sum())

    yield Case(
        "kmeans", f"KMeans, {n:,} x 50, k = {k}, {steps} iterations from given centres, float32",
        (X, start), ours, plain, lambda a, b: {"inertia over the other": a / b},
    )  # fmt: skip


def _squared(X: Any, C: Any) -> Any:
    """Squared distances through a matrix product."""
    return (X * X).sum(dim=1, keepdim=True) - 2 * (X @ C.T) + (C * C).sum(dim=1)


def ridge(small: bool) -> Iterator[Case]:
    n, d = (5_000, 50) if small else (1_000_000, 200)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(np.float32) + 1
    y = (X @ rng.standard_normal(d) + rng.standard_normal(n)).astype(np.float32)

    def plain(X: Any, y: Any) -> Any:
        Z, t = X - X.mean(dim=0), y - y.mean()
        return torch.linalg.solve(Z.T @ Z + torch.eye(d, dtype=X.dtype, device=X.device), Z.T @ t)

    for dtype in ("float32", "float64"):
        yield Case(
            f"ridge_{dtype}", f"Ridge, {n:,} x {d}, {dtype}", (X.astype(dtype), y.astype(dtype)),
            lambda X, y: kg.Ridge().fit(X, y).coef_, plain, _coefficients,
        )  # fmt: skip


def pca(small: bool) -> Iterator[Case]:
    n, d, k = (3_000, 60, 10) if small else (300_000, 400, 10)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 30)) @ rng.standard_normal((30, d))
    X = (X + 0.3 * rng.standard_normal((n, d)) + 1).astype(np.float32)

    def plain(X: Any) -> Any:
        Z = X - X.mean(dim=0)
        return torch.linalg.eigvalsh(Z.T @ Z / (n - 1)).flip(0)[:k]

    for dtype in ("float32", "float64"):
        yield Case(
            f"pca_{dtype}", f"PCA, {n:,} x {d}, {k} components, {dtype}", (X.astype(dtype),),
            lambda X: kg.PCA(k).fit(X).explained_variance_, plain,
            lambda a, b: {"largest difference of variances": _apart(a, b)},
        )  # fmt: skip


def logistic(small: bool) -> Iterator[Case]:
    n, d = (4_000, 30) if small else (500_000, 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(np.float32)
    for classes in (2, 10):
        F = X @ rng.standard_normal((d, classes)) / math.sqrt(d) + rng.gumbel(size=(n, classes))
        y = F.argmax(axis=1)

        def plain(X: Any, y: Any, classes: int = classes) -> Any:
            return _logistic_loop(X, y, classes)

        def compare(
            ours: Any, theirs: Any, X: Any = X, y: Any = y, classes: int = classes
        ) -> dict[str, float]:
            a, b = (_log_loss(X, y, found, classes) for found in (ours, theirs))
            return {"objective over the other": a / b}

        yield Case(
            f"logistic_{classes}", f"LogisticRegression, {n:,} x {d}, {classes} classes, float32",
            (X, y), _logistic, plain, compare,
        )  # fmt: skip


def _logistic(X: Any, y: Any) -> tuple[Any, Any]:
    model = kg.LogisticRegression().fit(X, y)
    return model.coef_, model.intercept_


def _logistic_loop(X: Any, y: Any, classes: int) -> tuple[Any, Any]:
    """torch's L-BFGS on the same objective, to the tolerance that is the default of ours."""
    rows = 1 if classes == 2 else classes
    W = torch.zeros((rows, X.shape[1]), dtype=X.dtype, device=X.device, requires_grad=True)
    b = torch.zeros(rows, dtype=X.dtype, device=X.device, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [W, b], max_iter=100, tolerance_grad=1e-4, tolerance_change=1e-9,
        line_search_fn="strong_wolfe",
    )  # fmt: skip
    target = y.to(X.dtype) if rows == 1 else y

    def closure() -> Any:
        optimizer.zero_grad()
        F = X @ W.T + b
        if rows == 1:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(F[:, 0], target)
        else:
            loss = torch.nn.functional.cross_entropy(F, target)
        loss = loss + 0.5 * (W * W).sum() / len(X)
        loss.backward()
        return loss

    optimizer.step(closure)
    return W.detach(), b.detach()


def _log_loss(X: np.ndarray, y: np.ndarray, found: Any, classes: int) -> float:
    """The objective of both, in float64 on the host."""
    W, b = (np.asarray(to_numpy(a), dtype=np.float64) for a in found)
    F = X.astype(np.float64) @ W.T + b
    if classes == 2:
        F = np.column_stack([np.zeros(len(F)), F[:, 0]])
    rows = np.logaddexp.reduce(F, axis=1) - F[np.arange(len(F)), y]
    return float(rows.sum() + 0.5 * np.sum(W * W))


def kernel_ridge(small: bool) -> Iterator[Case]:
    n, d = (500, 10) if small else (15_000, 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)

    def plain(X: Any, y: Any) -> Any:
        K = torch.exp(-0.05 * _squared(X, X))
        K.diagonal().add_(0.1)
        return torch.cholesky_solve(y[:, None], torch.linalg.cholesky(K))[:, 0]

    for dtype in ("float32", "float64"):
        yield Case(
            f"kernel_ridge_{dtype}", f"KernelRidge, Gaussian, n = {n:,}, {dtype}",
            (X.astype(dtype), y.astype(dtype)),
            lambda X, y: kg.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05).fit(X, y).dual_coef_,
            plain, _coefficients,
        )  # fmt: skip


def process(small: bool) -> Iterator[Case]:
    n, m, d = (400, 100, 5) if small else (8_000, 2_000, 5)
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)

    def ours(X: Any, y: Any, new: Any) -> Any:
        model = kg.GaussianProcessRegressor(kg.Gaussian(2.0), alpha=0.01, optimizer=None)
        return model.fit(X, y).predict(new, return_std=True)

    def plain(X: Any, y: Any, new: Any) -> Any:
        K = torch.exp(-_squared(X, X) / 8)
        K.diagonal().add_(0.01)
        L = torch.linalg.cholesky(K)
        cross = torch.exp(-_squared(new, X) / 8)
        mean = cross @ torch.cholesky_solve(y[:, None], L)[:, 0]
        V = torch.linalg.solve_triangular(L, cross.T, upper=False)
        return mean, (1 - (V * V).sum(dim=0)).clamp(min=0).sqrt()

    for dtype in ("float32", "float64"):
        yield Case(
            f"process_{dtype}",
            f"GaussianProcessRegressor, fixed kernel, n = {n:,}, {m:,} means and deviations, "
            f"{dtype}",
            tuple(a.astype(dtype) for a in (X, y, new)), ours, plain,
            lambda a, b: {"mean": _apart(a[0], b[0]), "deviation": _apart(a[1], b[1])},
        )  # fmt: skip


CASES: dict[str, Callable[[bool], Iterator[Case]]] = {
    "network": networks, "neighbours": neighbours, "kmeans": kmeans, "ridge": ridge, "pca": pca,
    "logistic": logistic, "kernel_ridge": kernel_ridge, "process": process,
}  # fmt: skip


def _apart(a: Any, b: Any) -> float:
    """Largest difference, over the largest number."""
    a, b = (np.asarray(to_numpy(x), dtype=np.float64) for x in (a, b))
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def _coefficients(a: Any, b: Any) -> dict[str, float]:
    return {"largest difference of coefficients": _apart(a, b)}


# ---- measuring -----------------------------------------------------------------------------------


def seconds(work: Callable[..., Any], data: tuple, device: str) -> tuple[float, Any]:
    """The time of a call, from an idle device to an idle device, and its result."""
    _synchronise(device)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed number of iterations is part of the work
        found = work(*data)
    _synchronise(device)
    return time.perf_counter() - started, found


def _synchronise(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def measured(case: Case, device: str, repeats: int, *, host: bool) -> Row:
    """Ours and torch's in turn on the device, and ours once on the host."""
    row = Row(case.name, case.title)
    tensors = tuple(torch.asarray(a, device=device) for a in case.data)
    _, first = seconds(case.ours, tensors, device)
    _, other = seconds(case.plain, tensors, device)
    row.agreement = case.compare(first, other)
    times = []
    for _ in range(repeats):
        pair = [seconds(work, tensors, device)[0] for work in (case.ours, case.plain)]
        times.append([spent / case.steps for spent in pair])
    row.ours, row.torch = np.min(times, axis=0).tolist()
    row.ratio = row.ours / row.torch
    if host:
        spent, found = seconds(case.ours, case.data, "cpu")
        row.host, row.host_agreement = spent / case.steps, case.compare(first, found)
    return row


def _line(row: Row) -> str:
    if row.error is not None:
        return f"{row.name:32} {row.error.strip().splitlines()[-1]}"
    host = "" if row.host is None else f"{1e3 * row.host:10.1f}"
    notes = [
        f"{name} {value:.4g}"
        for found in (row.agreement, row.host_agreement)
        for name, value in (found or {}).items()
    ]
    times = f"{1e3 * row.ours:10.2f} {1e3 * row.torch:10.2f} {row.ratio:7.2f} {host:>10}"
    return f"{row.name:32} {times}  {'; '.join(notes)}"


def main() -> None:
    """Measure, print a table, write JSON after every case."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--device", default="cuda")
    ask.add_argument("--small", action="store_true", help="sizes for a try")
    ask.add_argument("--only", action="append", choices=CASES, help="may be given several times")
    ask.add_argument("--repeats", type=int, default=3)
    ask.add_argument("--no-host", action="store_true", help="leave the NumPy fits out")
    given = ask.parse_args()
    global torch
    import torch

    if given.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU: give --device cpu for a try.")
    machine = torch.cuda.get_device_name() if given.device.startswith("cuda") else "cpu"
    head = f"{machine}, torch {torch.__version__}, Python {platform.python_version()}"
    print(head)
    print(f"{'':32} {'ours ms':>10} {'torch ms':>10} {'ratio':>7} {'host ms':>10}  agreement")
    rows: list[Row] = []
    for group in given.only or CASES:
        for case in CASES[group](given.small):
            try:
                row = measured(case, given.device, given.repeats, host=not given.no_host)
            except Exception:
                # a device is lent for minutes: the other cases are measured all the same
                row = Row(case.name, case.title, error=traceback.format_exc())
            rows.append(row)
            print(_line(row), flush=True)
            given.out.write_text(
                json.dumps({"machine": head, "rows": [asdict(row) for row in rows]}, indent=1)
            )
    for row in rows:
        if row.error is not None:
            print(f"\n{row.name}\n{row.error}")


if __name__ == "__main__":
    main()
