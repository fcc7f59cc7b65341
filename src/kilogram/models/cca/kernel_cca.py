"""Kernel canonical correlation analysis: CCA in n unknowns.

Objective    max_{a, b}  a' K_x K_y b / W    s.t.   a'(K_x^2 / W + alpha K_x) a = 1, the same for b

which is CCA of phi(x) and psi(y) with the ridge alpha on both covariances, and w = phi(X)'a. K is
centred, in fit and in use, and W is the number of rows (or their weight). Without the ridge
every two views of full rank agree perfectly, so alpha > 0 is required.

With the ridge smoothers R = K (K + W alpha I)^-1 of the two views the pairs are

    R_y R_x v = s^2 v,      a = sqrt(W) (K_x + W alpha I)^-1 v,      v' R_x v = 1,

so two Cholesky factors and a few products find the leading pairs: no eigendecomposition of order n,
and never a matrix of order 2n. Row weights enter as D K D, D = diag(sqrt w). For more rows than a
Gram matrix allows, `approximation="nystroem"` is CCA itself on Nystroem features of both views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Budget, Estimator, Laws, as_written
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.estimate import Estimate
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.base.warnings import warn_if_unfinished
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.models.cca.cca import CCA
from kilogram.models.cca.view_scores import (
    column_signs,
    correlations,
    penalties,
    permutation_p_value,
    second_view,
)
from kilogram.models.features.nystroem import Nystroem
from kilogram.operators.cost import rates
from kilogram.operators.memory_plan import plan_storage
from kilogram.solvers.eigen.canonical import from_smoothers
from kilogram.solvers.eigen.kernel_view import View, view_scores
from kilogram.solvers.solution import Solution

# n x n matrices at the peak: the factors of two views, and what a kernel is computed with
COPIES = 2.2


def plan_bytes(n: int) -> int:
    """Bytes of the kernel matrices of n rows."""
    return int(COPIES * 8 * n * n)


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Kernel canonical correlation analysis, regularised, centred in fit and in transform.

    Maximises the covariance of f(x) and g(y) over functions of the two kernels' spaces, with
    variance plus alpha times the squared norm equal to one for both.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs.
    kernel : str, Kernel or callable, default="linear"
        Kernel of the first view.
    kernel_y : str, Kernel, callable or None, default=None
        Kernel of the second view; None takes the first, with its data-driven widths found on y.
    alpha : float or pair of floats, default=0.1
        Penalty of both views, or one for each, on the scale of the kernels' variances. Without it
        any two views of full rank agree perfectly.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    approximation : {None, "nystroem"}, default=None
        "nystroem": CCA on Nystroem features of both views, for many rows.
    n_features : int, default=500
        Landmarks per view of the approximation.
    tol : float, default=1e-8
        Largest change of a canonical value in the last iteration.
    max_iter : int, default=60
        Maximum number of iterations of the Krylov method.
    max_time : float or None, default=None
        Seconds after which the best pairs so far are kept.
    max_memory : int, str or None, default=None
        Memory limit for the two kernel matrices.
    random_state : int, RandomState or None, default=None
        For the starting block and the landmarks.

    Attributes
    ----------
    correlations_ : (n_components,)
        Correlations of the paired scores on the training rows: optimistic, so test them with
        `score` on held-out rows or with `permutation_test`.
    values_ : (n_components,)
        Values of the regularised objective; smaller than the correlations.
    dual_x_, dual_y_ : (n, n_components)
        Coefficients of the training rows.
    X_fit_, Y_fit_ : training rows.
    kernel_x_, kernel_y_ : Kernel
        The kernels of both views, with widths found from the data.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> z = np.random.default_rng(0).uniform(0, 2 * np.pi, (300, 1))
    >>> X, Y = np.sin(z), np.cos(z)
    >>> model = kg.KernelCCA(1, kernel=kg.Gaussian(sigma=1.0), alpha=1e-3).fit(X, Y)
    >>> bool(model.correlations_[0] > 0.95)
    True
    """

    laws = Laws(
        block="all rows meet in one kernel matrix",
        budget=True,
        example={"n_components": 1, "kernel": "rbf", "gamma": 0.3, "random_state": 0},
        budget_example={"tol": 0.0},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "alpha": Real(0, closed="neither") | ArrayLike(),
        "kernel_params": Dictionary() | Null(),
        "approximation": OneOf("nystroem") | Null(),
        "n_features": Integer(1),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "linear",
        kernel_y: Any = None,
        alpha: float | tuple[float, float] = 0.1,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        approximation: str | None = None,
        n_features: int = 500,
        tol: float = 1e-8,
        max_iter: int = 60,
        max_time: float | None = None,
        max_memory: int | str | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_features = n_features
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.max_memory = max_memory
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelCCA:
        """Find the leading pairs of X (n, d_x) and y (n, d_y) or (n,).

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        alpha = penalties(self.alpha, positive=True)
        if is_streamed(X) or is_streamed(y):
            raise ValueError(
                "KernelCCA compares all rows with each other and needs them in memory: for rows "
                "that come in blocks, fit CCA on Nystroem features of both views."
            )
        X, Y, w = self._validate(X, y, sample_weight, min_samples=2)
        if Y is None:
            raise ValueError(
                "KernelCCA requires y to be passed, but the target y is None: give the second view."
            )
        Y = Y if Y.ndim == 2 else Y[:, None]
        kernel = self._kernel(self.kernel)
        if not isinstance(kernel, Precomputed):
            self._ensure_squares(X)
        self._ensure_target(Y.shape[1] * namespace(Y).max(namespace(Y).abs(Y)) ** 2)
        kernel_x = kernel.resolve(X)
        kernel_y = self._kernel(self.kernel if self.kernel_y is None else self.kernel_y).resolve(Y)
        if self.approximation is not None:
            self._fit_features(kernel_x, kernel_y, X, Y, w)
        else:
            n = Y.shape[0]
            if self.n_components > n - 1:
                raise ValueError(
                    f"n_components={self.n_components} must be at most n_samples - 1 = {n - 1}."
                )
            self._check_memory(n, budget)
            with ticking(self, "iteration", budget.deadline) as tick:
                views = (
                    View.of(kernel_x, X, w, alpha[0]),
                    View.of(kernel_y, Y, w, alpha[1]),
                )
                self._fit_exact(*views, w, tick, kernel_x, kernel_y)
        self.n_features_y_ = Y.shape[1]
        return self

    def _kernel(self, spec: Any) -> Any:
        return as_kernel(
            spec,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _check_memory(self, n: int, budget: Budget) -> None:
        plan = plan_storage(n, 1, "float64", max_memory=budget.bytes, copies=COPIES)
        if not plan.stores:
            raise MemoryError(
                f"KernelCCA: two kernel matrices of {n:,} rows take {human_bytes(plan_bytes(n))}, "
                f"and {human_bytes(budget.bytes)} are allowed: set approximation='nystroem'."
            )

    def _fit_exact(
        self, x: View, y: View, w: Any, tick: Any, kernel_x: Kernel, kernel_y: Kernel
    ) -> None:
        n = x.L.shape[0]
        block = min(n, max(self.n_components + 4, 8))
        rng = as_generator(self.random_state)
        start = x.smooth(like(rng.standard_normal((n, block)), x.L))
        found = from_smoothers(
            x.smooth,
            y.smooth,
            start,
            self.n_components,
            tol=self.tol,
            max_iter=self.max_iter,
            tick=tick,
        )
        a, b = x.coefficients(found.V_x), y.coefficients(found.V_y)
        signs = column_signs(a)
        a, b = a * signs, b * signs
        U = view_scores(kernel_x, x.X, x.X, a, x.means)
        V = view_scores(kernel_y, y.X, y.X, b, y.means)
        self.kernel_x_, self.kernel_y_ = kernel_x, kernel_y
        self.dual_x_, self.dual_y_ = a, b
        self.values_, self.n_iter_ = found.s, found.n_iter
        self.X_fit_, self.Y_fit_, self.means_x_, self.means_y_ = x.X, y.X, x.means, y.means
        self._n_features_out = a.shape[1]
        self.correlations_ = correlations(U, V, w)
        done = Solution(
            None,
            found.n_iter,
            float(namespace(found.s).sum(found.s)),
            found.converged,
            f"the canonical values changed by {found.change:.1e} in the last iteration.",
        )
        warn_if_unfinished("KernelCCA", done, "Raise max_iter or max_time, or raise alpha.")

    def _fit_features(self, kernel_x: Kernel, kernel_y: Kernel, X: Any, Y: Any, w: Any) -> None:
        """CCA with the same penalty on Nystroem features: the same objective on fewer unknowns."""
        m, seed = min(self.n_features, Y.shape[0]), self.random_state
        map_x = Nystroem(kernel_x, n_components=m, random_state=seed).fit(X)
        map_y = Nystroem(kernel_y, n_components=m, random_state=seed).fit(Y)
        linear = CCA(self.n_components, scale=False, alpha=self.alpha)
        linear.fit(as_written(map_x)(X), as_written(map_y)(Y), sample_weight=w)
        self.kernel_x_, self.kernel_y_ = kernel_x, kernel_y
        self.map_x_, self.map_y_, self.linear_ = map_x, map_y, linear
        self.correlations_, self.n_iter_ = linear.correlations_, 1
        self._n_features_out = self.n_components

    def transform(self, X: Any, y: Any = None) -> Any:
        """Scores of X (n, k), or the pair of scores of X and y when y is given."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        if y is None:
            return self._scores_x(X)
        return self._pair(X, second_view(self, y, self.n_features_y_))

    def _pair(self, X: Any, Y: Any) -> tuple[Any, Any]:
        if self.approximation is not None:
            phi, psi = as_written(self.map_x_)(X), as_written(self.map_y_)(Y)
            return as_written(self.linear_)(phi, psi)
        scores = view_scores(self.kernel_y_, Y, self.Y_fit_, self.dual_y_, self.means_y_)
        return self._scores_x(X), scores

    def _scores_x(self, X: Any) -> Any:
        if self.approximation is not None:
            return as_written(self.linear_)(as_written(self.map_x_)(X))
        return view_scores(self.kernel_x_, X, self.X_fit_, self.dual_x_, self.means_x_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean correlation of the paired scores on these rows: give rows not seen in fit."""
        U, V = as_written(self)(X, y)
        found = correlations(U, V, sample_weight)
        return float(namespace(found).mean(found))

    def permutation_test(self, X: Any, y: Any, n_permutations: int = 100) -> float:
        """Fraction of shuffled pairings whose held-out score reaches that of the true pairing.

        Rows of y are shuffled against those of X (not seen in fit), which breaks their agreement
        and keeps everything else; a small value means that the agreement is real.
        """
        U, V = (to_numpy(scores) for scores in as_written(self)(X, y))
        return permutation_p_value(U, V, n_permutations, as_generator(self.random_state))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = (n**3 / 3 + 2 * n * n * d) / rates(8).multiply_adds
        return self._costs(n, d, "two Cholesky factors", work, plan_bytes(n))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
