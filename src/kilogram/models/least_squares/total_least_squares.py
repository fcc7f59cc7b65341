"""Total least squares: errors in X as well as in Y.

Objective    min_E,F,W,b  sum_i w_i (|e_i|^2 + |f_i|^2)   with   y_i + f_i = W'(x_i + e_i) + b

Rows are centred with their weighted means (the best plane contains the centroid). [X_c, Y_c] is
replaced by the nearest matrix in which Y depends on X: with the SVD

    [X_c, Y_c] = U S V',     V = [ V_11  V_12 ]  d        W = -V_12 V_22^-1
                                 [ V_21  V_22 ]  t        objective  S_d+1^2 + ... + S_d+t^2

In two dimensions it is the line of smallest orthogonal distances, the same whichever coordinate is
called y. The SVD of the triangle R of [X_c, Y_c] has the same S and V, so rows of any container
take one pass. Generalisations, all on R:

    scaled        errors of different size: columns are divided by their standard deviations
    mixed         columns without error come first in R; the others are solved below them
    dependent     directions in which X does not vary are left out: the smallest W

Where V_22 has no inverse the nearest matrix has no plane over X (it is vertical): no solution,
which is an error, as is S_d = S_d+1, where many planes are equally near.

References: Golub and Van Loan 1980; Van Huffel and Vandewalle 1991.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.linear import LinearPredictor
from kilogram.base.parameters import numbers
from kilogram.base.regression_data import validate_regression_data
from kilogram.solvers.least_squares import factorizations as factors
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.least_squares.ridge import joint_moments

GENERIC = 1e-14  # smallest singular value of V_22 that is not the rounding of 0


class NearestPlane(NamedTuple):
    """W (d, t), the singular values (k,), and the sum of the smallest squares."""

    W: np.ndarray
    singular: np.ndarray
    objective: float


class NonGeneric(ValueError):
    """There is no total least squares solution, or more than one."""


def nearest_plane(A: np.ndarray, B: np.ndarray) -> NearestPlane:
    """Total least squares of B (k, t) on A (k, d), errors of equal size."""
    d, t = A.shape[1], B.shape[1]
    _, s, Vt = np.linalg.svd(A, full_matrices=True)
    scale = max(float(np.linalg.norm(A)), float(np.linalg.norm(B))) or 1.0
    tiny = 64 * np.finfo(A.dtype).eps * max(d + t, 32)
    kept = Vt[: int(np.sum(s > tiny * (s[0] if s.size else 0.0)))]
    r = kept.shape[0]
    Z = np.hstack([A @ kept.T, B])
    _, singular, Vt = np.linalg.svd(Z, full_matrices=True)
    all_s = np.zeros(r + t)
    all_s[: singular.size] = singular
    if r and all_s[r - 1] - all_s[r] <= 8 * np.finfo(A.dtype).eps * scale:
        raise NonGeneric(
            f"singular values {r} and {r + 1} of [X, Y] are equal ({all_s[r]:.3g}): many planes "
            "are equally near the rows. Scale the errors (x_error, y_error), or use least squares."
        )
    V12, V22 = Vt[r:, :r].T, Vt[r:, r:].T
    if np.linalg.svd(V22, compute_uv=False)[-1] < GENERIC:
        raise NonGeneric(
            "the plane nearest to the rows is vertical: it does not determine y given x, and total "
            "least squares has no solution. Some column of X varies less than its error, or has "
            "nothing to do with y: leave it out, set its x_error, or use LinearRegression."
        )
    W = kept.T @ -np.linalg.solve(V22.T, V12.T).T
    return NearestPlane(W, all_s, float(np.sum(all_s[r:] ** 2)))


def mixed_plane(R: np.ndarray, d: int, x_error: np.ndarray, y_error: np.ndarray) -> NearestPlane:
    """The nearest plane from the triangle R of [X_c, Y_c], with errors of the given sizes."""
    exact, noisy = np.nonzero(x_error == 0)[0], np.nonzero(x_error > 0)[0]
    e = exact.size
    columns = np.hstack([R[:, exact], R[:, noisy] / x_error[noisy], R[:, d:] / y_error])
    T: np.ndarray = np.linalg.qr(columns)[1] if e else columns
    found = nearest_plane(T[e:, e : e + noisy.size], T[e:, e + noisy.size :])
    W = np.zeros((d, y_error.size))
    W[noisy] = found.W
    rest = T[:e, e + noisy.size :] - T[:e, e : e + noisy.size] @ found.W
    W[exact] = np.linalg.lstsq(T[:e, :e], rest, rcond=None)[0] if e else 0.0
    W[noisy] /= x_error[noisy][:, None]
    return found._replace(W=W * y_error)


def _ensure_units(R: np.ndarray, d: int, x_error: np.ndarray, y_error: np.ndarray) -> None:
    """Refuse errors so small that the columns, or their squares, overflow in units of them."""
    errors = np.concatenate([np.where(x_error > 0, x_error, np.inf), y_error])
    with np.errstate(over="ignore"):
        sizes = np.linalg.norm(R / errors, axis=0) ** 2
    if not np.isfinite(sizes).all():
        name = "x_error" if not np.isfinite(sizes[:d]).all() else "y_error"
        raise ValueError(
            f"{name} is too small for the scale of the data: their ratio overflows. Divide the "
            "data and the errors by the same scale, or use LinearRegression for exact features."
        )


class TotalLeastSquares(LinearPredictor):
    """Linear regression with errors in X and in Y.

    Minimises the weighted sum of squared orthogonal distances from the rows (x, y) to a plane, each
    coordinate in units of its error. Least squares underestimates slopes when X is measured with
    error; this does not, if the ratio of the errors is right.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit the offset b. Without it the plane goes through the origin.
    x_error : float or array-like of shape (d,), default=1.0
        Standard deviation of the errors in the columns of X; 0 for a column without error. Only
        ratios to `y_error` matter.
    y_error : float or array-like of shape (n_targets,), default=1.0
        Standard deviation of the errors in the targets, above 0.

    Attributes
    ----------
    coef_ : array of shape (d,) or (n_targets, d)
        Coefficients W.
    intercept_ : float or array of shape (n_targets,)
        Intercept b; 0.0 without one.
    singular_values_ : ndarray
        Of [X, Y], centred and in units of the errors, largest first; without the directions in
        which X does not vary and those of columns without error.
    objective_ : float
        The sum of the squares of the smallest: the weighted sum of squared distances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LinearRegression : Errors in Y only.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import TotalLeastSquares
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> y = np.array([0.1, 1.9, 4.1, 5.9])
    >>> slope = TotalLeastSquares().fit(x[:, None], y).coef_[0]
    >>> back = TotalLeastSquares().fit(y[:, None], x).coef_[0]
    >>> bool(np.isclose(slope * back, 1.0))  # the same line, x and y exchanged
    True
    """

    laws: ClassVar[Laws] = Laws(objective=True)
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "fit_intercept": Boolean(),
        "x_error": Real(0) | ArrayLike(),
        "y_error": Real(0) | ArrayLike(),
    }

    def __init__(self, *, fit_intercept: bool = True, x_error: Any = 1.0, y_error: Any = 1.0):
        self.fit_intercept = fit_intercept
        self.x_error = x_error
        self.y_error = y_error

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the plane.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Read twice.
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight, finite=False)
        moments, flat = joint_moments(rows)
        self._ensure_finite(moments.scatter, rows.X)
        self._ensure_target(moments.scatter_y)
        normal = Normal.of(moments, self.fit_intercept)
        d, t = normal.C.shape
        x_error, y_error = self._errors(d, t)
        R = to_numpy(factors.triangle_of(normal, rows))
        floor = to_numpy(factors.rounding(normal, moments.weight, squared=False))
        R[:, :d] *= np.linalg.norm(R[:, :d], axis=0) ** 2 > floor  # constant columns
        _ensure_units(R, d, x_error, y_error)
        found = mixed_plane(R, d, x_error, y_error)
        W = like(found.W, normal.S)
        self._store_linear((W, normal.mean_y - normal.mean_x @ W), rows, flat=flat)
        self.singular_values_, self.objective_ = found.singular, found.objective
        return self

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The weighted sum of squared distances, in units of the errors, of these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        xp = namespace(rows.Y)
        W = to_numpy(self.coef_)
        W = W[:, None] if W.ndim == 1 else W.T
        x_error, y_error = self._errors(*W.shape)
        slopes = W * x_error[:, None] / y_error
        f = self.predict(rows.X)
        r = (rows.Y - (f[:, None] if f.ndim == 1 else f)) / like(y_error, rows.Y)
        G = like(np.linalg.inv(np.eye(W.shape[1]) + slopes.T @ slopes), rows.Y)
        squares = xp.sum((r @ G) * r, axis=1)
        return float(xp.sum(squares if rows.w is None else rows.w * squares))

    def _errors(self, d: int, t: int) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for name, size, lowest in (("x_error", d, 0.0), ("y_error", t, None)):
            e = numbers(getattr(self, name), name)
            if e.ndim > 1 or (e.ndim == 1 and e.shape[0] != size):
                raise ValueError(f"{name} must be a number or {size} numbers, got {e.shape}.")
            if not np.isfinite(e).all() or (e < 0).any() or (lowest is None and (e == 0).any()):
                bound = "at least 0" if lowest == 0.0 else "above 0"
                raise ValueError(f"{name} must be finite and {bound}, got {getattr(self, name)!r}.")
            found.append(np.broadcast_to(e, size))
        return found[0], found[1]
