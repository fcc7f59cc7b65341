"""Generalised linear models for counts and positive targets.

    min_{b, c}  1/(2 W) sum_i w_i d(y_i, mu_i) + alpha / 2 |b|^2          g(mu_i) = <x_i, b> + c

d is the unit deviance of the Tweedie family (functions/deviances.py), W = sum_i w_i. Counts have
Poisson's, positive amounts the gamma's; 1 < power < 2 has a mass at 0, as insurance claims have.
The log link keeps means positive and makes effects multiplicative: exp(b_j) is the factor by which
one unit of x_j changes the mean. `coefficient_table` has standard errors.

References: Nelder and Wedderburn 1972; McCullagh and Nelder 1989; Jorgensen 1997.
"""

from __future__ import annotations

from numbers import Real as RealNumber
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import column_count, reduce_rows, row_blocks
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import Boolean, Integer, Null, OneOf, Real
from kilogram.base.linear import LinearPredictor, inverse_link
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.functions.deviances import Tweedie
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.newton.deviance import DevianceProblem, minimise_deviance
from kilogram.solvers.newton.shift import shift_of

ADVICE = "Scale the features (StandardScaler), or raise max_iter or tol."
Array = np.ndarray[Any, np.dtype[Any]]


class TargetSums:
    """Total weight, sums of targets and columns, and whether the family accepts the targets."""

    def __init__(self, weight: float, total: float, accepted: bool, columns: Any):
        self.weight, self.total, self.accepted, self.columns = weight, total, accepted, columns

    @classmethod
    def of(cls, X: Any, y: Any, w: Any, family: Tweedie) -> TargetSums:
        y = np.asarray(to_numpy(y), dtype=np.float64).ravel()
        w = np.ones(len(y)) if w is None else np.asarray(to_numpy(w), dtype=np.float64)
        X = X if is_sparse(X) else to_numpy(X)
        columns = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        return cls(float(w.sum()), float(w @ y), family.accepts(y[w > 0]), columns)

    def __add__(self, other: TargetSums) -> TargetSums:
        return TargetSums(
            self.weight + other.weight,
            self.total + other.total,
            self.accepted and other.accepted,
            self.columns + other.columns,
        )


class GeneralizedLinearModel(LinearPredictor):
    """What the generalised linear models share; subclasses give the family."""

    alpha: float
    tol: float
    max_iter: int
    warm_start: bool
    max_time: float | None

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget="a few Newton steps, of which max_iter is the most",
        textbook="Newton's method of the textbook logistic regression, with another loss",
        example={"alpha": 0.01, "tol": 1e-9},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar = {
        "alpha": Real(0),
        "fit_intercept": Boolean(),
        "solver": OneOf("lbfgs", "newton-cholesky"),
        "max_iter": Integer(1),
        "tol": Real(0, closed="neither"),
        "warm_start": Boolean(),
        "verbose": Boolean() | Integer(0),
        "max_time": Real(0, closed="neither") | Null(),
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        max_time: float | None = None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.max_time = max_time

    def _family(self) -> Tweedie:
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Read once in every iteration.
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        rows = self._one_target(validate_regression_data(self, X, y, sample_weight))
        problem, mean = self._problem(rows)
        with ticking(self, "iteration", budget.deadline) as tick:
            found = minimise_deviance(
                problem, self._start(problem, mean), float(self.tol), int(self.max_iter), tick
            )
        point = found.value
        if not (np.isfinite(point.value) and np.isfinite(point.g).all()):
            raise ValueError(
                f"{type(self).__name__}: the loss or its gradient is not finite where the fit "
                f"{'starts' if found.n_iter <= 1 else 'ends'}. Scale X and y, or use link='log'."
            )
        coef = point.b[:-1]
        intercept = point.b[-1] - float(problem.shift @ coef) if problem.intercept else 0.0
        self._store_linear((coef[:, None], np.array([intercept])), rows, flat=True)
        self.n_iter_, self.objective_ = max(found.n_iter, 1), float(point.value)
        self.gradient_norm_ = float(np.abs(point.g).max())
        warn_if_unfinished(type(self).__name__, found, ADVICE)
        return self

    def _one_target(self, rows: RegressionData) -> RegressionData:
        if rows.flat is False:
            column_or_1d(to_numpy(rows.Y), warn=True)
        return rows

    def _problem(self, rows: RegressionData) -> tuple[DevianceProblem, float]:
        """The objective on these rows, and the mean of the targets, which must be possible."""
        family = self._family()
        X = rows.X.tocsr() if is_sparse(rows.X) else rows.X
        sums = reduce_rows(lambda X, y, w: TargetSums.of(X, y, w, family), X, rows.Y, rows.w)
        if not sums.accepted:
            bound = ">= 0" if family.power < 2 else "> 0"
            raise ValueError(
                f"Some value(s) of y are out of the valid range of the loss of "
                f"{type(self).__name__}: y must be {bound}."
            )
        if not sums.weight > 0:
            raise ValueError("All rows have weight zero. Give some of them a positive weight.")
        mean = sums.total / sums.weight
        if not mean > 0 and (family.link == "log" or family.power != 0):
            raise ValueError(
                f"{type(self).__name__} needs targets y with a positive mean, got {mean:g}: no "
                "finite intercept fits them."
            )
        self._ensure_finite(sums.columns, rows.X)
        centred = bool(self.fit_intercept)
        shift = shift_of(X) if centred else np.zeros(column_count(X))
        problem = DevianceProblem(
            (X, rows.Y, rows.w), family, shift, sums.weight, float(self.alpha), centred
        )
        return problem, mean

    def _start(self, problem: DevianceProblem, mean: float) -> Array:
        start = np.zeros(len(problem.shift) + 1)
        if self.warm_start and hasattr(self, "coef_") and len(self.coef_) == len(problem.shift):
            start[:-1] = to_numpy(self.coef_)
            start[-1] = float(to_numpy(self.intercept_)) + float(problem.shift @ start[:-1])
        elif problem.intercept:
            start[-1] = problem.family.predictor(mean)
        return start

    def predict(self, X: Any) -> Any:
        """Predict the means of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)

        Returns
        -------
        mu : array of shape (n,)
        """
        return inverse_link(super().predict(X), self.link_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2, the fraction of the deviance explained: 1 - dev(y, mu) / dev(y, mean of y).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        score : float
        """
        y, mu, w = self._targets(X, y, sample_weight)
        family = self._family()
        if not family.accepts(y):
            raise ValueError(f"Some value(s) of y are out of the valid range of {family}.")
        mean = np.full(len(y), np.average(y, weights=w))
        null = float(np.average(family.deviance(y, mean), weights=w))
        own = float(np.average(family.deviance(y, mu), weights=w))
        return 1.0 - own / null if null > 0 else float(own == 0)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The value of the objective of the fitted model on these rows."""
        y, mu, w = self._targets(X, y, sample_weight)
        family, coef = self._family(), np.asarray(to_numpy(self.coef_), dtype=np.float64)
        z = np.log(mu) if family.link == "log" else mu
        loss = float(np.average(family.terms(y, z).loss, weights=w))
        return loss + 0.5 * float(self.alpha) * float(coef @ coef)

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        found: list[list[Array]] = [[], [], []]
        for block, target, weight in row_blocks(rows.X, rows.Y, rows.w):
            parts = (target, self.predict(block), weight)
            for kept, part in zip(found, parts, strict=True):
                if part is not None:
                    kept.append(np.asarray(to_numpy(part), dtype=np.float64).ravel())
        y, mu = np.concatenate(found[0]), np.concatenate(found[1])
        return y, mu, np.concatenate(found[2]) if found[2] else None

    @property
    def link_(self) -> str:
        """The link of the mean, "log" or "identity"."""
        return self._family().link

    def _likelihood_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        return rows.X, rows.Y, rows.w

    def _likelihood_terms(self, y: Array, z: Array) -> tuple[Array, Array]:
        """Derivative and Fisher information of the loss of every row, for coefficient tables."""
        terms = self._family().terms(np.asarray(y, dtype=np.float64), z, fisher=True)
        return terms.gradient, terms.curvature

    @property
    def _unit_dispersion(self) -> bool:
        """Whether the variance is given by the mean alone, as Poisson's is."""
        return self._family().power == 1

    @property
    def _is_penalised(self) -> bool:
        return bool(self.alpha > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        power = getattr(self, "power", 1.0)
        tags.target_tags.positive_only = isinstance(power, RealNumber) and float(power) > 0
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 8.0 * n * d * (d / 2 if d <= 2000 else 30.0)
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, "Newton's method", seconds, 8.0 * (3 * min(d, 2000) ** 2 + 6 * n))


class PoissonRegressor(GeneralizedLinearModel):
    """Regression of counts: Poisson deviance and log link.

    Minimises ``1/W sum_i w_i (mu_i - y_i log mu_i) + alpha / 2 |b|^2`` with ``mu = exp(<x, b> +
    c)`` by Newton's method on sums over blocks of rows. Takes scikit-learn's parameters and reaches
    its optimum; streaming rows, Dask and `max_time` are Kilogram's. Rates over exposures: fit
    ``y / exposure`` with the exposure as `sample_weight`.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, at least 0.
    fit_intercept : bool, default=True
        Fit an intercept that is not penalised.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Accepted for compatibility: both reach the optimum by Newton's method.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Largest entry of the gradient at the end.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    verbose : int, default=0
        Accepted for compatibility: progress is reported to callbacks.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Coefficients of the features.
    intercept_ : float
        Intercept of the decision or regression function.
    n_iter_ : int
        Newton iterations, one pass over the rows each.
    objective_ : float
        The value of the objective, without terms that depend on y alone.
    gradient_norm_ : float
        Largest entry of the gradient, to be compared with `tol`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    coefficient_table : Standard errors, z and p; with alpha=0.
    TweedieRegressor : Other powers of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import PoissonRegressor
    >>> X = np.arange(5.0)[:, None]
    >>> y = np.array([1, 2, 4, 8, 16])
    >>> model = PoissonRegressor(alpha=0).fit(X, y)
    >>> float(np.exp(model.coef_[0]).round(3))
    2.0
    """

    def _family(self) -> Tweedie:
        return Tweedie(1.0)


class GammaRegressor(GeneralizedLinearModel):
    """Regression of positive amounts: gamma deviance and log link.

    Minimises ``1/W sum_i w_i (log mu_i + y_i / mu_i) + alpha / 2 |b|^2`` with ``mu = exp(<x, b> +
    c)``: errors in proportion to the mean. Takes scikit-learn's parameters and reaches its optimum;
    see `PoissonRegressor`.

    Parameters
    ----------
    alpha, fit_intercept, solver, max_iter, tol, warm_start, verbose, max_time
        As in `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, objective_, gradient_norm_, n_features_in_, feature_names_in_
        As in `PoissonRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import GammaRegressor
    >>> X = np.arange(5.0)[:, None]
    >>> y = 3.0 * np.exp(0.5 * X[:, 0])
    >>> GammaRegressor(alpha=0).fit(X, y).coef_.round(3)
    array([0.5])
    """

    def _family(self) -> Tweedie:
        return Tweedie(2.0)


class TweedieRegressor(GeneralizedLinearModel):
    """Generalised linear model with variance ``phi mu^power``.

    Minimises ``1/(2 W) sum_i w_i d(y_i, mu_i) + alpha / 2 |b|^2`` with the Tweedie deviance d.
    Takes scikit-learn's parameters and reaches its optimum; see `PoissonRegressor`.

    Parameters
    ----------
    power : float, default=0.0
        0 normal, 1 Poisson, between 1 and 2 a mass at 0 beside positive amounts, 2 gamma, 3 inverse
        Gaussian; none between 0 and 1 exists.
    alpha, fit_intercept
        As in `PoissonRegressor`.
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is the identity for power <= 0, else the logarithm.
    solver, max_iter, tol, warm_start, verbose, max_time
        As in `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, objective_, gradient_norm_, n_features_in_, feature_names_in_
        As in `PoissonRegressor`.

    Examples
    --------
    >>> from kilogram import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5, alpha=0.1)
    >>> model = model.fit([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 3.0]], [2.0, 0.0, 5.0, 5.5])
    >>> model.predict([[3.0, 3.0]]).round(1)
    array([3.4])
    """

    parameter_constraints: ClassVar = {
        **GeneralizedLinearModel.parameter_constraints,
        "power": Real(high=0) | Real(1),
        "link": OneOf("auto", "identity", "log"),
    }

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        max_time: float | None = None,
    ):
        self.power = power
        self.link = link
        super().__init__(
            alpha=alpha, fit_intercept=fit_intercept, solver=solver, max_iter=max_iter, tol=tol,
            warm_start=warm_start, verbose=verbose, max_time=max_time,
        )  # fmt: skip

    def _family(self) -> Tweedie:
        auto = "identity" if self.power <= 0 else "log"
        return Tweedie(float(self.power), auto if self.link == "auto" else self.link)
