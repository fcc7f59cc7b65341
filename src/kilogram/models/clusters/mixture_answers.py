"""What a fitted Gaussian mixture answers, and how its components stand in its attributes."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kilogram.arrays.namespace import like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows, row_count
from kilogram.base import Budget
from kilogram.base.checks import number
from kilogram.models.clusters.centres import answer_like, generator, host
from kilogram.models.clusters.kmeans_fit import About
from kilogram.models.clusters.mixture_start import STARTS
from kilogram.statistics.mixture import KINDS, Components, log_likelihood, row_answers


def checked(model: Any) -> Budget:
    """The parameters make sense; the clock starts."""
    for name in ("n_components", "max_iter", "n_init"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
    for name in ("tol", "reg_covar"):
        size = getattr(model, name)
        if not isinstance(size, Real) or not 0 <= float(size) < np.inf:
            raise ValueError(f"{name} must be a number of 0 or more, got {size!r}.")
    prior = model.prior
    if prior is not None and not (isinstance(prior, Real) and 0 <= float(prior) < np.inf):
        raise ValueError(f"prior must be None or a number of rows, got {model.prior!r}.")
    if not 0.5 < number(model.learning_decay) <= 1:
        raise ValueError(f"learning_decay must be in (0.5, 1], got {model.learning_decay!r}.")
    for name, choices in (("covariance_type", KINDS), ("init_params", STARTS)):
        if getattr(model, name) not in choices:
            raise ValueError(f"{name} must be one of {choices}, got {getattr(model, name)!r}.")
    return Budget(model.max_time, None)


def check_rows(model: Any, X: Any, y: Any) -> None:
    """Rows enough for the components; y is not used, but must not belong to other rows."""
    if y is not None and not is_streamed(X):
        check_consistent_length(X, y)
    n = row_count(X)
    if n < model.n_components:
        raise ValueError(
            "Expected n_samples >= n_components but got "
            f"n_components = {model.n_components}, n_samples = {n}"
        )


def check_same(model: Any, how: str) -> None:
    """What goes on from components has as many of them, of the same kind."""
    for name, was in (("n_components", len(model.means_)), ("covariance_type", kind_of(model))):
        now = getattr(model, name)
        if now != was:
            raise ValueError(
                f"{how} goes on from components with {name}={was!r}, and now {name}={now!r}: fit a "
                "clone of the model to begin anew."
            )


def kind_of(model: Any) -> str:
    """The kind of the covariances there are, whatever parameter was set since."""
    return str(getattr(model, "_kind", model.covariance_type))


def keep_components(model: Any, parts: Components, about: About) -> None:
    """The attributes, in scikit-learn's shapes and in the library and float type of the rows."""
    C, F = parts.covariances, parts.factors
    if parts.kind == "spherical":
        C, F = C[:, 0], F[:, 0]
    matrices = parts.kind in ("full", "tied")
    upper = np.swapaxes(F, -1, -2) if matrices else F

    def put(a: np.ndarray) -> Any:
        return about.put(np.ascontiguousarray(a, about.dtype))

    model._kind = parts.kind
    model.weights_, model.means_, model.covariances_ = put(parts.weights), put(parts.means), put(C)
    model.precisions_cholesky_ = put(upper)
    model.precisions_ = put(upper @ F if matrices else F * F)


def components_of(model: Any) -> Components:
    """The components as the attributes have them now."""
    means, C, F = (host(a) for a in (model.means_, model.covariances_, model.precisions_cholesky_))
    kind = kind_of(model)
    if kind == "spherical":
        C, F = (np.repeat(a[:, None], means.shape[1], axis=1) for a in (C, F))
    elif kind != "diag":
        F = np.swapaxes(F, -1, -2)
    return Components(kind, host(model.weights_), means, C, np.ascontiguousarray(F))


class MixtureAnswers(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin):
    """Predictions, scores and draws of a fitted mixture."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the most probable component of each training row, (n,)."""
        model: Any = self
        return model.fit(X, y, sample_weight=sample_weight).predict(X)

    def predict(self, X: Any) -> Any:
        """The component with the largest share in each row, (n,)."""
        return self._answered(_labels, X)

    def predict_proba(self, X: Any) -> Any:
        """The shares (responsibilities) of the components in each row, (n, n_components)."""
        return self._answered(partial(row_answers, what="shares"), X)

    def transform(self, X: Any) -> Any:
        """The shares as features: the same as `predict_proba`."""
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Any:
        """log p(x) of each row, (n,)."""
        return self._answered(partial(row_answers, what="norms"), X)

    def _answered(self, answer: Any, X: Any) -> Any:
        check_is_fitted(self)
        model: Any = self
        X = model._enter(X, reset=False, finite="allow-nan").X
        return map_rows(partial(answer, parts=components_of(self)), X)

    def _log_likelihood(self, X: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The log-likelihood of the rows, and their weight."""
        check_is_fitted(self)
        model: Any = self
        X, _, w = model._enter(X, None, sample_weight, reset=False, finite="allow-nan")
        loglik, total = reduce_rows(partial(log_likelihood, parts=components_of(self)), X, w)
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
        model: Any = self
        k, d = model.means_.shape
        shape = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d}
        return int(shape.get(kind_of(model), k) + k * d + k - 1)

    def sample(self, n_samples: int = 1) -> tuple[Any, Any]:
        """Draw rows X (n_samples, d), one component after another, and say which (n_samples,)."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples!r} . The sampling requires at least "
                "one sample."
            )
        model: Any = self
        rng, parts = generator(model.random_state), components_of(self)
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
        return like(X, model.means_), like(labels, model.means_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _labels(block: Any, parts: Components) -> Any:
    joint = to_numpy(row_answers(block, parts, "joint"))
    return answer_like(np.argmax(joint, axis=1), block)
