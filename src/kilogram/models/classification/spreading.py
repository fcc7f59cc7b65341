"""Labels for many rows from few: they spread over a graph of near rows.

Objective    min_F  1/2 sum_ij A_ij |F_i / sqrt d_i - F_j / sqrt d_j|^2 + mu sum_i |F_i - Y_i|^2

A is the graph, d its degrees, Y_i the indicator of the label of row i and 0 where there is none:
near rows shall agree, so that the border does not cut through regions where rows lie dense (the
cluster assumption), and labels shall be kept. With S = D^-1/2 A D^-1/2 and alpha = 1 / (1 + mu)

    (I - alpha S) F = (1 - alpha) Y

which conjugate gradients solve in a few products: S has no eigenvalue above 1. The usual rounds
F <- alpha S F + (1 - alpha) Y go the same way, slower. A new row takes the mean of its neighbours.

Reference: Zhou and others 2004.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.arrays.rows_stream import stack_rows
from kilogram.base import Estimator, Laws, warn_if_unfinished
from kilogram.base.checks import is_whole, number
from kilogram.base.labels import largest, plain_labels
from kilogram.kernels import Gaussian
from kilogram.models.manifolds.graphs import check_neighbours
from kilogram.operators.memory_plan import human_bytes, memory_limit
from kilogram.operators.neighbours import nearest, two_way
from kilogram.solvers.linear.cg import cg

KERNELS = ("knn", "rbf")


class LabelSpreading(ClassifierMixin, Estimator):
    """Classification from few labelled and many unlabelled rows.

    Parameters
    ----------
    kernel : {"rbf", "knn"}, default="rbf"
        Nearness: exp(-gamma |x - y|^2) between all rows, n x n numbers; or 1 between a row and its
        nearest ones, for many rows.
    gamma : float, default=20.0
        Of "rbf"; above 0.
    n_neighbors : int, default=7
        Of "knn".
    alpha : float, default=0.2
        Between 0 and 1: how much a row listens to its neighbours rather than to its own label.
    tol : float, default=1e-6
        Residual of the equations, relative, at the end.
    max_iter : int, default=1000
        Most steps of conjugate gradients.
    unlabelled : object, default=-1
        The label that stands for none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n, n_classes)
        Shares of the classes at the rows of the fit.
    transduction_ : ndarray of shape (n,)
        The class of the largest share.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    Examples
    --------
    >>> from kilogram import LabelSpreading
    >>> x = [[0.0], [0.1], [0.2], [0.3], [2.0], [2.1], [2.2]]
    >>> y = [0, -1, -1, -1, 1, -1, -1]
    >>> LabelSpreading().fit(x, y).transduction_.tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """

    laws: ClassVar[Laws] = Laws(
        weight="a graph has one node for each row, whatever it weighs",
        example={"kernel": "knn", "n_neighbors": 5, "tol": 1e-12},
    )

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float = 20.0,
        n_neighbors: int = 7,
        alpha: float = 0.2,
        tol: float = 1e-6,
        max_iter: int = 1000,
        unlabelled: Any = -1,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.unlabelled = unlabelled

    def fit(self, X: Any, y: Any = None) -> Self:
        """Spread the labels over all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            Rows that come in blocks are gathered.
        y : array-like of shape (n,)
            Labels; `unlabelled` where there is none.

        Returns
        -------
        self
        """
        self._check_params()
        X, y = self._gathered(X, y)
        known = ~_is(y, self.unlabelled)
        if not known.any():
            raise ValueError(f"no row has a label: all are {self.unlabelled!r}, which means none.")
        check_classification_targets(plain_labels(y[known]))
        self.classes_, codes = np.unique(y[known], return_inverse=True)
        self._X = to_numpy(X)
        n = self._X.shape[0]
        Y = np.zeros((n, len(self.classes_)))
        Y[np.flatnonzero(known), codes] = 1.0
        system = _system(self._graph(n), float(self.alpha))
        found = cg(system, (1.0 - self.alpha) * Y, tol=float(self.tol), max_iter=int(self.max_iter))
        self.n_iter_ = found.n_iter
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or tol.")
        self._prior = Y.sum(axis=0) / Y.sum()
        self.label_distributions_ = _shares(found.value, self._prior)
        self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]
        return self

    def _check_params(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {self.kernel!r}.")
        if not 0 < number(self.gamma) < np.inf:
            raise ValueError(f"gamma must be a number above 0, got {self.gamma!r}.")
        if not 0 < number(self.alpha) < 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha!r}.")
        if not number(self.tol) >= 0:
            raise ValueError(f"tol must be at least 0, got {self.tol!r}.")
        if not (is_whole(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number from 1, got {self.max_iter!r}.")
        if np.ndim(self.unlabelled) != 0:
            raise ValueError(f"unlabelled must be one label, got {self.unlabelled!r}.")

    def _gathered(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Rows and labels in memory, checked."""
        if y is None and not is_streamed(X):
            raise ValueError(
                f"This {type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y, _ = self._enter(X, y, None, numeric_y=False)
        if is_streamed(X):
            names = getattr(self, "feature_names_in_", None)
            parts = list(zip(*row_blocks(X, y), strict=True))
            X, y, _ = self._enter(*(stack_rows(list(part)) for part in parts), numeric_y=False)
            if names is not None:
                self.feature_names_in_ = names
        self._ensure_squares(X)
        return X, column_or_1d(to_numpy(y), warn=True)

    def _graph(self, n: int) -> Any:
        """A (n, n), symmetric, nothing on the diagonal."""
        if n == 1:
            return np.zeros((1, 1))
        if self.kernel == "knn":
            k = check_neighbours(min(self.n_neighbors, n - 1), n, most=n - 1)
            found = nearest(self._X, k)
            a = np.repeat(np.arange(n), k)
            return two_way(a, found.indices.ravel(), np.ones(n * k), n)
        if 24 * n * n > memory_limit():
            raise MemoryError(
                f"kernel='rbf' compares all of {n:,} rows: {human_bytes(24 * n * n)}. Use "
                "kernel='knn', which keeps the nearest ones only."
            )
        A = self._nearness(self._X)
        np.fill_diagonal(A, 0.0)
        return A

    def _nearness(self, new: Any) -> np.ndarray:
        K = Gaussian(gamma=float(self.gamma))(new, self._X)
        return np.asarray(to_numpy(K), dtype=np.float64)

    def predict_proba(self, X: Any) -> Any:
        """Shares of the classes among the rows of the fit that are near, (n, n_classes)."""
        check_is_fitted(self)
        X = self._enter(X, reset=False).X

        def rows(block: Any) -> Any:
            shares = _shares(self._mean(to_numpy(block)), self._prior)
            return shares if is_sparse(block) else like(shares, block)

        return map_rows(rows, X)

    def _mean(self, new: Any) -> np.ndarray:
        F = self.label_distributions_
        if self.kernel == "rbf":
            return self._nearness(new) @ F
        k = min(int(self.n_neighbors), len(F))
        return F[nearest(self._X, k, new).indices].mean(axis=1)

    def decision_function(self, X: Any) -> Any:
        """Shares of the classes; of two, that of the second less that of the first, (n,)."""
        shares = self.predict_proba(X)
        return map_rows(lambda p: p[:, 1] - p[:, 0], shares) if len(self.classes_) == 2 else shares

    def predict(self, X: Any) -> Any:
        """The class of the largest share, (n,)."""
        shares = self.predict_proba(X)
        return map_rows(lambda p: largest(np.asarray(to_numpy(p)), self.classes_), shares)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is(y: np.ndarray, label: Any) -> np.ndarray:
    """Where y is this label; words and numbers are never equal."""
    if y.dtype.kind in "OUS" or isinstance(label, str):
        return np.array([value == label for value in y.tolist()], dtype=bool)
    return np.asarray(y == label)


def _system(A: Any, alpha: float) -> Any:
    """I - alpha D^-1/2 A D^-1/2; rows without neighbours keep to themselves.

    A dense A becomes it in place: at a few thousand rows fresh memory costs more than the kernel.
    """
    d = np.asarray(A.sum(axis=1)).ravel()
    s = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    if not is_sparse(A):
        A *= s[:, None]
        A *= -alpha * s
        A[np.diag_indices(len(s))] += 1.0
        return A
    scale = scipy.sparse.diags_array(s)
    return scipy.sparse.csr_array(scipy.sparse.eye_array(len(s)) - alpha * (scale @ A @ scale))


def _shares(F: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows of F >= 0 made to sum to 1; where no label has come, those of the labelled rows."""
    F = np.maximum(F, 0.0)
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 1e-300, F / np.where(total > 1e-300, total, 1.0), prior)
