"""Ridge and kernel ridge for the rows at hand: predictions of left-out rows, and the fitted model.

closed form   each row predicted without itself, all penalties from one eigendecomposition, with
              many rows from that of a few landmarks (`models.features.landmark_leave_one_out`)
folds         rows of whole folds predicted from the others, where rows belong together or follow
              each other; all penalties of a fold from one eigendecomposition
sparse rows   conjugate gradients, one run for all penalties (`solvers.linear.multishift_cg`)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from kilogram.evaluation.splits import Splits
from kilogram.kernels import Gaussian
from kilogram.models.features.landmark_leave_one_out import landmark_path
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.fisher.ridge_rule import class_sums
from kilogram.models.ridge.kernel_path import kernel_path
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.ridge import Ridge
from kilogram.models.ridge.ridge_cv import RidgeCV
from kilogram.solvers.least_squares.data import RegressionData
from kilogram.solvers.least_squares.ridge_path import tall_path, wide_path
from kilogram.solvers.linear.multishift_cg import MOST_STEPS, TOLERANCE, sparse_path


class LeftOutPredictions(NamedTuple):
    """Predictions of left-out rows for all penalties, (m, t, alphas), and what Fisher's rule needs.

    `sums` (t, t, alphas) are those of the fitted values (`class_sums`); None: not asked for yet.
    """

    left_out: np.ndarray
    sums: np.ndarray | None


@dataclass(frozen=True)
class RidgeSolver:
    """The kernel, if any, and landmarks, if many rows."""

    kernel: Gaussian | None
    landmarks: int = 0
    seed: int = 0

    def path(self, X: np.ndarray, Y: np.ndarray, alphas: Any, weights: Any) -> LeftOutPredictions:
        """Single rows left out, in closed form."""
        rows, alphas = RegressionData(X, Y, weights, False), list(alphas)
        if self.landmarks:
            assert self.kernel is not None
            given = (X, Y, alphas, weights, self.landmarks, self.seed)
            left_out, fitted = landmark_path(self.kernel, *given)
            return LeftOutPredictions(left_out, _each_sum(Y, fitted, weights))
        if self.kernel is not None:
            dual = kernel_path(self.kernel, rows, alphas, True)[0]
            w = np.ones(len(Y)) if weights is None else weights
            off = np.asarray(alphas) * dual.a / w[:, None, None]  # y - f = alpha a / w
            return LeftOutPredictions(
                Y[:, :, None] - dual.residuals, _each_sum(Y, Y[:, :, None] - off, weights)
            )
        if X.shape[0] < X.shape[1]:
            found = wide_path(rows, alphas, True, _finite)
        else:
            found = tall_path(rows, alphas, True, _finite, keep=True, by_svd=False)
        middle = class_sums(Y, np.ones(len(Y)), weights)[:, None, None] * found.b
        sums = np.tensordot(class_sums(Y, X, weights), found.W, axes=1) + middle
        return LeftOutPredictions(Y[:, :, None] - found.residuals, sums)

    def folds(self, X: Any, Y: np.ndarray, alphas: Any, weights: Any, splits: Splits) -> np.ndarray:
        """Predictions (m, t, alphas) of the test rows of the splits, one split after another."""
        found = []
        for train, test in splits:
            w = None if weights is None else weights[train]
            found.append(self._held_out_predictions(X[train], Y[train], X[test], alphas, w))
        return np.concatenate(found)

    def sums(self, X: Any, Y: np.ndarray, alphas: Any, weights: Any) -> np.ndarray:
        """The sums of `LeftOutPredictions` alone, where its rows were left out in folds."""
        return _each_sum(Y, self._held_out_predictions(X, Y, X, alphas, weights), weights)

    def _held_out_predictions(
        self, X: Any, Y: np.ndarray, test: Any, alphas: Any, weights: Any
    ) -> np.ndarray:
        """Predictions (m, t, alphas) of the rows `test`."""
        solve = sparse_path if sp.issparse(X) else self._path_predictions
        return solve(X, Y, test, alphas, weights)

    def _path_predictions(
        self, X: np.ndarray, Y: np.ndarray, test: np.ndarray, alphas: Any, weights: Any
    ) -> np.ndarray:
        if len(X) < 2:  # groups or times may leave one row to learn from: its own target
            return np.tile(Y[:1, :, None], (len(test), 1, len(alphas)))
        if self.kernel is not None:
            features = self._features(len(X)).fit(X)
            X, test = features.transform(X), features.transform(test)
        model = RidgeCV(alphas).fit(X, Y, sample_weight=weights)
        W = np.reshape(model.path_, (len(alphas), Y.shape[1], X.shape[1]))
        mean_x, mean_y = (np.average(a, axis=0, weights=weights) for a in (X, Y))
        return np.einsum("nd,atd->nta", test - mean_x, W, optimize=True) + mean_y[:, None]

    def model(self, X: Any, Y: np.ndarray, alpha: float, weights: Any) -> Any:
        """The model fitted with one alpha."""
        if self.landmarks:
            features, ridge = self._features(len(X)), Ridge(alpha)
            ridge.fit(features.fit_transform(X), Y, sample_weight=weights)
            return Pipeline([("features", features), ("ridge", ridge)])
        if self.kernel is None:
            return _linear(X, Y, alpha, weights)
        exact = KernelRidge(alpha, kernel=self.kernel, fit_intercept=True)
        return exact.fit(X, Y, sample_weight=weights)

    def _features(self, rows: int) -> Nystroem:
        return Nystroem(self.kernel, min(self.landmarks or rows, rows), random_state=self.seed)


def _linear(X: Any, Y: np.ndarray, alpha: float, weights: Any) -> Ridge:
    """Ridge; on sparse rows as far as the search went, which is meant and no warning."""
    if not sp.issparse(X):
        return Ridge(alpha).fit(X, Y, sample_weight=weights)
    model = Ridge(alpha, tol=TOLERANCE, max_iter=MOST_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y, sample_weight=weights)


def _each_sum(Y: np.ndarray, fitted: np.ndarray, weights: Any) -> np.ndarray:
    """`class_sums` of fitted values (n, t, alphas), (t, t, alphas)."""
    found: np.ndarray = class_sums(Y, fitted.reshape(len(Y), -1), weights)
    return found.reshape(-1, *fitted.shape[1:])


def _finite(sums: Any) -> None:
    """Rows were let in as finite, but their squares may not be."""
    if not np.isfinite(sums).all():
        raise ValueError("The squares of the columns overflow: scale the columns first.")
