"""Observed frequencies against predicted probabilities."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.base.constraints import Integer, OneOf, Real, check_parameter
from kilogram.evaluation.calibration import reliability
from kilogram.plotting import style, validation
from kilogram.plotting.threshold_curves import positive_class, positive_scores


class CalibrationDisplay:
    """Reliability diagram: of the rows predicted with probability p, how many were positive.

    Create it with `from_estimator` or `from_predictions`; several curves share axes through `ax`.
    Bars are Wilson intervals; the strip below is the histogram of the probabilities.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Observed frequency and mean probability of the bins that hold rows.
    y_prob : ndarray of shape (n,)
        Predicted probabilities.
    low, high : ndarray of shape (n_bins,) or None
        Ends of the intervals of the frequencies.
    calibration_error, brier : float or None
        Measures shown in the legend.
    name : str or None
        Label of the curve in the legend.
    pos_label : default=None
        The class that counts as positive.

    Attributes
    ----------
    line_ : ErrorbarContainer
        The line drawn.
    histogram_ : list of artists
        Bars of the histogram of the probabilities.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = kg.GaussianNB().fit(X[::2], y[::2])
    >>> display = kg.CalibrationDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display.ax_.get_ylabel()
    'observed frequency'
    """

    def __init__(
        self,
        *,
        prob_true: Any,
        prob_pred: Any,
        y_prob: Any,
        low: Any = None,
        high: Any = None,
        calibration_error: float | None = None,
        brier: float | None = None,
        name: str | None = None,
        pos_label: Any = None,
    ):
        self.prob_true, self.prob_pred, self.y_prob = prob_true, prob_pred, y_prob
        self.low, self.high = low, high
        self.calibration_error, self.brier = calibration_error, brier
        self.name, self.pos_label = name, pos_label

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        confidence: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Predict probabilities and draw the diagram.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba`.
        X : array-like of shape (n, d)
            Rows that were not used for the fit.
        y : array-like of shape (n,)
        n_bins : int, default=10
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equally many rows, or of equal width.
        confidence : float, default=0.95
            Of the intervals.
        pos_label : default=None
            The class whose probability is judged; None takes the second of two.
        name : str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        CalibrationDisplay
        """
        validation.check_fitted(estimator, cls.__name__, "predict_proba")
        classes = np.asarray(estimator.classes_)
        positive = positive_class(classes, pos_label, cls.__name__)
        return cls.from_predictions(
            y, positive_scores(estimator, X, classes, positive), n_bins=n_bins, strategy=strategy,
            confidence=confidence, pos_label=positive,
            name=validation.estimator_name(estimator) if name is None else name, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        confidence: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like of shape (n,)
            Probabilities of the positive class.
        n_bins, strategy, confidence, pos_label, name, ax
            As for `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        check_parameter("n_bins", n_bins, Integer(1))
        check_parameter("strategy", strategy, OneOf("quantile", "uniform"))
        check_parameter("confidence", confidence, Real(0, 1, closed="neither"))
        y, p = validation.as_columns(y_true, y_prob, ("y_true", "y_prob"))
        positive = positive_class(np.unique(y), pos_label, cls.__name__)
        found = reliability(
            y == positive,
            p,
            bins=int(n_bins),
            strategy=strategy,
            confidence=confidence,
        )
        columns = np.array([(b.observed, b.predicted, b.low, b.high) for b in found.bins]).T
        return cls(
            prob_true=columns[0], prob_pred=columns[1], y_prob=p, low=columns[2], high=columns[3],
            calibration_error=found.calibration_error, brier=found.brier, name=name,
            pos_label=positive,
        ).plot(ax=ax)  # fmt: skip

    def plot(self, ax: Any = None, *, name: str | None = None, ref_line: bool = True) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        name : str or None, default=None
            In the legend.
        ref_line : bool, default=True
            Draw the line of perfect calibration.

        Returns
        -------
        CalibrationDisplay
        """
        ax = style.new_axes(ax, (4.8, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        colour = style.next_colour(ax)
        if ref_line:
            ax.plot([0, 1], [0, 1], color=style.QUIET, lw=1, ls="--", zorder=1)
        error = "" if self.calibration_error is None else f"ECE {self.calibration_error:.3f}"
        name = self.name if name is None else name
        bars = None
        if self.low is not None and self.high is not None:
            bars = np.maximum([self.prob_true - self.low, self.high - self.prob_true], 0)
        self.line_ = ax.errorbar(
            self.prob_pred, self.prob_true, bars, fmt="o-", color=colour, ms=5, lw=1.6,
            elinewidth=1.1, capsize=2, label=error if name is None else f"{name}: {error}",
        )  # fmt: skip
        counts, edges = np.histogram(self.y_prob, bins=np.linspace(0, 1, 41))
        tall = 0.12 * counts / counts.max()
        self.histogram_ = [ax.stairs(tall - 0.16, edges, baseline=-0.16, fill=True, color=colour,
                                     alpha=0.35)]  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.16, 1.02), yticks=np.linspace(0, 1, 6))
        style.label_axes(ax, "predicted probability", "observed frequency")
        style.legend(ax, loc="upper left")
        return self
