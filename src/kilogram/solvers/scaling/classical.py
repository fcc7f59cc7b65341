"""Classical scaling of distances, of all rows or of landmarks among them.

    B = -1/2 H D^2 H,  H = I - 1 w',       B u = lambda u,       Z = U Lambda^1/2
    new rows (Gower):  z(x) = 1/2 Lambda^-1/2 U'(mean_j d(x_j, .)^2 - d(x, .)^2)

With landmarks only their distances to all rows are needed: the landmarks are scaled, every other
row is placed by Gower's formula. References: Torgerson 1952; Gower 1968; de Silva and Tenenbaum
2004 (landmarks).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.operators.centred import CentredCross, KernelMeans
from kilogram.operators.half_squared_distances import HalfSquaredDistances
from kilogram.solvers.eigen.kernel_components import (
    EigenSearch,
    components_of,
    dual_axes,
    fix_signs,
)
from kilogram.solvers.solution import Solution


@dataclass(frozen=True, eq=False)
class ClassicalScaling:
    """Eigenvalues (k,) of B, none negative, dual axes (n, k), and the means B is centred with."""

    values: Any
    axes: Any
    means: KernelMeans
    found: Solution

    def place(self, D: Any) -> Any:
        """Coordinates (m, k) of rows at distances D (m, n) from those that were scaled."""
        return CentredCross(HalfSquaredDistances(D), self.means) @ self.axes


def classical_scaling(
    D: Any, k: int, w: Any = None, search: EigenSearch | None = None
) -> ClassicalScaling:
    """The k leading coordinates of symmetric distances D (n, n), with weights w (n,) or None."""
    found = components_of(HalfSquaredDistances(D), w, k, search or EigenSearch())
    return scaling_of(found, w)


def scaling_of(found: Any, w: Any) -> ClassicalScaling:
    """The scaling that leading components of -D^2 / 2 stand for.

    Distances that are not Euclidean leave B negative eigenvalues: these have no coordinates.
    """
    xp = namespace(found.values)
    values = xp.where(found.values > 0, found.values, xp.zeros_like(found.values))
    largest = float(xp.max(values))
    values = xp.where(values > ROUNDING[str(values.dtype)[-2:]] * largest, values, 0.0 * values)
    axes = dual_axes(values, fix_signs(found.vectors, w))
    return ClassicalScaling(values, axes, found.means, replace(found.found, value=None))


#: Fraction of the largest eigenvalue below which there is only rounding, by bits of the float type.
ROUNDING = {"32": 2e-7, "64": 1e-12}


def distances_until(
    rows: Callable[[np.ndarray], np.ndarray],
    sources: np.ndarray,
    n: int,
    *,
    at_once: int,
    least: int,
    deadline: float | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Distances (m, n) from as many of the sources as the time allows, and these sources, sorted.

    `rows` computes the distances of some sources to all n rows, `at_once` of them in one call. With
    a deadline the sources are taken in random order, so that those that were reached are spread
    over the data; at least `least` are.
    """
    if deadline is not None:
        sources = np.random.default_rng(0).permutation(sources)
    D, done = np.empty((len(sources), n)), 0
    while done < len(sources):
        some = sources[done : done + at_once]
        D[done : done + len(some)] = rows(some)
        done += len(some)
        if deadline is not None and done >= least and time.perf_counter() >= deadline:
            break
    order = np.argsort(sources[:done])
    if done == len(sources) and deadline is None:
        return D, sources
    return D[:done][order], sources[:done][order]
