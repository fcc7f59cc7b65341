"""Naive Bayes for columns of yes and no: the Bernoulli model.

    p_cj = (N_cj + alpha) / (N_c + 2 alpha)
    log p(x, c) = log prior_c + sum_j [ x_j log p_cj + (1 - x_j) log(1 - p_cj) ]

N_cj is the weight of the rows of class c with a yes in column j. What is absent counts too; a
missing entry (NaN) is neither, and is left out of both its count and its sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace, to_numpy
from kilogram.arrays.rows import block_length, is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import Constraint, Null, Real
from kilogram.base.generative import class_statistic, dense, move_parameters
from kilogram.base.sampling import SamplingClassifier
from kilogram.functions.bayes import log_of
from kilogram.models.naive_bayes.discrete import (
    DiscreteNB,
    counted_logs,
    smoothing_like,
)
from kilogram.statistics.class_counts import FeatureCounts
from kilogram.statistics.products import as_floats


@dataclass(frozen=True)
class Presence:
    """The statistic of rows turned into 0 and 1 by a threshold."""

    threshold: float | None

    def __call__(self, X: Any) -> tuple[Any, Any]:
        """1 where x > threshold, else 0; and 1 where x is NaN, or None if it nowhere is."""
        X = as_floats(X)
        if is_sparse(X):
            return self._sparse(X)
        xp = namespace(X)
        lost = xp.isnan(X)
        some = xp.astype(lost, X.dtype) if bool(xp.any(lost)) else None
        if self.threshold is None:
            return (X if some is None else xp.where(lost, xp.zeros_like(X), X)), some
        return xp.astype(self.threshold < X, X.dtype), some

    def _sparse(self, X: Any) -> tuple[Any, Any]:
        if self.threshold is not None and self.threshold < 0:
            raise ValueError(
                "a sparse X cannot be binarised below 0: all that is absent would be 1."
            )
        X = X.tocsr()
        lost = np.isnan(X.data)
        there = X.data if self.threshold is None else (X.data > self.threshold).astype(X.dtype)
        made = type(X)((np.where(lost, 0.0, there).astype(X.dtype), X.indices, X.indptr), X.shape)
        if not lost.any():
            return made, None
        return made, type(X)((lost.astype(X.dtype), X.indices, X.indptr), X.shape)

    def of(self, X: Any, codes: Any, w: Any = None, *, n_classes: int) -> FeatureCounts:
        """One native pass over NumPy rows; elsewhere by way of the zeros and ones."""
        if is_numpy(X) and self.threshold is not None:
            X = as_floats(X)
            return FeatureCounts.above(X, self.threshold, codes, w, n_classes=n_classes)
        infinite = X.data if is_sparse(X) else X
        xp = namespace(infinite)
        ones, lost = self(X)
        lowest = -np.inf if bool(xp.any(xp.isinf(infinite))) else 0.0
        return FeatureCounts.made(ones, lost, to_numpy(codes), w, n_classes, lowest)


class BernoulliNB(SamplingClassifier, DiscreteNB):
    """Naive Bayes for binary features; absent features count too. Missing values are allowed.

    Parameters
    ----------
    alpha : float or array-like of shape (d,), default=1.0
        Pseudo-count of yes and of no in every column; 0 for none.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 becomes 1e-10.
    binarize : float or None, default=0.0
        A value above it is a yes; None takes X as 0 and 1.
    fit_prior : bool, default=True
        Whether to estimate the class probabilities; if False, they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities.

    Attributes
    ----------
    class_count_ : array of shape (n_classes,)
        Weight of the training rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithm of the probability of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    feature_count_ : array of shape (n_classes, d)
        Weight of the rows in which each feature is 1, by class.
    feature_log_prob_ : array of shape (n_classes, d)
        Logarithm of the probability that each feature is 1, by class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import BernoulliNB
    >>> words = [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]]
    >>> model = BernoulliNB(class_prior=[3 / 7, 4 / 7]).fit(words, [1, 1, 1, 0, 0])
    >>> model.predict_proba([[1, 0, 0, 0]]).round(4)
    array([[0.7331, 0.2669]])
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, shift="the threshold does not move with X + c")
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **DiscreteNB.parameter_constraints,
        "binarize": Real(-np.inf, np.inf, "neither") | Null(),
    }
    _predict_checks: ClassVar[dict[str, Any]] = {"finite": "allow-nan"}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        whole = is_streamed(X) or is_sparse(X) or (is_numpy(X) and self.binarize is not None)
        rows = None if whole else block_length(X)
        return class_statistic(Presence(self.binarize), X, y, w, self.classes_, rows)

    def _check_statistic(self, new: Any, X: Any) -> None:
        self._ensure_finite(like(np.array([new.lowest]), new.counts), X)

    def _learn(self, found: FeatureCounts, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        alpha = smoothing_like(self._smoothing(), found.counts)
        self.feature_count_ = found.counts
        divisor = found.seen + 2 * alpha
        divisor = namespace(divisor).where(divisor > 0, divisor, 1 + 0 * divisor)
        self.feature_log_prob_ = log_of((found.counts + alpha) / divisor)
        self._log_absent = log_of((found.seen - found.counts + alpha) / divisor)
        self._learn_priors(found.weights)

    def _joint_log_likelihood(self, block: Any) -> Any:
        ones, lost = Presence(self.binarize)(block)
        yes, no = (
            move_parameters(self.feature_log_prob_, block),
            move_parameters(self._log_absent, block),
        )
        xp = namespace(yes)
        prior = move_parameters(self.class_log_prior_, block)
        if bool(xp.any(xp.isinf(yes))) or bool(xp.any(xp.isinf(no))):
            ones = dense(ones)
            zeros = 1 - ones if lost is None else 1 - ones - dense(lost)
            return counted_logs(ones, yes) + counted_logs(zeros, no) + prior
        absent = xp.sum(no, axis=1) if lost is None else xp.sum(no, axis=1) - lost @ no.T
        return ones @ (yes - no).T + absent + prior

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        p = np.exp(to_numpy(self.feature_log_prob_)[c])
        return (rng.random((m, len(p))) < p).astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
