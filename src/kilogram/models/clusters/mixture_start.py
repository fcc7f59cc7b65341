"""Where a Gaussian mixture begins, and what is known of the rows before it does."""

from __future__ import annotations

import warnings
import zlib
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import map_rows, reduce_rows
from kilogram.base import Budget, ConvergenceWarning
from kilogram.models.clusters.centres import host
from kilogram.models.clusters.kmeans import KMeans
from kilogram.models.clusters.kmeans_fit import About
from kilogram.solvers.cluster import starts
from kilogram.solvers.cluster.sums import nearest
from kilogram.solvers.mixture.maximise import Shape, maximised, rooted, settled
from kilogram.statistics.class_scatters import ClassScatters
from kilogram.statistics.class_variances import ClassVariances
from kilogram.statistics.classes import ClassMoments
from kilogram.statistics.mixture import Components, MixtureSums
from kilogram.statistics.mixture_products import weighted_sums

#: The moments of hard clusters in the form in which a kind keeps its scatters.
MOMENTS: dict[str, Any] = {
    "full": ClassScatters,
    "tied": ClassMoments,
    "diag": ClassVariances,
    "spherical": ClassVariances,
}
STARTS = ("kmeans", "k-means++", "random", "random_from_data", "farthest")


def filled(X: Any, about: About) -> Any:
    """The rows with column means for NaN: only a start needs them."""
    return map_rows(partial(_filled, means=about.origin), X)


def _filled(block: Any, means: np.ndarray) -> Any:
    if is_sparse(block):
        block = block.toarray()
    xp = namespace(block)
    return xp.where(xp.isnan(block), like(means, block), block)


def first_shape(model: Any, X: Any, w: Any, about: About) -> Shape:
    """Regularisation, floor and prior for these rows, which have no NaN."""
    if about.unseen.any():
        at = np.flatnonzero(about.unseen)
        raise ValueError(
            f"Input X contains NaN only in column {at[0]} ({len(at)} such of {len(about.unseen)}): "
            "of a column in which nothing was seen nothing can be said. Leave it out."
        )
    eps = float(np.finfo(about.dtype).eps)
    least = float(np.sqrt(np.finfo(about.dtype).tiny))
    floor = max(least, 16 * eps * about.variance)
    kind, reg = model.covariance_type, float(model.reg_covar)
    if not model.prior:
        return Shape(kind, reg, floor)
    found = reduce_rows(partial(nearest_moments, C=about.origin[None], kind=kind), X, w)
    k, d = int(model.n_components), len(about.origin)
    scale = host(found.spread) / float(host(found.weights).sum()) / k ** (2 / d)
    scale = scale if kind == "tied" else scale[0]
    if kind == "spherical":
        scale = np.full(d, scale.mean())
    return Shape(kind, reg, floor, float(model.prior), scale)


def _blank(kind: str, means: np.ndarray) -> Components:
    k, d = means.shape
    C = np.broadcast_to(np.eye(d), (k, d, d)) if kind == "full" else np.ones((k, d))
    C = np.eye(d) if kind == "tied" else C
    return Components(kind, np.full(k, 1 / k), means, C, C)


def nearest_moments(X: Any, w: Any, C: np.ndarray, kind: str) -> Any:
    """The moments of a block whose rows belong to the nearest of the centres C (k, d)."""
    codes = nearest(X, C, C.mean(axis=0))[0].astype(np.int64)
    return MOMENTS[kind].of(X, codes, w, n_classes=len(C))


def chance_sums(X: Any, w: Any, parts: Components, seed: int) -> MixtureSums:
    """The sums of a block whose rows are shared out at random; its first rows seed the draw."""
    X = X.toarray() if is_sparse(X) else X
    head = np.ascontiguousarray(host(X[:16, :]))
    rng = np.random.default_rng([seed, zlib.crc32(head.tobytes()), X.shape[0]])
    R = rng.random((X.shape[0], len(parts.means)))
    R = R / R.sum(axis=1, keepdims=True) * (1.0 if w is None else host(w)[:, None])
    X = X.astype(np.float64) if is_numpy(X) else X
    N, first, second = weighted_sums(X, like(R, X), parts)
    return MixtureSums(N, first, second, 0.0, float(R.sum()))


def start(
    model: Any, X: Any, w: Any, about: About, shape: Shape, rng: np.random.Generator, left: Budget
) -> Components:
    """The first components, from rows X without NaN; what the user gave stands."""
    k, d, kind = int(model.n_components), len(about.origin), shape.kind
    given = model.weights_init, model.means_init, model.precisions_init
    if all(part is not None for part in given):
        parts = _blank(kind, np.zeros((k, d)))
    else:
        C = _centres(model, X, w, about, rng, left)
        parts = _blank(kind, C)
        if model.init_params == "random":
            chance = partial(chance_sums, parts=parts, seed=int(rng.integers(2**31)))
            parts = maximised(reduce_rows(chance, X, w), parts, shape)
        else:
            found = reduce_rows(partial(nearest_moments, C=C, kind=kind), X, w)
            N, means, S = (host(a) for a in (found.weights, found.means, found.spread))
            parts = settled(N, means, S, float(N.sum()), shape, parts)
    return _with_given(model, parts, shape)


def _centres(
    model: Any, X: Any, w: Any, about: About, rng: np.random.Generator, left: Budget
) -> np.ndarray:
    k, init = int(model.n_components), model.init_params
    if init == "random":
        return np.repeat(about.origin[None], k, axis=0)
    if init == "random_from_data":
        return starts.drawn(X, w, k, about.origin, rng)
    time = None if left.max_time is None else max(left.left, 1e-9)
    steps: dict[str, Any] = {"max_iter": 1, "tol": np.inf} if init == "k-means++" else {}
    how = "farthest" if init == "farthest" else "k-means++"
    seed = int(rng.integers(2**31))
    fit = KMeans(k, init=how, n_init=1, random_state=seed, max_time=time, **steps)
    with warnings.catch_warnings():  # a start need not be finished, nor rows be distinct
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit.fit(X, sample_weight=w)
    return host(fit.cluster_centers_)


def _with_given(model: Any, parts: Components, shape: Shape) -> Components:
    k, d = parts.means.shape
    if model.weights_init is not None:
        p = _given("weights_init", model.weights_init, (k,))
        if (p < 0).any() or abs(p.sum() - 1) > 1e-6:
            raise ValueError(
                f"The parameter 'weights_init' should be non-negative and sum to 1, got {p}."
            )
        parts = parts._replace(weights=p)
    if model.means_init is not None:
        parts = parts._replace(means=_given("means_init", model.means_init, (k, d)))
    if model.precisions_init is not None:
        C = _inverted(model.precisions_init, shape.kind, k, d)
        C, F = rooted(C, shape)
        parts = parts._replace(covariances=C, factors=F)
    return parts


def _inverted(precisions: Any, kind: str, k: int, d: int) -> np.ndarray:
    """Covariances of given precisions, which must be positive (definite)."""
    wanted = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]
    P = _given("precisions_init", precisions, wanted)
    if kind in ("full", "tied"):
        if not np.allclose(P, np.swapaxes(P, -1, -2)) or np.linalg.eigvalsh(P).min() <= 0:
            raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
        return np.asarray(np.linalg.inv(P))
    if P.min() <= 0:
        raise ValueError(f"'{kind} precision' should be positive")
    return 1 / np.broadcast_to(P if kind == "diag" else P[:, None], (k, d))


def _given(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(to_numpy(value), dtype=np.float64)
    if found.shape != shape:
        raise ValueError(
            f"The parameter '{name}' should have the shape of {shape}, but got {found.shape}"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"The parameter '{name}' contains NaN or infinity.")
    return found
