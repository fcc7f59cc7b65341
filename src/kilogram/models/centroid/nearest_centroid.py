"""The nearest centroid: a class is its mean.

    argmin_c |x - m_c|          euclidean: m_c the mean;  manhattan: m_c the median of each column
    argmin_c (x - m_c)'S^-1 (x - m_c)                     mahalanobis: S within the classes

|x - m_c|^2 = |x|^2 - 2 (m_c'x - |m_c|^2 / 2), so under the euclidean and the Mahalanobis distance
the rule is linear: w_c = S^-1 m_c and b_c = -m_c'S^-1 m_c / 2; between two classes the boundary
passes through the middle of their means. The half belongs to b. Means are additive, medians not.

With `shrink_threshold` the centroids move towards the mean of all, column by column, and columns
that do not separate the classes drop out (Tibshirani et al. 2002). In the feature space of a kernel
the same rule is `make_pipeline(KernelPCA(...), NearestCentroid())`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import is_sparse, like, namespace, to_numpy, wide_enough
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, Null, OneOf, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.generative import (
    DiscriminantClassifier,
    class_statistic,
    dense,
    move_parameters,
)
from kilogram.base.labels import codes_of
from kilogram.base.parameters import numbers
from kilogram.functions.bayes import log_of, most_probable
from kilogram.functions.distances import power_below
from kilogram.functions.weighted_medians import weighted_medians
from kilogram.statistics.class_variances import ClassVariances
from kilogram.statistics.classes import ClassMoments


class NearestCentroid(DiscriminantClassifier):
    """Assign each row to the class with the nearest centroid.

    Takes scikit-learn's parameters and gives its results, with weights, `partial_fit`, in blocks,
    on Dask and on device arrays; and the Mahalanobis distance beside the two it has.

    Parameters
    ----------
    metric : {"euclidean", "manhattan", "mahalanobis"}, default="euclidean"
        "manhattan" takes medians, which need the rows in memory; "mahalanobis" measures by the
        covariance within the classes.
    shrink_threshold : float, default=None
        Move the centroids towards the mean of all by this many standard errors.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Class probabilities. Unless they are equal, `predict` follows `decision_function`, in
        which columns count in units of their deviation within the classes.

    Attributes
    ----------
    centroids_ : array of shape (n_classes, d)
        Centroid of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    class_prior_ : array of shape (n_classes,)
        Probability of each class.
    coef_ : array of shape (n_classes, d) or (1, d)
        The rule of `predict` under equal priors as a linear one, the second class against the
        first if there are two; not for "manhattan".
    intercept_ : array of shape (n_classes,) or (1,)
        Intercept of the decision or regression function.
    deviations_ : array of shape (n_classes, d)
        Centroids less the mean of all, in standard errors, shrunk; not for "mahalanobis".
    within_class_std_dev_ : array of shape (d,)
        Pooled standard deviation of each feature within the classes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LinearDiscriminantAnalysis : The same under the Mahalanobis distance, with priors.

    Examples
    --------
    >>> from kilogram import NearestCentroid
    >>> model = NearestCentroid().fit([[-1.0, 0], [-3, 0], [1, 2], [3, 2]], [0, 0, 1, 1])
    >>> model.predict([[0.0, 0.5]])
    array([0])
    >>> model.coef_, model.intercept_  # w = m_1 - m_0, and half of |m_0|^2 - |m_1|^2
    (array([[4., 2.]]), array([-2.]))
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, rtol=1e-6)
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "metric": OneOf("euclidean", "manhattan", "mahalanobis"),
        "shrink_threshold": Real(0.0, np.inf, "neither") | Null(),
        "priors": OneOf("uniform", "empirical") | ArrayLike(),
    }
    _min_classes = 2

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        shrink_threshold: float | None = None,
        priors: Any = "uniform",
    ):
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    def _check_params(self) -> None:
        if self.shrink_threshold is not None and self.metric == "mahalanobis":
            raise ValueError("shrink_threshold needs metric='euclidean' or 'manhattan'.")

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        if self.metric == "manhattan" and (is_streamed(X) or hasattr(self, "statistic_")):
            raise ValueError(
                "metric='manhattan' takes medians, which need all rows in memory at once: use "
                "'euclidean' or 'mahalanobis'."
            )
        kind: Any = ClassMoments if self.metric == "mahalanobis" else ClassVariances
        return class_statistic(kind, X, y, w, self.classes_)

    def _check_statistic(self, new: Any, X: Any) -> None:
        self._ensure_finite(new.means, X)
        self._ensure_finite(new.spread, X)
        if isinstance(new, ClassVariances) and bool(namespace(new.seen).any(_missing_mask(new))):
            self._ensure_finite(np.array([np.nan]), X)

    def _learn(self, found: Any, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        rows = found.means if is_streamed(X) else X
        self._ensure_felt(rows, namespace(found.spread).max(found.spread), np.float64)
        self._learn_priors(to_numpy(found.weights))
        self.centroids_ = found.means
        if self.metric == "mahalanobis":
            self._learn_ellipse(found)
        else:
            if self.metric == "manhattan":
                found = self._about_medians(found, X, y, w)
            self._learn_spread(found)
            self._scale = None
        if self.metric != "manhattan":
            self._learn_rule()

    def _learn_priors(self, weights: np.ndarray) -> None:
        K = len(self.classes_)
        if isinstance(self.priors, str):
            frequencies = weights / weights.sum()
            self.class_prior_ = frequencies if self.priors == "empirical" else np.full(K, 1.0 / K)
            return
        priors = numbers(self.priors, "priors")
        if priors.shape != (K,):
            raise ValueError(f"priors must be {K} numbers, one for each class, got {priors}.")
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if not np.isclose(priors.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.", stacklevel=4
            )
        self.class_prior_ = priors / priors.sum()

    def _about_medians(self, found: ClassVariances, X: Any, y: Any, w: Any) -> ClassVariances:
        """The squares about the medians: those about the means, and the way between them."""
        codes, rows = codes_of(y, self.classes_), to_numpy(dense(X)).astype(np.float64)
        weights = None if w is None else to_numpy(w).astype(np.float64)
        medians = [
            weighted_medians(rows[codes == c], None if weights is None else weights[codes == c])
            for c in range(len(self.classes_))
        ]
        self.centroids_ = like(np.stack(medians), found.means)
        apart = found.means - self.centroids_
        return ClassVariances(
            found.weights, found.seen, found.means, found.squares + found.seen * apart * apart
        )

    def _learn_spread(self, found: ClassVariances) -> None:
        """Deviation within the classes, and the centroids shrunk by it."""
        xp = namespace(found.means)
        W, K = float(namespace(found.weights).sum(found.weights)), len(self.classes_)
        spread = xp.sqrt(xp.sum(found.squares, axis=0) / max(W - K, 1e-300))
        if not bool(xp.any(found.total_variance > 0)):
            raise ValueError("All features have zero variance. Division by zero.")
        if bool(xp.any(spread == 0)):
            warnings.warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs within "
                "the same classes for at least 1 feature are identical.",
                stacklevel=5,
            )
        self.within_class_std_dev_ = spread
        middle = float(np.median(to_numpy(spread)))
        counts = xp.where(found.weights > 0, found.weights, xp.ones_like(found.weights))
        errors = xp.sqrt(1 / counts - 1 / W)[:, None] * (spread + middle)[None, :]
        errors = xp.where(errors > 0, errors, xp.full_like(errors, 1e-30))
        self.deviations_ = (self.centroids_ - found.mean) / errors
        if self.shrink_threshold is not None:
            size = xp.abs(self.deviations_) - self.shrink_threshold
            size = xp.where(size > 0, size, xp.zeros_like(size))
            self.deviations_ = xp.sign(self.deviations_) * size
            self.centroids_ = found.mean + errors * self.deviations_

    def _learn_ellipse(self, found: ClassMoments) -> None:
        """The root of S^-1; directions in which nothing varies count nothing."""
        xp = namespace(found.within)
        C = found.within / float(namespace(found.weights).sum(found.weights))
        values, V = eigh(C)
        kept = values > xp.finfo(C.dtype).eps * C.shape[0] * xp.max(xp.abs(values))
        roots = xp.where(
            kept, 1 / xp.sqrt(xp.where(kept, values, xp.ones_like(values))), 0 * values
        )
        self._scale = V * roots
        self.within_class_std_dev_ = xp.sqrt(xp.linalg.diagonal(C))

    def _learn_rule(self) -> None:
        xp = namespace(self.centroids_)
        m = self.centroids_
        W = m if self._scale is None else (m @ self._scale) @ self._scale.T
        b = -xp.sum(W * m, axis=1) / 2
        two = len(self.classes_) == 2
        self.coef_ = (W[1, :] - W[0, :])[None, :] if two else W
        self.intercept_ = (b[1] - b[0])[None] if two else b

    @property
    def _log_priors(self) -> Any:
        return log_of(np.asarray(self.class_prior_))

    def _joint_log_likelihood(self, block: Any) -> Any:
        """-distance^2 + 2 log prior, in units of the deviation within the classes."""
        return move_parameters(self._distances(block, scaled=True), block) + 2 * move_parameters(
            self._log_priors, block
        )

    def _linear(self, block: Any) -> Any:
        """m_c'x - |m_c|^2 / 2 about the middle of the centroids: largest for the nearest.

        Over a power of two, so that no score is a product of two tiny or two huge numbers.
        """
        xp = namespace(self.centroids_)
        origin = xp.mean(self.centroids_, axis=0)
        m = self.centroids_ - origin
        W = m if self._scale is None else (m @ self._scale) @ self._scale.T
        W = W / _unit(W)
        offset = move_parameters(-xp.sum(W * m, axis=1) / 2, block)
        if is_sparse(block):
            return block @ move_parameters(W, block).T + offset - move_parameters(W @ origin, block)
        return (block - move_parameters(origin, block)) @ move_parameters(W, block).T + offset

    def _distances(self, block: Any, *, scaled: bool) -> Any:
        """Minus the squared distances, or for unscaled manhattan the distances, (m, K)."""
        spread = _or_one(self.within_class_std_dev_)
        factor = 1 / spread if self._scale is None else self._scale
        block = wide_enough(dense(block), self.centroids_, factor)
        m = move_parameters(self.centroids_, block)
        if self._scale is not None:
            T = move_parameters(self._scale, block)
            origin = m[0, :]
            block, m = (block - origin) @ T, (m - origin) @ T
        elif scaled:
            spread = move_parameters(spread, block)
            block, m = block / spread, m / spread
        xp = namespace(block)
        apart = [block - m[c, :] for c in range(m.shape[0])]
        if self.metric == "manhattan":
            sums = xp.stack([xp.sum(xp.abs(a), axis=1) for a in apart], axis=1)
            return -(sums**2) if scaled else -sums
        return -xp.stack([xp.sum(a * a, axis=1) for a in apart], axis=1)

    def predict(self, X: Any) -> Any:
        """The class of the nearest centroid; under unequal priors, of the largest score."""
        check_is_fitted(self)
        even = bool(np.allclose(self.class_prior_, 1 / len(self.classes_)))

        def nearest(block: Any) -> Any:
            if not even:
                return self._labels_at(most_probable(self._joint_log_likelihood(block)))
            if self.metric == "manhattan":
                return self._labels_at(most_probable(self._distances(block, scaled=False)))
            return self._labels_at(most_probable(self._linear(block)))

        return self._map_rows(nearest, X)


def _or_one(spread: Any) -> Any:
    """The deviations; 1 for what does not vary."""
    xp = namespace(spread)
    return xp.where(spread > 0, spread, xp.ones_like(spread))


def _unit(W: Any) -> float:
    """The power of two next to the largest number."""
    far = float(namespace(W).max(namespace(W).abs(W)))
    return power_below(far) if far > 0 and math.isfinite(far) else 1.0


def _missing_mask(found: ClassVariances) -> Any:
    """Mask of missing values."""
    return found.seen < found.weights[:, None] * (1 - 1e-9)
