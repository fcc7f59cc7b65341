"""Predictions of a fitted Gaussian mixture, and its components as attributes."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kilogram.arrays.namespace import like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows, row_count
from kilogram.base.random_state import as_generator
from kilogram.solvers.lloyd.containers import host, like_block
from kilogram.solvers.lloyd.row_summary import RowSummary
from kilogram.statistics.mixture import Components, log_likelihood, row_values


def check_row_count(X: Any, y: Any, n_components: int) -> None:
    """At least as many rows as components; y is not used, but must have as many rows as X."""
    if y is not None and not is_streamed(X):
        check_consistent_length(X, y)
    n = row_count(X)
    if n < n_components:
        raise ValueError(
            "Expected n_samples >= n_components but got "
            f"n_components = {n_components}, n_samples = {n}"
        )


class MixturePredictions(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin):
    """Predictions, scores and draws of a fitted mixture, and its components as attributes."""

    covariance_type: str
    random_state: Any
    weights_: Any
    means_: Any
    covariances_: Any
    precisions_: Any
    precisions_cholesky_: Any

    def _fitted_kind(self) -> str:
        """The kind of the fitted covariances, even if the parameter was changed since."""
        return str(getattr(self, "_kind", self.covariance_type))

    def _check_same(self, n_components: int, what: str) -> None:
        """A fit that continues needs as many components, of the same kind, as there are."""
        fitted = {"n_components": len(self.means_), "covariance_type": self._fitted_kind()}
        now = {"n_components": n_components, "covariance_type": self.covariance_type}
        for name, was in fitted.items():
            if now[name] != was:
                raise ValueError(
                    f"{what} continues from components with {name}={was!r}, got {name}="
                    f"{now[name]!r}. Fit a clone of the model to start again."
                )

    def _store_components(self, parts: Components, summary: RowSummary) -> None:
        """Set the attributes in scikit-learn's shapes and in the library and dtype of the rows."""
        C, F = parts.covariances, parts.factors
        if parts.kind == "spherical":
            C, F = C[:, 0], F[:, 0]
        matrices = parts.kind in ("full", "tied")
        upper = np.swapaxes(F, -1, -2) if matrices else F

        def put(a: np.ndarray) -> Any:
            return summary.put(np.ascontiguousarray(a, summary.dtype))

        self._kind = parts.kind
        self.weights_, self.means_, self.covariances_ = put(parts.weights), put(parts.means), put(C)
        self.precisions_cholesky_ = put(upper)
        self.precisions_ = put(upper @ F if matrices else F * F)

    def _components(self) -> Components:
        """The components as the attributes are now."""
        fitted = (self.means_, self.covariances_, self.precisions_cholesky_)
        means, C, F = (host(a) for a in fitted)
        kind = self._fitted_kind()
        if kind == "spherical":
            C, F = (np.repeat(a[:, None], means.shape[1], axis=1) for a in (C, F))
        elif kind != "diag":
            F = np.swapaxes(F, -1, -2)
        return Components(kind, host(self.weights_), means, C, np.ascontiguousarray(F))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the most probable component of each training row, (n,)."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def predict(self, X: Any) -> Any:
        """The most probable component of each row, (n,)."""
        return self._by_rows(_labels, X)

    def predict_proba(self, X: Any) -> Any:
        """Responsibilities: the probability of each component given the row, (n, n_components)."""
        return self._by_rows(partial(row_values, what="responsibilities"), X)

    def transform(self, X: Any) -> Any:
        """The responsibilities as features: the same as `predict_proba`."""
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Any:
        """log p(x) of each row, (n,)."""
        return self._by_rows(partial(row_values, what="norms"), X)

    def _by_rows(self, function: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite="allow-nan").X
        return map_rows(partial(function, parts=self._components()), X)

    def _log_likelihood(self, X: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The log-likelihood of the rows, and their weight."""
        check_is_fitted(self)
        X, _, w = self._validate(X, None, sample_weight, reset=False, finite="allow-nan")
        loglik, total = reduce_rows(partial(log_likelihood, parts=self._components()), X, w)
        return float(loglik), float(total)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of log p(x) over the rows."""
        loglik, total = self._log_likelihood(X, sample_weight)
        return loglik / total

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayes' information criterion on the rows: the lower the better."""
        loglik, total = self._log_likelihood(X, sample_weight)
        return -2 * loglik + self._n_parameters() * float(np.log(total))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion on the rows: the lower the better."""
        return -2 * self._log_likelihood(X, sample_weight)[0] + 2 * self._n_parameters()

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        shape = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d}
        return int(shape.get(self._fitted_kind(), k) + k * d + k - 1)

    def sample(self, n_samples: int = 1) -> tuple[Any, Any]:
        """Draw rows X (n_samples, d), component by component, and their components (n_samples,)."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples!r} . The sampling requires at least "
                "one sample."
            )
        rng, parts = as_generator(self.random_state), self._components()
        counts = rng.multinomial(int(n_samples), parts.weights / parts.weights.sum())
        labels = np.repeat(np.arange(len(counts)), counts)
        z = rng.standard_normal((int(n_samples), parts.means.shape[1]))
        if parts.kind in ("diag", "spherical"):
            X = parts.means[labels] + z / parts.factors[labels]
        else:  # x = m + L z with L = F^-1
            F = np.broadcast_to(parts.factors, (len(counts), *parts.factors.shape[-2:]))
            pieces = np.split(z, np.cumsum(counts)[:-1])
            X = parts.means[labels] + np.concatenate(
                [np.linalg.solve(f, piece.T).T for f, piece in zip(F, pieces, strict=True)]
            )
        return like(X, self.means_), like(labels, self.means_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _labels(block: Any, parts: Components) -> Any:
    joint = to_numpy(row_values(block, parts, "joint"))
    return like_block(np.argmax(joint, axis=1), block)
