"""Support vector regression with kernels; `linear_svr` has the linear version.

Objective    min_{w, b}  1/2 |w|^2 + sum_i C_i (xi_i + xi'_i)             linear slack, k = 1
             min_{w, b}  1/2 |w|^2 + sum_i C_i/2 (xi_i^2 + xi'_i^2)       quadratic slack, k = 2
             f(x_i) - y_i <= eps + xi_i,   y_i - f(x_i) <= eps + xi'_i,   f = <w, phi(.)> + b

Dual         min_beta  1/2 beta'K beta - y'beta + eps sum_i |beta_i|,   sum_i beta_i = 0
             k = 1: |beta_i| <= C_i;    k = 2: no bound, with 1/C_i added to k(x_i, x_i)

             f(x) = sum_i beta_i k(x_i, x) + b

Residuals strictly inside the tube |y - f| < eps have beta_i = 0. The absolute value is split into
two variables on each point, one in [0, C_i], one in [-C_i, 0], which share its kernel row.

Targets keep their own precision: y and b stay float64 beside float32 rows, and so do predictions.

References: Drucker et al. 1997; Smola and Schoelkopf 2004.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import map_rows, take_rows
from kilogram.base import Laws, ValidatedData
from kilogram.base.constraints import Constraint, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.regression_data import validate_regression_data
from kilogram.kernels import Precomputed
from kilogram.models.svm.kernel_machine import (
    KernelMachine,
    SMOSettings,
    in_memory,
    precomputed_rows,
)
from kilogram.solvers.smo import BinaryMachine, KernelRows, scaled, tube
from kilogram.solvers.smo.working_set import NotSeparable


class SVR(RegressorMixin, KernelMachine):
    """Epsilon-insensitive regression with any kernel, by multi-threaded block SMO.

    Minimises ``1/2 |w|^2 + sum_i C_i xi_i`` (or ``C_i/2 xi_i^2``) where xi_i is the distance of
    y_i from a tube of half-width epsilon around f. Takes scikit-learn's parameters and reaches its
    optimum; those from `slack` on are Kilogram's.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name as in scikit-learn, "precomputed", a Kilogram kernel, or a function of two tables
        of rows that returns their kernel matrix.
    degree : int, default=3
        Degree of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels given by name that have one: 1 / (d var(X)) with rows counted by their
        weights, 1 / d, or the number.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the KKT conditions at the end.
    C : float, default=1.0
        Penalty of a residual outside the tube, greater than 0; inf allows none. Multiplied by the
        weight of the row.
    epsilon : float, default=0.1
        Half-width of the tube, at least 0, in units of y.
    shrinking : bool, default=True
        Where many support vectors are free, leave all other rows out of the gradient until a set
        of twice as many is solved. The solution meets `tol` on all rows either way.
    cache_size : float, default=200
        Megabytes for kernel rows, at least; without `max_memory` more is taken if it is free.
    verbose : bool, default=False
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    max_iter : int, default=-1
        Largest number of pair steps; -1 is max(10 million, 100 n).
    slack : {1, 2}, default=1
        Power of the slack. `LinearSVR` writes the square without the factor 1/2.
    warm_start : bool, default=False
        Start from the dual point of the previous fit, if it was on as many rows.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.
    max_memory : int, str or None, default=None
        Bytes, or a string such as "4GiB", that the fit may use.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    support_vectors_ : array of shape (n_SV, d)
        Those rows, in the library of X; empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients beta of the support vectors.
    coef_ : ndarray of shape (1, d)
        Coefficients w; for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Intercept b.
    kernel_ : Kernel
        The kernel with the values of its parameters.
    fit_status_ : int
        0 if `tol` was met, else 1.
    n_iter_ : int
        Number of SMO steps on pairs of variables.
    objective_, dual_gap_, kkt_violation_ : float
        The objective at the solution, its duality gap, and the largest violation of the KKT
        conditions (the KKT residual of the certificate).
    shape_fit_ : tuple
        Shape of the training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LinearSVR : Linear machines for many rows.
    KernelRidge : Squared loss without a tube: every row is a support vector.

    Examples
    --------
    >>> from kilogram import SVR
    >>> model = SVR(kernel="linear", C=1.0, epsilon=0.1).fit([[-1.0], [1.0]], [-1.0, 1.0])
    >>> float(model.coef_[0, 0].round(3))  # beta = min(C, (1 - epsilon) / 2) on both sides
    0.9
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **KernelMachine.parameter_constraints,
        "epsilon": Real(0, closed="left"),
    }
    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget=True,
        example={"tol": 1e-10, "gamma": 0.2},  # "scale" depends on the origin, hence on shifts
        budget_example={"tol": 1e-10, "epsilon": 0.01},
        rtol=1e-6,
    )

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        slack: int = 1,
        warm_start: bool = False,
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.slack = slack
        self.warm_start = warm_start
        self.max_time = max_time
        self.max_memory = max_memory

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ValidatedData:
        rows = validate_regression_data(self, X, y, sample_weight, reset=reset)
        X, y, w = in_memory(ValidatedData(rows.X, rows.Y, rows.w))
        y = column_or_1d(to_numpy(y), warn=rows.flat is False)
        return ValidatedData(X, y, None if w is None else to_numpy(w).astype(np.float64))

    def _solve(
        self, settings: SMOSettings, rows: ValidatedData, factors: Sequence[float]
    ) -> list[BinaryMachine]:
        X, y, w = rows
        where = np.arange(y.shape[0]) if w is None else np.nonzero(w > 0)[0]
        C = float(self.C) * (np.ones(y.shape[0]) if w is None else w)[where]
        y = y[where].astype(np.float64)
        shift = float(y.mean())  # a common offset goes to the intercept without a rounding error
        points = X if where.shape[0] == X.shape[0] else take_rows(X, where)
        kernel_rows: KernelRows | None = None
        if isinstance(self.kernel_, Precomputed):
            kernel_rows = precomputed_rows(points, where)
        start, found = self._warm_start(2 * where.shape[0], factors[0]), []
        for k, factor in enumerate(factors):
            P = tube(y - shift, factor * C, float(self.epsilon), slack=self.slack)
            try:
                machine = settings.fit(points, P, rows=kernel_rows, start=start)
            except NotSeparable:
                raise ValueError(
                    "C=inf allows no residual above epsilon, but this kernel has no function so "
                    "close to all targets. Give a finite C, or a larger epsilon."
                ) from None
            certificate = machine.certificate
            shifted = certificate._replace(bias=certificate.bias + shift)
            found.append(machine._replace(rows=None, certificate=shifted))
            if k + 1 < len(factors):
                start, kernel_rows = scaled(machine.dual, factors[k + 1] / factor), machine.rows
        return found

    def _warm_start(self, m: int, factor: float) -> Any:
        """The dual point of the previous fit, for `warm_start`."""
        start = getattr(self, "_start", None) if self.warm_start else None
        if start is None or start[0].shape != (m,) or not np.isfinite(self.C / start[1]):
            return None
        return start[0] * (factor * self.C / start[1])

    def _store(self, machine: BinaryMachine, rows: ValidatedData) -> None:
        X, y, w = rows
        found = np.nonzero(machine.coef)[0]
        where = np.arange(X.shape[0]) if w is None else np.nonzero(w > 0)[0]
        self._store_support(X, where[found])
        self.n_support_ = np.array([found.shape[0]], dtype=np.int32)
        self.dual_coef_ = machine.coef[found][None, :]
        self.intercept_ = np.array([machine.certificate.bias])
        self.n_iter_ = max(1, machine.found.n_iter)
        self.fit_status_ = 0 if machine.found.converged else 1
        self.objective_, self.dual_gap_ = machine.certificate.objective, machine.certificate.gap
        self.kkt_violation_ = machine.certificate.violation
        self.shape_fit_ = tuple(X.shape)
        self._wide_targets = y.dtype == np.float64
        self._start = (machine.dual.b, self.C) if self.warm_start else None

    def predict(self, X: Any) -> Any:
        """f of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        check_is_fitted(self)
        V = np.ascontiguousarray(self.dual_coef_.T)
        values = self._values(X, V, self.intercept_, wide=self._wide_targets)
        return map_rows(lambda v: v[:, 0], values)

    @property
    def coef_(self) -> Any:
        """w, (1, d), for the linear kernel."""
        check_is_fitted(self)
        return self._linear_coef(np.ascontiguousarray(self.dual_coef_.T))

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the fitted machine on the rows given.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        value : float
        """
        check_is_fitted(self)
        X, y, w = self._validate_rows(X, y, sample_weight, reset=False)
        w = np.ones(y.shape[0]) if w is None else w
        f = to_numpy(self.predict(X)).astype(np.float64)
        xi = np.maximum(np.abs(y.astype(np.float64) - f) - self.epsilon, 0.0)
        penalty = self.C * w * (xi if self.slack == 1 else 0.5 * xi**2)
        b = self.dual_coef_[0]
        if isinstance(self.kernel_, Precomputed):
            Kb = to_numpy(X)[self.support_][:, self.support_] @ b
        else:
            Kb = to_numpy(self.kernel_.matmul(self.support_vectors_, None, b))
        return 0.5 * float(b @ Kb) + float(np.sum(penalty[w > 0]))
