"""Fisher's linear discriminant.

Objective    max_W  tr( (W'(S_W + alpha I) W)^-1  W' S_B W )

    S_W = (1/W) sum_i w_i (x_i - m_{c_i})(x_i - m_{c_i})'      within the classes
    S_B = (1/W) sum_c W_c (m_c - m)(m_c - m)'                   between the classes

The directions are the generalised eigenvectors S_B w = lambda (S_W + alpha I) w, at most K - 1 of
them, scaled so that W'(S_W + alpha I)W = I: only then is the distance between projected points the
Mahalanobis distance (the cookbook's algorithm 15 needs this and does not state it). With T a
whitener of S_W + alpha I they come from the SVD of the K weighted class means seen through T.

With z = W'x the class is argmin_c

    |z - z_c|^2 - 2 log prior_c                                     rule="shared"
    (z - z_c)' V_c^-1 (z - z_c) + log det V_c - 2 log prior_c       rule="per_class"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import svd
from kilogram.arrays.namespace import (
    as_type_of_block,
    is_numpy,
    like,
    namespace,
    to_numpy,
    wide_enough,
)
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows
from kilogram.base import Estimator, Laws, Twin
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    Real,
)
from kilogram.base.estimate import Estimate
from kilogram.base.gaussian_rule import GaussianRule, number_of_directions
from kilogram.base.generative import (
    class_statistic,
    counted_rows,
    move_parameters,
)
from kilogram.base.labels import codes_of, distinct_classes, validate_labels
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.canonical import whitener
from kilogram.statistics.classes import ClassMoments

# Memory of the class indicators of one block: less than that of the rows of most tables.
INDICATOR_BYTES = 64 * 2**20


def directions(T: Any, means: Any, frequencies: Any, k: int) -> tuple[Any, Any]:
    """W (d, k) and eigenvalues (k,) from a whitener T and centred class means (K, d)."""
    xp = namespace(T)
    if T.shape[1] == 0:
        raise ValueError(
            "the rows do not vary within their classes, so there is no scatter to divide by: set "
            "alpha > 0, or give more rows of each class."
        )
    _, s, Vt = svd((means * xp.sqrt(frequencies)[:, None]) @ T)
    k = min(k, s.shape[0])  # fewer directions than asked for have scatter
    W = T @ Vt[:k, :].T
    at = xp.argmax(xp.abs(W), axis=0)
    largest = xp.stack([W[int(at[j]), j] for j in range(W.shape[1])])
    return W * xp.where(largest < 0, -xp.ones_like(largest), xp.ones_like(largest)), s[:k] ** 2


def class_moments(X: Any, y: Any, w: Any, classes: np.ndarray) -> ClassMoments:
    """One pass over the rows in blocks, in memory or streaming."""
    return class_statistic(ClassMoments, X, y, w, classes, _block_rows(X, len(classes)))


def _block_rows(X: Any, n_classes: int) -> int | None:
    """Rows of a block, so that the class indicators stay small; None for the default."""
    most = max(INDICATOR_BYTES // (8 * n_classes), 256)
    return None if is_streamed(X) or is_numpy(X) or X.shape[0] <= most else most


class FisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, Estimator
):
    """Fisher's discriminant directions, and the classifier in their space.

    Maximises scatter between the classes over scatter within them. Projects onto at most
    `n_classes - 1` directions and assigns the class whose projected mean is nearest.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions to keep; None keeps all n_classes - 1 (or n_features if fewer).
    alpha : float, default=0.0
        Ridge on the within-class covariance.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Pull the within-class covariance towards a multiple of the identity; "auto" finds the
        amount by Ledoit and Wolf's formula.
    priors : (n_classes,) or None, default=None
        Class probabilities; None uses the class frequencies.
    balanced : bool, default=False
        Weight every class equally in both scatters, as the cookbook prints it; False weights
        classes by their rows.
    rule : {"shared", "per_class"}, default="shared"
        One covariance for all classes in the projected space, or one for each.

    Attributes
    ----------
    classes_ : (n_classes,)
        Class labels, sorted.
    priors_ : (n_classes,)
        Class probabilities used.
    means_ : (n_classes, d)
        Class means.
    scalings_ : (d, n_components)
        Discriminant directions W.
    eigenvalues_ : (n_components,)
        Values of the objective, one per direction.
    mean_ : (d,)
        Mean of the rows, subtracted before projecting.
    rule_ : GaussianRule
        Means, covariances and priors in the projected space.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(kg.FisherDiscriminant().fit(X, y).score(X, y) > 0.97)
    True
    """

    laws = Laws(
        twin=Twin(
            "KernelFisherDiscriminant",
            kernel_params={"alpha": 0.1},
            linear_params={"alpha": 0.1},
        ),
        example={"alpha": 0.05},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | Null(),
        "alpha": Real(0.0, np.inf, "left"),
        "shrinkage": Real(0.0, 1.0) | OneOf("auto") | Null(),
        "priors": ArrayLike() | Null(),
        "balanced": Boolean(),
        "rule": OneOf("shared", "per_class"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 0.0,
        shrinkage: float | str | None = None,
        priors: Any = None,
        balanced: bool = False,
        rule: str = "shared",
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.priors = priors
        self.balanced = balanced
        self.rule = rule

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FisherDiscriminant:
        """Find the directions that separate the classes y of the rows X.

        Returns
        -------
        self
        """
        validated = validate_labels(self, X, y, sample_weight, finite=False, min_samples=2)
        X, y, w = counted_rows(*validated)
        self.classes_ = distinct_classes(y)
        found = class_moments(X, y, w, self.classes_)
        self._ensure_finite(found.means, X)
        self._ensure_finite(found.within, X)
        self._fit_directions(found, X, y, w)
        if self.rule == "shared":
            centres = to_numpy((self.means_ - self.mean_) @ self.scalings_)
            weights = to_numpy(found.weights)
            self.rule_ = GaussianRule.shared(self.classes_, centres, weights, self.priors)
        else:
            Z = map_rows(self._project, X)
            self.rule_ = GaussianRule.per_class(self.classes_, Z, y, w, self.priors)
        self.priors_ = self.rule_.priors
        return self

    def _fit_directions(self, found: ClassMoments, X: Any, y: Any, w: Any) -> None:
        xp = namespace(found.within)
        K, d = found.means.shape
        k = number_of_directions(self.n_components, K, d)
        frequencies = found.weights / found.weight
        C = found.within / found.weight
        if self.balanced:
            frequencies = xp.full(K, 1.0 / K, dtype=C.dtype, device=C.device)
            C = self._balanced_within(X, y, w, found)
        C = self._regularised(C, X, y)
        self.mean_ = frequencies @ found.means
        self.means_ = found.means
        self.scalings_, self.eigenvalues_ = directions(
            whitener(C), found.means - self.mean_, frequencies, k
        )
        self._n_features_out = self.scalings_.shape[1]

    def _balanced_within(self, X: Any, y: Any, w: Any, found: ClassMoments) -> Any:
        """The mean of the classes' covariances: rows weighted by one over their class's weight."""
        inverse, K = to_numpy(1.0 / found.weights), len(self.classes_)

        def block(X: Any, y: Any, w: Any) -> ClassMoments:
            codes = codes_of(y, self.classes_)
            row = inverse[codes] if w is None else inverse[codes] * to_numpy(w)
            return ClassMoments.of(X, codes, like(row, X) if not is_numpy(X) else row, n_classes=K)

        return reduce_rows(block, X, y, w, block_rows=_block_rows(X, K)).within / K

    def _regularised(self, C: Any, X: Any, y: Any) -> Any:
        xp = namespace(C)
        d = C.shape[0]
        eye = xp.eye(d, dtype=C.dtype, device=C.device)
        if self.shrinkage is not None:
            amount = self._shrinkage_amount(X, y)
            level = float(xp.sum(xp.linalg.diagonal(C))) / d
            C = (1 - amount) * C + amount * level * eye
        return C + float(self.alpha) * eye if self.alpha else C

    def _shrinkage_amount(self, X: Any, y: Any) -> float:
        if self.shrinkage != "auto":
            return float(self.shrinkage)  # type: ignore[arg-type]
        if is_streamed(X):
            raise ValueError(
                "shrinkage='auto' needs the rows in memory: give a number between 0 and 1 instead."
            )
        dense = to_numpy(X.toarray() if hasattr(X, "toarray") else X)
        codes = codes_of(y, self.classes_)
        means = np.stack([dense[codes == c].mean(axis=0) for c in range(len(self.classes_))])
        return float(ledoit_wolf_shrinkage(dense - means[codes], assume_centered=True))

    def _project(self, block: Any) -> Any:
        rows = wide_enough(block, self.scalings_)
        W, offset = (
            move_parameters(self.scalings_, rows),
            move_parameters(self.mean_ @ self.scalings_, rows),
        )
        return as_type_of_block(rows @ W - offset, block, rows)

    def transform(self, X: Any) -> Any:
        """Rows projected onto the directions, (n, n_components)."""
        check_is_fitted(self)
        return map_rows(self._project, self._validate(X, reset=False).X)

    def decision_function(self, X: Any) -> Any:
        """Log-probability of each class up to a constant, (n, K); two classes: their difference."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False).X
        return map_rows(lambda block: self.rule_.decision(self._project(block)), rows)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False).X
        return map_rows(lambda block: self.rule_.predict(self._project(block)), rows)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities under Gaussian classes in the projected space, (n, K)."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False).X
        return map_rows(lambda block: self.rule_.probabilities(self._project(block)), rows)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return self._costs(n, d, "moments", n * d * d / 2 / rates(8).multiply_adds, 32 * d * d)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
