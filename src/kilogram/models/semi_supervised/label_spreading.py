"""Label spreading: semi-supervised classification on a graph of near rows.

Objective    min_F  1/2 sum_ij A_ij |F_i / sqrt d_i - F_j / sqrt d_j|^2 + mu sum_i |F_i - Y_i|^2

A is the graph, d its degrees, Y_i the indicator of the label of row i and 0 where there is none:
near rows shall agree, so that the border does not cut through regions where rows lie dense (the
cluster assumption), and labels should be kept. With S = D^-1/2 A D^-1/2 and alpha = 1 / (1 + mu)

    (I - alpha S) F = (1 - alpha) Y

solved in `spreading.py`, small entries as accurately as large ones. A new row takes the mean of its
neighbours.

Reference: Zhou and others 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.row_streams import stack_rows
from kilogram.arrays.rows import is_streamed, map_rows, row_blocks
from kilogram.base import Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import Constraint, Integer, Null, OneOf, Real
from kilogram.base.labels import largest, plain_labels
from kilogram.kernels import Gaussian
from kilogram.models.semi_supervised.spreading import normalised_graph, spread
from kilogram.solvers.neighbors.nearest import nearest
from kilogram.solvers.neighbors.neighbor_graph import symmetric_graph


class LabelSpreading(ClassifierMixin, Estimator):
    """Semi-supervised classification: labels spread from few rows to many.

    Minimises ``1/2 sum_ij A_ij |F_i / sqrt d_i - F_j / sqrt d_j|^2 + mu sum_i |F_i - Y_i|^2`` with
    alpha = 1 / (1 + mu): near rows should agree, and labels be kept.

    Parameters
    ----------
    kernel : {"rbf", "knn"}, default="rbf"
        Affinity: exp(-gamma |x - y|^2) between all rows, n x n numbers; or 1 between a row and its
        nearest ones, for many rows.
    gamma : float, default=20.0
        Rate of the kernel "rbf", above 0.
    n_neighbors : int, default=7
        Of "knn", counting the row itself, as in scikit-learn.
    alpha : float, default=0.2
        Between 0 and 1: the weight of the neighbours of a row against its own label.
    tol : float, default=1e-6
        Relative error of the entries of F at the end.
    max_iter : int, default=1000
        Maximum number of iterations.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: threads are those of OpenMP and BLAS.
    unlabelled : object, default=-1
        The label that marks a row without a label.

    Attributes
    ----------
    X_ : ndarray or sparse matrix of shape (n, d)
        The training rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    label_distributions_ : ndarray of shape (n, n_classes)
        Class probabilities of the training rows.
    transduction_ : ndarray of shape (n,)
        The class of the largest probability.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

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
        example={"kernel": "knn", "n_neighbors": 6, "tol": 1e-12},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "kernel": OneOf("rbf", "knn"),
        "gamma": Real(0, closed="neither"),
        "n_neighbors": Integer(1),
        "alpha": Real(0, 1, closed="neither"),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
        "n_jobs": Integer() | Null(),
    }

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float = 20.0,
        n_neighbors: int = 7,
        alpha: float = 0.2,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        unlabelled: Any = -1,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
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
        if np.ndim(self.unlabelled) != 0:
            raise ValueError(f"unlabelled must be one label, got {self.unlabelled!r}.")
        X, y = self._gathered(X, y)
        known = ~_has_label(y, self.unlabelled)
        if not known.any():
            raise ValueError(f"y has no labels: every entry is unlabelled={self.unlabelled!r}.")
        check_classification_targets(plain_labels(y[known]))
        classes, codes = np.unique(y[known], return_inverse=True)
        rows = to_numpy(X)
        Y = np.zeros((rows.shape[0], len(classes)))
        Y[np.flatnonzero(known), codes] = 1.0
        found = spread(
            normalised_graph(self._graph(rows)),
            Y,
            float(self.alpha),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self.X_, self.classes_, self.n_iter_ = rows, classes, found.n_iter
        self._prior = Y.sum(axis=0) / Y.sum()
        self.label_distributions_ = _proportions(found.value, self._prior)
        warn_if_unfinished(type(self).__name__, found, "Raise max_iter or tol.")
        self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]
        return self

    def _gathered(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Rows and labels in memory, checked."""
        if y is None and not is_streamed(X):
            raise ValueError(
                f"This {type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y, _ = self._validate(X, y, None, numeric_y=False)
        if is_streamed(X):
            names = getattr(self, "feature_names_in_", None)
            parts = list(zip(*row_blocks(X, y), strict=True))
            X, y, _ = self._validate(*(stack_rows(list(part)) for part in parts), numeric_y=False)
            if names is not None:
                self.feature_names_in_ = names
        self._ensure_squares(X)
        return X, column_or_1d(to_numpy(y), warn=True)

    def _graph(self, rows: Any) -> Any:
        """A (n, n), symmetric, nothing on the diagonal."""
        n = rows.shape[0]
        if self.kernel == "knn":
            k = min(int(self.n_neighbors) - 1, n - 1)  # the row itself is one of them
            at = nearest(rows, k).indices if k > 0 else np.empty((n, 0), np.int32)
            return symmetric_graph(np.repeat(np.arange(n), k), at.ravel(), np.ones(n * k), n)
        if 24 * n * n > memory_limit():
            raise MemoryError(
                f"kernel='rbf' stores the affinities of all pairs of {n:,} rows, which takes "
                f"{human_bytes(24 * n * n)}. Use kernel='knn', which keeps the nearest rows only."
            )
        A = self._affinities(rows, rows)
        np.fill_diagonal(A, 0.0)
        return A

    def _affinities(self, new: Any, rows: Any) -> np.ndarray:
        K = Gaussian(gamma=float(self.gamma))(new, rows)
        return np.array(to_numpy(K), dtype=np.float64)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, (n, n_classes): means over the training rows that are near."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X

        def rows(block: Any) -> Any:
            found = _proportions(self._mean(to_numpy(block)), self._prior)
            return found if is_sparse(block) else like(found, block)

        return map_rows(rows, X)

    def _mean(self, new: Any) -> np.ndarray:
        F = self.label_distributions_
        if self.kernel == "rbf":
            return self._affinities(new, self.X_) @ F
        k = min(int(self.n_neighbors), len(F))
        return F[nearest(self.X_, k, new).indices].mean(axis=1)

    def predict(self, X: Any) -> Any:
        """The class of the largest probability, (n,)."""
        found = self.predict_proba(X)
        return map_rows(lambda p: largest(np.asarray(to_numpy(p)), self.classes_), found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _has_label(y: np.ndarray, label: Any) -> np.ndarray:
    """Where y is this label; words and numbers are never equal."""
    if y.dtype.kind in "OUS" or isinstance(label, str):
        return np.array([value == label for value in y.tolist()], dtype=bool)
    return np.asarray(y == label)


def _proportions(F: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows of F >= 0 divided by their sums; where no label has arrived, the labelled rows' ones."""
    size = F.max(axis=1, keepdims=True)
    F = F / np.where(size > 0, size, 1.0)  # sums of entries near the smallest number stay normal
    return np.where(size > 0, F / np.maximum(F.sum(axis=1, keepdims=True), 1.0), prior)
