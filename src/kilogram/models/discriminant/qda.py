"""Quadratic discriminant analysis: Gaussian classes, each with its own covariance.

    log p(c | x) = log prior_c - 1/2 log det S_c - 1/2 (x - m_c)'S_c^-1 (x - m_c) + const

Means and covariances are the classes' own (divisor: their weight), from one pass over the rows.
S_c = V L V' gives the distance as |L^-1/2 V'(x - m_c)|^2, a product of blocks of rows with one
small matrix for every class. A class needs more rows than columns, or `reg_param` or shrinkage.
Reference: Hastie, Tibshirani and Friedman 2009, section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.linalg import eigh
from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import column_count, is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Null, OneOf, Real
from kilogram.base.estimate import Estimate
from kilogram.base.gaussian_rule import GaussianRule, normalised_priors
from kilogram.base.generative import DiscriminantClassifier, class_statistic, dense
from kilogram.base.labels import codes_of
from kilogram.base.sampling import SamplingClassifier
from kilogram.models.discriminant.covariances import (
    COVARIANCE_ESTIMATOR,
    SHRINKAGE,
    check_regularisation,
    class_covariances,
)
from kilogram.operators.cost import rates
from kilogram.statistics.class_scatters import ClassScatters

WIDE = 256  # features from which forming covariances takes noticeable time: 256^2 operations a row
COPIES = 3  # of the covariances at one time: sums, covariances, axes


class QuadraticDiscriminantAnalysis(SamplingClassifier, DiscriminantClassifier):
    """Classification by Gaussian classes, each with its own covariance: a quadratic rule.

    Takes scikit-learn's parameters and gives its results, from one pass over the rows, with
    weights, in blocks, for sparse matrices, data frames, Parquet files, Dask and device arrays.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Both take the eigenvectors of each class's covariance; "eigen" can shrink it first.
    shrinkage : "auto", float between 0 and 1 or None, default=None
        Pull each covariance towards a multiple of the identity, by this amount or by Ledoit and
        Wolf's; only "eigen".
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None uses the class frequencies.
    reg_param : float between 0 and 1, default=0.0
        Variances v along the axes of each class become (1 - reg_param) v + reg_param; only "svd".
    store_covariance : bool, default=False
        Whether to store `covariance_`.
    tol : float, default=1e-4
        A class with a smaller variance along some axis is refused as not of full rank.
    covariance_estimator : estimator with `fit` and `covariance_`, default=None
        Estimates the covariance of each class; only "eigen", and without weights.

    Attributes
    ----------
    means_ : array of shape (n_classes, d)
        Means of the classes.
    priors_ : array of shape (n_classes,)
        Class probabilities used.
    rotations_ : list of n_classes arrays of shape (d, d)
        Principal axes of each class, in columns.
    scalings_ : list of n_classes arrays of shape (d,)
        Variances along the principal axes of each class.
    covariance_ : list of n_classes arrays of shape (d, d)
        Covariances of the classes, with `store_covariance=True`.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes.
    GaussianNB : Covariances without correlations.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(kg.QuadraticDiscriminantAnalysis(tol=1e-6).fit(X, y).score(X, y), 2)
    0.98
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True, example={"reg_param": 0.05}, rtol=1e-6)
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "solver": OneOf("svd", "eigen"),
        "shrinkage": SHRINKAGE,
        "priors": ArrayLike() | Null(),
        "reg_param": Real(0.0, 1.0),
        "store_covariance": Boolean(),
        "tol": Real(0.0, np.inf, "left"),
        "covariance_estimator": COVARIANCE_ESTIMATOR,
    }
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": False, "min_samples": 2}
    _min_classes = 2

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _check_params(self) -> None:
        check_regularisation(self.solver, self.shrinkage, self.covariance_estimator)

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        self._refuse_few_rows(X, y)
        K, d = len(self.classes_), column_count(X)
        self._ensure_memory(COPIES * 8 * K * d * d, f"the covariances of {K} classes, {d} by {d},")
        return class_statistic(ClassScatters, X, y, w, self.classes_)

    def _refuse_few_rows(self, X: Any, y: Any) -> None:
        """A class of no more rows than features has a singular covariance: refuse it right away."""
        bare = self.solver == "svd" and self.reg_param == 0 and self.tol > 0
        if not (bare and self._has_all_rows) or is_streamed(X):
            return
        n, d = X.shape
        if d < WIDE or n > len(self.classes_) * d:  # cheap enough to find out when they are formed
            return
        counts = np.bincount(codes_of(y, self.classes_), minlength=len(self.classes_))
        self._refuse_single_rows(counts.astype(float), y)
        if (counts <= d).any():
            c = int(np.argmax(counts <= d))
            self._refuse_rank_deficient(
                c, f"{counts[c]} rows for {d} columns leave some axis without variance"
            )

    def _check_statistic(self, new: Any, X: Any) -> None:
        self._ensure_finite(new.means, X)
        self._ensure_finite(new.spread, X)

    def _learn(self, found: ClassScatters, X: Any, y: Any, w: Any) -> None:
        self._check_statistic(found, X)
        weights = to_numpy(found.weights)
        self._refuse_single_rows(weights, y)
        if hasattr(self, "statistic_") and self.shrinkage == "auto":
            raise ValueError(
                "shrinkage='auto' needs two passes: partial_fit has only the last rows. "
                "Give a number between 0 and 1, or use fit."
            )
        self.means_ = found.means
        frequencies = weights / weights.sum()
        self.priors_ = like(normalised_priors(self.priors, frequencies), found.means)
        covariances = class_covariances(
            found, self.shrinkage, self.covariance_estimator, (X, y, w), self.classes_
        )
        axes = [self._axes(c, covariances[c, ...], weights) for c in range(len(weights))]
        self.scalings_ = [variances for variances, _ in axes]
        self.rotations_ = [V for _, V in axes]
        if self.store_covariance:
            self.covariance_ = [(V * variances) @ V.T for variances, V in axes]
        self._rule = self._gaussians()

    def _refuse_single_rows(self, weights: np.ndarray, y: Any) -> None:
        single = weights <= 1
        if not single.any() or hasattr(self, "statistic_"):
            return
        if not is_streamed(y):  # rows of small weight count as rows
            single &= np.bincount(codes_of(y, self.classes_), minlength=len(weights)) <= 1
        if single.any():
            name = self.classes_[int(np.argmax(single))]
            raise ValueError(
                f"y has only 1 sample in class {name}, covariance is ill defined: leave the "
                "class out, or use LinearDiscriminantAnalysis."
            )

    def _axes(self, c: int, C: Any, weights: np.ndarray) -> tuple[Any, Any]:
        """Variances, largest first, and axes of one class, regularised; refused if too flat."""
        xp = namespace(C)
        if weights[c] == 0:  # named in partial_fit, not seen so far: of prior 0, any shape will do
            unit = like(np.eye(C.shape[0]), C)
            return xp.linalg.diagonal(unit), unit
        variances, V = eigh(C)
        variances = xp.where(variances > 0, variances, xp.zeros_like(variances))
        if self.solver == "svd":
            variances = (1 - self.reg_param) * variances + self.reg_param
        if not bool(xp.all(variances > self.tol)):
            self._refuse_rank_deficient(
                c,
                f"its rows weigh {weights[c]:g} for {C.shape[0]} columns and its smallest variance "
                f"is {float(xp.min(variances)):.2g}, not above tol={self.tol:g}",
            )
        return variances, V

    def _refuse_rank_deficient(self, c: int, why: str) -> None:
        what = "shrinkage" if self.solver == "eigen" else "reg_param"
        raise np.linalg.LinAlgError(
            f"The covariance matrix of class {self.classes_[c]} is not full rank: {why}. Increase "
            f"the value of `{what}`, or lower tol if the columns are of a small scale."
        )

    def _gaussians(self) -> GaussianRule:
        """The classes as a GaussianRule, in host memory."""
        pairs = [
            (to_numpy(v), to_numpy(V)) for v, V in zip(self.scalings_, self.rotations_, strict=True)
        ]
        roots = np.stack([(V / np.sqrt(v)).T for v, V in pairs])
        logdets = np.array([float(np.sum(np.log(v))) for v, _ in pairs])
        means, priors = to_numpy(self.means_), to_numpy(self.priors_)
        return GaussianRule(self.classes_, means, roots, logdets, priors)

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(to_numpy(self.priors_), 1e-300))

    @property
    def _width(self) -> int:
        return int(self.means_.shape[1])

    def _joint_log_likelihood(self, block: Any) -> Any:
        return self._rule.scores(dense(block))

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        variances, V = to_numpy(self.scalings_[c]), to_numpy(self.rotations_[c])
        normal = rng.standard_normal((m, len(variances))) * np.sqrt(variances)
        return to_numpy(self.means_)[c] + normal @ V.T

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return self._costs(n, d, "moments", n * d * d / 2 / rates(8).multiply_adds, 32 * d * d)
