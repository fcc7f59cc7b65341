"""Gaussian classes in a small space: distances, decisions and probabilities.

    log p(c | z) = log prior_c - 1/2 log det V_c - 1/2 (z - z_c)' V_c^-1 (z - z_c) + const

With one covariance V for all classes the quadratic term drops out and the rule is linear.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kilogram.arrays.namespace import (
    as_type_of_block,
    is_numpy,
    like,
    namespace,
    to_numpy,
    wide_enough,
)
from kilogram.arrays.rows import reduce_rows
from kilogram.base.labels import codes_of
from kilogram.base.parameters import numbers
from kilogram.functions.bayes import is_certain, log_posterior, with_ruled_out_rows
from kilogram.statistics.class_scatters import ClassScatters

# Columns of all classes' roots up to which one product serves them all; wider products gain
# nothing, they are at full speed.
TOGETHER = 256


@dataclass(frozen=True, eq=False)
class GaussianRule:
    """Class means (K, k), roots (K, k, k) of inverse covariances, log-determinants, priors."""

    classes: Any
    means: Any
    roots: Any
    logdets: Any
    priors: Any

    @classmethod
    def shared(cls, classes: Any, means: Any, weights: Any, priors: Any) -> GaussianRule:
        """All classes with the covariance I, which the scaling of the directions has made."""
        K, k = means.shape
        found = checked_priors(priors, weights / weights.sum())
        return cls(classes, means, np.stack([np.eye(k)] * K), np.zeros(K), found)

    @classmethod
    def per_class(cls, classes: Any, Z: Any, y: Any, w: Any, priors: Any) -> GaussianRule:
        """Each class with its own covariance, by one pass over the scores Z (n, k)."""
        found = reduce_rows(partial(_score_sums, classes=classes), Z, y, w)
        k = found.means.shape[1]
        # a class of one row has no variance: a small multiple of the shared covariance I is added
        covariances = [C + 1e-9 * np.eye(k) for C in found.covariances]
        roots = [np.linalg.inv(np.linalg.cholesky(C)) for C in covariances]
        logdets = np.array([-2 * np.sum(np.log(np.diag(R))) for R in roots])
        frequencies = checked_priors(priors, found.weights / found.weights.sum())
        return cls(classes, found.means, np.stack(roots), logdets, frequencies)

    @cached_property
    def _frame(self) -> tuple[Any, Any, Any, Any]:
        """Middle of the means, roots side by side (k, K k), means seen through them, constants."""
        origin = self.means.mean(axis=0)
        roots = np.concatenate([R.T for R in self.roots], axis=1)
        pairs = zip(self.means, self.roots, strict=True)
        centres = np.concatenate([(m - origin) @ R.T for m, R in pairs])
        with np.errstate(divide="ignore"):  # a class of prior 0 is never predicted
            fixed = np.log(self.priors) - self.logdets / 2
        return origin, roots, centres, fixed

    def scores(self, Z: Any) -> Any:
        """log p(c | z) up to a constant, (n, K), in the library of Z.

        Of a class so far that squares overflow it is minus infinity.
        """
        xp, rows = namespace(Z), Z
        Z = wide_enough(rows, self.means, self.roots)
        origin, roots, centres, fixed = (like(a, Z) for a in self._frame)
        if is_numpy(Z):
            with np.errstate(over="ignore", invalid="ignore"):
                found = fixed - _squares(Z - origin, roots, centres) / 2
        else:
            away = xp.reshape((Z - origin) @ roots - centres, (-1, *self.means.shape))
            found = fixed - xp.sum(away * away, axis=2) / 2
        if not is_certain(found):
            found = xp.where(xp.isnan(found), -xp.inf * xp.ones_like(found), found)
        return as_type_of_block(found, rows, Z)

    def scores_of_all_rows(self, Z: Any) -> Any:
        """scores; for rows so far away that every class is ruled out, finite ones.

        By the linear rule if there is one, else the priors.
        """
        xp, found = namespace(Z), self.scores(Z)
        if is_certain(found):
            return found
        if self._linear is not None:
            M, c = (like(a, Z) for a in self._linear)
            far = xp.all(xp.isinf(found), axis=1)[:, None]
            with np.errstate(over="ignore", invalid="ignore"):
                linear = Z @ M + c
            found = xp.where(far & xp.isfinite(linear), linear, found)
        return with_ruled_out_rows(found, np.log(np.maximum(self.priors, 1e-300)))

    def decision(self, Z: Any) -> Any:
        """scores, or for two classes the second minus the first, (n,)."""
        found = self.scores_of_all_rows(Z)
        return found[:, 1] - found[:, 0] if len(self.classes) == 2 else found

    @cached_property
    def _linear(self) -> tuple[Any, Any] | None:
        """M (k, K), c (K,): with the covariance I, scores are Z M + c and a constant of the row."""
        if not all(np.array_equal(R, np.eye(len(R))) for R in self.roots):
            return None
        origin, _, centres, fixed = self._frame
        M = centres.reshape(self.means.shape)
        with np.errstate(over="ignore", invalid="ignore"):  # `scores_of_all_rows` takes over there
            return M.T, fixed - np.sum(M * M, axis=1) / 2 - M @ origin

    def predict(self, Z: Any) -> Any:
        """The class of the largest score."""
        if self._linear is None:
            found = self.scores_of_all_rows(Z)
        else:
            M, c = (like(a, Z) for a in self._linear)
            with np.errstate(over="ignore", invalid="ignore"):
                found = Z @ M + c
            found = found if is_certain(found) else self.scores_of_all_rows(Z)
        return self.classes[np.argmax(to_numpy(found), axis=1)]

    def probabilities(self, Z: Any) -> Any:
        """Softmax of the scores."""
        return namespace(Z).exp(log_posterior(self.scores_of_all_rows(Z)))


def _squares(Z: np.ndarray, roots: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n, K): |z R_c - centre_c|^2, in buffers that stay in cache: new memory costs more."""
    n, k = Z.shape
    K = len(centres) // k
    together = K if K * k <= TOGETHER else 1
    out = np.empty((n, K), Z.dtype)
    away = np.empty((n, together * k), Z.dtype)
    for c in range(0, K, together):
        own = slice(c * k, (c + together) * k)
        np.matmul(Z, roots[:, own], out=away)
        away -= centres[own]
        parts = away.reshape(n, together, k)
        np.einsum("nck,nck->nc", parts, parts, out=out[:, c : c + together])
    return out


def _score_sums(Z: Any, y: Any, w: Any, classes: Any) -> ClassScatters:
    """Scores of a small space, on the host."""
    Z = to_numpy(Z).astype(np.float64)
    return ClassScatters.of(Z, codes_of(y, classes), to_numpy(w), n_classes=len(classes))


def number_of_directions(n_components: int | None, n_classes: int, n_features: int) -> int:
    """The number of discriminant directions, at most min(n_classes - 1, n_features)."""
    most = min(n_classes - 1, n_features)
    if n_components is None:
        return most
    if n_components > most:
        raise ValueError(
            f"n_components must be between 1 and min(n_classes - 1, n_features) = {most}, "
            f"got {n_components!r}."
        )
    return int(n_components)


def checked_priors(priors: Any, frequencies: Any) -> Any:
    """The given priors, or the class frequencies."""
    if priors is None:
        return frequencies
    priors = numbers(priors, "priors")
    if priors.shape != frequencies.shape or (priors < 0).any() or not np.isclose(priors.sum(), 1.0):
        raise ValueError(
            f"priors must be {len(frequencies)} non-negative numbers that sum to 1, got {priors}."
        )
    return priors


def normalised_priors(priors: Any, frequencies: Any) -> Any:
    """The given priors, normalised to sum 1 with a warning, or the class frequencies."""
    if priors is None:
        return frequencies
    priors = numbers(priors, "priors")
    if priors.shape != frequencies.shape:
        raise ValueError(
            f"priors must be {len(frequencies)} numbers, one for each class, got {priors}."
        )
    if (priors < 0).any():
        raise ValueError("priors must be non-negative")
    if abs(priors.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
    return priors / priors.sum()
