"""Residuals of a regression, or predicted against actual values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, Null, OneOf, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.plotting import style, validation

KINDS = ("residual_vs_predicted", "actual_vs_predicted")
BINS = 10  # of the line of mean residuals: each mean has a tenth of the rows


class PredictionErrorDisplay:
    """Residuals against predictions, with their mean in bins: a bend shows missed structure.

    Create it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    y_true, y_pred : ndarray of shape (n,)
        True and predicted values.

    Attributes
    ----------
    scatter_ : PathCollection
        The points drawn.
    line_ : Line2D
        The line of exact predictions.
    trend_ : ErrorbarContainer or None
        Mean residual in bins of equally many rows, with two standard errors.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = kg.Ridge().fit(X[::2], y[::2])
    >>> display = kg.PredictionErrorDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display.ax_.get_ylabel()
    'residual (actual - predicted)'
    """

    def __init__(self, *, y_true: Any, y_pred: Any):
        self.y_true, self.y_pred = y_true, y_pred

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        kind: str = "residual_vs_predicted",
        subsample: int | None = 1000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Predict the rows and draw the errors.

        Parameters
        ----------
        estimator : fitted regressor
        X : array-like of shape (n, d)
            Rows that were not used for the fit.
        y : array-like of shape (n,)
        kind : {"residual_vs_predicted", "actual_vs_predicted"}
        subsample : int or None, default=1000
            Points drawn at most; the means are of all rows.
        random_state : int, RandomState, Generator or None, default=0
            Of the points drawn.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        PredictionErrorDisplay
        """
        validation.check_fitted(estimator, cls.__name__, "predict")
        return cls.from_predictions(
            y, to_numpy(estimator.predict(X)), kind=kind, subsample=subsample,
            random_state=random_state, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        kind: str = "residual_vs_predicted",
        subsample: int | None = 1000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the errors of predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
        kind, subsample, random_state, ax
            As for `from_estimator`.

        Returns
        -------
        PredictionErrorDisplay
        """
        y, f = validation.as_columns(y_true, y_pred, ("y_true", "y_pred"))
        if y.dtype.kind not in "biuf" or f.dtype.kind not in "biuf":
            raise ValueError(
                "PredictionErrorDisplay needs numbers, y_true or y_pred has classes: use "
                "ConfusionMatrixDisplay."
            )
        display = cls(y_true=y.astype(float), y_pred=f.astype(float))
        return display.plot(ax=ax, kind=kind, subsample=subsample, random_state=random_state)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "residual_vs_predicted",
        subsample: int | None = 1000,
        random_state: Any = 0,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        kind : {"residual_vs_predicted", "actual_vs_predicted"}
        subsample : int or None, default=1000
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        PredictionErrorDisplay
        """
        check_parameter("kind", kind, OneOf(*KINDS))
        check_parameter("subsample", subsample, Integer(1) | Null())
        ax = style.new_axes(ax, (5.6, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        residual = self.y_true - self.y_pred
        heights = residual if kind == KINDS[0] else self.y_true
        some = np.arange(len(heights))
        if subsample is not None and len(some) > subsample:
            some = as_generator(random_state).choice(some, subsample, replace=False)
        self.scatter_ = ax.scatter(
            self.y_pred[some], heights[some], s=16, color=style.PALETTE[0], alpha=0.45, linewidths=0
        )
        self.trend_ = None
        if kind == KINDS[0]:
            self.line_ = ax.axhline(0, color=style.QUIET, lw=1.0, ls="--")
            self.trend_ = self._trend(ax, residual)
            style.label_axes(ax, "predicted", "residual (actual - predicted)")
        else:
            ends = [min(self.y_pred.min(), heights.min()), max(self.y_pred.max(), heights.max())]
            (self.line_,) = ax.plot(ends, ends, color=style.QUIET, lw=1.0, ls="--")
            style.label_axes(ax, "predicted", "actual")
        spread = float(((self.y_true - self.y_true.mean()) ** 2).sum())
        if spread > 0:
            r2 = 1 - float(residual @ residual) / spread
            rmse = float(np.sqrt(np.mean(residual**2)))
            title = f"R² {r2:.3f}, root mean squared error {rmse:.4g}"
            ax.set_title(title, loc="left", fontsize=10, color=style.INK)
        return self

    def _trend(self, ax: Any, residual: np.ndarray) -> Any:
        """Means of equally many rows; nothing where bins would hold only a few."""
        bins = min(BINS, len(residual) // 8)
        if bins < 3:
            return None
        parts = np.array_split(np.argsort(self.y_pred, kind="stable"), bins)
        x = [self.y_pred[part].mean() for part in parts]
        means = [residual[part].mean() for part in parts]
        errors = [2 * residual[part].std(ddof=1) / np.sqrt(len(part)) for part in parts]
        found = ax.errorbar(
            x, means, errors, fmt="o-", color=style.PALETTE[1], ms=4.5, lw=1.6, capsize=2,
            label="mean in bins, with two standard errors",
        )  # fmt: skip
        style.legend(ax)
        return found
