"""Standard errors of maximum-likelihood coefficients: logistic and generalised linear models.

With z = (x, 1), u_i the derivative and h_i the Fisher information of the loss of row i,

    information  A = sum_i w_i h_i z_i z_i'
    classical    Cov = phi A^-1         phi = 1 for classes and counts, else chi^2 / (n - p)
    HC0          Cov = A^-1 (sum_i w_i^2 u_i^2 z_i z_i') A^-1       the sandwich, any variances
    HC1          HC0 times n / (n - p)

chi^2 = sum_i w_i u_i^2 / h_i is Pearson's. With phi = 1 estimates are compared with the normal
distribution, else with Student's t. Everything is a sum over rows.

References: McCullagh and Nelder 1989; White 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import reduce_rows
from kilogram.base.coefficient_table import CoefficientTable, table_of
from kilogram.solvers.newton.deviance import weighted_scatter
from kilogram.solvers.newton.shift import shift_of

Array = np.ndarray[Any, np.dtype[Any]]
KINDS = ("classical", "HC0", "HC1")


@dataclass(frozen=True)
class LikelihoodSums:
    """Sums over rows: how many, Pearson's chi^2, the information and the meat, (D, D) each."""

    n: float
    chi: float
    information: Array
    meat: Array

    def __add__(self, other: LikelihoodSums) -> LikelihoodSums:
        return LikelihoodSums(
            self.n + other.n,
            self.chi + other.chi,
            self.information + other.information,
            self.meat + other.meat,
        )


def likelihood_table(
    model: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    kind: str,
    level: float,
    weights: str,
) -> CoefficientTable:
    """The table of a fitted model without penalty that has `_likelihood_terms`."""
    _check(model, kind)
    X, y, w = model._likelihood_rows(X, y, sample_weight)
    coef = np.asarray(to_numpy(model.coef_), dtype=np.float64).ravel()
    c = float(np.ravel(np.asarray(to_numpy(model.intercept_), dtype=np.float64))[0])
    shift = shift_of(X) if model.fit_intercept else np.zeros(len(coef))
    precise = weights == "precision"

    def block(X: Any, y: Any, w: Any) -> LikelihoodSums:
        X = X.tocsr() if is_sparse(X) else np.asarray(to_numpy(X))
        X = X.astype(np.float64)
        u, h = model._likelihood_terms(np.ravel(to_numpy(y)), np.asarray(X @ coef) + c)
        w = np.ones(len(u)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        squares = (w * u) ** 2 if precise else w * u**2
        chi = float(w @ np.divide(u**2, h, out=np.zeros_like(u), where=h > 0))
        n = float(np.count_nonzero(w)) if precise else float(w.sum())
        return LikelihoodSums(
            n, chi, weighted_scatter(X, w * h, shift), weighted_scatter(X, squares, shift)
        )

    sums = reduce_rows(block, X, y, w)
    free = sums.n - len(coef) - bool(model.fit_intercept)
    if free <= 0:
        raise ValueError(
            f"{sums.n:g} rows leave no degrees of freedom for {sums.n - free:g} coefficients: "
            "there is nothing to estimate their errors from. Give more rows, or fewer columns."
        )
    unit = bool(model._unit_dispersion)
    phi = 1.0 if unit else sums.chi / free
    covariance = _covariance(sums, shift, kind, phi, free, bool(model.fit_intercept))
    names = feature_names(model, len(coef))
    if model.fit_intercept:
        names, coef = ["intercept", *names], np.append(c, coef)
    return table_of(
        tuple(names), coef[:, None], covariance[None], np.array([np.sqrt(phi)]),
        kind, level, np.inf if unit else float(free),
    ).of_one_target()  # fmt: skip


def feature_names(model: BaseEstimator, d: int) -> list[str]:
    """The names of the features in the fit, or x0, x1, ..."""
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    return names or [f"x{j}" for j in range(d)]


def _check(model: BaseEstimator, kind: str) -> None:
    name = type(model).__name__
    if model._is_penalised:
        raise ValueError(
            f"{name} was fitted with a penalty, which biases the coefficients, and these errors "
            "would not hold. Fit it without one (alpha=0 or C=inf)."
        )
    if len(getattr(model, "classes_", (0, 1))) != 2:
        raise ValueError(f"the table of {name} needs two classes, got {len(model.classes_)}.")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS} for {name}, got {kind!r}.")


def _covariance(
    sums: LikelihoodSums, shift: Array, kind: str, phi: float, free: float, intercept: bool
) -> Array:
    """Of the coefficients, the intercept first and about 0 instead of the shift."""
    d = len(shift)
    size = d + 1 if intercept else d
    inverse = _inverse(sums.information[:size, :size])
    covariance = phi * inverse
    if kind != "classical":
        covariance = inverse @ sums.meat[:size, :size] @ inverse
        covariance *= sums.n / free if kind == "HC1" else 1.0
    if not intercept:
        return np.asarray(covariance)
    turn = np.zeros((size, size))
    turn[0, -1], turn[0, :d], turn[1:, :d] = 1.0, -shift, np.eye(d)
    return np.asarray(turn @ covariance @ turn.T)


def _inverse(A: Array) -> Array:
    """A^-1 of an information matrix, brought to one scale first."""
    scale = np.sqrt(np.where(np.diagonal(A) > 0, np.diagonal(A), 1.0))
    B = A / np.outer(scale, scale)
    values, V = np.linalg.eigh(B)
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError(
            "the columns of X are linearly dependent, or the classes separable: the information "
            "matrix is singular and single coefficients have no standard error. Leave columns out."
        )
    return np.asarray((V / values) @ V.T / np.outer(scale, scale))
