"""Linear discriminant analysis: Gaussian classes with a common covariance.

    log p(c | x) = x'S^-1 m_c - m_c'S^-1 m_c / 2 + log prior_c + const

S is the covariance within the classes. The rule is linear; its directions are Fisher's, and for two
classes w = S^-1 (m_1 - m_0) is also, up to length, the solution of least squares on any two target
values with an offset, or on centred rows, whatever the sizes of the classes.

Three solvers work on the additive moments of the classes, under scikit-learn's names:

    svd     S = D V L V'D with D the deviations; directions with sqrt(L) <= tol are left out
    eigen   (S_T - S) w = lambda S w, with shrinkage
    lsqr    S W = M', with shrinkage; no directions

S is d by d; with fewer rows than columns the svd solver uses the singular values of the rows.
Reference: Hastie, Tibshirani and Friedman 2009, section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kilogram.arrays.linalg import eigh, svd
from kilogram.arrays.namespace import (
    as_type_of_block,
    is_sparse,
    like,
    namespace,
    to_numpy,
    wide_enough,
)
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Integer, Null, OneOf, Real
from kilogram.base.estimate import Estimate
from kilogram.base.gaussian_rule import normalised_priors, number_of_directions
from kilogram.base.generative import (
    DiscriminantClassifier,
    class_statistic,
    move_parameters,
)
from kilogram.base.projection import signed
from kilogram.base.sampling import SamplingClassifier, normal_rows
from kilogram.functions.bayes import log_of
from kilogram.models.discriminant.covariances import (
    COVARIANCE_ESTIMATOR,
    SHRINKAGE,
    check_regularisation,
    class_covariances,
    shrunk,
)
from kilogram.models.discriminant.whitening import (
    centred_rows,
    pseudo_inverse,
    standard_whitener,
    whitener_of_rows,
)
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.canonical import whitener
from kilogram.statistics.class_scatters import ClassScatters
from kilogram.statistics.class_variances import ClassVariances
from kilogram.statistics.classes import ClassMoments


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, SamplingClassifier, DiscriminantClassifier
):
    """Classification by Gaussian classes with a common covariance, and projection onto its axes.

    Takes scikit-learn's parameters and gives its results, from one pass over the rows, with
    weights, in blocks, for sparse matrices, data frames, Parquet files, Dask and device arrays.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" leaves out directions without variance; "eigen" and "lsqr" can shrink, and "lsqr" has
        no `transform`.
    shrinkage : "auto", float between 0 and 1 or None, default=None
        Pull the covariance towards a multiple of the identity, by this amount or by Ledoit and
        Wolf's; not with "svd".
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None uses the class frequencies.
    n_components : int, default=None
        Directions that `transform` keeps; None keeps all min(n_classes - 1, d).
    store_covariance : bool, default=False
        Keep `covariance_` also with "svd"; the other solvers always do.
    tol : float, default=1e-4
        Directions of smaller deviation, in columns of deviation 1, are left out; only "svd".
    covariance_estimator : estimator with `fit` and `covariance_`, default=None
        Estimates the covariance of each class; not with "svd", nor with weights.

    Attributes
    ----------
    coef_ : array of shape (n_classes, d) or (1, d)
        Weights of the rule; for two classes those of the second against the first.
    intercept_ : array of shape (n_classes,) or (1,)
        Intercept of the decision or regression function.
    covariance_ : array of shape (d, d)
        Covariance within the classes.
    explained_variance_ratio_ : array of shape (n_components,)
        Fractions of the variance between the classes; not with "lsqr".
    means_ : array of shape (n_classes, d)
        Means of the classes.
    priors_ : array of shape (n_classes,)
        Class probabilities used.
    scalings_ : array of shape (d, rank)
        The directions; not with "lsqr".
    xbar_ : array of shape (d,)
        The mean under the priors; only "svd".
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    QuadraticDiscriminantAnalysis : One covariance for each class.
    FisherDiscriminant : The same directions, with a ridge, and its kernel version.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kg.LinearDiscriminantAnalysis().fit(X, y)
    >>> model.transform(X).shape, round(model.score(X, y), 2)
    ((150, 2), 0.98)
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, rtol=1e-6)
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "solver": OneOf("svd", "lsqr", "eigen"),
        "shrinkage": SHRINKAGE,
        "priors": ArrayLike() | Null(),
        "n_components": Integer(1) | Null(),
        "store_covariance": Boolean(),
        "tol": Real(0.0, np.inf, "left"),
        "covariance_estimator": COVARIANCE_ESTIMATOR,
    }
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": False, "min_samples": 2}
    _min_classes = 2

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _check_params(self) -> None:
        check_regularisation(self.solver, self.shrinkage, self.covariance_estimator)

    @property
    def _separately(self) -> bool:
        """Whether each class's own covariance is needed: a number shrinks their mean alike."""
        auto = isinstance(self.shrinkage, str) or self.covariance_estimator is not None
        stored = self.solver != "svd" or self.store_covariance
        return auto or (stored and self.priors is not None)

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        kind: Any = ClassScatters if self._separately else ClassMoments
        if self._is_wide(X):
            kind = ClassVariances  # only its means are used
        return class_statistic(kind, X, y, w, self.classes_)

    def _is_wide(self, X: Any) -> bool:
        if not self._has_all_rows or self.store_covariance or self.solver != "svd":
            return False
        return not is_streamed(X) and not is_sparse(X) and X.shape[0] < X.shape[1]

    def _can_continue(self, found: Any) -> bool:
        return not isinstance(found, ClassVariances)

    def _check_statistic(self, new: Any, X: Any) -> None:
        self._ensure_finite(new.means, X)
        self._ensure_finite(new.spread, X)

    def _learn(self, found: Any, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        frequencies = to_numpy(found.weights / namespace(found.weights).sum(found.weights))
        K, d = found.means.shape
        if float(namespace(found.weights).sum(found.weights)) <= K and w is None:
            raise ValueError("The number of samples must be more than the number of classes.")
        k = number_of_directions(self.n_components, K, d)
        self.means_ = found.means
        self.priors_ = like(normalised_priors(self.priors, frequencies), found.means)
        if self.solver == "svd":
            self._by_svd(found, (X, y, w), k)
        else:
            self._by_covariance(found, (X, y, w), k)
        self._n_features_out = k if self.solver == "lsqr" else min(k, self.scalings_.shape[1])

    def _by_svd(self, found: Any, rows: tuple, k: int) -> None:
        xp = namespace(found.means)
        weight = float(xp.sum(found.weights))
        if isinstance(found, ClassVariances):
            T = whitener_of_rows(centred_rows(rows, found.means, self.classes_), weight, self.tol)
        else:
            moments = found.pooled if isinstance(found, ClassScatters) else found
            T = standard_whitener(moments.within / weight, moments.means, self.tol)
            if self.store_covariance:
                self.covariance_ = self._within_covariance(found, rows)
        self.xbar_ = self.priors_ @ self.means_
        apart = self.means_ - self.xbar_
        K = len(self.classes_)
        _, s, Vt = svd(xp.sqrt(weight * self.priors_ / (K - 1))[:, None] * (apart @ T))
        # where no column varies within the classes there is no direction, and the priors decide
        rank = int(xp.sum(xp.astype(s > self.tol * s[0], xp.int64))) if s.shape[0] else 0
        self.explained_variance_ratio_ = (s**2 / (xp.sum(s**2) or 1.0))[: min(k, s.shape[0])]
        self.scalings_ = signed((T @ Vt[:rank, :].T).T).T
        scores = apart @ self.scalings_
        W = scores @ self.scalings_.T
        b = -0.5 * xp.sum(scores**2, axis=1) + log_of(self.priors_) - W @ self.xbar_
        self._keep(W, b)

    def _within_covariance(self, found: Any, rows: tuple) -> Any:
        """sum_c prior_c C_c, each shrunk or estimated."""
        if not self._separately:
            C = found.within / float(namespace(found.weights).sum(found.weights))
            return C if self.shrinkage is None else shrunk(C, float(self.shrinkage))
        each = class_covariances(
            found, self.shrinkage, self.covariance_estimator, rows, self.classes_
        )
        return namespace(each).sum(self.priors_[:, None, None] * each, axis=0)

    def _total(self, moments: ClassMoments, rows: tuple) -> Any:
        """The covariance of all rows, as one class."""
        whole = ClassScatters(
            namespace(moments.weights).sum(moments.weights)[None],
            moments.mean[None, :],
            (moments.within + moments.between)[None, :, :],
        )
        estimator = self.covariance_estimator
        return class_covariances(whole, self.shrinkage, estimator, rows, None)[0, ...]

    def _by_covariance(self, found: Any, rows: tuple, k: int) -> None:
        if hasattr(self, "statistic_") and (
            isinstance(self.shrinkage, str) or self.covariance_estimator is not None
        ):
            raise ValueError(
                "shrinkage='auto' and covariance_estimator need two passes: partial_fit has "
                "only the last ones. Give a number between 0 and 1 as shrinkage, or use fit."
            )
        self.covariance_ = C = self._within_covariance(found, rows)
        xp = namespace(C)
        if self.solver == "lsqr":
            W = (pseudo_inverse(C) @ self.means_.T).T
        else:
            moments = found.pooled if isinstance(found, ClassScatters) else found
            T = whitener(C)
            values, V = eigh(T.T @ (self._total(moments, rows) - C) @ T)
            self.explained_variance_ratio_ = (values / xp.sum(values))[:k]
            self.scalings_ = signed((T @ V).T).T
            W = self.means_ @ self.scalings_ @ self.scalings_.T
        b = -0.5 * xp.sum(self.means_ * W, axis=1) + log_of(self.priors_)
        self._keep(W, b)

    def _keep(self, W: Any, b: Any) -> None:
        """Two classes as one row, the second against the first."""
        two = len(self.classes_) == 2
        self.coef_ = (W[1, :] - W[0, :])[None, :] if two else W
        self.intercept_ = (b[1] - b[0])[None] if two else b
        if not np.isfinite(to_numpy(self.coef_)).all():
            raise ValueError(
                "LinearDiscriminantAnalysis: the coefficients overflow: the values of X are too "
                "small. Divide the columns by their scale first (StandardScaler does)."
            )

    @property
    def _log_priors(self) -> Any:
        return log_of(self.priors_)

    def _joint_log_likelihood(self, block: Any) -> Any:
        rows = wide_enough(block, self.coef_)
        scores = rows @ move_parameters(self.coef_, rows).T + move_parameters(self.intercept_, rows)
        scores = as_type_of_block(scores, block, rows)
        if len(self.classes_) != 2:
            return scores
        xp = namespace(scores)
        return xp.concat([xp.zeros_like(scores), scores], axis=1)

    def transform(self, X: Any) -> Any:
        """Rows projected onto the directions, (n, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )

        def project(block: Any) -> Any:
            W = self.scalings_[:, : self._n_features_out]
            rows = wide_enough(block, W)
            Z = rows @ move_parameters(W, rows)
            Z = Z - move_parameters(self.xbar_ @ W, rows) if self.solver == "svd" else Z
            return as_type_of_block(Z, block, rows)

        return self._map_rows(project, X)

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        return normal_rows(self.means_[c, :], self._fitted_covariance(), m, rng)

    def _fitted_covariance(self) -> Any:
        """Within the classes: as stored, or from the moments of the rows."""
        if hasattr(self, "covariance_"):
            return self.covariance_
        found = getattr(self, "statistic_", None)
        if found is None:
            raise ValueError(
                "with fewer rows than features the svd solver does not form the covariance to draw "
                "from. Set store_covariance=True."
            )
        moments = found.pooled if isinstance(found, ClassScatters) else found
        return moments.within / moments.weight

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return self._costs(n, d, "moments", n * d * d / 2 / rates(8).multiply_adds, 32 * d * d)
