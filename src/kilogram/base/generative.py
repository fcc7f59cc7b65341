"""What generative classifiers share: statistics of the classes, then Bayes' rule.

    rows -> a statistic of every class, additive -> parameters -> log p(x, c)
    p(c | x) = exp(log p(x, c)) / sum_k exp(log p(x, k))

`fit` adds the statistics of blocks; `partial_fit` adds one more and keeps the sum. All predictions
are functions of log p(x, c), block by block in the library of the rows. A subclass defines three
things: the statistic, the parameters, and log p(x, c).
"""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kilogram.arrays.namespace import (
    is_numpy,
    is_sparse,
    like,
    namespace,
    to_numpy,
)
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows, take_rows
from kilogram.arrays.threads import blas_threads, n_threads, one_team
from kilogram.base import Estimator
from kilogram.base.estimate import Estimate
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import all_classes, codes_of, refuse_unknown, validate_labels
from kilogram.functions.bayes import (
    is_certain,
    least_cost,
    log_posterior,
    most_probable,
    with_ruled_out_rows,
)
from kilogram.native.threads import serial_blas
from kilogram.operators.cost import rates

PREDICTION_BLOCK = 2**19  # numbers of a block of rows at prediction: 4 MiB with its scores
THREADED_WORK = 2**22  # numbers from which several threads are faster: 32 MiB, milliseconds to read
ONE_THREAD_WORK = 2**25  # multiplications below which a second thread of BLAS is no faster
TINY_WORK = 2**21  # multiplications, 0.1 ms: the threads of BLAS are left as they are; our choice


def counted_rows(X: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    """The rows of positive weight: a class without one is absent."""
    if w is None or is_streamed(X) or bool(namespace(w).all(w > 0)):
        return X, y, w
    kept = np.flatnonzero(to_numpy(w) > 0)
    return take_rows(X, kept), y[kept], take_rows(w, kept)


def class_statistic(
    kind: Any, X: Any, y: Any, w: Any, classes: np.ndarray, block_rows: int | None = None
) -> Any:
    """The sum over all blocks of kind.of(X, codes, w, n_classes=K)."""
    return reduce_rows(
        partial(_of_block, kind=kind, classes=classes), X, y, w, block_rows=block_rows
    )


def _of_block(X: Any, y: Any, w: Any, kind: Any, classes: np.ndarray) -> Any:
    return kind.of(X, codes_of(y, classes), w, n_classes=len(classes))


def mapped_by_team(f: Any, X: Any, rows: int) -> Any:
    """f of blocks of rows in memory, on all threads, each with a single-threaded BLAS."""
    blocks = (X[at : at + rows] for at in range(0, X.shape[0], rows))
    with serial_blas(), ThreadPoolExecutor(n_threads()) as team:
        return np.concatenate(list(team.map(f, blocks)))


def reference(X: Any) -> Any:
    """An array of the library and type that parameters for the rows X must have."""
    return np.empty(0, dtype=X.dtype) if is_sparse(X) else X


def dense(block: Any) -> Any:
    """A block of rows as a dense array."""
    return block.toarray() if is_sparse(block) else block


class GenerativeClassifier(ClassifierMixin, Estimator):
    """log p(x, c) from statistics of the classes, and the predictions that follow from it."""

    #: How X is validated; `finite=False` leaves NaN and infinity to the statistic.
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": False}
    _predict_checks: ClassVar[dict[str, Any]] = {}
    _min_classes: ClassVar[int] = 1

    @property
    def _width(self) -> int:
        """Numbers per row and class while scores are computed."""
        return 1

    def _check_params(self) -> None:
        """Check parameters that depend on each other; single ones have declared constraints."""

    @abstractmethod
    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        """The additive statistic of these rows, by `classes_`."""

    @abstractmethod
    def _learn(self, found: Any, X: Any, y: Any, w: Any) -> None:
        """Parameters from the statistic of all rows; X, y, w are those of this call."""

    @abstractmethod
    def _joint_log_likelihood(self, block: Any) -> Any:
        """log p(x, c) up to one constant for each row, (m, K), in the library of the block."""

    def _unrounded_joint(self, block: Any) -> Any:
        """`_joint_log_likelihood` for the choice of a class, before it has the type of the rows."""
        return self._joint_log_likelihood(block)

    @property
    @abstractmethod
    def _log_priors(self) -> Any:
        """(K,): the log probabilities of a row that every class rules out."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the classes from rows X and their labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._check_params()
        validated = validate_labels(self, X, y, sample_weight, **self._fit_checks)
        X, y, w = counted_rows(*validated)
        self.classes_ = self._check_classes(all_classes(y))
        self.__dict__.pop("statistic_", None)  # it belongs to rows of earlier calls
        self._has_all_rows = True
        found = self._statistic(X, y, w)
        with one_team(self.n_features_in_):
            self._learn(found, X, y, w)
        if self._can_continue(found):
            self.statistic_ = found
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to those of earlier calls of `fit` and `partial_fit` and learn from them all.

        Only the statistic of the rows is kept, so any number of rows may pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like of shape (n_classes,), default=None
            All classes of this and later calls; needed if nothing was fitted before.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._check_params()
        first = not hasattr(self, "statistic_")
        classes = getattr(self, "classes_", None) if first and classes is None else classes
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        X, y, w = validate_labels(self, X, y, sample_weight, reset=first, **self._fit_checks)
        named = None if classes is None else np.unique(np.asarray(classes))
        if first:
            self.classes_ = self._check_classes(np.asarray(named))
        elif named is not None and not np.array_equal(named, self.classes_):
            raise ValueError(
                f"`classes={classes}` is not the same as on the first call to partial_fit, which "
                f"named {self.classes_.tolist()}."
            )
        refuse_unknown(all_classes(y), self.classes_)
        self._has_all_rows = False
        new = self._statistic(X, y, w)
        self._check_statistic(new, X)
        before = getattr(self, "statistic_", None)
        self.statistic_ = new if before is None else before + new
        with one_team(self.n_features_in_):
            self._learn(self.statistic_, X, y, w)
        return self

    def _check_statistic(self, new: Any, X: Any) -> None:
        """Refuse the statistic of invalid rows before it is added to the others."""

    def _can_continue(self, found: Any) -> bool:
        """Whether `partial_fit` can add to this statistic."""
        return True

    def _check_classes(self, classes: np.ndarray) -> np.ndarray:
        if len(classes) < self._min_classes:
            raise ValueError(
                f"The labels have one class only, {classes.tolist()[0]!r}; the number of classes "
                "has to be greater than one."
            )
        return classes

    def _map_rows(self, f: Any, X: Any) -> Any:
        check_is_fitted(self)
        X = self._validate(X, reset=False, **self._predict_checks).X
        if not (is_numpy(X) or is_sparse(X)):
            return map_rows(f, X)
        rows = max(PREDICTION_BLOCK // (X.shape[1] + self._width * len(self.classes_)), 64)
        if X.shape[0] * X.shape[1] < THREADED_WORK or n_threads() == 1:
            work = X.shape[0] * X.shape[1] * self._width * len(self.classes_)
            if work < TINY_WORK and 0 < X.shape[0] <= rows:
                return f(X)
            with blas_threads(1) if work < ONE_THREAD_WORK else nullcontext():
                return map_rows(f, X, block_rows=rows)
        return mapped_by_team(f, X, rows)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""

        def labels(block: Any) -> Any:
            return self._labels_at(most_probable(self._resolved(self._unrounded_joint(block))))

        return self._map_rows(labels, X)

    def predict_log_proba(self, X: Any) -> Any:
        """log p(c | x), (n, K)."""
        return self._map_rows(self._log_posterior, X)

    def predict_proba(self, X: Any) -> Any:
        """p(c | x), (n, K)."""
        return self._map_rows(lambda block: namespace(block).exp(self._log_posterior(block)), X)

    def decide(self, X: Any, costs: Any) -> Any:
        """The class of least expected cost of each row.

        Parameters
        ----------
        X : rows of shape (n, d)
        costs : array-like of shape (n_classes, n_classes)
            costs[i][j] is the cost of predicting class j where class i is true.
        """
        check_is_fitted(self)
        costs = np.asarray(costs, dtype=float)
        if costs.shape != (len(self.classes_), len(self.classes_)):
            raise ValueError(
                f"costs must be {len(self.classes_)} by {len(self.classes_)}: a row for each true "
                f"class, a column for each prediction; got shape {costs.shape}."
            )

        def labels(block: Any) -> Any:
            xp = namespace(reference(block))
            return self._labels_at(least_cost(xp.exp(self._log_posterior(block)), costs))

        return self._map_rows(labels, X)

    def _resolved(self, joint: Any) -> Any:
        """The priors for a row that every class rules out."""
        return joint if is_certain(joint) else with_ruled_out_rows(joint, self._log_priors)

    def _log_posterior(self, block: Any) -> Any:
        return log_posterior(self._joint_log_likelihood(block), self._log_priors)

    def _labels_at(self, index: Any) -> Any:
        return self.classes_[to_numpy(index)]

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return self._costs(n, d, "sums of the classes", n * d / rates(8).multiply_adds, 64 * d)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class DiscriminantClassifier(GenerativeClassifier):
    """A generative classifier with `decision_function`.

    Only those have one that have it in scikit-learn: scorers and calibration prefer it to
    `predict_proba`.
    """

    def decision_function(self, X: Any) -> Any:
        """log p(x, c) up to a constant, (n, K); of two classes the log-odds of the second, (n,)."""

        def scores(block: Any) -> Any:
            joint = self._joint_log_likelihood(block)
            if len(self.classes_) != 2:
                return joint
            joint = self._resolved(joint)  # also where both classes are ruled out
            return joint[:, 1] - joint[:, 0]

        return self._map_rows(scores, X)


class NaiveBayesClassifier(GenerativeClassifier):
    """A generative classifier with `predict_joint_log_proba`, as scikit-learn's naive Bayes has."""

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x, c), (n, K)."""
        return self._map_rows(self._joint_log_likelihood, X)


def move_parameters(parameters: Any, block: Any) -> Any:
    """Fitted parameters in the library, the type and on the device of a block of rows."""
    return like(parameters, reference(block))
