"""Kernel ridge regression with the penalty, and the kernel, chosen by exact leave-one-out.

    min_(k, alpha)  (1/n) sum_i w_i |y_i - f^(-i)(x_i)|^2          f^(-i) fitted without row i

One eigendecomposition K = Q diag(l) Q' of each kernel's matrix gives the residuals of all
penalties: O(n^3) once, O(n^2) for every alpha (leave_one_out.py). Without an offset they are
    e_i = a_i / [(K + alpha I)^-1]_ii.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import GridSearchCV

from kilogram.arrays.namespace import like, namespace
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Null,
)
from kilogram.base.folds import split_rows
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.models.ridge.kernel_path import ScoredKernel, kernel_path
from kilogram.models.ridge.kernel_predictor import KernelPredictor
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.kernel_solvers import KernelFit
from kilogram.models.ridge.path_scores import (
    as_scorer,
    best_by_folds,
    check_alphas,
    check_folds,
    choose,
    cv_results,
)
from kilogram.operators.cost import rates
from kilogram.operators.memory_plan import plan_storage
from kilogram.solvers.least_squares.data import RegressionData, in_one_precision
from kilogram.solvers.solution import Solution

# Kernel matrices at the peak: K, NumPy's copy of it, its eigenvectors, and LAPACK's workspace of
# two; measured as 5.2
COPIES = 5.5


class KernelRidgeCV(KernelPredictor):
    """Kernel ridge regression that chooses its penalty, and its kernel, by exact leave-one-out.

    Minimises ``sum_i w_i |y_i - f(x_i)|^2 + alpha |f|^2`` for every alpha of a grid from one
    eigendecomposition of the kernel matrix, and keeps the alpha with the best leave-one-out
    predictions; of several kernels, the best pair.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        The penalties to try, > 0 for leave-one-out.
    kernel : str, Kernel or callable, default="linear"
        As in `KernelRidge`.
    gamma : float, default=None
        Rate of a kernel given by name.
    degree : float, default=3
        Degree of a polynomial kernel given by name.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels given by name.
    kernel_params : dict, default=None
        Keyword arguments of a callable kernel.
    kernels : list of Kernel, default=None
        Kernels to choose among, in place of `kernel`; one eigendecomposition each.
    fit_intercept : bool, default=False
        Fit an offset that is not penalised; leave-one-out refits it too.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None is the negative mean squared error for leave-one-out
        (weighted by `sample_weight`, over the number of rows), R^2 otherwise.
    cv : int, splitter or iterable, default=None
        None is leave-one-out; else the folds of scikit-learn's `GridSearchCV`.
    store_cv_results : bool, default=False
        Keep `cv_results_`; leave-one-out only.
    alpha_per_target : bool, default=False
        Every target chooses its own alpha; leave-one-out with one kernel only.
    max_memory : int or str, default=None
        Bytes that may be used, such as "4GiB"; a fit that needs more raises MemoryError.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The chosen penalty.
    kernel_ : Kernel
        The kernel chosen, with its parameters as numbers.
    best_score_ : float or ndarray of shape (n_targets,)
        Score of the chosen kernel and penalty.
    scores_ : ndarray of shape (n_alphas,), (n_alphas, n_targets) or (n_kernels, n_alphas)
        The score of every penalty, and of every kernel where there are several.
    path_ : array of shape (n_alphas, n) or (n_alphas, n, n_targets)
        The dual coefficients of every penalty under the kernel chosen; leave-one-out only.
    loo_predictions_ : array of shape (n,) or (n, n_targets)
        The prediction for every row by the model fitted without it; leave-one-out only.
    cv_results_ : array of shape (n, n_alphas) or (n, n_targets, n_alphas)
        With `store_cv_results`: squared leave-one-out errors, weighted, or the predictions where
        `scoring` is given, under the kernel chosen.
    dual_coef_ : array of shape (n,) or (n, n_targets)
        Coefficients of the rows.
    X_fit_ : {array, sparse matrix} of shape (n, d)
        The rows of `fit`.
    intercept_ : float or array of shape (n_targets,)
        Intercept; 0.0 without one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Notes
    -----
    Leaving a row out removes its whole weight, as in `RidgeCV`.

    See Also
    --------
    RidgeCV : The linear version.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import Gaussian, KernelRidgeCV
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
    >>> grid = np.logspace(-6, 2, 9)
    >>> model = KernelRidgeCV(grid, kernels=[Gaussian(s) for s in (0.1, 1.0, 10.0)]).fit(X, y)
    >>> model.kernel_, bool(model.alpha_ < 10.0)
    (Gaussian(sigma=1.0), True)
    """

    laws: ClassVar[Laws] = Laws(
        objective="the penalty is chosen by leave-one-out, not by the objective it enters",
        example={"kernel": "rbf", "gamma": 0.2},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "alphas": ArrayLike(),
        "kernels": ArrayLike() | Null(),
        "fit_intercept": Boolean(),
        "store_cv_results": Boolean(),
        "alpha_per_target": Boolean(),
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        kernels: list[Kernel] | None = None,
        fit_intercept: bool = False,
        scoring: Any = None,
        cv: Any = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        max_memory: int | str | None = None,
    ):
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.kernels = kernels
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the penalty and the kernel, and fit the coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            With a precomputed kernel its matrix (n, n).
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        alphas = check_alphas(self.alphas, strictly=self.cv is None)
        kernels, scorer = self._kernels(), as_scorer(self, self.scoring)
        if self.cv is not None:
            return self._search(alphas, kernels, X, y, sample_weight)
        rows = gather_regression_data(
            self, validate_regression_data(self, X, y, sample_weight, min_samples=2)
        )
        self._ensure_matrices_fit(*rows.X.shape)
        if not all(isinstance(kernel, Precomputed) for kernel in kernels):
            self._ensure_squares(rows.X)
        best, scores = None, []
        for kernel in (k.resolve(rows.X) for k in kernels):
            path, press = kernel_path(kernel, rows, alphas, bool(self.fit_intercept))
            choice = choose(press, path.residuals, rows, scorer, self.alpha_per_target)
            scores.append(choice.scores)
            if best is None or choice.best > best.choice.best:
                best = ScoredKernel(kernel, path, choice)
        assert best is not None
        self._store_best(best, rows, alphas)
        self.scores_ = scores[0] if self.kernels is None else namespace().stack(scores)
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results:
            self.cv_results_ = cv_results(best.path.residuals, rows, scorer)
        return self

    def _kernels(self) -> list[Kernel]:
        if self.kernels is not None:
            if self.alpha_per_target:
                raise ValueError(
                    "alpha_per_target=True chooses a penalty for every target under one kernel; "
                    "give `kernel`, not `kernels`."
                )
            if not len(list(self.kernels)):
                raise ValueError("kernels must have at least one kernel, got an empty list.")
            return [as_kernel(k) for k in self.kernels]
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return [as_kernel(self.kernel, params=self.kernel_params, **named)]

    def _ensure_matrices_fit(self, n: int, d: int) -> None:
        storage = plan_storage(n, d, "float64", max_memory=self.max_memory, copies=COPIES)
        if not storage.stores:
            raise MemoryError(
                "the leave-one-out path needs the eigenvectors of K: "
                f"{storage.reason.split(';')[0]}. "
                "Raise max_memory, or search over KernelRidge(solver='falkon') with cv=."
            )

    def _store_best(self, best: ScoredKernel, rows: RegressionData, alphas: list[float]) -> None:
        path, choice, flat = best.path, best.choice, bool(rows.flat)
        xp, index = namespace(path.a), list(enumerate(choice.index))
        a = xp.stack([path.a[:, j, i] for j, i in index], axis=1)
        b = xp.stack([path.b[j, i] for j, i in index])
        e = like(xp.stack([path.residuals[:, j, i] for j, i in index], axis=1), rows.Y)
        rows = in_one_precision(rows)
        self._store(KernelFit(rows.X, Solution((a, b), 1), flat, "eigen"), best.kernel, rows)
        self.alpha_, self.best_score_ = choice.alpha(alphas), choice.best
        self.loo_predictions_ = (rows.Y - e)[:, 0] if flat else rows.Y - e
        along = xp.permute_dims(path.a, (2, 0, 1))
        self.path_ = along[:, :, 0] if flat else along

    def _search(
        self, alphas: list[float], kernels: list[Kernel], X: Any, y: Any, sample_weight: Any
    ) -> Self:
        """Choose by the folds of `cv`, with scikit-learn's search."""
        check_folds(self.store_cv_results, self.alpha_per_target)
        model = KernelRidge(fit_intercept=self.fit_intercept, max_memory=self.max_memory)
        grid = {"kernel": kernels, "alpha": alphas}
        search = GridSearchCV(model, grid, cv=split_rows(self.cv, X, y), scoring=self.scoring)
        found = best_by_folds(search, X, y, sample_weight)
        self.alpha_, self.best_score_ = np.float64(found.alpha), search.best_score_
        scores = search.cv_results_["mean_test_score"].reshape(len(alphas), len(kernels)).T
        self.scores_ = scores[0] if self.kernels is None else scores
        self.__dict__.update(
            {n: v for n, v in vars(found).items() if n.endswith("_") and not n.startswith("_")}
        )
        return self

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k, count = len(check_alphas(self.alphas, strictly=False)), len(self._kernels())
        # the tridiagonal reduction is bound by memory: as long as 30 n^3 multiply-adds of a product
        work = count * (n * n * (d / 2 + 2 * k) + 30.0 * n**3)
        return self._costs(
            n, d, "leave-one-out path", work / rates(8).multiply_adds, COPIES * 8.0 * n * n
        )
