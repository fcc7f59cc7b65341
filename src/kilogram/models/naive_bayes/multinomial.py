"""Naive Bayes for counts: multinomial, and by the complement of each class.

Multinomial   p_cj = (N_cj + alpha) / (sum_j N_cj + alpha d)         sum_j x_j log p_cj
Complement    the same of the rows that are not in c, and against it (Rennie et al. 2003)

N_cj sums column j over the rows of class c: one pass, additive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import namespace, to_numpy
from kilogram.base import Laws
from kilogram.base.constraints import Boolean, Constraint
from kilogram.base.generative import class_statistic, move_parameters
from kilogram.base.sampling import SamplingClassifier
from kilogram.functions.bayes import is_certain, log_of
from kilogram.models.naive_bayes.discrete import (
    DiscreteNB,
    counted_logs,
    refuse_negative,
    refuse_overflow,
    smoothing_like,
)
from kilogram.statistics.class_counts import FeatureCounts

NEGATIVE = "counts are not negative: X + c are other counts"


class SummedCountsNB(DiscreteNB):
    """Naive Bayes on the sums N_cj of the columns by class."""

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        return class_statistic(FeatureCounts, X, y, w, self.classes_)

    def _check_statistic(self, new: Any, X: Any) -> None:
        self._ensure_finite(new.counts, X)
        refuse_negative(new.lowest, type(self).__name__)


class MultinomialNB(SamplingClassifier, SummedCountsNB):
    """Naive Bayes for counts, such as those of the words of a text.

    Parameters
    ----------
    alpha : float or array-like of shape (d,), default=1.0
        Pseudo-count of every column; 0 for none.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 becomes 1e-10.
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
        Weighted sums of the features, by class.
    feature_log_prob_ : array of shape (n_classes, d)
        Logarithm of the probability of each feature value, by class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import MultinomialNB
    >>> model = MultinomialNB().fit([[3, 0], [2, 1], [0, 4]], ["tea", "tea", "mate"])
    >>> str(model.predict([[1, 0]])[0])
    'tea'
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, shift=NEGATIVE)

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _learn(self, found: FeatureCounts, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        xp = namespace(found.counts)
        self.feature_count_ = found.counts
        smoothed = found.counts + smoothing_like(self._smoothing(), found.counts)
        total = xp.sum(smoothed, axis=1, keepdims=True)
        self._ensure_finite(total, X)
        self.feature_log_prob_ = log_of(smoothed) - log_of(
            xp.where(total > 0, total, 1 + 0 * total)
        )
        self._learn_priors(found.weights)

    def _joint_log_likelihood(self, block: Any) -> Any:
        logs = move_parameters(self.feature_log_prob_, block)
        with np.errstate(over="ignore"):
            found = counted_logs(block, logs)
        if not is_certain(found):
            refuse_overflow(block, logs)
        return found + move_parameters(self.class_log_prior_, block)

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        """Rows of the mean total count of the class; a Poisson number of counts for each."""
        p = np.exp(to_numpy(self.feature_log_prob_)[c])
        total = to_numpy(self.feature_count_)[c].sum() / max(to_numpy(self.class_count_)[c], 1e-300)
        return rng.multinomial(rng.poisson(total, m), p / p.sum()).astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class ComplementNB(SummedCountsNB):
    """Naive Bayes for counts by the complement of each class; better for imbalanced classes.

    Parameters
    ----------
    alpha : float or array-like of shape (d,), default=1.0
        Pseudo-count of every column.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 becomes 1e-10.
    fit_prior : bool, default=True
        Only matters for a single class, as in scikit-learn.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities; only matter for a single class, as in scikit-learn.
    norm : bool, default=False
        Divide the weights of each class by their sum.

    Attributes
    ----------
    class_count_ : array of shape (n_classes,)
        Weight of the training rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithm of the probability of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    feature_all_ : array of shape (d,)
        Counts of all classes.
    feature_count_ : array of shape (n_classes, d)
        Weighted sums of the features, by class.
    feature_log_prob_ : array of shape (n_classes, d)
        Weights of the decision rule, by class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import ComplementNB
    >>> model = ComplementNB().fit([[3, 0], [2, 1], [0, 4]], ["tea", "tea", "mate"])
    >>> str(model.predict([[1, 0]])[0])
    'tea'
    """

    laws: ClassVar[Laws] = Laws(
        partial_fit=True, shift=NEGATIVE, textbook="the texts do not have the complement"
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **DiscreteNB.parameter_constraints,
        "norm": Boolean(),
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm

    def _learn(self, found: FeatureCounts, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        xp = namespace(found.counts)
        self.feature_count_ = found.counts
        self.feature_all_ = xp.sum(found.counts, axis=0)
        alpha = smoothing_like(self._smoothing(), found.counts)
        others = self.feature_all_ + alpha - found.counts
        # a column that only one class has, unsmoothed: a weight that is large, not infinite
        others = xp.where(others > 0, others, xp.full_like(others, 1e-300))
        sums = xp.sum(others, axis=1, keepdims=True)
        self._ensure_finite(sums, X)
        logs = xp.log(others / sums)
        if self.norm:
            total = xp.sum(logs, axis=1, keepdims=True)
            # a single feature has log 1 = 0 throughout: nothing to normalise
            logs = -logs / xp.where(total < 0, total, xp.ones_like(total))
        self.feature_log_prob_ = -logs
        self._learn_priors(found.weights)

    def _joint_log_likelihood(self, block: Any) -> Any:
        with np.errstate(over="ignore"):
            scores = block @ move_parameters(self.feature_log_prob_, block).T
        if not is_certain(scores):
            refuse_overflow(block, move_parameters(self.feature_log_prob_, block))
        return (
            scores + move_parameters(self.class_log_prior_, block)
            if len(self.classes_) == 1
            else scores
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
