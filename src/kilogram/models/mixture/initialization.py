"""Initial components of a Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import map_rows, reduce_rows
from kilogram.solvers.em.m_step import Shape, floored_covariances, m_step, regularised_components
from kilogram.solvers.lloyd import initialization as starts
from kilogram.solvers.lloyd.cluster_sums import nearest
from kilogram.solvers.lloyd.containers import host
from kilogram.solvers.lloyd.kmeans import KMeansSettings, fit_kmeans
from kilogram.solvers.lloyd.row_summary import RowSummary
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
INITIALIZATIONS = ("kmeans", "k-means++", "random", "random_from_data", "farthest")


def filled(X: Any, summary: RowSummary) -> Any:
    """The rows with column means for NaN: only a start needs them."""
    return map_rows(partial(_filled, means=summary.origin), X)


def _filled(block: Any, means: np.ndarray) -> Any:
    if is_sparse(block):
        block = block.toarray()
    xp = namespace(block)
    return xp.where(xp.isnan(block), like(means, block), block)


@dataclass(frozen=True)
class MixtureSettings:
    """What to compute: see the parameters of `GaussianMixture`, whose names these are."""

    n_components: int
    covariance_type: str
    reg_covar: float
    init_params: str
    prior: float
    weights_init: Any = None
    means_init: Any = None
    precisions_init: Any = None


def covariance_shape(settings: MixtureSettings, X: Any, w: Any, summary: RowSummary) -> Shape:
    """Regularisation, smallest variance and prior for these rows, which have no NaN."""
    if summary.unseen.any():
        at = np.flatnonzero(summary.unseen)
        raise ValueError(
            f"Input X contains only NaN in column {at[0]} ({len(at)} such of "
            f"{len(summary.unseen)}). Remove columns without any value."
        )
    eps = float(np.finfo(summary.dtype).eps)
    least = float(np.sqrt(np.finfo(summary.dtype).tiny))
    floor = max(least, 16 * eps * summary.variance)
    kind, reg = settings.covariance_type, settings.reg_covar
    if not settings.prior:
        return Shape(kind, reg, floor)
    found = reduce_rows(partial(nearest_moments, C=summary.origin[None], kind=kind), X, w)
    k, d = settings.n_components, len(summary.origin)
    scale = host(found.spread) / float(host(found.weights).sum()) / k ** (2 / d)
    scale = scale if kind == "tied" else scale[0]
    if kind == "spherical":
        scale = np.full(d, scale.mean())
    return Shape(kind, reg, floor, settings.prior, scale)


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
    """The sums of a block under random responsibilities; its first rows seed the draw."""
    X = X.toarray() if is_sparse(X) else X
    rng = np.random.default_rng([seed, starts.block_key(host(X[:16, :])), X.shape[0]])
    R = rng.random((X.shape[0], len(parts.means)))
    R = R / R.sum(axis=1, keepdims=True) * (1.0 if w is None else host(w)[:, None])
    X = X.astype(np.float64) if is_numpy(X) else X
    N, first, second = weighted_sums(X, like(R, X), parts)
    return MixtureSums(N, first, second, 0.0, float(R.sum()))


def initial_components(
    settings: MixtureSettings,
    X: Any,
    w: Any,
    summary: RowSummary,
    shape: Shape,
    rng: np.random.Generator,
    deadline: float | None,
) -> Components:
    """The first components, from rows X without NaN; given parameters replace them."""
    k, d, kind = settings.n_components, len(summary.origin), shape.kind
    given = settings.weights_init, settings.means_init, settings.precisions_init
    if all(part is not None for part in given):
        parts = _blank(kind, np.zeros((k, d)))
    else:
        C = _centres(settings, X, w, summary, rng, deadline)
        parts = _blank(kind, C)
        if settings.init_params == "random":
            chance = partial(chance_sums, parts=parts, seed=int(rng.integers(2**31)))
            parts = m_step(reduce_rows(chance, X, w), parts, shape)
        else:
            found = reduce_rows(partial(nearest_moments, C=C, kind=kind), X, w)
            N, means, S = (host(a) for a in (found.weights, found.means, found.spread))
            parts = regularised_components(N, means, S, float(N.sum()), shape, parts)
    return _with_given(settings, parts, shape)


def _centres(
    settings: MixtureSettings,
    X: Any,
    w: Any,
    summary: RowSummary,
    rng: np.random.Generator,
    deadline: float | None,
) -> np.ndarray:
    k, init = settings.n_components, settings.init_params
    if init == "random":
        return np.repeat(summary.origin[None], k, axis=0)
    if init == "random_from_data":
        return starts.draw_rows(X, w, k, summary.origin, rng)
    kmeans = KMeansSettings(k, init="farthest" if init == "farthest" else "k-means++")
    if init == "k-means++":  # one iteration from the rows it draws
        kmeans = replace(kmeans, max_iter=1, tol=np.inf)
    return fit_kmeans(X, w, kmeans, rng, summary=summary, deadline=deadline).centers


def _with_given(settings: MixtureSettings, parts: Components, shape: Shape) -> Components:
    k, d = parts.means.shape
    if settings.weights_init is not None:
        p = _given("weights_init", settings.weights_init, (k,))
        if (p < 0).any() or abs(p.sum() - 1) > 1e-6:
            raise ValueError(
                f"The parameter 'weights_init' should be non-negative and sum to 1, got {p}."
            )
        parts = parts._replace(weights=p)
    if settings.means_init is not None:
        parts = parts._replace(means=_given("means_init", settings.means_init, (k, d)))
    if settings.precisions_init is not None:
        C = _inverted(settings.precisions_init, shape.kind, k, d)
        C, F = floored_covariances(C, shape)
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
