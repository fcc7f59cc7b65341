"""Random kitchen sinks, regression and classification: random features, moments, solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import is_array, like, namespace, wide_enough
from kilogram.arrays.rows import column_count, is_streamed, map_rows, reduce_rows
from kilogram.base import Estimate, Estimator
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Integer,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.kernels import Kernel, as_kernel
from kilogram.models.features.fourier_map import FourierMap
from kilogram.models.features.fourier_moments import feature_moments, feature_products, feature_rows
from kilogram.operators.cost import rates
from kilogram.solvers.least_squares import normal_equations as primal
from kilogram.solvers.least_squares.data import RegressionData, check_alpha, in_precision_of
from kilogram.solvers.least_squares.normal_equations import Normal
from kilogram.solvers.least_squares.ridge import RidgeProblem, solve_ridge
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments


def solve_features(moments: JointMoments, alpha: Any, *, fit_intercept: bool) -> Solution:
    """Coefficients (D, t) and offsets (t,) from the moments of the features and targets."""
    normal = Normal.of(moments, fit_intercept)
    alphas = check_alpha(alpha, normal.C.shape[1])
    try:
        return primal.from_moments(normal, alphas)
    except NotPositiveDefinite:
        # features are dependent to rounding: the smallest coefficients among the minimisers
        return primal.from_spectrum(normal, alphas)


class KitchenSinks(Estimator):
    """Ridge regression on random Fourier features, of targets or of coded classes."""

    #: Whether float64 targets of float32 rows give float64 coefficients.
    _keeps_target_precision: ClassVar[bool] = True
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "alpha": Real(0) | ArrayLike(),
        "fit_intercept": Boolean(),
        "orthogonal": Boolean(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str | None = None,
        sigma: float | str | None = None,
        alpha: Any = 1.0,
        fit_intercept: bool = True,
        orthogonal: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _draw(self, X: Any) -> tuple[Kernel, FourierMap]:
        """The kernel with its parameters as numbers, and random features of it."""
        width = None if self.sigma is None else {"sigma": self.sigma}
        kernel = as_kernel(self.kernel, gamma=self.gamma, params=width).resolve(X)
        rng, d, D = as_generator(self.random_state), column_count(X), int(self.n_components)
        return kernel, FourierMap.draw(kernel, d, D, rng, orthogonal=self.orthogonal)

    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_, self.random_offset_, self.scale_)

    def _numbers(self, Y: Any, X: Any) -> Any:
        """A block of targets as numbers, in the library and on the device of X."""
        return Y if namespace(X) is namespace(Y) else like(Y, X)

    def _fit_rows(
        self, X: Any, Y: Any, w: Any, *, flat: bool | None = None, add: bool = False
    ) -> Self:
        """Fit the coefficients to these rows, added to those of earlier parts if `add`.

        `flat` is whether coefficients are one-dimensional; None: as the targets are.
        """
        earlier = getattr(self, "moments_", None) if add else None
        drawn = self._draw(X) if earlier is None else (self.kernel_, self._map())
        phi, axes = drawn[1], [2]
        if not add and not is_streamed(X) and X.shape[0] < phi.b.shape[0]:
            flat, moments = Y.ndim == 1 if flat is None else flat, None
            found = self._solve_wide(phi, X, self._numbers(Y, X), w, flat=flat)
        else:

            def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
                axes[0] = Y.ndim
                return feature_moments(phi, X, self._numbers(Y, X), w)

            moments = reduce_rows(statistic, X, Y, w)
            self._ensure_finite(moments.scatter, X)
            self._ensure_target(moments.scatter_y)
            moments = moments if earlier is None else earlier + moments
            found = solve_features(moments, self.alpha, fit_intercept=self.fit_intercept)
            flat = axes[0] == 1 if flat is None else flat
        self._store(found, drawn, X, Y, flat)
        self.__dict__.pop("moments_", None)
        if add:
            self.moments_ = moments
        return self

    def _solve_wide(self, phi: FourierMap, X: Any, Y: Any, w: Any, *, flat: bool) -> Solution:
        """More features than rows: in n unknowns."""
        Y = Y if Y.ndim == 2 else Y[:, None]
        rows = RegressionData(feature_rows(phi, X), Y, w, flat)
        check = partial(self._ensure_finite, X=X)
        problem = RidgeProblem(
            rows, self.alpha, self.fit_intercept, False, "auto", 0.0, None, check
        )
        return solve_ridge(problem).found

    def _store(
        self, found: Solution, drawn: tuple[Kernel, FourierMap], X: Any, Y: Any, flat: bool
    ) -> None:
        W, b = found.value
        if is_array(X):
            wide = is_array(Y) and "float64" in str(Y.dtype) and self._keeps_target_precision
            ref = Y if wide and namespace(Y) is namespace(X) else X
            W, b = like(W, ref), like(b, ref)
        self.kernel_, phi = drawn
        self.random_weights_, self.random_offset_, self.scale_ = phi.W, phi.b, phi.scale
        self.coef_ = W[:, 0] if flat else namespace(W).matrix_transpose(W)
        self.intercept_ = b[0] if flat else b
        self.objective_ = found.objective

    def _scores(self, X: Any, f: Callable[[Any], Any] = lambda scores: scores) -> Any:
        """f(<z(x), a> + offset), block by block."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        phi = self._map()
        W, b = (self.coef_ if self.coef_.ndim == 1 else self.coef_.T), self.intercept_

        def rows(block: Any) -> Any:
            block = wide_enough(in_precision_of(W, block), b if is_array(b) else np.asarray([b]))
            return f(feature_products(phi, block, like(W, block)) + like(b, block))

        return map_rows(rows, X)

    def _objective(self, scores: Any, Y: Any, w: Any) -> float:
        xp = namespace(Y)
        R = Y - (scores if scores.ndim == 2 else scores[:, None])
        loss = xp.sum(R * R, axis=1)
        W = self.coef_[:, None] if self.coef_.ndim == 1 else self.coef_.T
        alpha = check_alpha(self.alpha, Y.shape[1])
        return float(xp.sum(loss if w is None else w * loss)) + primal.penalty(W, alpha)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, D = (4 if dtype == "float32" else 8), self.n_components
        side = min(n, D)
        work = n * D * (d + side / 2) + side**3 / 6
        seconds = work / rates(size).multiply_adds + n * D / rates(size).values
        solver, needed = "moments of the features", 8.0 * 5 * D**2
        if n < D:
            solver = "inner products of the features"
            needed = size * n * D + 8.0 * 5 * n**2
        return self._costs(n, d, solver, seconds, needed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
