"""K-lines: k straight lines, and every row belongs to the nearest.

Objective    min_{a, v, c}  sum_i w_i (|x_i - a_{c_i}|^2 - <x_i - a_{c_i}, v_{c_i}>^2),   |v| = 1

K-means with lines in place of points. Rows go to the line at the least distance, and the line of a
cluster is its total least squares fit: through the mean, along the first principal direction. Both
steps lower the objective, to a local minimum that depends much on the start, so several are tried:
pairs of near rows each name a line, and lines far from the rows of the others are preferred. An
empty cluster takes the rows farthest from their lines. Lines have no end: a cluster may be two
far pieces on one line. Reference: Späth 1982; an alternative to RANSAC for several lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.clustering import CentreMixin, check_row_count, first_labels
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.operators.cost import rates
from kilogram.solvers.lloyd.containers import host, like_block
from kilogram.solvers.lloyd.k_lines import Lines, best_start, squared_distances
from kilogram.solvers.solution import Solution

# Starts: random lines often end in a poor minimum; with 20, one good in seven is found with 95 %.
STARTS = 20


class KLines(CentreMixin, Estimator):
    """Partition rows into k clusters around straight lines.

    Minimises ``sum_i w_i (|x_i - a|^2 - <x_i - a, v>^2)``, the squared distances of the rows from
    their lines, over points a and unit directions v of the lines and over the labels.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    init : "k-lines++" or array of shape (n,), default="k-lines++"
        Lines through pairs of near rows, far from those chosen before; or the first label of
        every row.
    n_init : "auto" or int, default="auto"
        Number of initialisations, of which the best is kept; "auto" is 20, or 1 for labels.
    max_iter : int, default=300
        Maximum number of iterations.
    max_time : float or None, default=None
        Time limit in seconds; the fit then stops with the best result so far.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    points_ : array of shape (n_clusters, d)
        A point on each line: the mean of its rows.
    directions_ : array of shape (n_clusters, d)
        Of length 1; the largest entry is positive.
    labels_ : array of shape (n,)
        The nearest line of every training row.
    inertia_ : float
        The objective: the sum of squared distances from the lines. `objective_` is the same.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KMeans : Points instead of lines.
    TotalLeastSquares : One line, or plane.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KLines
    >>> t = np.linspace(-3, 3, 20)
    >>> X = np.vstack([np.c_[t, t], np.c_[t, -t + 0.1]])
    >>> model = KLines(2, random_state=0).fit(X)
    >>> np.sort(model.directions_[:, 0] * model.directions_[:, 1]).round(3).tolist()
    [-0.5, 0.5]
    >>> bool(model.inertia_ < 1e-9)
    True
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_clusters": Integer(1),
        "init": OneOf("k-lines++") | ArrayLike(),
        "n_init": OneOf("auto") | Integer(1),
        "max_iter": Integer(1),
        "max_time": Real(0) | Null(),
        "random_state": RandomState(),
    }
    laws: ClassVar[Laws] = Laws(
        permutation="starts are drawn by row index, and each may end in another local minimum",
        weight="starts are drawn among rows: repeated rows change the draws",
        block="starts need the nearest neighbours of rows, in memory",
        sparse="lines are dense and so are the residuals",
        objective=True,
        budget=True,
        example={"n_clusters": 2, "random_state": 0},
        budget_example={"n_init": 1, "n_clusters": 6},
        rtol=1e-5,
    )

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        init: Any = "k-lines++",
        n_init: Any = "auto",
        max_iter: int = 300,
        max_time: float | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the lines of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, None)
        X, y_, w = self._validate(X, None, sample_weight, sparse=False)
        if is_streamed(X):
            raise ValueError("KLines needs all rows in memory. Fit it on a sample of the stream.")
        self._ensure_squares(X, np.float64)
        self._ensure_felt(X, dtype=np.float64)
        check_row_count(X, y if y_ is None else y_, self.n_clusters)
        rows = host(X)
        u = np.ones(len(rows)) if w is None else host(w)
        origin = rows.T @ u / u.sum()
        self._ensure_finite(origin, X)
        found = self._best(rows - origin, u, budget)
        lines, labels = found.value
        self._lines = lines._replace(points=lines.points + origin)
        self.points_ = like(self._lines.points, X)
        self.directions_ = like(self._lines.directions, X)
        self.labels_ = like(labels.astype(np.int32), X)
        self.inertia_ = self.objective_ = float(found.objective or 0.0)
        self.n_iter_ = found.n_iter
        self._n_features_out = self.n_clusters
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or max_time.")
        return self

    def _best(self, X: np.ndarray, w: np.ndarray, budget: Budget) -> Solution:
        rng, k = as_generator(self.random_state), int(self.n_clusters)
        first, count = None, 1
        if not isinstance(self.init, str):
            first = first_labels(self.init, len(X), k)
        else:
            count = STARTS if self.n_init == "auto" else int(self.n_init)
        with ticking(self, "start", budget.deadline) as tick:
            return best_start(
                X, w, k, first, rng, count=count, max_iter=int(self.max_iter), tick=tick
            )

    def predict(self, X: Any) -> Any:
        """The nearest line of each row, (n,)."""
        return self._mapped(_labels, X)

    def transform(self, X: Any) -> Any:
        """Distances from the lines, (n, n_clusters)."""
        return self._mapped(_distances, X)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The sum of squared distances of the rows from their nearest lines, weighted."""
        check_is_fitted(self)
        X, _, w = self._validate(X, None, sample_weight, reset=False, sparse=False)
        return float(reduce_rows(partial(_total, lines=self._lines), X, w))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective: larger is better."""
        return -self.objective(X, y, sample_weight)

    def _mapped(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        return map_rows(
            partial(f, lines=self._lines), self._validate(X, reset=False, sparse=False).X
        )

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = STARTS * 20.0 * n * d * (self.n_clusters + d) / rates(8).multiply_adds
        return self._costs(n, d, f"{STARTS} starts of 20 iterations", work, 8 * n * (d + 40))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _squares(block: Any, lines: Lines) -> np.ndarray:
    return squared_distances(host(block.toarray() if is_sparse(block) else block), lines)


def _labels(block: Any, lines: Lines) -> Any:
    return like(_squares(block, lines).argmin(axis=1).astype(np.int32), block)


def _distances(block: Any, lines: Lines) -> Any:
    return like_block(np.sqrt(_squares(block, lines)), block)


def _total(block: Any, w: Any, lines: Lines) -> float:
    least = _squares(block, lines).min(axis=1)
    return float(least.sum() if w is None else least @ host(w))
