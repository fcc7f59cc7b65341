"""What the naive Bayes classifiers of counts share: smoothing, priors, and 0 log 0 = 0.

    log p(x, c) = log prior_c + sum_j log p(x_j | c)

Smoothing adds `alpha` to the count of every value, and its sum to the divisor, so probabilities sum
to one. With alpha = 0 a value never seen in a class rules the class out, by -inf; if all classes
are ruled out, the priors decide.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy
from kilogram.models.classification.generative import GenerativeClassifier

SMALLEST_ALPHA = 1e-10


def counted_logs(X: Any, logs: Any) -> Any:
    """sum_j x_j logs_cj, (m, K), in which nothing times -inf is nothing."""
    xp = namespace(logs)
    impossible = xp.isinf(logs)
    if not bool(xp.any(impossible)):
        return X @ logs.T
    possible = X @ xp.where(impossible, xp.zeros_like(logs), logs).T
    hit = X @ xp.astype(impossible, logs.dtype).T
    return xp.where(hit > 0, xp.full_like(possible, -xp.inf), possible)


def log_of(x: Any) -> Any:
    """log x, -inf at 0, without a warning."""
    xp = namespace(x)
    some = xp.where(x > 0, x, xp.ones_like(x))
    return xp.where(x > 0, xp.log(some), xp.full_like(x, -xp.inf))


class DiscreteNB(GenerativeClassifier):
    """Parameters `alpha`, `force_alpha`, `fit_prior`, `class_prior`, as scikit-learn has them."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _check_params(self) -> None:
        alpha = self.alpha
        if isinstance(alpha, str) or not np.all(np.isfinite(np.asarray(alpha, dtype=float))):
            raise ValueError(f"alpha must be a number or an array of numbers, got {alpha!r}.")
        if np.any(np.asarray(alpha, dtype=float) < 0):
            raise ValueError(f"alpha must be at least 0, got {alpha!r}: it counts pseudo-rows.")

    def _smoothing(self) -> Any:
        """alpha as a number or as (d,)."""
        alpha = self.alpha
        if not isinstance(alpha, Real):
            alpha = np.asarray(alpha, dtype=float)
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.size} elements instead of {self.n_features_in_}."
                )
        if np.min(alpha) < SMALLEST_ALPHA and not self.force_alpha:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = "
                f"{SMALLEST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=4,
            )
            alpha = np.maximum(alpha, SMALLEST_ALPHA)
        return alpha

    def _learn_priors(self, weights: Any) -> None:
        """class_count_ and class_log_prior_."""
        counts, K = to_numpy(weights), len(self.classes_)
        if self.class_prior is not None:
            priors = np.asarray(self.class_prior, dtype=float)
            if priors.shape != (K,):
                raise ValueError("Number of priors must match number of classes.")
            if (priors < 0).any():
                raise ValueError("class_prior must be non-negative")
        else:
            priors = counts / counts.sum() if self.fit_prior else np.full(K, 1.0 / K)
        self.class_count_ = weights
        self.class_log_prior_ = like(log_of(priors), weights)

    @property
    def _log_priors(self) -> Any:
        return to_numpy(self.class_log_prior_)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x, c), (n, K)."""
        return self._mapped(self._joint, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def refuse_negative(lowest: float, name: str) -> None:
    """Counts are not negative."""
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to {name} (input X): the lowest is {lowest:g}. "
            "It counts; use GaussianNB for columns of measurements."
        )


def smoothing_like(alpha: Any, ref: Any) -> Any:
    """alpha beside counts: a number stays, an array moves to their library."""
    return alpha if isinstance(alpha, Real) else like(alpha, ref)


def dense(block: Any) -> Any:
    """A block of rows as an array."""
    return block.toarray() if is_sparse(block) else block
