"""Canonical correlations of more than two views.

Objective    max  sum_{i<j} tr(W_i' C_ij W_j)

    MAXVAR   under sum_i W_i'(C_i + alpha I)W_i = I: one eigenproblem. This is what the cookbook's
             algorithm 6 computes, though it states the constraints of SUMCOR.
    SUMCOR   under W_i'(C_i + alpha I)W_i = I for every view: an alternation that never falls.

The eigenvalues of MAXVAR lie in [-1, M - 1]; they are correlations only for M = 2. Divided by M - 1
they are the mean pairwise correlation of balanced views, which is reported beside them. Every view
is scaled to unit variance here, which the eigenvectors of the printed algorithm are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like, namespace
from kilogram.arrays.rows import column_count, map_rows, reduce_rows
from kilogram.base import Budget, Estimator, Laws
from kilogram.base.constraints import Constraint, Integer, OneOf, Real
from kilogram.base.estimate import Estimate
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.warnings import warn_if_unfinished
from kilogram.operators.cost import rates
from kilogram.solvers.eigen.multiview import Agreement, maxvar, sumcor
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments


class MultiviewCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Canonical correlation analysis of several views of the same rows.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions per view.
    views : int or list of int, default=2
        How the columns of X divide into views: a number of equal parts, or the number of columns
        of each. Ignored when `fit` is given a list of arrays, one per view.
    objective : {"maxvar", "sumcor"}, default="maxvar"
        What is maximised; see the notes of the module. Two views: both are CCA.
    alpha : float, default=0.0
        Ridge on every view's covariance.
    tol : float, default=1e-10
        Relative gain of the sum below which "sumcor" stops.
    max_iter : int, default=500
        Maximum number of iterations of "sumcor".
    max_time : float or None, default=None
        Seconds after which "sumcor" keeps what it has.

    Attributes
    ----------
    rotations_ : list of (d_i, n_components)
        Directions of each view; scores have unit variance (plus the penalty's part).
    values_ : (n_components,)
        Eigenvalues ("maxvar") or sums of pairwise covariances ("sumcor").
    correlations_ : (n_components,)
        Mean pairwise correlation of the views' scores.
    objective_ : float
        Value of the objective, the sum of `values_`.
    mean_ : (d,)
        Means of the features.
    sizes_ : list of int
        Columns of each view.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((300, 1))
    >>> views = [np.hstack([z, rng.standard_normal((300, 2))]) for _ in range(3)]
    >>> kg.MultiviewCCA(1).fit(views).correlations_.round(6)
    array([1.])
    """

    laws = Laws(
        permutation="views are groups of columns in their order",
        budget="'maxvar', the default, is one eigenproblem; 'sumcor' is tested on its own",
        example={"n_components": 1, "alpha": 0.05},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "objective": OneOf("maxvar", "sumcor"),
        "alpha": Real(0, closed="left"),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        views: int | list[int] = 2,
        objective: str = "maxvar",
        alpha: float = 0.0,
        tol: float = 1e-10,
        max_iter: int = 500,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.views = views
        self.objective = objective
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MultiviewCCA:
        """Find directions of the views in X, one array or a list of arrays.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time)
        X, sizes = _stacked_views(X)
        X, _, w = self._validate(X, None, sample_weight, finite=False, min_samples=2)
        sizes = sizes or split_columns(self.views, column_count(X))
        if self.n_components > min(sizes):
            raise ValueError(
                f"n_components={self.n_components!r} must be between 1 and the columns of the "
                f"smallest view, {min(sizes)} of {sizes}."
            )
        moments = reduce_rows(Moments.of, X, w)
        self._ensure_finite(moments.scatter, X)
        self._ensure_felt(X, namespace(moments.scatter).linalg.trace(moments.scatter), "float64")
        C = moments.covariance()
        still = [i for i, v in enumerate(cuts(sizes)) if not bool(namespace(C).any(C[v, v]))]
        if still and not self.alpha:
            raise ValueError(
                f"view {still[0]} is constant and correlates with nothing: leave it out, or set "
                "alpha > 0."
            )
        with ticking(self, "iteration", budget.deadline) as tick:
            found = self._agree(C, sizes, tick)
        self.mean_, self.sizes_ = moments.mean, sizes
        self._store(found, C)
        return self

    def _agree(self, C: Any, sizes: list[int], tick: Any) -> Agreement:
        views, k, alpha = cuts(sizes), self.n_components, float(self.alpha)
        if self.objective == "maxvar":
            return maxvar(C, views, k, alpha)
        found = sumcor(C, views, k, alpha, tol=self.tol, max_iter=self.max_iter, tick=tick)
        done = Solution(
            None,
            found.n_iter,
            found.objective,
            found.converged,
            "the sum of covariances was still rising.",
        )
        warn_if_unfinished("MultiviewCCA", done, "Raise max_iter or max_time.")
        return found

    def _store(self, found: Agreement, C: Any) -> None:
        xp = namespace(C)
        first = found.W[0]
        at = xp.argmax(xp.abs(first), axis=0)
        largest = xp.stack([first[int(at[j]), j] for j in range(first.shape[1])])
        signs = xp.where(largest < 0, -xp.ones_like(largest), xp.ones_like(largest))
        self.rotations_ = [W * signs for W in found.W]
        self.values_, self.objective_, self.n_iter_ = found.values, found.objective, found.n_iter
        self.correlations_ = mean_correlation(C, cuts(self.sizes_), self.rotations_)
        self._n_features_out = len(self.sizes_) * self.n_components

    def transform(self, X: Any) -> Any:
        """Scores of every view: a list for a list of views, else side by side (n, M k)."""
        check_is_fitted(self)
        listed = isinstance(X, (list, tuple)) and hasattr(X[0], "shape")
        X = self._validate(_stacked_views(X)[0], reset=False).X
        scores = map_rows(self._scores, X)
        if not listed:
            return scores
        k = self.n_components
        return [scores[:, i * k : (i + 1) * k] for i in range(len(self.sizes_))]

    def _scores(self, block: Any) -> Any:
        block = block.toarray() if is_sparse(block) else block
        xp = namespace(block)
        centred = block - like(self.mean_, block)
        parts = [
            centred[:, v] @ like(W, block)
            for v, W in zip(cuts(self.sizes_), self.rotations_, strict=True)
        ]
        return xp.concat(parts, axis=1)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return self._costs(n, d, "moments", n * d * d / 2 / rates(8).multiply_adds, 32 * d * d)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _stacked_views(X: Any) -> tuple[Any, list[int] | None]:
    """A list of views as one array and their sizes; anything else as it is."""
    if not (isinstance(X, (list, tuple)) and X and hasattr(X[0], "shape")):
        return X, None
    if len(X) < 2:
        raise ValueError("X must hold at least two views, got a list of one.")
    if any(len(view.shape) != 2 for view in X) or len({view.shape[0] for view in X}) != 1:
        shapes = [tuple(view.shape) for view in X]
        raise ValueError(f"views must be arrays (n, d_i) of the same rows, got shapes {shapes}.")
    return namespace(*X).concat(list(X), axis=1), [int(view.shape[1]) for view in X]


def split_columns(views: Any, d: int) -> list[int]:
    """Columns of each view: d divided into equal parts, or as asked for."""
    if Integer().accepts(views):
        if not 2 <= views <= d:
            raise ValueError(
                f"X has {d} feature(s) and cannot be divided into views={views}: there must be "
                f"at least two views and a column for each (n_features = {d})."
            )
        return [d // views + (i < d % views) for i in range(views)]
    if not (isinstance(views, Iterable) and all(map(Integer().accepts, views))):
        raise ValueError(
            f"views must be a number of views or a list of their sizes, got {views!r}."
        )
    sizes = [int(size) for size in views]
    if len(sizes) < 2 or min(sizes) < 1 or sum(sizes) != d:
        raise ValueError(f"views={sizes} must be two or more sizes that sum to n_features = {d}.")
    return sizes


def cuts(sizes: Sequence[int]) -> list[slice]:
    """The columns of each view."""
    found, at = [], 0
    for size in sizes:
        found.append(slice(at, at + size))
        at += size
    return found


def mean_correlation(C: Any, views: Sequence[slice], W: Sequence[Any]) -> Any:
    """Mean over the pairs of views of the correlation of their scores, (k,)."""
    xp = namespace(C)
    variances = [xp.sum(w * (C[v, v] @ w), axis=0) for v, w in zip(views, W, strict=True)]
    # scores that do not vary correlate with nothing
    spread = [xp.where(v > 0, xp.sqrt(xp.abs(v)), xp.ones_like(v)) for v in variances]
    M = len(W)
    total = sum(
        xp.sum(W[i] * (C[views[i], views[j]] @ W[j]), axis=0) / (spread[i] * spread[j])
        for i in range(M)
        for j in range(i)
    )
    return total / (M * (M - 1) / 2)
