"""A prediction over one feature, with its interval."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import scipy.stats
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.plotting import style, validation


class PredictionBandDisplay:
    """The predicted curve over one feature, and the band that holds new observations.

    Create it with `from_estimator` or `from_predictions`. The band comes from the model: the
    standard deviation of a Gaussian process (``predict(X, return_std=True)``), the
    ``prediction_band`` of a non-linear regression, whose inner band is that of the curve, or the
    ``interval`` of `kilogram.evaluation.split_conformal` and `cv_plus`, which any regressor can
    have.

    Parameters
    ----------
    x, prediction, lower, upper : ndarray of shape (m,)
        The curve and the ends of the band.
    coverage : float
        The fraction of new observations the band is meant to hold.
    inner : tuple of two ndarrays or None
        Confidence band of the curve itself.
    rows : tuple of two ndarrays or None
        Feature and target of observations.
    labels : tuple of str
        Labels of the axes.

    Attributes
    ----------
    line_ : Line2D
        The line drawn.
    fill_between_ : FillBetweenPolyCollection
        The shaded bands.
    inner_ : FillBetweenPolyCollection or None
        The inner band, if any.
    scatter_ : PathCollection or None
        The points drawn.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> import kilogram as kg
    >>> x = np.linspace(0.0, 6.0, 30)[:, None]
    >>> model = kg.GaussianProcessRegressor().fit(x, np.sin(x[:, 0]))
    >>> display = kg.PredictionBandDisplay.from_estimator(model, x, np.sin(x[:, 0]))
    >>> len(display.prediction)
    300
    """

    def __init__(
        self,
        *,
        x: Any,
        prediction: Any,
        lower: Any,
        upper: Any,
        coverage: float = 0.95,
        inner: Any = None,
        rows: Any = None,
        labels: tuple[str, str] = ("feature 0", "target"),
    ):
        self.x, self.prediction, self.lower, self.upper = x, prediction, lower, upper
        self.coverage, self.inner, self.rows, self.labels = coverage, inner, rows, labels

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.95,
        grid_resolution: int = 300,
        eps: float = 0.1,
        feature_names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Predict over the range of X and draw curve, band and observations.

        Parameters
        ----------
        estimator : fitted regressor, or what `split_conformal` and `cv_plus` return
        X : array-like of shape (n, 1)
        y : array-like of shape (n,) or None, default=None
            None draws no observations.
        coverage : float, default=0.95
        grid_resolution : int, default=300
        eps : float, default=0.1
            How far the curve goes on, as a fraction of the range of X.
        feature_names : sequence of one str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        PredictionBandDisplay
        """
        check_parameter("coverage", coverage, Real(0, 1, closed="neither"))
        check_parameter("grid_resolution", grid_resolution, Integer(2))
        check_parameter("eps", eps, Real(0))
        points = validation.as_points(X, cls.__name__, width=1)
        low, high = points.min(), points.max()
        reach = eps * (high - low) or 0.5
        x = np.linspace(low - reach, high + reach, int(grid_resolution))
        middle, lower, upper, inner = _band(
            estimator, validation.rows_like(x[:, None], X), coverage
        )
        rows = None if y is None else validation.as_columns(points[:, 0], y, ("X", "y"))
        (name,) = validation.feature_labels(X, feature_names)
        display = cls(
            x=x, prediction=middle, lower=lower, upper=upper, coverage=float(coverage),
            inner=inner, rows=rows, labels=(name, getattr(y, "name", None) or "target"),
        )  # fmt: skip
        return display.plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        x: Any,
        prediction: Any,
        lower: Any,
        upper: Any,
        *,
        coverage: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw a curve and a band that are known already.

        Parameters
        ----------
        x, prediction, lower, upper : array-like of shape (m,)
        coverage : float, default=0.95
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        PredictionBandDisplay
        """
        x, prediction = validation.as_columns(x, prediction, ("x", "prediction"))
        _, lower = validation.as_columns(x, lower, ("x", "lower"))
        _, upper = validation.as_columns(x, upper, ("x", "upper"))
        if np.any(lower > upper):
            raise ValueError("lower must not exceed upper.")
        order = np.argsort(x, kind="stable")
        columns = (column[order] for column in (x, prediction, lower, upper))
        names = ("x", "prediction", "lower", "upper")
        display = cls(
            **dict(zip(names, columns, strict=True)), coverage=coverage, labels=("x", "prediction")
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        PredictionBandDisplay
        """
        ax = style.new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        blue = style.PALETTE[0]
        self.fill_between_ = ax.fill_between(
            self.x, self.lower, self.upper, color=blue, alpha=0.16, linewidth=0,
            label=f"{self.coverage:.0%} interval",
        )  # fmt: skip
        self.inner_ = None
        if self.inner is not None:
            self.inner_ = ax.fill_between(
                self.x, *self.inner, color=blue, alpha=0.3, linewidth=0,
                label=f"{self.coverage:.0%} of the curve",
            )  # fmt: skip
        (self.line_,) = ax.plot(self.x, self.prediction, color=blue, lw=2, label="prediction")
        self.scatter_ = None
        if self.rows is not None:
            self.scatter_ = ax.scatter(
                *self.rows, s=18, color=style.INK, zorder=3, linewidths=0, label="observations"
            )
        style.label_axes(ax, *self.labels)
        style.legend(ax)
        return self


def _band(
    estimator: BaseEstimator, grid: Any, coverage: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Curve, ends of the band of observations, and the band of the curve if the model has one."""
    if hasattr(estimator, "interval"):  # conformal
        lower, upper = (np.asarray(to_numpy(end)) for end in estimator.interval(grid, coverage))
        model = getattr(estimator, "model", None)
        middle = (lower + upper) / 2 if model is None else np.asarray(to_numpy(model.predict(grid)))
        return middle, lower, upper, None
    validation.check_fitted(estimator, "PredictionBandDisplay", "predict")
    if hasattr(estimator, "prediction_band"):
        lower, upper = (to_numpy(end) for end in estimator.prediction_band(grid, coverage))
        inner = tuple(to_numpy(end) for end in estimator.confidence_band(grid, coverage))
        return np.asarray(to_numpy(estimator.predict(grid))), lower, upper, inner
    if "return_std" not in inspect.signature(estimator.predict).parameters:
        raise TypeError(
            f"{type(estimator).__name__} predicts no interval. Make one with "
            "kilogram.evaluation.cv_plus(estimator, X, y), or give from_predictions the ends."
        )
    mean, std = (np.asarray(to_numpy(v)) for v in estimator.predict(grid, return_std=True))
    if mean.ndim > 1:
        raise ValueError(f"PredictionBandDisplay draws one target, the model has {mean.shape[1]}.")
    reach = scipy.stats.norm.ppf((1 + coverage) / 2) * std
    return mean, mean - reach, mean + reach, None
