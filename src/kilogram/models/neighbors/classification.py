"""Classification by votes of the neighbours.

    score_c(x) = sum over the neighbours i of x with y_i = c of  v(x, x_i)

    v = 1                   majority vote
    v = 1 / d(x, x_i)       weights="distance"; exact matches alone where there are any
    v = weights(d)          similarity-weighted vote; similarities must not be negative

The class of the largest score is predicted, of equal scores the first class. k = 1 has error 0 on
distinct training rows; its error tends to at most twice the Bayes error (Cover and Hart 1967).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.base import Laws
from kilogram.base.constraints import Function, Integer, Null, OneOf, Real
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import plain_labels
from kilogram.models.neighbors.base import (
    NO_WEIGHT,
    SEARCH_CONSTRAINTS,
    KNeighborsMixin,
    NeighborsBase,
    RadiusNeighborsMixin,
)
from kilogram.models.neighbors.vote_weights import (
    vote_weights,
    votes_of_first,
    votes_within,
)

Array = np.ndarray[Any, np.dtype[Any]]


class NeighborsClassifier(ClassifierMixin, NeighborsBase):
    """Labels of the training rows as codes, one column for each output."""

    weights: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered.
        y : array-like of shape (n,) or (n, n_outputs)

        Returns
        -------
        self
        """
        if y is None and not is_streamed(X):
            name = type(self).__name__
            raise ValueError(f"This {name} requires y to be passed, but the target y is None")
        X, y = self._gather(X, y, numeric_y=False)
        y = np.asarray(to_numpy(y))
        if y.dtype.kind == "O":
            y = np.asarray(plain_labels(y))
        check_classification_targets(y)
        self.outputs_2d_ = y.ndim == 2 and y.shape[1] > 1
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        columns = y if y.ndim == 2 else y[:, None]
        coded = [np.unique(columns[:, t], return_inverse=True) for t in range(columns.shape[1])]
        classes = [values for values, _ in coded]
        self._codes = np.stack([codes.ravel() for _, codes in coded], axis=1)
        self._fit_search(X)
        self.classes_ = classes if self.outputs_2d_ else classes[0]
        return self

    def _class_lists(self) -> list[Any]:
        return list(self.classes_) if self.outputs_2d_ else [self.classes_]

    def _scores(self, queries: Any) -> list[Array]:
        """Votes (m, n_classes) for every output."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Any:
        """Fractions of the votes for each class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d), or None
            None: the training rows, each predicted by the others.

        Returns
        -------
        p : array of shape (m, n_classes), or a list of them for several outputs
        """
        check_is_fitted(self)
        if X is None or self.outputs_2d_:
            p = [_normalised(s) for s in self._scores(None if X is None else self._queries(X))]
            return p if self.outputs_2d_ else p[0]
        X = self._validate(X, reset=False).X

        def rows(block: Any) -> Any:
            p = _normalised(self._scores(self._readable(block))[0])
            return p if is_sparse(block) else like(p, block)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def predict(self, X: Any) -> Any:
        """The class with the most votes; of equal votes the first class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d), or None
            None: the training rows, each predicted by the others.

        Returns
        -------
        y : array of shape (m,) or (m, n_outputs)
        """
        check_is_fitted(self)
        if X is None or self.outputs_2d_:
            scores = self._scores(None if X is None else self._queries(X))
            named = [self._named(s, t) for t, s in enumerate(scores)]
            return np.stack(named, axis=1) if self.outputs_2d_ else named[0]
        X = self._validate(X, reset=False).X

        def rows(block: Any) -> Any:
            return self._named(self._scores(self._readable(block))[0], 0)

        return map_rows(rows, X) if is_streamed(X) else rows(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows X, or on the training rows, each predicted by the others, if X is None.

        Parameters
        ----------
        X : array-like, sparse matrix or None
        y : array-like of shape (m,) or (m, n_outputs)
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        accuracy : float
        """
        return float(
            accuracy_score(
                to_numpy(y), to_numpy(self.predict(X)), sample_weight=to_numpy(sample_weight)
            )
        )

    def _named(self, scores: Array, output: int) -> Array:
        """The class of the largest score for each row; of equal scores the first."""
        classes = self.classes_[output] if self.outputs_2d_ else self.classes_
        return np.asarray(classes[np.argmax(scores, axis=1)])


class KNeighborsClassifier(KNeighborsMixin, NeighborsClassifier):
    """Classification by a vote of the k nearest training rows.

    Takes scikit-learn's parameters; `leave_one_out_scores` scores every k up to a maximum from
    a single search.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of votes k. An odd k avoids ties between two classes.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Votes of the neighbours, from their distances: equal, 1 / distance (exact matches alone
        where there are any), or a function such as ``lambda d: np.exp(-d**2)`` (a vote weighted by
        similarity; never negative). Of classes with equal votes the first in `classes_` is
        predicted, of rows at equal distance the first in X votes.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
        Class labels, sorted.
    effective_metric_ : str or callable
        The metric used.
    effective_metric_params_ : dict
        Parameters of the metric used.
    n_samples_fit_ : int
        Number of training rows.
    outputs_2d_ : bool
        Whether y had several outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[1.1]]).tolist()
    [0]
    >>> model.predict_proba([[0.9]]).round(2).tolist()
    [[0.67, 0.33]]
    """

    laws: ClassVar[Laws] = Laws(weight=NO_WEIGHT)
    parameter_constraints: ClassVar = {
        "n_neighbors": Integer(1),
        "weights": OneOf("uniform", "distance") | Function() | Null(),
        **SEARCH_CONSTRAINTS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: Any = None,
        n_jobs: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _scores(self, queries: Any) -> list[Array]:
        distances, places = self._neighbors(queries, int(self.n_neighbors))
        votes = vote_weights(self.weights, distances)
        return [
            _votes(self._codes[places, t], votes, len(classes))
            for t, classes in enumerate(self._class_lists())
        ]

    def leave_one_out_scores(self, max_neighbors: int = 30) -> Array:
        """Accuracy on each training row predicted by the others, for k = 1, ..., max_neighbors.

        Parameters
        ----------
        max_neighbors : int, default=30
            The largest k; at most one less than the training rows.

        Returns
        -------
        scores : ndarray of shape (max_neighbors,)
            Of several outputs, all must be right.
        """
        distances, places = self._leave_one_out(max_neighbors)
        own, lists = self._codes, self._class_lists()
        totals = [np.zeros((len(own), len(classes))) for classes in lists]
        rows, scores = np.arange(len(own)), np.empty(distances.shape[1])
        for k, votes in enumerate(votes_of_first(self.weights, distances)):
            right = np.ones(len(own), dtype=bool)
            for t, total in enumerate(totals):
                if votes.ndim == 2:  # those of a callable may depend on k
                    total[:] = _votes(self._codes[places[:, : k + 1], t], votes, total.shape[1])
                else:
                    total[rows, self._codes[places[:, k], t]] += votes
                right &= np.argmax(total, axis=1) == own[:, t]
            scores[k] = right.mean()
        return scores


class RadiusNeighborsClassifier(RadiusNeighborsMixin, NeighborsClassifier):
    """Classification by a vote of all training rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
        Rows within this distance are neighbours.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Votes of the neighbours, from their distances.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.
    outlier_label : label, list of labels, "most_frequent" or None, default=None
        Predicted for queries without neighbours, one for each output; None raises ValueError for
        them. A label that is none of the classes has no probability: `predict_proba` is then 0 for
        all classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
        Class labels, sorted.
    outlier_label_ : list or None
        The label of queries without neighbours for each output; None without `outlier_label`.
    effective_metric_ : str or callable
        The metric used.
    effective_metric_params_ : dict
        Parameters of the metric used.
    n_samples_fit_ : int
        Number of training rows.
    outputs_2d_ : bool
        Whether y had several outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.5).fit([[0.0], [1.0], [4.0]], [0, 0, 1])
    >>> model.predict([[3.5], [0.2]]).tolist()
    [1, 0]
    """

    laws: ClassVar[Laws] = Laws(
        weight=NO_WEIGHT,
        textbook="the vote of KNeighborsClassifier, among the rows within a radius",
        example={"radius": 50.0, "weights": "distance"},
    )
    parameter_constraints: ClassVar = {
        "radius": Real(0),
        "weights": OneOf("uniform", "distance") | Function() | Null(),
        **SEARCH_CONSTRAINTS,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: Any = None,
        n_jobs: Any = None,
    ):
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the rows and labels, and check `outlier_label` against them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
            Rows that stream are gathered.
        y : array-like of shape (n,) or (n, n_outputs)
            Class labels, of one output or several.

        Returns
        -------
        self
            The fitted model.
        """
        super().fit(X, y)
        labels = [self._outlier_label(t) for t in range(len(self._class_lists()))]
        self.outlier_label_ = None if self.outlier_label is None else labels
        return self

    def _scores(self, queries: Any) -> list[Array]:
        lists = self._class_lists()
        m = self.n_samples_fit_ if queries is None else queries.shape[0]
        scores = [np.zeros((m, len(classes))) for classes in lists]
        empty = [np.empty(0, np.int64)]
        for block, found in self._blocks_within(queries, float(self.radius)):
            counts = np.diff(found.start)
            empty.append(block.start + np.flatnonzero(counts == 0))
            query, votes = (
                np.repeat(np.arange(len(counts)), counts),
                votes_within(self.weights, found),
            )
            for t, classes in enumerate(lists):
                size = len(classes)
                entry = query * size + self._codes[found.indices, t]
                sums = np.bincount(entry, weights=votes, minlength=len(counts) * size)
                scores[t][block] = sums.reshape(-1, size)
        alone = np.concatenate(empty).tolist()
        if alone:
            self._place_outliers(scores, alone)
        return scores

    def _place_outliers(self, scores: list[Array], alone: list[int]) -> None:
        """The whole vote of rows without neighbours for their label, where it is a class."""
        for t, classes in enumerate(self._class_lists()):
            label = self._outlier_label(t)
            if label is None:
                raise ValueError(
                    f"No neighbors found for test samples {alone[:5]}, you can try using larger "
                    "radius, giving a label for outliers, or considering removing them from your "
                    "dataset."
                )
            if (found := np.flatnonzero(classes == label)).size:
                scores[t][alone, found[0]] = 1.0
            else:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities "
                    "of outliers will be assigned with 0.",
                    stacklevel=5,
                )

    def _outlier_label(self, output: int) -> Any:
        """The label of one output for rows without neighbours."""
        classes = self._class_lists()[output]
        label = self.outlier_label
        if isinstance(label, str) and label == "most_frequent":
            return classes[np.argmax(np.bincount(self._codes[:, output]))]
        if label is None:
            return None
        labels = np.ravel(np.asarray(label))
        if len(labels) not in (1, len(self._class_lists())):
            raise ValueError(
                f"outlier_label must be one label or one for each of {len(self._class_lists())} "
                f"outputs, got {label!r}."
            )
        label = labels[output if len(labels) > 1 else 0]
        if np.result_type(labels, classes).kind != classes.dtype.kind:
            raise TypeError(
                f"outlier_label must be of the kind of the classes {classes.tolist()}, got "
                f"{label!r}."
            )
        return label

    def _named(self, scores: Array, output: int) -> Array:
        named = super()._named(scores, output)
        alone = ~scores.any(axis=1)
        if not alone.any():
            return named
        label = np.asarray(self._outlier_label(output))
        return np.where(alone, label, named.astype(np.result_type(named, label)))


def _votes(codes: Array, votes: Array | None, classes: int) -> Array:
    """Sums of the votes (m, classes) for codes (m, k)."""
    m, k = codes.shape
    flat = (np.arange(m)[:, None] * classes + codes).ravel()
    weights = None if votes is None else np.broadcast_to(votes, (m, k)).ravel()
    return np.bincount(flat, weights, m * classes).reshape(m, classes).astype(np.float64)


def _normalised(scores: Array) -> Array:
    total = scores.sum(axis=1, keepdims=True)
    return scores / np.where(total != 0, total, 1.0)
