"""What kitchen sinks for regression and for classes share: draw, moments, solution, scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import NotPositiveDefinite
from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import column_count, is_streamed, map_rows, reduce_rows
from kilogram.base import Estimate, Estimator
from kilogram.base.estimate import within
from kilogram.kernels import Kernel, as_kernel
from kilogram.models.features.random_maps import FourierMap, check_count, generator
from kilogram.models.features.sink_moments import feature_moments, feature_products, feature_rows
from kilogram.models.regression import primal
from kilogram.models.regression.primal import Normal
from kilogram.models.regression.roads import Problem, solve_ridge
from kilogram.models.regression.targets import Rows, check_alpha
from kilogram.operators.memory_plan import rates
from kilogram.solvers.solution import Solution
from kilogram.statistics import JointMoments


def solve(moments: JointMoments, alpha: Any, *, fit_intercept: bool) -> Solution:
    """Coefficients (D, t) and offsets (t,) from the moments of the features and targets."""
    normal = Normal.of(moments, fit_intercept)
    alphas = check_alpha(alpha, normal.C.shape[1])
    try:
        return primal.from_moments(normal, alphas)
    except NotPositiveDefinite:
        # features are dependent to rounding: the smallest coefficients among the minimisers
        return primal.from_spectrum(normal, alphas)


class KitchenSinks(Estimator):
    """What both tasks share: the draw, the moments, the solution, the scores."""

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

    def _draw(self, X: Any) -> None:
        """Fix the kernel's numbers and draw the features."""
        D = check_count("n_components", self.n_components)
        width = None if self.sigma is None else {"sigma": self.sigma}
        self.kernel_ = as_kernel(self.kernel, gamma=self.gamma, params=width).resolve(X)
        rng, d = generator(self.random_state), column_count(X)
        phi = FourierMap.draw(self.kernel_, d, D, rng, orthogonal=self.orthogonal)
        self.random_weights_, self.random_offset_, self.scale_ = phi.W, phi.b, phi.scale

    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_, self.random_offset_, self.scale_)

    def _coding(self) -> Callable[[Any], Any]:
        """The function that turns a block of targets to numbers."""
        return lambda Y: Y

    def _learn(
        self, X: Any, Y: Any, w: Any, *, flat: bool | None = None, add: bool = False
    ) -> Self:
        """Fit the coefficients to these rows, added to those of earlier parts if `add`.

        `flat` says whether coefficients have one axis only; None leaves it to the targets.
        """
        earlier = getattr(self, "moments_", None) if add else None
        if earlier is None:
            self._draw(X)
        phi, numbers, axes = self._map(), self._coding(), [2]
        if not add and not is_streamed(X) and X.shape[0] < self.n_components:
            self._keep_wide(X, like(numbers(Y), X), w, flat=Y.ndim == 1 if flat is None else flat)
            return self

        def statistic(X: Any, Y: Any, w: Any = None) -> JointMoments:
            axes[0] = Y.ndim
            return feature_moments(phi, X, like(numbers(Y), X), w)

        moments = reduce_rows(statistic, X, Y, w)
        self._ensure_finite(moments.scatter, X)
        moments = moments if earlier is None else earlier + moments
        self._remember(moments, X, axes[0] == 1 if flat is None else flat)
        self.__dict__.pop("moments_", None)
        if add:
            self.moments_ = moments
        return self

    def _keep_wide(self, X: Any, Y: Any, w: Any, *, flat: bool) -> None:
        """More features than rows: the equations of the rows, n of them, are the fewer."""
        Y = Y if Y.ndim == 2 else Y[:, None]
        rows = Rows(feature_rows(self._map(), X), Y, w, flat)
        check = partial(self._ensure_finite, X=X)
        problem = Problem(rows, self.alpha, self.fit_intercept, False, "auto", 0.0, None, check)
        self._keep(solve_ridge(problem).found, X, flat)
        self.__dict__.pop("moments_", None)

    def _remember(self, moments: JointMoments, X: Any, flat: bool) -> None:
        self._keep(solve(moments, self.alpha, fit_intercept=self.fit_intercept), X, flat)

    def _keep(self, found: Solution, X: Any, flat: bool) -> None:
        W, b = found.value
        if not is_streamed(X):
            W, b = like(W, X), like(b, X)
        self.coef_ = W[:, 0] if flat else namespace(W).matrix_transpose(W)
        self.intercept_ = b[0] if flat else b
        self.objective_ = found.objective

    def _scores(self, X: Any, answer: Any = lambda scores: scores) -> Any:
        """answer(<z(x), a> + offset), block by block."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X
        phi = self._map()
        W, b = (self.coef_ if self.coef_.ndim == 1 else self.coef_.T), self.intercept_

        def rows(block: Any) -> Any:
            return answer(feature_products(phi, block, like(W, block)) + like(b, block))

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
        road, held = "moments of the features", 8.0 * 5 * D**2
        if n < D:
            road, held = "inner products of the features", size * n * D + 8.0 * 5 * n**2
        return within(self, n, d, road, seconds, held)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
