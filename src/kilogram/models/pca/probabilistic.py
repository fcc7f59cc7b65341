"""PCA as a density: x ~ N(m, C) with C = V'(L - s I)V + s I (Tipping and Bishop 1999).

V (k, d) holds the principal axes, L = diag(lambda_1 ... lambda_k) their variances, and s is the
variance of every direction left out, the mean of the remaining eigenvalues. Then

    C^-1    = (I - V'V) / s + V' L^-1 V                       (V V' = I)
    log|C|  = sum_i log max(lambda_i, s) + (d - k) log s

The number of components that makes the data most probable (Minka 2000) is found from the spectrum
alone.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import cholesky, eigh
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows
from kilogram.models.pca.missing_values import (
    LEAST_NOISE,
    FactorModel,
    filled_in,
    likelihood_of_rest,
)


class PCADensity:
    """The likelihood of rows under a fitted PCA; needs its axes, variances, mean and noise."""

    mean_: Any
    components_: Any
    explained_variance_: Any
    noise_variance_: Any
    missing: str

    def get_covariance(self: Any) -> Any:
        """The covariance C of the model.

        Returns
        -------
        C : array of shape (d, d)
        """
        check_is_fitted(self)
        V, excess, s = self._axes()
        xp = namespace(V)
        return V.T @ (excess[:, None] * V) + s * xp.eye(V.shape[1], dtype=V.dtype, device=V.device)

    def get_precision(self: Any) -> Any:
        """The inverse of the covariance of the model.

        Returns
        -------
        P : array of shape (d, d)
        """
        check_is_fitted(self)
        V, excess, s = self._axes()
        xp = namespace(V)
        if s == 0:
            # variances below the normal floats have no inverse either
            varies = int(
                xp.sum(xp.astype(excess >= xp.finfo(excess.dtype).smallest_normal, xp.int64))
            )
            if varies < V.shape[1]:
                raise np.linalg.LinAlgError(
                    "The density of this PCA is flat: the rows do not vary in "
                    f"{V.shape[1] - varies} direction(s), "
                    "and no noise is left. Ask for fewer components, so that the rest is noise."
                )
            return xp.linalg.inv(self.get_covariance())
        eye = xp.eye(V.shape[1], dtype=V.dtype, device=V.device)
        # no product of two variances: it may leave the range of floats where they do not
        return eye / s - V.T @ ((excess / (excess + s) / s)[:, None] * V)

    def score_samples(self: Any, X: Any) -> Any:
        """The log-likelihood of each row.

        With `missing="em"`, of the entries of each row that are there.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        log_likelihood : array of shape (n,)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=not self._allows_missing).X
        likelihood = self._likelihood()
        return map_rows(likelihood, X) if is_streamed(X) else likelihood(X)

    def score(self: Any, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=not self._allows_missing).X
        likelihood = self._likelihood()
        total = reduce_rows(lambda block: _sum_and_count(likelihood(block)), X)
        return float(total[0] / total[1])

    def _axes(self: Self) -> tuple[Any, Any, float]:
        """V, the variances in excess of the noise, and the noise."""
        xp, values = namespace(self.explained_variance_), self.explained_variance_
        s = float(self.noise_variance_)
        return self.components_, xp.where(values > s, values - s, xp.zeros_like(values)), s

    @property
    def _allows_missing(self) -> bool:
        return self.missing == "em"

    def _model(self) -> FactorModel:
        """The fitted density in the letters of missing.py."""
        V, excess, s = (to_numpy(part) if i < 2 else part for i, part in enumerate(self._axes()))
        return FactorModel(
            to_numpy(self.mean_),
            V.T * excess**0.5,
            s or max(1e-12 * float(excess.sum()), LEAST_NOISE),
        )

    def _prepared(self) -> Any:
        """What is done to a block of rows before it is projected: its holes are filled."""
        if not self._allows_missing:
            return lambda block: block
        model = self._model()
        return lambda block: filled_in(model, block)

    def _likelihood(self) -> Any:
        if not self._allows_missing:
            return self._gaussian()
        model = self._model()
        return lambda block: likelihood_of_rest(model, block)

    def _gaussian(self: Any) -> Any:
        """log N(x; m, C) for blocks of complete rows."""
        C = self.get_covariance()
        m, d = self.mean_, C.shape[0]
        precision = self.get_precision()
        constant = -0.5 * (d * math.log(2 * math.pi) + log_determinant(C))

        def likelihood(block: Any) -> Any:
            block = block.toarray() if is_sparse(block) else block
            R = block - like(m, block)
            xp = namespace(R)
            squares = xp.sum(R * (R @ like(precision, R)), axis=1)
            # of rows so far away that their squares overflow, all that is left is inf - inf
            return constant - 0.5 * xp.where(xp.isnan(squares), math.inf, squares)

        return likelihood


def log_determinant(C: Any) -> float:
    """log |C| of a positive definite C; minus infinity where it is singular."""
    try:
        diagonal = namespace(C).linalg.diagonal(cholesky(C))
    except np.linalg.LinAlgError:
        values = to_numpy(eigh(C)[0])
        return float(np.log(values).sum()) if values[-1] > 0 else -math.inf
    return 2.0 * float(namespace(diagonal).sum(namespace(diagonal).log(diagonal)))


def _sum_and_count(values: Any) -> Any:
    return np.array([float(namespace(values).sum(values)), values.shape[0]])


def most_probable_count(variances: Any, n: float) -> int:
    """Minka's choice: the k in 1 .. d - 1 of largest evidence p(X | k), by Laplace's method.

    log p = log p(U) - n/2 (sum_{i<=k} log l_i + (d-k) log v) + (m+k)/2 log 2 pi
            - 1/2 log |A| - k/2 log n,       v the mean of l_{k+1} .. l_d,  m = d k - k (k+1) / 2,

    with |A| the product over i <= k, i < j of (1/l'_j - 1/l'_i)(l_i - l_j) n, where l' has v in
    place of the values left out.
    """
    values = np.asarray(to_numpy(variances), dtype=np.float64)
    values = values / (values.max(initial=0.0) or 1.0)  # units change no choice, but what is tiny
    evidence = [_log_evidence(values, k, n) for k in range(1, len(values))]
    return 1 + int(np.argmax(evidence)) if evidence else 0


def _log_evidence(l: np.ndarray, k: int, n: float) -> float:
    d = len(l)
    tiny = 1e-15
    if l[k - 1] < tiny:
        return -math.inf  # directions without variance explain nothing
    halves = (d - np.arange(k)) / 2.0
    log_u = -k * math.log(2.0) + sum(math.lgamma(h) - h * math.log(math.pi) for h in halves)
    v = max(tiny, float(l[k:].mean()))
    fit = -0.5 * n * (np.log(l[:k]).sum() + (d - k) * math.log(v))
    m = d * k - k * (k + 1) / 2.0
    shrunk = np.concatenate([l[:k], np.full(d - k, v)])
    i, j = np.triu_indices(d, 1)
    i, j = i[i < k], j[i < k]
    # equal values make the product 0: the evidence of a split between them is not Gaussian there
    product = (l[i] - l[j]) * (1.0 / shrunk[j] - 1.0 / shrunk[i])
    curvature = np.log(np.maximum(product, tiny)).sum() + len(i) * math.log(n)
    volume = 0.5 * (m + k) * math.log(2.0 * math.pi)
    return float(log_u + fit + volume - 0.5 * curvature - 0.5 * k * math.log(n))
