"""Logistic regression: probabilities whose log-odds are linear in the features.

Objective    min_W,b  sum_i c_i loss(y_i, f(x_i)) + (1 - rho) / (2 C) |W|^2 + rho / C |W|_1

    two classes      f(x) = <w, x> + b       loss = log(1 + exp(-y f)),  y = +-1
    K classes        f_k(x) = <w_k, x> + b_k  loss = log sum_k exp f_k - f_y

    p(k | x) = exp f_k / sum_j exp f_j;  for two classes 1 / (1 + exp(-f))

The intercepts are not penalised. The gradient sum_i c_i (p_i - 1[y_i]) x_i and the Hessian
sum_i c_i p (1 - p) x_i x_i' are sums over rows, so one definition serves arrays, files and
clusters (solvers/newton/softmax.py); Newton's method is iteratively reweighted least squares.
Many rows: a sample is solved first and its Hessian is reused, so that the passes over all rows need
gradients only. Many features: L-BFGS on a block-diagonal or diagonal Hessian. Without a penalty,
separable classes have no finite maximum; a warning reports it. A class without weight keeps its
place in `classes_`, as in scikit-learn.

No finite summary of rows determines the maximum for later rows, so there is no `partial_fit`: for
rows that arrive over time use `OnlineClassifier(loss="log")`, for rows that do not fit in memory
`fit` on a file or a stream.

References: Berkson 1944; Cox 1958; Green 1984 (IRLS); Byrd et al. 2011; Friedman et al. 2010.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Budget, Estimate, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import class_weights, distinct_classes, validate_labels
from kilogram.base.progress import ticking, with_callbacks
from kilogram.functions.logistic import logistic_terms
from kilogram.models.logistic.predictor import LogisticPredictor
from kilogram.models.logistic.problem import (
    ADVICE,
    ElasticPenalty,
    Intercept,
    LogisticRows,
    make_problem,
    shifted,
    solve_problem,
    warn_if_separable,
)
from kilogram.operators.cost import rates
from kilogram.solvers.newton.lbfgs import GradientStop
from kilogram.solvers.newton.softmax import Problem


class LogisticRegression(LogisticPredictor):
    """Logistic regression for two classes and softmax regression for more.

    Minimises ``C * sum_i c_i loss_i + (1 - l1_ratio) / 2 |W|^2 + l1_ratio |W|_1``. Takes
    scikit-learn's parameters and reaches its optimum; arrays of any library of the array API,
    sparse matrices, data frames, memory maps, Parquet files, iterables of blocks and Dask
    collections use the same sums over rows. `max_time` is Kilogram's.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="deprecated"
        Deprecated by scikit-learn: use `l1_ratio` ("l1": 1, "l2": 0) and `C=inf` (None).
    C : float, default=1.0
        Inverse strength of the penalty, greater than 0; `inf` for none.
    l1_ratio : float, default=0.0
        Fraction of the l1 penalty: 0 for l2 only, 1 for l1 only.
    dual : bool, default=False
        For compatibility with scikit-learn: the primal is solved, the optimum is the same.
    tol : float, default=1e-4
        Largest entry of the gradient of the mean loss (with penalties) at the end.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1
        Used only with `solver="liblinear"`, where the intercept is penalised as the coefficient of
        a constant column of this size.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes.
    random_state : int, RandomState or None, default=None
        For compatibility with scikit-learn: nothing is drawn.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        Names of scikit-learn's solvers. All reach the optimum by the solver that suits the data;
        only "liblinear" changes the problem: it penalises the intercept.
    max_iter : int, default=100
        Maximum number of iterations.
    verbose : int, default=0
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: all threads that OpenMP and BLAS may use are used.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    coef_ : array of shape (1, d) or (n_classes, d)
        W, in the library and on the device of X.
    intercept_ : array of shape (1,) or (n_classes,)
        b; those of more than two classes sum to 0.
    n_iter_ : ndarray of shape (1,)
        Number of passes over all rows.
    objective_ : float
        The objective at the solution (with C = inf, the sum of the losses).
    gradient_norm_ : float
        Largest entry of the gradient of the mean loss there, to be compared with `tol`.
    separable_ : bool
        Whether the classes are separable and W is not penalised: no finite maximum exists.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LogisticRegressionCV : C chosen by cross-validation along a warm-started path.
    OnlineClassifier : Logistic loss, one row at a time.
    LinearSVC : The hinge instead of the logarithm.

    Examples
    --------
    >>> from kilogram import LogisticRegression
    >>> model = LogisticRegression().fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-1.5], [0.5]])
    array([0, 1])
    >>> model.predict_proba([[0.0]]).round(3)
    array([[0.5, 0.5]])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "penalty": OneOf("deprecated", "l1", "l2", "elasticnet") | Null(),
        "C": Real(0, closed="neither") | OneOf(math.inf),
        "l1_ratio": Real(0, 1) | Null(),
        "dual": Boolean(),
        "tol": Real(0, closed="left"),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(0, closed="neither"),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
        "random_state": RandomState(),
        "solver": OneOf("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"),
        "max_iter": Integer(0),
        "verbose": Boolean() | Integer(0),
        "warm_start": Boolean(),
        "n_jobs": Integer() | Null(),
        "max_time": Real(0, closed="neither") | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        partial_fit="no finite summary of the rows determines the maximum for rows to come; "
        "OnlineClassifier(loss='log') takes rows one by one",
        objective=True,
        budget=True,
        example={"tol": 1e-11},
        budget_example={"tol": 1e-12},
        rtol=1e-6,
    )

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        max_time: float | None = None,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            An iterable of blocks may hold tuples (X, y) or (X, y, weights).
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        X, y, w = validate_labels(self, X, y, sample_weight, finite=False)
        classes = distinct_classes(y)
        rows = LogisticRows(X, y, w, classes, class_weights(self.class_weight, classes, y, w))
        problem, C = self._problem(rows)
        start = self._start(problem, classes)
        with ticking(self, "iteration", budget.deadline) as tick:
            stop = GradientStop(float(self.tol), int(self.max_iter), tick)
            found = solve_problem(rows, problem, start, stop)
        self.classes_ = classes
        self._store(problem, found, X, C)
        name = type(self).__name__
        self.separable_ = warn_if_separable(name, problem, found.value.W, C)
        if not self.separable_:
            warn_if_unfinished(name, found, ADVICE)
        return self

    def _problem(self, rows: LogisticRows) -> tuple[Problem, float]:
        """The objective on these rows, and C; inf without a penalty."""
        C = math.inf if self.penalty is None else float(self.C)
        scale = float(self.intercept_scaling) if self.solver == "liblinear" else None
        intercept = Intercept(bool(self.fit_intercept), scale if self.fit_intercept else None)
        penalty = ElasticPenalty.of(C, self.penalty, self.l1_ratio)

        def ensure_finite(statistic: Any) -> None:
            self._ensure_finite(statistic, rows.X)

        return make_problem(rows, penalty, intercept, float(self.tol), ensure_finite), C

    def _start(self, problem: Problem, classes: np.ndarray) -> np.ndarray:
        """W = 0, or with `warm_start` that of the previous fit to the same classes."""
        known = self.warm_start and hasattr(self, "coef_")
        if known and np.array_equal(classes, self.classes_):
            coef, b = (
                np.asarray(a, float) for a in (self._dense_coef(), to_numpy(self.intercept_))
            )
            if coef.shape == (problem.t, problem.D - 1):
                return shifted(problem, coef, b)
        return problem.start()

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the fitted model on the rows given.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        value : float
        """
        check_is_fitted(self)
        X, y, w = validate_labels(self, X, y, sample_weight, reset=False)
        factors = class_weights(self.class_weight, self.classes_, y, w)
        problem, C = self._problem(LogisticRows(X, y, w, self.classes_, factors))
        W = shifted(
            problem,
            np.asarray(self._dense_coef(), dtype=np.float64),
            np.asarray(to_numpy(self.intercept_), dtype=np.float64),
        )
        value = problem.at(W).value + float(np.sum(problem.absolute * np.abs(W)))
        return value * (1.0 if math.isinf(C) else C)

    def _likelihood_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        if self.class_weight is not None:
            raise ValueError("coefficient_table needs class_weight=None, got class weights.")
        return validate_labels(self, X, y, sample_weight, reset=False)

    def _likelihood_terms(self, y: Any, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivative and curvature of the loss of every row, for coefficient tables."""
        sign = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        _, gradient, curvature = logistic_terms(z, sign, np.ones(len(z)))
        return gradient, curvature

    @property
    def _unit_dispersion(self) -> bool:
        return True

    @property
    def _is_penalised(self) -> bool:
        return self.penalty is not None and not math.isinf(float(self.C))

    def _estimate(self, n: int, d: int, dtype: str = "float64") -> Estimate:
        speed = rates(4 if dtype == "float32" else 8)
        seconds = (min(n, 20_000) * 6.0 * d * min(d, 2000) + 12.0 * n * d) / speed.multiply_adds
        return self._costs(n, d, "sampled Newton", seconds, 8.0 * (3 * d * min(d, 2000) + 4 * n))
