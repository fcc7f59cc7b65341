"""Random kitchen sinks (Rahimi and Recht 2008): ridge regression on random Fourier features.

    1  draw W ~ P, b uniform on [0, 2 pi]                    P the spectrum of the kernel
    2  z(x) = sqrt(2 kappa(0) / D) cos(W'x + b)
    3  a = (Z_c'Z_c + alpha I)^-1 Z_c'y_c                    f(x) = <z(x), a> + offset

As D grows, f tends to kernel ridge regression, at a cost of n D^2 + D^3 instead of n^3. With an
offset, features and targets are centred; without one they are taken as they are, as the cookbook
prints. For classes, -1 and +1 are regressed and the sign, or the largest of several, is taken.

Z is never stored: Z'Z, Z'y and the means are moments, made from a block of rows at a time and
added, so one block, many blocks, `partial_fit` and a Dask cluster use the same code.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.base import Laws
from kilogram.base.labels import (
    distinct_classes,
    largest,
    refuse_unknown,
    signs,
    validate_labels,
)
from kilogram.base.progress import with_callbacks
from kilogram.base.regression_data import validate_regression_data
from kilogram.models.features.kitchen_sinks_base import KitchenSinks

LAWS = Laws(
    shift="the phases of random features move with the data; only inner products stay",
    permutation="the random directions are drawn for the columns in their order",
    partial_fit=True,
    objective=True,
    example={"n_components": 30, "random_state": 0},
)


class KitchenSinksRegressor(MultiOutputMixin, RegressorMixin, KitchenSinks):
    """Ridge regression on random Fourier features, which are never stored.

    Minimises ``sum_i w_i |y_i - <z(x_i), a> - offset|^2 + alpha |a|^2`` with
    ``z(x) = sqrt(2 k(0) / D) cos(W'x + b)``. Tends to kernel ridge regression as D grows.

    Parameters
    ----------
    n_components : int, default=100
        D, the number of random features; memory is D^2 numbers, time n D^2.
    kernel : str or Kernel, default="rbf"
        A stationary kernel whose spectrum the directions are drawn from.
    gamma : float, "scale" or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    sigma : float, "median" or None, default=None
        Width of a kernel given by name, in place of gamma.
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty on the coefficients, at least 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    orthogonal : bool, default=False
        Draw directions in orthogonal blocks, which lowers the variance of the kernel estimate.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Attributes
    ----------
    coef_ : array of shape (D,) or (n_targets, D)
        Coefficients of the features.
    intercept_ : float or array of shape (n_targets,)
        Intercept; 0 without one.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    random_weights_ : ndarray of shape (d, D)
        The directions W.
    random_offset_ : ndarray of shape (D,)
        Phases b.
    scale_ : float
        Factor sqrt(2 k(0) / D) of the features.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    KernelRidge : The limit of many features.
    FourierFeatures : The features alone.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KitchenSinksRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = KitchenSinksRegressor(300, alpha=1e-3, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    True
    """

    laws: ClassVar[Laws] = LAWS

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the features and fit their coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            An iterable of blocks may hold tuples (X, y) or (X, y, weights).
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        rows = validate_regression_data(self, X, y, sample_weight, finite=is_sparse(X))
        return self._fit_rows(rows.X, rows.Y, rows.w, flat=rows.flat)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen by earlier calls of `partial_fit` and fit them all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = self._begins_anew("moments_", "coef_")
        rows = validate_regression_data(self, X, y, sample_weight, finite=is_sparse(X), reset=first)
        return self._fit_rows(rows.X, rows.Y, rows.w, flat=rows.flat, add=True)

    def predict(self, X: Any) -> Any:
        """Predict the targets of the rows of X.

        Returns
        -------
        y : array of shape (n,) or (n, n_targets)
            Lazy if X is a Dask collection or comes in blocks.
        """
        return self._scores(X)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i |y_i - f(x_i)|^2 + alpha |a|^2 of the fitted model on these rows."""
        check_is_fitted(self)
        rows = validate_regression_data(self, X, y, sample_weight, reset=False)
        return self._objective(self.predict(rows.X), rows.Y, rows.w)


class KitchenSinksClassifier(ClassifierMixin, KitchenSinks):
    """Classification by ridge regression on random Fourier features, which are never stored.

    Regresses -1 and +1, one target per class (a single one for two classes), on
    ``z(x) = sqrt(2 k(0) / D) cos(W'x + b)``; the largest score names the class.

    Parameters
    ----------
    n_components : int, default=100
        D, the number of random features; memory is D^2 numbers, time n D^2.
    kernel : str or Kernel, default="rbf"
        A stationary kernel whose spectrum the directions are drawn from.
    gamma : float, "scale" or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    sigma : float, "median" or None, default=None
        Width of a kernel given by name, in place of gamma.
    alpha : float, default=1.0
        Strength of the penalty on the coefficients, at least 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    orthogonal : bool, default=False
        Draw directions in orthogonal blocks, which lowers the variance of the kernel estimate.
    random_state : int, RandomState or None, default=None
        Seed of the draw.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : array of shape (D,) or (n_classes, D)
        Coefficients of the features.
    intercept_ : float or array of shape (n_classes,)
        Intercept; 0 without one.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    random_weights_ : ndarray of shape (d, D)
        The directions W.
    random_offset_ : ndarray of shape (D,)
        Phases b.
    scale_ : float
        Factor sqrt(2 k(0) / D) of the features.
    objective_ : float
        The value of the objective at the solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import KitchenSinksClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # exclusive or: no line separates it
    >>> model = KitchenSinksClassifier(sigma=0.5, alpha=0.1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    laws: ClassVar[Laws] = LAWS
    _keeps_target_precision: ClassVar[bool] = False

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the features and fit their coefficients.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
            An iterable of blocks may hold tuples (X, y) or (X, y, weights).
        y : array-like of shape (n,)
            Class labels.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, y, w = validate_labels(self, X, y, sample_weight, finite=is_sparse(X))
        self._coded = distinct_classes(y)
        self._fit_rows(X, y, w, flat=len(self._coded) == 2)
        self.classes_ = self._coded
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to those seen by earlier calls of `partial_fit` and fit them all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will come; needed in the first call unless its rows have them all.
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = self._begins_anew("moments_", "coef_")
        X, y, w = validate_labels(self, X, y, sample_weight, finite=is_sparse(X), reset=first)
        if first:
            self._coded = distinct_classes(y if classes is None else np.asarray(classes))
        refuse_unknown(y, self._coded)
        self._fit_rows(X, y, w, flat=len(self._coded) == 2, add=True)
        self.classes_ = self._coded
        return self

    def decision_function(self, X: Any) -> Any:
        """The regressed scores of the rows of X: of the second of two classes, or one per class.

        Returns
        -------
        scores : array of shape (n,) or (n, n_classes)
        """
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        """The class of the largest score, for every row of X.

        Returns
        -------
        labels : ndarray of shape (n,)
            Lazy if X is a Dask collection or comes in blocks.
        """
        check_is_fitted(self)
        classes = self.classes_
        return self._scores(X, lambda scores: largest(to_numpy(scores), classes))

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """sum_i w_i |t_i - f(x_i)|^2 + alpha |a|^2 with targets t of -1 and +1, on these rows."""
        check_is_fitted(self)
        X, y, w = validate_labels(self, X, y, sample_weight, reset=False)
        scores = to_numpy(self.decision_function(X))
        return self._objective(scores, signs(y, self.classes_), to_numpy(w))

    def _numbers(self, Y: Any, X: Any) -> Any:
        return like(signs(Y, self._coded), X)
