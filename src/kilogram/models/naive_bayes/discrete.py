"""What the naive Bayes classifiers of counts share: smoothing, priors, and 0 log 0 = 0.

    log p(x, c) = log prior_c + sum_j log p(x_j | c)

Smoothing adds `alpha` to the count of every value, and its sum to the divisor, so probabilities sum
to one. With alpha = 0 a value never seen in a class rules the class out, by -inf; if all classes
are ruled out, the priors decide.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real as RealNumber
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Null, Real
from kilogram.base.generative import NaiveBayesClassifier
from kilogram.base.parameters import numbers
from kilogram.functions.bayes import log_of

SMALLEST_ALPHA = 1e-10  # scikit-learn's bound: below it logarithms of 0 appear


def counted_logs(X: Any, logs: Any) -> Any:
    """sum_j x_j logs_cj, (m, K), in which 0 times -inf is 0."""
    xp = namespace(logs)
    impossible = xp.isinf(logs)
    if not bool(xp.any(impossible)):
        return X @ logs.T
    possible = X @ xp.where(impossible, xp.zeros_like(logs), logs).T
    hit = X @ xp.astype(impossible, logs.dtype).T
    return xp.where(hit > 0, xp.full_like(possible, -xp.inf), possible)


class DiscreteNB(NaiveBayesClassifier):
    """Parameters `alpha`, `force_alpha`, `fit_prior`, `class_prior`, as scikit-learn has them."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Real(0.0, np.inf, "left") | ArrayLike(),
        "force_alpha": Boolean(),
        "fit_prior": Boolean(),
        "class_prior": ArrayLike() | Null(),
    }

    def _smoothing(self) -> Any:
        """alpha as a number or as (d,)."""
        alpha = self.alpha
        if not isinstance(alpha, RealNumber):
            alpha = numbers(alpha, "alpha")
            if not (np.isfinite(alpha) & (alpha >= 0)).all():
                raise ValueError(
                    f"alpha must be finite and at least 0 for every feature, got {self.alpha!r}."
                )
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
            priors = numbers(self.class_prior, "class_prior")
            if priors.shape != (K,):
                raise ValueError("Number of priors must match number of classes.")
            if not (np.isfinite(priors) & (priors >= 0)).all():
                raise ValueError("class_prior must be finite and non-negative")
        else:
            priors = counts / counts.sum() if self.fit_prior else np.full(K, 1.0 / K)
        self.class_count_ = weights
        self.class_log_prior_ = like(log_of(priors), weights)

    @property
    def _log_priors(self) -> Any:
        return to_numpy(self.class_log_prior_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def refuse_negative(lowest: float, name: str) -> None:
    """Counts are not negative."""
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to {name} (input X): the lowest is {lowest:g}. "
            "X must hold counts; use GaussianNB for real-valued features."
        )


def smoothing_like(alpha: Any, ref: Any) -> Any:
    """alpha beside counts: a number stays, an array moves to their library."""
    return alpha if isinstance(alpha, RealNumber) else like(alpha, ref)


def refuse_overflow(X: Any, logs: Any) -> None:
    """Refuse finite counts so large that sum_j x_j logs_cj overflows."""
    xp = namespace(logs)
    sizes = xp.where(xp.isinf(logs), xp.zeros_like(logs), xp.abs(logs))
    with np.errstate(over="ignore"):
        sums = X @ sizes.T
    if not bool(xp.all(xp.isfinite(sums))):
        raise ValueError(
            "the values of X are finite, but the sums of their logarithmic probabilities overflow. "
            "Divide the counts by a common factor first."
        )
