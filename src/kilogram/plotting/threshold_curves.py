"""ROC and precision-recall curves with bootstrap bands.

The band is pointwise: rows are drawn again with replacement, class by class, the curve of every
draw is read off on one grid, and the quantiles at each grid point are its ends. The interval of the
area under the ROC curve is DeLong's (`kilogram.evaluation.auc_interval`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.evaluation.ranking import ThresholdCurve, auc_interval, curve, rows_interval
from kilogram.plotting import style, validation

GRID = np.linspace(0, 1, 201)


class _CurveDisplay:
    """A curve over thresholds: what ROC and precision-recall have in common."""

    _labels: tuple[str, str]
    name: str | None
    band: Any
    ax_: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        confidence: float = 0.95,
        n_bootstrap: int = 200,
        random_state: Any = 0,
        name: str | None = None,
        plot_chance_level: bool = True,
        ax: Any = None,
    ) -> Self:
        """Score the rows and draw the curve.

        Parameters
        ----------
        estimator : fitted classifier
            With `decision_function` or `predict_proba`.
        X : array-like of shape (n, d)
            Rows that were not used for the fit.
        y : array-like of shape (n,)
        pos_label : default=None
            The positive class; None takes the second of two. Of more classes, it is drawn against
            all others.
        confidence : float, default=0.95
            Of the band and of the interval in the legend.
        n_bootstrap : int, default=200
            Draws for the band; 0 draws none.
        random_state : int, RandomState, Generator or None, default=0
        name : str or None, default=None
            In the legend; None takes the name of the class.
        plot_chance_level : bool, default=True
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        display
        """
        validation.check_fitted(estimator, cls.__name__, "decision_function", "predict_proba")
        classes = np.asarray(to_numpy(estimator.classes_))
        positive = positive_class(classes, pos_label, cls.__name__)
        scores = positive_scores(estimator, X, classes, positive)
        return cls.from_predictions(
            y, scores, pos_label=positive, confidence=confidence, n_bootstrap=n_bootstrap,
            random_state=random_state,
            name=validation.estimator_name(estimator) if name is None else name,
            plot_chance_level=plot_chance_level, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: Any = None,
        confidence: float = 0.95,
        n_bootstrap: int = 200,
        random_state: Any = 0,
        name: str | None = None,
        plot_chance_level: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_score : array-like of shape (n,)
            Higher for the positive class: probabilities or decision values.
        pos_label, confidence, n_bootstrap, random_state, name, plot_chance_level, ax
            As for `from_estimator`.

        Returns
        -------
        display
        """
        check_parameter("confidence", confidence, Real(0, 1, closed="neither"))
        check_parameter("n_bootstrap", n_bootstrap, Integer(0))
        y, score = validation.as_columns(y_true, y_score, ("y_true", "y_score"))
        positive = positive_class(np.unique(y), pos_label, cls.__name__)
        real = (y == positive).astype(int)
        found = curve(real, score)
        draws = _draws(real, score, int(n_bootstrap), as_generator(random_state))
        band = None
        if draws:
            heights = np.array([cls._on_grid(one) for one in draws])
            ends = [(1 - confidence) / 2, (1 + confidence) / 2]
            band = (GRID, *np.quantile(heights, ends, axis=0))
        display = cls._from_curve(found, real, score, confidence, positive)
        display.name, display.band = name, band
        return display.plot(ax=ax, plot_chance_level=plot_chance_level)

    @classmethod
    def _on_grid(cls, found: ThresholdCurve) -> np.ndarray:
        raise NotImplementedError

    @classmethod
    def _from_curve(
        cls, found: ThresholdCurve, y: Any, score: Any, confidence: float, positive: Any
    ) -> Self:
        raise NotImplementedError

    def plot(
        self, ax: Any = None, *, name: str | None = None, plot_chance_level: bool = True
    ) -> Any:
        raise NotImplementedError

    def _draw(self, ax: Any, name: str | None, summary: str, x: Any, y: Any, **options: Any) -> Any:
        ax = style.new_axes(ax, (4.8, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        name = self.name if name is None else name
        label = summary if name is None else f"{name}: {summary}"
        (self.line_,) = ax.plot(x, y, lw=2, label=label, color=style.next_colour(ax), **options)
        self.fill_between_ = None
        if self.band is not None:
            grid, low, high = self.band
            self.fill_between_ = ax.fill_between(
                grid, low, high, color=self.line_.get_color(), alpha=0.15, linewidth=0
            )
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        style.label_axes(ax, *self._labels)
        return ax


class RocCurveDisplay(_CurveDisplay):
    """The true positive rate against the false positive rate, with a bootstrap band.

    Create it with `from_estimator` or `from_predictions`; several curves share axes through `ax`.

    Parameters
    ----------
    fpr, tpr : ndarray
        False and true positive rate at every threshold.
    roc_auc : float or None
        Area under the curve, shown in the legend.
    interval : tuple of two floats or None
        Confidence interval of the area by DeLong's method.
    name : str or None
        Label of the curve in the legend.
    pos_label : default=None
        The class that counts as positive.
    band : tuple of three ndarrays or None
        Grid of false positive rates, lower and upper ends.

    Attributes
    ----------
    line_ : Line2D
        The line drawn.
    chance_level_ : Line2D or None
        The line of a random classifier, if drawn.
    fill_between_ : FillBetweenPolyCollection or None
        The shaded bands.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = kg.GaussianNB().fit(X[::2], y[::2])
    >>> display = kg.RocCurveDisplay.from_estimator(model, X[1::2], y[1::2], n_bootstrap=20)
    >>> bool(display.interval[0] < display.roc_auc < display.interval[1])
    True
    """

    _labels = ("false positive rate", "true positive rate")

    def __init__(
        self,
        *,
        fpr: Any,
        tpr: Any,
        roc_auc: float | None = None,
        interval: Any = None,
        name: str | None = None,
        pos_label: Any = None,
        band: Any = None,
    ):
        self.fpr, self.tpr, self.roc_auc, self.interval = fpr, tpr, roc_auc, interval
        self.name, self.pos_label, self.band = name, pos_label, band

    @classmethod
    def _on_grid(cls, found: ThresholdCurve) -> np.ndarray:
        return np.interp(GRID, found.false_alarms, found.hits)

    @classmethod
    def _from_curve(
        cls, found: ThresholdCurve, y: Any, score: Any, confidence: float, positive: Any
    ) -> Self:
        area = auc_interval(y, score, confidence=confidence)
        return cls(
            fpr=found.false_alarms, tpr=found.hits, roc_auc=area.mean,
            interval=(area.low, area.high), pos_label=positive,
        )  # fmt: skip

    def plot(
        self, ax: Any = None, *, name: str | None = None, plot_chance_level: bool = True
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        name : str or None, default=None
            In the legend.
        plot_chance_level : bool, default=True

        Returns
        -------
        RocCurveDisplay
        """
        area = "" if self.roc_auc is None else f"AUC {self.roc_auc:.3f}"
        if self.interval is not None:
            area += f" [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"
        ax = self._draw(ax, name, area, self.fpr, self.tpr)
        self.chance_level_ = None
        if plot_chance_level:
            (self.chance_level_,) = ax.plot([0, 1], [0, 1], color=style.QUIET, lw=1, ls="--")
        style.legend(ax, loc="lower right")
        return self


class PrecisionRecallDisplay(_CurveDisplay):
    """Precision against recall, with a bootstrap band: for few positives among many negatives.

    Create it with `from_estimator` or `from_predictions`; several curves share axes through `ax`.

    Parameters
    ----------
    precision, recall : ndarray
        Precision and recall at every threshold.
    average_precision : float or None
        Average precision, shown in the legend.
    interval : tuple of two floats or None
        Of the average precision, by the bootstrap.
    name : str or None
        Label of the curve in the legend.
    pos_label : default=None
        The class that counts as positive.
    prevalence : float or None
        The fraction of positives, the precision of guessing.
    band : tuple of three ndarrays or None
        Grid of recalls, lower and upper ends.

    Attributes
    ----------
    line_ : Line2D
        The line drawn.
    chance_level_ : Line2D or None
        The line of a random classifier, if drawn.
    fill_between_ : FillBetweenPolyCollection or None
        The shaded bands.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import kilogram as kg
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = kg.GaussianNB().fit(X[::2], y[::2])
    >>> display = kg.PrecisionRecallDisplay.from_estimator(model, X[1::2], y[1::2], n_bootstrap=20)
    >>> 0.9 < display.average_precision <= 1
    True
    """

    _labels = ("recall", "precision")

    def __init__(
        self,
        *,
        precision: Any,
        recall: Any,
        average_precision: float | None = None,
        interval: Any = None,
        name: str | None = None,
        pos_label: Any = None,
        prevalence: float | None = None,
        band: Any = None,
    ):
        self.precision, self.recall, self.average_precision = precision, recall, average_precision
        self.interval, self.name, self.pos_label = interval, name, pos_label
        self.prevalence, self.band = prevalence, band

    @classmethod
    def _on_grid(cls, found: ThresholdCurve) -> np.ndarray:
        """The precision at the first threshold that reaches each recall."""
        at = np.searchsorted(found.hits, GRID, side="left")
        return found.precision[np.clip(np.maximum(at, 1), None, len(found.hits) - 1)]

    @classmethod
    def _from_curve(
        cls, found: ThresholdCurve, y: Any, score: Any, confidence: float, positive: Any
    ) -> Self:
        area = rows_interval(_average_precision, y, score, draws=200, confidence=confidence)
        return cls(
            precision=found.precision, recall=found.hits, pos_label=positive,
            average_precision=area.mean, interval=(area.low, area.high),
            prevalence=float(np.mean(y)),
        )  # fmt: skip

    def plot(
        self, ax: Any = None, *, name: str | None = None, plot_chance_level: bool = True
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        name : str or None, default=None
            In the legend.
        plot_chance_level : bool, default=True

        Returns
        -------
        PrecisionRecallDisplay
        """
        area = "" if self.average_precision is None else f"AP {self.average_precision:.3f}"
        if self.interval is not None:
            area += f" [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"
        ax = self._draw(ax, name, area, self.recall, self.precision, drawstyle="steps-pre")
        self.chance_level_ = None
        if plot_chance_level and self.prevalence is not None:
            self.chance_level_ = ax.axhline(self.prevalence, color=style.QUIET, lw=1, ls="--")
        style.legend(ax, loc="lower left")
        return self


def _average_precision(y: np.ndarray, score: np.ndarray) -> float:
    return curve(y, score).average_precision


def _draws(
    y: np.ndarray, score: np.ndarray, n: int, rng: np.random.Generator
) -> list[ThresholdCurve]:
    """Curves of rows drawn again, class by class."""
    parts = [np.flatnonzero(y == c) for c in (0, 1)]
    found = []
    for _ in range(n):
        rows = np.concatenate([rng.choice(part, len(part)) for part in parts])
        found.append(curve(y[rows], score[rows]))
    return found


def positive_class(classes: np.ndarray, pos_label: Any, display: str) -> Any:
    """The positive class."""
    if pos_label is not None:
        if pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not one of {classes.tolist()}.")
        return pos_label
    if len(classes) != 2:
        raise ValueError(
            f"{display} draws two classes, y has {len(classes)}: name one with pos_label to draw "
            "it against the others."
        )
    return classes[1]


def positive_scores(
    estimator: BaseEstimator, X: Any, classes: np.ndarray, positive: Any
) -> np.ndarray:
    """Higher for the positive class."""
    at = int(np.flatnonzero(classes == positive)[0])
    if hasattr(estimator, "predict_proba"):
        return np.asarray(to_numpy(estimator.predict_proba(X)))[:, at]
    values = np.asarray(to_numpy(estimator.decision_function(X)))
    if values.ndim == 2:
        return values[:, at]
    return values if at == 1 else -values
