"""Non-linear regression by a formula with unknown parameters.

Objective    min_p  sum_i w_i (y_i - f(x_i, p))^2,  low <= p <= high

The covariance of the parameters is s^2 (J'WJ)^-1 with J the Jacobian of f at the solution and
s^2 = sum_i w_i r_i^2 / (n - p). A band of the curve has the half width t s_f, s_f^2 = g'C g with g
the gradient of f in the parameters; a band of new observations t sqrt(s_f^2 + s^2).

References: Gauss 1809; Marquardt 1963; More 1978; Bates and Watts 1988.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.stats
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Estimator, Laws, warn_if_unfinished
from kilogram.base.coefficient_table import CoefficientTable, table_of
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Function,
    Integer,
    Null,
    OneOf,
    Real,
    check_parameter,
)
from kilogram.base.device_output import like_rows
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.solvers.least_squares.levenberg_marquardt import (
    JACOBIANS,
    METHODS,
    NonlinearFit,
    ResidualFunction,
    nonlinear_least_squares,
)
from kilogram.solvers.solution import Solution

Array = np.ndarray


def straight_line(x: Array, a: float, b: float) -> Array:
    """a + b times x, or times the sum of several features: the example of the laws."""
    return a + b * (x if x.ndim == 1 else x.sum(axis=1))


class NonlinearRegression(RegressorMixin, Estimator):
    """Least squares for a formula that is not linear in its parameters.

    Minimises ``sum_i w_i (y_i - f(x_i, p))^2`` over p from the start `p0`, by
    Levenberg-Marquardt, Levenberg or Gauss-Newton iterations, within bounds. The parameters have
    standard errors (`summary`), the curve has bands (`confidence_band`, `prediction_band`).

    Parameters
    ----------
    f : callable
        ``f(x, a, b, ...)``, one predicted value per row. x is an array of shape (n,) if X has one
        feature, else (n, d).
    p0 : array-like
        Initial values of the parameters a, b, ...
    method : {"lm", "levenberg", "gauss-newton"}, default="lm"
        "lm" bounds steps in a trust region scaled by the columns of the Jacobian; that of
        "levenberg" is not scaled, and "gauss-newton" has none and halves its steps.
    jac : {"3-point", "2-point", "cs"} or callable, default="3-point"
        The Jacobian: central or forward differences, complex steps (exact, if f takes complex
        parameters), or ``jac(x, a, b, ...)`` of shape (n, p).
    bounds : pair of array-like or None, default=None
        Lower and upper bounds of the parameters; scalars apply to all. A parameter that the data
        pull beyond its bound counts as known: it has no standard error, and those of the others,
        like the bands, hold for this value of it.
    absolute_sigma : bool, default=False
        The weights are 1 / variance, not only proportional to it: the covariance is not scaled by
        the residuals.
    tol : float, default=1e-10
        The iterations end when the residuals are orthogonal to the Jacobian to this cosine, or
        parameters and sum of squares change by less, relatively.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    params_ : ndarray of shape (p,)
        The fitted parameters, in the order of `p0`.
    param_names_ : tuple of str
        Names of the parameters, from the signature of f.
    covariance_ : ndarray of shape (p, p)
        Of the parameters; infinite where the data do not determine them, 0 for those at a bound.
    at_bound_ : ndarray of shape (p,)
        True for parameters held by a bound, or with one value between equal bounds.
    sigma_ : float
        Standard deviation of the residuals (of rows of weight 1).
    degrees_of_freedom_ : int
        Degrees of freedom: rows less parameters that no bound holds.
    objective_ : float
        The weighted sum of squares.
    n_iter_ : int
        Number of iterations.
    n_evaluations_ : int
        Number of evaluations of f.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    fit_circle, fit_ellipse : Curves without a dependent variable.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import NonlinearRegression
    >>> x = np.linspace(0, 4, 30)[:, None]
    >>> y = 3.0 * np.exp(-0.7 * x[:, 0])
    >>> def decay(x, size, rate):
    ...     return size * np.exp(-rate * x)
    >>> NonlinearRegression(decay, [1.0, 1.0]).fit(x, y).params_.round(6)
    array([3. , 0.7])
    """

    laws: ClassVar[Laws] = Laws(
        shift="a formula may depend on the origin of X",
        permutation="a formula gives every column its role",
        sparse="a formula takes dense rows; sparse ones are refused",
        objective=True,
        budget="at most max_iter iterations",
        textbook=True,
        example={"f": straight_line, "p0": [0.0, 0.0]},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "f": Function(),
        "p0": ArrayLike() | Real(),
        "method": OneOf(*METHODS),
        "jac": OneOf(*JACOBIANS) | Function(),
        "bounds": ArrayLike() | Null(),
        "absolute_sigma": Boolean(),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        f: Any = None,
        p0: Any = None,
        *,
        method: str = "lm",
        jac: Any = "3-point",
        bounds: Any = None,
        absolute_sigma: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
    ):
        self.f = f
        self.p0 = p0
        self.method = method
        self.jac = jac
        self.bounds = bounds
        self.absolute_sigma = absolute_sigma
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the parameters.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (n, d)
            Streaming rows are gathered.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            1 / variance of the rows, up to a factor.

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight, sparse=False)
        rows = gather_regression_data(self, rows)
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        x = _features(rows.X)
        t = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0]
        w = np.ones(len(t)) if rows.w is None else np.asarray(to_numpy(rows.w), dtype=np.float64)
        on = w > 0
        x, t, w = x[on], t[on], w[on]
        start, names = self._start()
        low, high = self._limits(start, names)
        if len(t) < len(start):
            raise ValueError(
                f"n_samples={len(t)} must be at least the number of parameters, {len(start)}. "
                "Give more rows, or a formula with fewer parameters."
            )
        found = self._solve(x, t, np.sqrt(w), start, low, high)
        value = float(found.residuals @ found.residuals)
        self._single = "float32" in str(rows.X.dtype) and "float32" in str(rows.Y.dtype)
        self.params_, self.param_names_ = found.params, names
        self.at_bound_ = _held(found, low, high)
        self.degrees_of_freedom_ = len(t) - int((~self.at_bound_).sum())
        free = max(self.degrees_of_freedom_, 1)
        self.sigma_ = 1.0 if self.absolute_sigma else float(np.sqrt(value / free))
        self.covariance_ = self.sigma_**2 * _inverse_products(found.jacobian, ~self.at_bound_)
        self.objective_, self.n_iter_ = value, found.n_iter
        self.n_evaluations_ = found.n_evaluations
        solution = Solution(None, found.n_iter, value, found.converged, found.message)
        warn_if_unfinished(type(self).__name__, solution, "Try another p0, or raise max_iter.")
        return self

    def _solve(
        self, x: Array, t: Array, root: Array, start: Array, low: Array, high: Array
    ) -> NonlinearFit:
        def residual(p: Array) -> Array:
            return root * (self._values(x, p) - t)

        jac = self.jac
        if callable(jac):
            given = jac

            def jac(p: Array) -> Array:
                J = np.asarray(given(x, *p), dtype=np.float64)
                if J.shape != (len(t), len(p)):
                    raise ValueError(
                        f"jac must return an array of shape {(len(t), len(p))}, got {J.shape}."
                    )
                return root[:, None] * J

        residuals = ResidualFunction(residual, jac, low, high)
        if not np.isfinite(residual(start)).all():
            raise ValueError(
                f"f returns NaN or infinity at the start p0={start.tolist()}. Choose a start at "
                "which f is finite for all rows, or bounds that exclude such parameters."
            )
        return nonlinear_least_squares(
            residuals, start, method=self.method, tol=float(self.tol), max_iter=int(self.max_iter)
        )

    def _values(self, x: Array, p: Array) -> Array:
        f = np.asarray(self.f(x, *p))
        if f.shape != (len(x),):
            raise ValueError(
                f"f must return one value per row, an array of shape ({len(x)},), got {f.shape}."
            )
        return f

    def _start(self) -> tuple[Array, tuple[str, ...]]:
        start = np.atleast_1d(np.asarray(to_numpy(self.p0), dtype=np.float64))
        if start.ndim != 1 or not len(start) or not np.isfinite(start).all():
            raise ValueError(f"p0 must be a list of finite numbers, got {self.p0!r}.")
        return start, _names(self.f, len(start))

    def _limits(self, start: Array, names: tuple[str, ...]) -> tuple[Array, Array]:
        if self.bounds is None:
            return np.full(len(start), -np.inf), np.full(len(start), np.inf)
        if len(self.bounds) != 2:
            raise ValueError("bounds must be a pair (lower, upper).")
        pair = [np.asarray(to_numpy(b), dtype=np.float64) for b in self.bounds]
        if any(b.shape not in ((), start.shape) for b in pair):
            raise ValueError(
                f"bounds must be scalars or have one value for each of {len(start)} parameters."
            )
        low, high = (np.broadcast_to(b, start.shape) for b in pair)
        for name, a, b, p in zip(names, low, high, start, strict=True):
            if np.isnan(a) or np.isnan(b):
                raise ValueError(f"bounds of {name} are NaN. Give -inf or inf where there is none.")
            if not a <= b:
                raise ValueError(
                    f"bounds of {name} are contradictory: lower {a:g} is above upper {b:g}."
                )
            if not a <= p <= b:
                raise ValueError(f"p0 of {name} is {p:g}, outside its bounds [{a:g}, {b:g}].")
        return low, high

    def predict(self, X: Any) -> Any:
        """The value of the formula for the rows of X.

        Parameters
        ----------
        X : array-like, data frame, Dask or streamed rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X

        def rows(block: Any) -> Any:
            found = np.asarray(self._values(_features(block), self.params_), dtype=np.float64)
            return like_rows(found, block, wide=not self._single)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The weighted sum of squares on these rows."""
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        r = to_numpy(rows.Y)[:, 0] - to_numpy(self.predict(rows.X))
        return float(r @ r if rows.w is None else to_numpy(rows.w) @ (r * r))

    def confidence_band(self, X: Any, level: float = 0.95) -> tuple[Array, Array]:
        """Limits of the curve at the rows of X, each with this confidence.

        Parameters
        ----------
        X : array-like of shape (m, d)
        level : float, default=0.95

        Returns
        -------
        low, high : ndarray of shape (m,)
        """
        return self._band(X, level, 0.0)

    def prediction_band(self, X: Any, level: float = 0.95) -> tuple[Array, Array]:
        """Limits of new observations (of weight 1) at the rows of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        level : float, default=0.95

        Returns
        -------
        low, high : ndarray of shape (m,)
        """
        return self._band(X, level, self.sigma_**2 if hasattr(self, "sigma_") else 0.0)

    def _band(self, X: Any, level: float, noise: float) -> tuple[Array, Array]:
        check_is_fitted(self)
        check_parameter("level", level, Real(0, 1, closed="neither"))
        self._ensure_freedom()
        x = _features(self._validate(X, reset=False, sparse=False).X)
        p = self.params_
        f = np.asarray(self._values(x, p), dtype=np.float64)
        if callable(self.jac):
            G = np.asarray(self.jac(x, *p), dtype=np.float64)
        else:
            free = np.full(len(p), np.inf)
            G = ResidualFunction(lambda q: self._values(x, q), self.jac, -free, free).jacobian(p, f)
        variance = np.einsum("ij,jk,ik->i", G, self.covariance_, G)
        t = scipy.stats.t.ppf(0.5 + level / 2, self.degrees_of_freedom_)
        reach = t * np.sqrt(np.maximum(variance, 0.0) + noise)
        return f - reach, f + reach

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Parameters with standard errors, t, p and confidence intervals.

        Those of a parameter held by a bound are NaN.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        CoefficientTable
        """
        check_is_fitted(self)
        check_parameter("level", level, Real(0, 1, closed="neither"))
        self._ensure_freedom()
        held = [name for name, at in zip(self.param_names_, self.at_bound_, strict=True) if at]
        note = f", {', '.join(held)} at a bound" if held else ""
        table = table_of(
            self.param_names_, self.params_[:, None], self.covariance_[None],
            np.array([self.sigma_]), f"non-linear least squares{note}: classical", level,
            self.degrees_of_freedom_,
        ).of_one_target()  # fmt: skip
        columns = ("error", "t", "p", "low", "high")
        known: dict[str, Any] = {
            key: np.where(self.at_bound_, np.nan, getattr(table, key)) for key in columns
        }
        return replace(table, **known)

    def _ensure_freedom(self) -> None:
        if self.degrees_of_freedom_ < 1:
            raise ValueError(
                "as many parameters as rows leave no degrees of freedom: there is nothing to "
                "estimate errors from. Give more rows."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.regressor_tags.poor_score = True  # of a formula that need not suit the data
        return tags


def _features(X: Any) -> Array:
    """(n,) of one feature, else (n, d), float64 in host memory."""
    if is_sparse(X):
        raise TypeError("Sparse data was passed for X, but a formula needs dense data.")
    x = np.asarray(to_numpy(X), dtype=np.float64)
    return x[:, 0] if x.shape[1] == 1 else x


def _names(f: Any, count: int) -> tuple[str, ...]:
    """Names of the parameters of f after its first; p0, p1, ... if it has no names for them."""
    generic = tuple(f"p{j}" for j in range(count))
    try:
        found = list(inspect.signature(f).parameters.values())[1:]
    except (TypeError, ValueError):  # built-in functions have no signature
        return generic
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in found):
        return generic
    named = [p for p in found if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    needed = sum(p.default is inspect.Parameter.empty for p in named)
    if not needed <= count <= len(named):
        raise ValueError(
            f"p0 has {count} values, but f takes {needed} parameters after x: "
            f"{', '.join(p.name for p in named)}."
        )
    return tuple(p.name for p in named[:count])


def _held(found: NonlinearFit, low: Array, high: Array) -> Array:
    """Parameters that would decrease the sum of squares beyond their bounds, if they could."""
    p, gradient = found.params, found.jacobian.T @ found.residuals
    outwards = ((p <= low) & (gradient > 0)) | ((p >= high) & (gradient < 0))
    return np.asarray(outwards | (low == high))


def _inverse_products(J: Array, free: Array) -> Array:
    """(J'J)^-1 of the free columns by their singular values, 0 for the others.

    Infinite for all that are free if J does not determine one of them.
    """
    found = np.zeros((J.shape[1], J.shape[1]))
    J = J[:, free]
    if not J.shape[1]:
        return found
    scale = np.linalg.norm(J, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    _, s, Vt = np.linalg.svd(J / scale, full_matrices=False)
    if s[-1] <= max(J.shape) * np.finfo(float).eps * s[0]:
        found[np.ix_(free, free)] = np.inf
        return found
    half = Vt.T / s
    found[np.ix_(free, free)] = half @ half.T / np.outer(scale, scale)
    return found
