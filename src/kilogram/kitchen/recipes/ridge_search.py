"""Ridge and kernel ridge, tuned by exact leave-one-out on the training rows.

    linear    f(x) = <x, w> + b                searched: alpha
    kernel    f(x) = sum_i a_i k(x_i, x) + b   searched: alpha, width = sigma / median distance

Both minimise  sum_i c_i |y_i - f(x_i)|^2 + alpha |f|^2. For one width the leave-one-out predictions
of all alphas come from one eigendecomposition, so the search costs one fit per width. Above
`max_exact` rows the kernel version is the linear one on Nystroem features, and of the widths only
the one that is best on a sample, with few landmarks, and its neighbours are tried on all rows.
Classes are indicator columns, tuned by the largest; of more than two the selected model predicts by
Fisher's rule (`kilogram.models.fisher.ridge_rule`) where that is right more often about the rows
left out. With `balanced` each class weighs the same in all. The values of the indicators estimate
probabilities: with costs the class is that of least expected cost, and tuning minimises the cost.
Where rows belong together or follow each other in time, whole folds are left out instead of single
rows, and so they are for sparse rows, which have no closed form
(`kilogram.kitchen.recipes.ridge_solvers`).

The score of a grid point is 1 - (mean leave-one-out loss) / scale: R^2 with squared errors over the
variance of y, accuracy with errors counted, balanced accuracy with errors weighted by class, with
costs their mean, negated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils.validation import check_is_fitted, validate_data

from kilogram.evaluation.grouped_fits import Along, inner_splits
from kilogram.evaluation.splits import Splits
from kilogram.kernels import Gaussian
from kilogram.kitchen.costs import Costs, least_cost
from kilogram.kitchen.recipes.ridge_solvers import LeftOutPredictions, RidgeSolver
from kilogram.models.fisher.ridge_rule import by_fisher, class_sums, fisher_rule

LINEAR_ALPHAS = tuple(float(a) for a in np.logspace(-2, 5, 15))
KERNEL_ALPHAS = tuple(float(a) for a in np.logspace(-5, 3, 17))
SPARSE_ALPHAS = tuple(float(a) for a in np.logspace(-1, 1.5, 6))
WIDTHS = (0.2, 0.5, 1.0, 2.0, 5.0)
# Beyond so many sparse rows one cut stands for three folds.
MANY_ROWS = 2000
# Beyond so many classes Fisher's rule is computed for few penalties.
MANY_CLASSES = 30
# Rows and landmarks that tell which widths are worth more.
SAMPLE_ROWS, SAMPLE_LANDMARKS = 3000, 200


class RidgeSearch(BaseEstimator, ABC):
    """What both searches share; `kernel` is "linear" or "gaussian".

    Parameters
    ----------
    kernel : {"linear", "gaussian"}, default="linear"
        Linear or kernel version.
    balanced : bool, default=False
        Every class weighs the same in fit and score. Classes only.
    alphas : sequence of float, default=None
        Penalties to try; None takes a wide grid.
    widths : sequence of float, default=WIDTHS
        Widths to try, as multiples of the median distance between rows. Gaussian only.
    max_exact : int, default=1000
        Most rows for which the kernel matrix itself is used.
    n_landmarks : int, default=600
        Nystroem features above that.
    random_state : int, default=0
        Seed of the landmarks.

    Attributes
    ----------
    best_score_, best_params_ : the leave-one-out score of the winner, and the winner
    path_ : (widths, alphas) leave-one-out scores by the rule of the winner, NaN where a width was
        not tried on all rows; one row for the linear kernel
    rule_ : "fisher" where classes are read by Fisher's rule, else "largest"
    model_ : the fitted winner
    """

    def __init__(
        self,
        kernel: str = "linear",
        *,
        balanced: bool = False,
        alphas: Sequence[float] | None = None,
        widths: Sequence[float] = WIDTHS,
        max_exact: int = 1000,
        n_landmarks: int = 600,
        random_state: int = 0,
    ):
        self.kernel = kernel
        self.balanced = balanced
        self.alphas = alphas
        self.widths = widths
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None, moments: Any = None) -> Self:
        """Tune and fit; rows of one of the `groups` are left out together, or later `moments`."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=is_regressor(self),
                             accept_sparse="csr")  # fmt: skip
        if self.kernel == "gaussian" and sp.issparse(X):
            X = X.toarray()
        given = {"groups": groups, "moments": moments}
        splits = self._splits(X, y, {k: np.asarray(v) for k, v in given.items() if v is not None})
        rows = np.arange(len(y)) if splits is None else np.concatenate([b for _, b in splits])
        Y, weights = self._targets(y)
        self.alphas_ = self._alphas(sparse=sp.issparse(X))
        solvers = self._solvers(X)
        held = None if weights is None else weights[rows]
        tried = (
            self._widths_to_try(solvers, X, y, Y, weights)
            if splits is None
            else range(len(solvers))
        )
        losses = np.empty((len(tried), len(self.alphas_), len(rows)))
        paths = []
        for k, place in enumerate(tried):
            paths.append(
                solvers[place].path(X, Y, self.alphas_, weights)
                if splits is None
                else LeftOutPredictions(
                    solvers[place].folds(X, Y, self.alphas_, weights, splits), None
                )
            )
            losses[k] = self._path_losses(y[rows], paths[k].left_out, held)
        self.path_ = np.full((len(solvers), len(self.alphas_)), np.nan)
        self.path_[tried] = 1.0 - losses.mean(axis=2) / self._scale(y[rows])
        place, column = largest_alpha_within_error(losses)
        row, alpha = int(tried[place]), float(self.alphas_[column])
        self.best_score_ = float(self.path_[row, column])
        self.best_params_ = {"alpha": alpha}
        if self.kernel == "gaussian":
            self.best_params_["width"] = float(self.widths[row])
        self.model_ = solvers[row].model(X, Y, alpha, weights)
        self.rule_ = "largest"
        if is_regressor(self) or Y.shape[1] <= 2 or self._decides_by_costs():
            return self
        values = paths[place].left_out[:, :, column]
        sums = class_sums(Y, self.model_.predict(X), weights)
        A, c = fisher_rule(Y, sums, values, rows, weights)
        by_rule = self._losses(y[rows], self._predictions(values @ A + c), held).mean()
        if by_rule < losses[place, column].mean():
            self.rule_, self.best_score_ = "fisher", 1.0 - float(by_rule) / self._scale(y[rows])
            self.model_ = solvers[row].model(X, Y @ A + c, alpha, weights)
            self._fisher_path(solvers, paths, tried, (row, column), (X, Y, y, rows, weights))
            self.path_[row, column] = self.best_score_
        return self

    def _fisher_path(
        self, solvers: list[RidgeSolver], paths: list[LeftOutPredictions], tried: Sequence[int],
        best: tuple[int, int], data: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """The path of scores by Fisher's rule: what a report shows is what is used.

        It takes an eigendecomposition for every penalty: of many classes only beside the best.
        """
        X, Y, y, rows, weights = data
        row, column = best
        held = None if weights is None else weights[rows]
        many = Y.shape[1] > MANY_CLASSES
        near = slice(max(0, column - 1), column + 2) if many else slice(None)
        for k, there in enumerate(tried):
            left_out, sums = paths[k]
            self.path_[there] = np.nan
            if there != row and (sums is None or many):  # not worth fits of their own
                continue
            if sums is None:
                sums = solvers[there].sums(X, Y, self.alphas_, weights)
            scores = by_fisher(Y, sums[..., near], left_out[..., near], rows, weights)
            lost = self._path_losses(y[rows], scores, held).mean(axis=1)
            self.path_[there, near] = 1.0 - lost / self._scale(y[rows])

    def _decides_by_costs(self) -> bool:
        return False

    def _path_losses(self, y: np.ndarray, left_out: np.ndarray, weights: Any) -> np.ndarray:
        """(alphas, n) losses of the predictions (n, t, alphas) of rows left out."""
        each = range(left_out.shape[2])
        predictions = (self._predictions(left_out[:, :, j]) for j in each)
        return np.array([self._losses(y, one, weights) for one in predictions])

    def _widths_to_try(
        self, solvers: list[RidgeSolver], X: np.ndarray, y: np.ndarray, Y: np.ndarray, weights: Any
    ) -> list[int]:
        """Widths worth trying on all rows: with many, the best one of a sample and those beside."""
        if not solvers[0].landmarks or len(solvers) <= 3:
            return list(range(len(solvers)))
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.choice(len(y), min(len(y), SAMPLE_ROWS), replace=False))
        w, order = None if weights is None else weights[rows], np.argsort(self.widths)
        least = []
        for k in order:
            solver = replace(solvers[k], landmarks=min(SAMPLE_LANDMARKS, solvers[k].landmarks))
            left_out = solver.path(X[rows], Y[rows], self.alphas_, w).left_out
            least.append(self._path_losses(y[rows], left_out, w).mean(axis=1).min())
        best = int(np.argmin(least))
        return [int(k) for k in order[max(best - 1, 0) : best + 2]]

    def _splits(self, X: Any, y: np.ndarray, along: Along) -> Splits | None:
        """Folds to leave out; None where single rows are, in closed form."""
        if not along and not sp.issparse(X):
            return None
        cut = 1 if not along and len(y) > MANY_ROWS else 3
        return inner_splits(self, X, y, cut, along, self.random_state)

    def _decision(self, X: Any) -> np.ndarray:
        """(n, t) values of the fitted functions."""
        check_is_fitted(self, "model_")
        X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse="csr")
        if self.kernel == "gaussian" and sp.issparse(X):
            X = X.toarray()
        return np.reshape(self.model_.predict(X), (X.shape[0], -1))

    def _alphas(self, *, sparse: bool) -> np.ndarray:
        given = {"linear": SPARSE_ALPHAS if sparse else LINEAR_ALPHAS, "gaussian": KERNEL_ALPHAS}
        if self.kernel not in given:
            raise ValueError(f'kernel must be "linear" or "gaussian", got {self.kernel!r}.')
        alphas = np.asarray(given[self.kernel] if self.alphas is None else self.alphas, float)
        if alphas.ndim != 1 or not alphas.size or not np.all(alphas > 0):
            raise ValueError("alphas must be a non-empty sequence of positive numbers.")
        return np.sort(alphas)

    def _solvers(self, X: np.ndarray) -> list[RidgeSolver]:
        if self.kernel == "linear":
            return [RidgeSolver(None)]
        median = Gaussian("median").resolve(X).sigma
        landmarks = 0 if X.shape[0] <= self.max_exact else min(self.n_landmarks, X.shape[0])
        return [RidgeSolver(Gaussian(width * median), landmarks, self.random_state)
                for width in self.widths]  # fmt: skip

    @abstractmethod
    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """(n, t) columns to fit and the weights of the rows."""

    @abstractmethod
    def _predictions(self, F: np.ndarray) -> np.ndarray:
        """Predictions in the units of y from (n, t) values of the fitted functions."""

    @abstractmethod
    def _scale(self, y: np.ndarray) -> float:
        """The mean loss that scores zero."""

    @abstractmethod
    def _losses(self, y: np.ndarray, predictions: np.ndarray, weights: Any) -> np.ndarray:
        """(n,) losses of the predictions, row by row."""


class RidgeSearchRegressor(RegressorMixin, RidgeSearch):
    """Ridge or kernel ridge for a number, tuned by leave-one-out.

    `loss` is what tuning minimises: "squared", "absolute" or "relative" errors of left-out rows.
    With `log_target` the logarithm of a positive y is fitted; what is predicted is its
    exponential, no further out than y itself went. Other parameters: see RidgeSearch.
    """

    def __init__(
        self,
        kernel: str = "linear",
        *,
        log_target: bool = False,
        loss: str = "squared",
        alphas: Sequence[float] | None = None,
        widths: Sequence[float] = WIDTHS,
        max_exact: int = 1000,
        n_landmarks: int = 600,
        random_state: int = 0,
    ):
        super().__init__(kernel, alphas=alphas, widths=widths, max_exact=max_exact,
                         n_landmarks=n_landmarks, random_state=random_state)  # fmt: skip
        self.log_target = log_target
        self.loss = loss

    def predict(self, X: Any) -> np.ndarray:
        return self._predictions(self._decision(X))

    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if not self.log_target:
            return y[:, None].astype(float), None
        if np.min(y) <= 0:
            raise ValueError("log_target needs positive targets.")
        logs = np.log(y)
        self.ends_ = float(logs.min()), float(logs.max())
        return logs[:, None], None

    def _predictions(self, F: np.ndarray) -> np.ndarray:
        if not self.log_target:
            return F[:, 0]
        return np.exp(np.clip(F[:, 0], *self.ends_))

    def _scale(self, y: np.ndarray) -> float:
        constant = np.median(y) if self.loss == "absolute" else np.mean(y)
        mean = self._losses(y, np.full(len(y), constant), None).mean()
        return float(mean) or 1.0  # a constant y is predicted without error

    def _losses(self, y: np.ndarray, predictions: np.ndarray, weights: Any) -> np.ndarray:
        error = np.abs(y - predictions)
        if self.loss == "squared":
            return error**2
        return error if self.loss == "absolute" else error / np.abs(y)


class RidgeSearchClassifier(ClassifierMixin, RidgeSearch):
    """Ridge or kernel ridge on class indicators, tuned by leave-one-out; Fisher's rule beyond two.

    The score is accuracy, or with `balanced` balanced accuracy. With `costs`, a (classes, classes)
    matrix for classes 0, 1, ..., the class of least expected cost is predicted, and the score is
    the mean cost, negated. Other parameters: see RidgeSearch.
    """

    def __init__(
        self,
        kernel: str = "linear",
        *,
        balanced: bool = False,
        costs: Costs = (),
        alphas: Sequence[float] | None = None,
        widths: Sequence[float] = WIDTHS,
        max_exact: int = 1000,
        n_landmarks: int = 600,
        random_state: int = 0,
    ):
        super().__init__(kernel, balanced=balanced, alphas=alphas, widths=widths,
                         max_exact=max_exact, n_landmarks=n_landmarks,
                         random_state=random_state)  # fmt: skip
        self.costs = costs

    def predict(self, X: Any) -> np.ndarray:
        return self._predictions(self._decision(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, classes) values, or for two classes (n,): positive for the second."""
        F = self._decision(X)
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F

    def _targets(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError("A classifier needs at least two classes, got one class.")
        Y = np.eye(len(self.classes_))[codes]
        if not self.balanced:
            return Y, None
        return Y, (len(y) / (len(counts) * counts))[codes]

    def _decides_by_costs(self) -> bool:
        return bool(self.costs)

    def _predictions(self, F: np.ndarray) -> np.ndarray:
        if not self.costs:
            return self.classes_[np.argmax(F, axis=1)]
        # a class that is not among the rows has probability 0, and may be the cheapest all the same
        return least_cost(F, np.asarray(self.costs)[self.classes_.astype(int)])

    def _scale(self, y: np.ndarray) -> float:
        return 1.0

    def _losses(self, y: np.ndarray, predictions: np.ndarray, weights: Any) -> np.ndarray:
        if self.costs:  # a score of 1 - loss / scale is the cost, negated
            return 1.0 + np.asarray(self.costs)[y.astype(int), predictions]
        return (y != predictions) * (1.0 if weights is None else weights)


def largest_alpha_within_error(losses: np.ndarray, tolerance: float = 0.5) -> tuple[int, int]:
    """Indices (width, alpha) of the selected point among (widths, alphas, n) left-out losses.

    The largest alpha whose loss exceeds the smallest by at most `tolerance` standard errors of
    their paired difference: the same quality, a smoother function, and a choice that changes less
    from sample to sample.
    """
    mean = losses.mean(axis=2)
    least = np.unravel_index(np.argmin(mean), mean.shape)
    worse = losses - losses[least]
    count = losses.shape[2]
    # one row left out has no spread: only what is as good is near
    error = worse.std(axis=2, ddof=min(1, count - 1)) / np.sqrt(count)
    good = mean - mean[least] <= tolerance * error
    column = int(np.flatnonzero(good.any(axis=0))[-1])
    return int(np.argmin(np.where(good[:, column], mean[:, column], np.inf))), column
