"""Canonical correlation analysis.

Objective    max_{A, B} tr(A' C_xy B)   s.t.   A'(C_x + a I) A = I,  B'(C_y + b I) B = I

with C the covariances and (a, b) = alpha the penalties of two centred views of the same rows. The
columns of A and B are the pairs of directions in which the views agree most; at alpha = 0 the
values are the canonical correlations, the cosines of the principal angles between the views.
All pairs come at once from one SVD of the whitened cross-covariance (`solvers/eigen/canonical.py`),
whatever the order of rows and columns.

In print: the cookbook's algorithm 6 does not centre, and its eigenvectors meet the constraint only
summed over the views (half for each of two). Here each view meets its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.arrays.rows import map_rows, reduce_rows, row_count
from kilogram.arrays.threads import one_team
from kilogram.base import Estimator, Laws, Twin
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Integer,
    OneOf,
    Real,
)
from kilogram.base.estimate import Estimate
from kilogram.base.validation.validate import validate_inverse_input
from kilogram.models.cca.view_scores import (
    dense,
    deviation,
    fix_signs,
    least_norm,
    orthonormalised,
    penalties,
    predictor,
    returner,
    scorer,
    second_view,
    varying,
)
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.canonical import CanonicalPairs, from_moments, from_rows, safe_factor
from kilogram.statistics import JointMoments


class CCA(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, RegressorMixin, MultiOutputMixin, Estimator
):
    """Canonical correlation analysis of two views: all pairs at once, by QR and SVD.

    Finds directions A, B that maximise tr(A' C_xy B) subject to A'(C_x + alpha I)A = I and the same
    for B. Unlike alternating algorithms the result does not depend on the order of rows or columns,
    and costs one pass over the rows.

    Parameters
    ----------
    n_components : int, default=2
        Pairs to keep, at most the smaller number of columns.
    scale : bool, default=True
        Divide every column by its standard deviation first. Without regularisation this changes
        the units of the directions only.
    max_iter : int, default=500
        For compatibility with scikit-learn, like `tol`: the pairs come from one decomposition.
    tol : float, default=1e-6
        For compatibility with scikit-learn.
    alpha : float or pair of floats, default=0.0
        Penalty added to both covariances, or one for each view; needed where a view has as many
        columns as there are rows.
    copy : bool, default=True
        For compatibility; the data is never changed.
    solver : {"auto", "moments", "svd"}, default="auto"
        "moments" makes one pass over rows in any container. "svd" works on the centred rows
        themselves and keeps digits that squaring loses. "auto" takes moments and goes over to svd
        when they are ill-conditioned and the rows are in memory.

    Attributes
    ----------
    correlations_ : (n_components,)
        Correlations between the paired scores of the training rows.
    x_rotations_, y_rotations_ : (d_x, n_components), (d_y, n_components)
        Directions in the (scaled) columns.
    x_weights_, y_weights_ : (d_x, n_components), (d_y, n_components)
        Directions of length one in the columns less the pairs before: the rotations made
        orthonormal, one after another.
    x_loadings_, y_loadings_ : (d_x, n_components), (d_y, n_components)
        Covariances of the (scaled) columns with their own scores.
    x_mean_, y_mean_, x_std_, y_std_ : (d_x,), (d_y,), (d_x,), (d_y,)
        Means that are subtracted from the columns, and scales they are divided by.
    coef_ : (d_y, d_x)
        Coefficients of the prediction of Y through the pairs; `intercept_` likewise.
    intercept_ : (d_y,)
        Intercept of the decision or regression function.
    n_iter_ : list of int
        1 for every pair: they come from one decomposition.
    solver_ : str
        The solver used.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.standard_normal((200, 1))
    >>> X = np.hstack([shared, rng.standard_normal((200, 2))])
    >>> Y = np.hstack([rng.standard_normal((200, 1)), -shared])
    >>> kg.CCA(n_components=1).fit(X, Y).correlations_.round(6)
    array([1.])
    """

    laws = Laws(
        twin=Twin(
            "KernelCCA",
            kernel_params={"n_components": 1, "alpha": 0.1},
            linear_params={"n_components": 1, "alpha": 0.1, "scale": False},
        ),
        backend=True,
        example={"n_components": 1, "alpha": 0.1},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "scale": Boolean(),
        "max_iter": Integer(1),
        "tol": Real(0, closed="left"),
        "alpha": Real(0, closed="left") | ArrayLike(),
        "copy": Boolean(),
        "solver": OneOf("auto", "moments", "svd"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        alpha: float | tuple[float, float] = 0.0,
        copy: bool = True,
        solver: str = "auto",
    ):
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.copy = copy
        self.solver = solver

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CCA:
        """Find the pairs of X (n, d_x) and y (n, d_y) or (n,).

        Parameters
        ----------
        X, y : rows of the two views, in any container
        sample_weight : (n,) or None

        Returns
        -------
        self
        """
        alpha = penalties(self.alpha)
        if self.solver == "svd" and any(alpha):
            raise ValueError("solver='svd' is for alpha=0; regularised pairs come from 'moments'.")
        X, Y, w = self._validate(X, y, sample_weight, finite=False, min_samples=2)
        if Y is None:
            raise ValueError(
                "CCA requires y to be passed, but the target y is None: give the second view."
            )
        joint = reduce_rows(JointMoments.of, X, Y, w)
        self._ensure_finite(joint.scatter, X)
        self._ensure_target(joint.scatter_y)
        self._ensure_felt(X, namespace(joint.scatter).linalg.trace(joint.scatter), np.float64)
        # a streamed target of one column is read as (n,): its blocks are
        shape = getattr(Y, "shape", None)
        self._one_column = joint.mean_y.shape[0] == 1 if shape is None else len(shape) == 1
        self._wide = "float32" not in str(getattr(Y, "dtype", "float32"))
        with one_team(max(joint.mean.shape[0], joint.mean_y.shape[0])):
            self._store(joint, self._pairs(joint, X, Y, w, alpha), alpha)
        return self

    def _pairs(
        self, joint: JointMoments, X: Any, Y: Any, w: Any, alpha: tuple[float, float]
    ) -> CanonicalPairs:
        """Pairs of the scaled columns, by the solver that keeps enough digits."""
        d_x, d_y = joint.scatter.shape[0], joint.scatter_y.shape[0]
        d = min(d_x, d_y)
        if self.n_components > d:
            raise ValueError(
                f"n_components={self.n_components!r} must be between 1 and {d}: with {d_x} "
                f"columns in X and {d_y} in y there are no more pairs than that. Set "
                f"n_components={d}."
            )
        C_x, C_xy, C_y = self._covariances(joint)
        self.solver_ = "moments" if self.solver == "auto" else self.solver
        factors = (None, None) if any(alpha) else (safe_factor(C_x), safe_factor(C_y))
        in_memory = is_numpy(X) and is_numpy(Y)
        if self.solver == "auto" and in_memory and not any(alpha):
            self.solver_ = "svd" if any(L is None for L in factors) else "moments"
        if self.solver_ == "moments":
            found = from_moments(C_x, C_xy, C_y, self.n_components, alpha, factors=factors)
            return fix_signs(found)
        w = np.ones(row_count(X)) if w is None else w
        root = np.sqrt(w / np.sum(w))[:, None]
        U = root * (dense(X) - self.x_mean_) / self.x_std_
        V = root * (dense(Y if Y.ndim == 2 else Y[:, None]) - self.y_mean_) / self.y_std_
        return fix_signs(from_rows(U, V, self.n_components))

    def _covariances(self, joint: JointMoments) -> tuple[Any, Any, Any]:
        xp = namespace(joint.scatter)
        self.x_mean_, self.y_mean_ = joint.mean, joint.mean_y
        C_x, C_xy = joint.x.covariance(), joint.cross / joint.weight
        C_y = joint.y.covariance()
        self.x_std_, self.y_std_ = xp.ones_like(joint.mean), xp.ones_like(joint.mean_y)
        if self.scale:
            self.x_std_, self.y_std_ = deviation(joint.x.variance()), deviation(joint.y.variance())
            s, t = self.x_std_, self.y_std_
            C_x, C_xy, C_y = (
                C_x / (s[:, None] * s),
                C_xy / (s[:, None] * t),
                C_y / (t[:, None] * t),
            )
        self._C = C_x, C_xy, C_y
        return self._C

    def _store(
        self, joint: JointMoments, found: CanonicalPairs, alpha: tuple[float, float]
    ) -> None:
        xp = namespace(found.A)
        C_x, C_xy, C_y = self.__dict__.pop("_C")
        A, B = found.A, found.B
        if A.shape[1] < self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, but the rows span only {A.shape[1]} "
                "direction(s) that both views vary in: ask for fewer, or set alpha > 0."
            )
        self.x_rotations_, self.y_rotations_ = A, B
        self.x_loadings_, self.y_loadings_ = C_x @ A, C_y @ B
        self.correlations_ = found.s  # at alpha = 0 the values are the correlations
        if any(alpha):
            var_u = xp.sum(A * self.x_loadings_, axis=0)
            var_v = xp.sum(B * self.y_loadings_, axis=0)
            # a direction without variance (the ridge alone gives it length 1) has no correlation
            varies = varying(var_u) & varying(var_v)
            spread = xp.where(varies, var_u * var_v, xp.ones_like(var_u))
            cross = xp.sum(A * (C_xy @ B), axis=0)
            self.correlations_ = xp.where(varies, cross / xp.sqrt(spread), xp.zeros_like(cross))
        # Y is predicted from the scores U = XA: (U'U)^-1 U'Y, with U'U diagonal at alpha = 0
        through = least_norm(A.T @ self.x_loadings_, A.T @ C_xy)
        coef = (A @ through) / self.x_std_[:, None] * self.y_std_
        self.coef_ = coef.T
        self.intercept_ = self.y_mean_ - self.x_mean_ @ coef
        self.n_iter_ = [1] * int(self.n_components)
        self._n_features_out = A.shape[1]

    @property
    def x_weights_(self) -> Any:
        """Orthonormal directions of the pairs in the columns of X."""
        return orthonormalised(self.x_rotations_)

    @property
    def y_weights_(self) -> Any:
        """Orthonormal directions of the pairs in the columns of y."""
        return orthonormalised(self.y_rotations_)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Scores of X (n, k), or the pair of scores of X and y when y is given."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        scores = map_rows(scorer(self.x_mean_, self.x_std_, self.x_rotations_), X)
        if y is None:
            return scores
        view = second_view(self, y, self.y_mean_.shape[0])
        return scores, map_rows(scorer(self.y_mean_, self.y_std_, self.y_rotations_), view)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then the scores of both views."""
        return self.fit(X, y, **fit_params).transform(X, y)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Columns of X (and of y) regressed on their scores."""
        check_is_fitted(self)
        k = self.x_rotations_.shape[1]
        back = returner(self.x_mean_, self.x_std_, self.x_loadings_, self.x_rotations_)
        if y is None:
            return map_rows(back, validate_inverse_input(self, X, k, "scores", "pairs"))
        back_y = returner(self.y_mean_, self.y_std_, self.y_loadings_, self.y_rotations_)
        X, y = (validate_inverse_input(self, scores, k, "scores", "pairs") for scores in (X, y))
        return map_rows(back, X), map_rows(back_y, y)

    def predict(self, X: Any) -> Any:
        """Y predicted from X through the pairs: a regression of rank n_components."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        return map_rows(predictor(self.coef_, self.intercept_, self._one_column, self._wide), X)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        flops = n * (2 * d) ** 2 / 2
        return self._costs(n, d, "moments", flops / rates(8).multiply_adds, 8 * 4 * (2 * d) ** 2)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
