"""Robust PCA: low rank plus sparse, for rows with gross errors in a few entries.

Model        X = L + S,   L of low rank, S with few entries, however large
Objective    min |L|_* + lam |S|_1   subject to  L + S = X

|L|_* is the sum of the singular values of L, |S|_1 that of the sizes of the entries of S: the
convex stand-ins for rank and count. With lam = 1 / sqrt(max(n, d)) both are recovered exactly where
L is spread out and the errors lie anywhere (Candes, Li, Ma and Wright 2011). PCA's squares let one
gross error turn the first axis. Nothing is centred: means and medians are hurt by the errors, and a
mean costs L one more direction. New rows get the scores of least absolute error, min_z |x - V'z|_1.

Solved by an augmented Lagrangian, a thresholded decomposition of the smaller Gram matrix a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import svd
from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, as_written, warn_if_unfinished
from kilogram.base.constraints import Constraint, Integer, Null, Real
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.projection import owned_copy, signed
from kilogram.base.validation.validate import validate_inverse_input
from kilogram.operators.cost import rates
from kilogram.solvers.factorization.principal_component_pursuit import absolute_scores, pursuit


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Principal components of rows after sparse errors are separated from them.

    Minimises ``|L|_* + lam |S|_1`` over X = L + S: the sum of the singular values of L, and lam
    times the sum of the sizes of the errors S.

    Parameters
    ----------
    n_components : int or None, default=None
        Axes to keep of those that L has; None is all.
    lam : float or None, default=None
        The penalty on errors; None is 1 / sqrt(max(n, d)). Larger: fewer errors, higher rank.
    tol : float, default=1e-7
        Largest |X - L - S| relative to |X| (1e-5 for float32 rows, if that is larger).
    max_iter : int, default=200
        Maximum number of iterations.
    max_time : float or None, default=None
        Time limit in seconds; the fit then stops with the best result so far.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        The axes of L, largest first; their largest loading is positive.
    explained_variance_ : array of shape (n_components_,)
        The mean squares of L along them, with divisor n - 1.
    singular_values_ : array of shape (n_components_,)
        Singular values of the low-rank part.
    low_rank_ : array of shape (n, d)
        The training rows without their errors, L.
    sparse_ : array of shape (n, d)
        Sparse part S.
    lam_ : float
        Weight of the sparse part in the objective.
    objective_ : float
        |L|_* + lam |S|_1.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PCA : Without gross errors; its `missing="em"` where errors are known to be errors.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> L = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 40))
    >>> X = L + np.where(rng.random(L.shape) < 0.05, 50.0, 0.0)
    >>> model = RobustPCA().fit(X)
    >>> model.n_components_
    2
    >>> float(np.abs(model.low_rank_ - L).max().round(3))
    0.0
    """

    laws: ClassVar[Laws] = Laws(
        shift="not centred: the mean of the rows is one more direction of L",
        weight="errors belong to entries of the rows at hand: a row is there or it is not",
        block="the errors of all rows are found together, in memory",
        sparse="low rank beside sparse errors is dense",
        budget=True,
        example={"n_components": 2, "lam": 0.5},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | Null(),
        "lam": Real(0, closed="neither") | Null(),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        lam: float | None = None,
        tol: float = 1e-7,
        max_iter: int = 200,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Take X (n, d) apart into low rank and errors; y is ignored."""
        budget = Budget(self.max_time, None)
        X = self._validate(X, sparse=False, min_samples=2).X
        if is_streamed(X):
            raise TypeError("RobustPCA takes rows in memory: gather them with np.asarray first.")
        self._ensure_squares(X)
        xp, (n, d) = namespace(X), X.shape
        lam = 1.0 / max(n, d) ** 0.5 if self.lam is None else float(self.lam)
        tol = max(float(self.tol), 50 * float(xp.finfo(X.dtype).eps))
        with ticking(self, "iteration", budget.deadline) as tick:
            found = pursuit(X, lam, int(self.max_iter), tol, tick)
        L, S, values = found.value
        rank = len(values)
        k = rank if self.n_components is None else min(int(self.n_components), rank)
        _, s, Vt = svd(L)
        self.lam_ = lam
        self.components_ = owned_copy(signed(Vt[:k, :]), X)
        self.singular_values_ = owned_copy(s[:k], X)
        self.explained_variance_ = self.singular_values_**2 / (n - 1)
        self.low_rank_, self.sparse_ = L, S
        self.objective_ = float(found.objective or 0.0)
        self.n_components_ = self._n_features_out = k
        self.n_iter_ = found.n_iter
        warn_if_unfinished(
            type(self).__name__, found, "Raise max_iter, max_time or tol to let it finish."
        )
        return self

    def transform(self, X: Any) -> Any:
        """The scores of rows, of least absolute error: (n, n_components_)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, sparse=False).X
        return map_rows(partial(_scores, V=self.components_), X)

    def inverse_transform(self, X: Any) -> Any:
        """The rows that have these scores, V'z: (n, d)."""
        check_is_fitted(self)
        V = self.components_
        X = validate_inverse_input(self, X, V.shape[0], "scores", "axes")
        return map_rows(partial(_back, V=V), X)

    def denoise(self, X: Any) -> Any:
        """The rows without their errors: scores and back, (n, d)."""
        return self.inverse_transform(as_written(self)(X))

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        work = 40.0 * 2 * n * d * min(n, d) / rates(size).multiply_adds
        return self._costs(n, d, "40 iterations of the pursuit", work, 8.0 * size * n * d)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scores(block: Any, V: Any) -> Any:
    return absolute_scores(block, like(V, block))


def _back(block: Any, V: Any) -> Any:
    return block @ like(V, block)
