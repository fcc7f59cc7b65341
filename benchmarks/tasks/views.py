"""Two views and classes: CCA, kernel CCA and Fisher's discriminant beside their peers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.task import Task


def _views(n: int, p: int, q: int, k: int = 10) -> tuple:
    rng = np.random.default_rng(0)
    s = rng.standard_normal((n, k))
    X = s @ rng.standard_normal((k, p)) + rng.standard_normal((n, p))
    Y = s @ rng.standard_normal((k, q)) + rng.standard_normal((n, q))
    return X, Y


def _agreement(model: Any, data: tuple) -> dict[str, float]:
    """Sum of the correlations of the paired scores, whatever the peer calls them; beside it, where
    the data has new rows, that of rows not seen."""
    found = {"sum_of_correlations": _sum(model, *data[:2])}
    return found | ({"held_out": _sum(model, *data[2:])} if len(data) > 2 else {})


def _sum(model: Any, X: Any, Y: Any) -> float:
    listed = hasattr(model, "n_views_") or type(model).__module__.startswith(("cca_zoo", "mvlearn"))
    U, V = (np.asarray(s) for s in (model.transform([X, Y]) if listed else model.transform(X, Y)))
    return float(sum(abs(np.corrcoef(U[:, j], V[:, j])[0, 1]) for j in range(U.shape[1])))


def _cca() -> Task:
    n, p, q, k = 20_000, 100, 80, 10

    def ours(data: tuple) -> Any:
        import kilogram as kg

        return kg.CCA(k).fit(*data)

    def peer(data: tuple) -> Any:
        from sklearn.cross_decomposition import CCA

        return CCA(k, max_iter=2000).fit(*data)

    def zoo(data: tuple) -> Any:
        from cca_zoo.linear import CCA

        return CCA(n_components=k).fit(list(data))

    def mvlearn(data: tuple) -> Any:
        # 0.5, its last version, fails with scikit-learn 1.6 and later: measure it with an older one
        from mvlearn.embed import CCA

        return CCA(n_components=k).fit(list(data))

    return Task(
        name="cca_20000",
        title=f"CCA, {n:,} rows of {p} and {q}, {k} pairs",
        make=lambda: _views(n, p, q),
        run={"kilogram": ours, "scikit-learn": peer, "cca-zoo": zoo, "mvlearn": mvlearn},
        quality=_agreement,
        floor=lambda rates: rates.floor(flops=n * (p + q) ** 2, bytes=8 * n * (p + q)),
        counted="the joint covariance (syrk) or one read of both views",
        needs={"cca-zoo": "cca_zoo", "mvlearn": "mvlearn"},
    )


def _split(n: int, new: int = 1_000) -> tuple:
    """Two views of n rows, and of `new` rows held out."""
    X, Y = _views(n + new, 6, 5, 2)
    return X[:n], Y[:n], X[n:], Y[n:]


def _kernel_cca(n: int) -> Task:
    alpha = 0.01

    def ours(data: tuple) -> Any:
        import kilogram as kg

        kernel = kg.Gaussian(gamma=0.05)
        return kg.KernelCCA(2, kernel=kernel, alpha=alpha, random_state=0).fit(*data[:2])

    def zoo(data: tuple) -> Any:
        from cca_zoo.nonparametric import KCCA

        # its ridge is (1 - c) K^2 / (n - 1) + c K: the same objective as ours
        c = alpha / (1 + alpha)
        return KCCA(n_components=2, kernel="rbf", gamma=0.05, shrinkage=c).fit(list(data[:2]))

    return Task(
        name=f"kernel_cca_{n}",
        title=f"KernelCCA, Gaussian, {n:,} rows, 2 pairs",
        make=lambda: _split(n),
        run={"kilogram": ours, "cca-zoo": zoo},
        quality=_agreement,
        floor=lambda rates: rates.floor(flops=2 * n**3 / 3, exps=n * n),
        counted="two Gram matrices and two Cholesky factors",
        repeats=1,
        needs={"cca-zoo": "cca_zoo"},
        long=n > 2_000,
    )


def _kernel_cca_nystroem() -> Task:
    """No peer: its kernel matrices would take 160 GB."""
    n, m = 100_000, 500

    def ours(data: tuple) -> Any:
        import kilogram as kg

        kernel = kg.Gaussian(gamma=0.05)
        model = kg.KernelCCA(
            2, kernel=kernel, alpha=0.01, approximation="nystroem", n_features=m, random_state=0
        )
        return model.fit(*data[:2])

    return Task(
        name="kernel_cca_nystroem",
        title=f"KernelCCA by Nystroem, Gaussian, {n:,} rows, {m} landmarks a view, 2 pairs",
        make=lambda: _split(n),
        run={"kilogram": ours},
        quality=_agreement,
        floor=lambda rates: rates.floor(flops=n * (2 * m) ** 2 + 4.0 * n * m * m, exps=2 * n * m),
        counted="features of both views (2 n m^2 each) and their joint covariance (syrk)",
        repeats=1,
    )


def _fisher() -> Task:
    n, d, classes = 500_000, 50, 5

    def make() -> tuple:
        rng = np.random.default_rng(0)
        y = rng.integers(0, classes, n)
        return rng.standard_normal((classes, d))[y] + rng.standard_normal((n, d)), y

    def ours(data: tuple) -> Any:
        import kilogram as kg

        return kg.FisherDiscriminant().fit(*data)

    def peer(data: tuple) -> Any:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return LinearDiscriminantAnalysis(solver="eigen").fit(*data)

    return Task(
        name="fisher_500000",
        title=f"Fisher's discriminant, n = {n:,}, d = {d}, {classes} classes",
        make=make,
        run={"kilogram": ours, "scikit-learn LDA eigen": peer},
        quality=lambda model, data: {
            "accuracy": float(model.score(data[0][:5000], data[1][:5000]))
        },
        floor=lambda rates: rates.floor(flops=n * d * d, bytes=8 * n * d),
        counted="the within-class scatter (syrk) or one read of X",
    )


TASKS = [_cca(), _kernel_cca(2_000), _kernel_cca(4_000), _kernel_cca_nystroem(), _fisher()]
