"""Scores over the number of training rows, or over a parameter.

The band of the test scores is the corrected resampled interval of Nadeau and Bengio, not the spread
of the folds: folds share training rows, and their spread understates what is unknown
(`kilogram.evaluation.corrected_interval`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, learning_curve, validation_curve

from kilogram.base.constraints import OneOf, Real, check_parameter
from kilogram.evaluation.intervals import corrected_interval
from kilogram.plotting import style

SCORES = ("both", "train", "test")
#: What a score can be, so that no band goes beyond it.
RANGES = {
    "R²": (-np.inf, 1.0),
    "r2": (-np.inf, 1.0),
    **dict.fromkeys(("accuracy", "balanced accuracy", "roc auc", "f1"), (0.0, 1.0)),
}


class _ScoreCurves:
    """Training and test scores over some quantity."""

    train_scores: Any
    test_scores: Any
    score_name: str
    fractions: Any  # test rows over training rows, at every point
    confidence: float

    def _draw(self, ax: Any, x: np.ndarray, score_type: str, xlabel: str) -> Any:
        check_parameter("score_type", score_type, OneOf(*SCORES))
        ax = style.new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        self.fill_between_: list[Any] = []
        curves = {"train": self.train_scores, "test": self.test_scores}
        names = {"train": "training rows", "test": "cross-validation"}
        for (kind, scores), colour in zip(curves.items(), style.PALETTE[1::-1], strict=True):
            if score_type in ("both", kind):
                self._curve(ax, x, np.asarray(scores), colour, names[kind])
        style.label_axes(ax, xlabel, self.score_name)
        style.legend(ax)
        return ax

    def _curve(self, ax: Any, x: np.ndarray, scores: np.ndarray, colour: str, name: str) -> None:
        self.lines_ += ax.plot(x, scores.mean(axis=1), "o-", color=colour, ms=4, lw=1.8, label=name)
        ratios = np.broadcast_to(self.fractions, len(x))
        if scores.shape[1] > 1 and name != "training rows":
            limits = RANGES.get(self.score_name, (-np.inf, np.inf))
            ends = [
                corrected_interval(row, 1.0, float(ratio), confidence=self.confidence).clipped(
                    *limits
                )
                for row, ratio in zip(scores, ratios, strict=True)
            ]
            low, high = [end.low for end in ends], [end.high for end in ends]
            self.fill_between_.append(
                ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
            )


class LearningCurveDisplay(_ScoreCurves):
    """Scores on training rows and on rows left out, over the number of rows learnt from.

    Create it with `from_estimator`. Two curves far apart: more rows or more penalty would help. Two
    curves together and low: the model is too simple. The band is the corrected resampled
    interval of the mean test score.

    Parameters
    ----------
    train_sizes : ndarray of shape (m,)
        Number of training rows at each point of the curve.
    train_scores, test_scores : ndarray of shape (m, n_folds)
        Scores of every fold.
    score_name : str
        Label of the axis of scores.
    fractions : float or ndarray
        Rows of a test part over rows learnt from.
    confidence : float
        Confidence level of the bands.

    Attributes
    ----------
    lines_ : list of Line2D
        The lines drawn.
    fill_between_ : list of FillBetweenPolyCollection
        The shaded bands.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = kg.LearningCurveDisplay.from_estimator(kg.Ridge(), X, y)
    >>> display.test_scores.shape
    (5, 5)
    """

    def __init__(
        self,
        *,
        train_sizes: Any,
        train_scores: Any,
        test_scores: Any,
        score_name: str = "score",
        fractions: Any = 0.25,
        confidence: float = 0.95,
    ):
        self.train_sizes, self.train_scores, self.test_scores = (
            train_sizes, train_scores, test_scores,
        )  # fmt: skip
        self.score_name, self.fractions, self.confidence = score_name, fractions, confidence

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        train_sizes: Any = (0.1, 0.2, 0.4, 0.7, 1.0),
        cv: Any = None,
        scoring: Any = None,
        shuffle: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        confidence: float = 0.95,
        score_type: str = "both",
        score_name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit on growing parts of the training rows of every fold.

        Parameters
        ----------
        estimator : estimator
            Clones of it are fitted.
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or None
        groups : array-like of shape (n,) or None, default=None
        train_sizes : array-like
            Fractions of the training part, or numbers of rows.
        cv : int, splitter or None, default=None
        scoring : str, callable or None, default=None
        shuffle : bool, default=True
            Shuffle the training rows before they are cut, with `random_state`.
        random_state : int, RandomState or None, default=0
        n_jobs : int or None, default=None
        confidence : float, default=0.95
            Of the bands.
        score_type : {"both", "train", "test"}
        score_name : str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        LearningCurveDisplay
        """
        check_parameter("confidence", confidence, Real(0, 1, closed="neither"))
        sizes, train, test = learning_curve(
            estimator, X, y, groups=groups, train_sizes=np.asarray(train_sizes), cv=cv,
            scoring=scoring, shuffle=shuffle, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        tested = float(np.mean(_test_rows(estimator, X, y, groups, cv)))
        return cls(
            train_sizes=sizes, train_scores=train, test_scores=test,
            score_name=score_name or _score_name(estimator, scoring), fractions=tested / sizes,
            confidence=confidence,
        ).plot(ax=ax, score_type=score_type)  # fmt: skip

    def plot(self, ax: Any = None, *, score_type: str = "both") -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        score_type : {"both", "train", "test"}

        Returns
        -------
        LearningCurveDisplay
        """
        self._draw(ax, np.asarray(self.train_sizes), score_type, "training rows")
        return self


class ValidationCurveDisplay(_ScoreCurves):
    """Scores on training rows and on rows left out, over the values of one parameter.

    Create it with `from_estimator`. Where the curves part, the model begins to overfit. The band
    is the corrected resampled interval of the mean test score; a dashed line marks the best mean.

    Parameters
    ----------
    param_name : str
        Name of the parameter.
    param_range : sequence
        Values of the parameter.
    train_scores, test_scores : ndarray of shape (m, n_folds)
        Scores of every fold.
    score_name : str
        Label of the axis of scores.
    fractions : float
        Rows of a test part over rows learnt from.
    confidence : float
        Confidence level of the bands.

    Attributes
    ----------
    lines_ : list of Line2D
        The lines drawn.
    fill_between_ : list of FillBetweenPolyCollection
        The shaded bands.
    best_ : Line2D
        The marked best value.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = kg.ValidationCurveDisplay.from_estimator(
    ...     kg.Ridge(), X, y, param_name="alpha", param_range=[0.01, 0.1, 1.0, 10.0]
    ... )
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        *,
        param_name: str,
        param_range: Any,
        train_scores: Any,
        test_scores: Any,
        score_name: str = "score",
        fractions: Any = 0.25,
        confidence: float = 0.95,
    ):
        self.param_name, self.param_range = param_name, param_range
        self.train_scores, self.test_scores, self.score_name = train_scores, test_scores, score_name
        self.fractions, self.confidence = fractions, confidence

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        param_name: str,
        param_range: Any,
        groups: Any = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        confidence: float = 0.95,
        score_type: str = "both",
        score_name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Cross-validate every value of the parameter.

        Parameters
        ----------
        estimator : estimator
            Clones of it are fitted.
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or None
        param_name : str
            As for `set_params`: "kernel__sigma" for a nested one.
        param_range : sequence
        groups : array-like of shape (n,) or None, default=None
        cv : int, splitter or None, default=None
        scoring : str, callable or None, default=None
        n_jobs : int or None, default=None
        confidence : float, default=0.95
            Of the bands.
        score_type : {"both", "train", "test"}
        score_name : str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ValidationCurveDisplay
        """
        check_parameter("confidence", confidence, Real(0, 1, closed="neither"))
        if not len(param_range):
            raise ValueError("param_range must contain at least one value, got none.")
        train, test = validation_curve(
            estimator, X, y, param_name=param_name, param_range=param_range, groups=groups, cv=cv,
            scoring=scoring, n_jobs=n_jobs,
        )  # fmt: skip
        tested = float(np.mean(_test_rows(estimator, X, y, groups, cv)))
        rows = float(_rows(X))
        return cls(
            param_name=param_name, param_range=param_range, train_scores=train, test_scores=test,
            score_name=score_name or _score_name(estimator, scoring),
            fractions=tested / (rows - tested), confidence=confidence,
        ).plot(ax=ax, score_type=score_type)  # fmt: skip

    def plot(self, ax: Any = None, *, score_type: str = "both") -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        score_type : {"both", "train", "test"}

        Returns
        -------
        ValidationCurveDisplay
        """
        values = list(self.param_range)
        are_numbers = all(np.isscalar(v) and not isinstance(v, (str, bool)) for v in values)
        x = np.asarray(values, dtype=float) if are_numbers else np.arange(len(values))
        ax = self._draw(ax, x, score_type, self.param_name)
        if not are_numbers:
            ax.set_xticks(x, [str(v) for v in values])
        elif np.all(x > 0) and x.max() / x.min() > 50:
            ax.set_xscale("log")
        best = x[int(np.argmax(np.asarray(self.test_scores).mean(axis=1)))]
        self.best_ = ax.axvline(best, color=style.INK, lw=1.0, ls=(0, (5, 4)))
        return self


def _test_rows(estimator: BaseEstimator, X: Any, y: Any, groups: Any, cv: Any) -> list[int]:
    splits = check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups)
    return [len(test) for _, test in splits]


def _rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _score_name(estimator: BaseEstimator, scoring: Any) -> str:
    """Label of the axis of scores."""
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is not None:
        return getattr(scoring, "__name__", "score")
    check_scoring(estimator)
    return "accuracy" if is_classifier(estimator) else "R²"
