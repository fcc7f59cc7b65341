"""The confusion matrix as a table of shades."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import confusion_matrix

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Null, OneOf, check_parameter
from kilogram.plotting import style, validation


class ConfusionMatrixDisplay:
    """Predicted against true classes; shades are fractions of each true class.

    Create it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (k, k)
        Rows are true, columns predicted classes.
    display_labels : sequence or None
        Names of the classes.

    Attributes
    ----------
    im_ : AxesImage
        The image drawn.
    text_ : ndarray of shape (k, k) of Text
        The numbers in the cells.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import kilogram as kg
    >>> X, y = load_wine(return_X_y=True)
    >>> model = kg.GaussianNB().fit(X[::2], y[::2])
    >>> display = kg.ConfusionMatrixDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> int(display.confusion_matrix.sum())
    89
    """

    def __init__(self, confusion_matrix: Any, *, display_labels: Any = None):
        self.confusion_matrix, self.display_labels = confusion_matrix, display_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        normalize: str | None = None,
        display_labels: Any = None,
        ax: Any = None,
    ) -> Self:
        """Predict the rows and draw the matrix.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, d)
            Rows that were not used for the fit.
        y : array-like of shape (n,)
        labels : sequence or None, default=None
            The classes shown and their order; None takes all.
        sample_weight : array-like of shape (n,) or None, default=None
        normalize : {"true", "pred", "all"} or None, default=None
            Show fractions of true classes, of predicted classes or of all rows instead of counts.
        display_labels : sequence or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ConfusionMatrixDisplay
        """
        validation.check_fitted(estimator, cls.__name__, "predict")
        return cls.from_predictions(
            y, to_numpy(estimator.predict(X)), labels=labels, sample_weight=sample_weight,
            normalize=normalize, display_labels=display_labels, ax=ax,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        normalize: str | None = None,
        display_labels: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the matrix of predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
        labels, sample_weight, normalize, display_labels, ax
            As for `from_estimator`.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        check_parameter("normalize", normalize, OneOf("true", "pred", "all") | Null())
        y, f = validation.as_columns(y_true, y_pred, ("y_true", "y_pred"))
        weights = (
            None if sample_weight is None else validation.as_column(sample_weight, "sample_weight")
        )
        classes = np.unique(np.concatenate([y, f])) if labels is None else np.asarray(labels)
        found = confusion_matrix(y, f, labels=classes, sample_weight=weights, normalize=normalize)
        if display_labels is not None and len(display_labels) != len(classes):
            raise ValueError(
                f"display_labels must contain {len(classes)} names, got {len(display_labels)}."
            )
        names = classes if display_labels is None else display_labels
        return cls(found, display_labels=names).plot(ax=ax)

    def plot(
        self, ax: Any = None, *, include_values: bool = True, values_format: str | None = None
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        include_values : bool, default=True
        values_format : str or None, default=None
            None writes whole counts, and fractions with two digits.

        Returns
        -------
        ConfusionMatrixDisplay
        """
        table = np.asarray(self.confusion_matrix)
        k = len(table)
        side = float(np.clip(0.55 * k + 2.4, 4.0, 10.0))
        ax = style.new_axes(ax, (side, side))
        self.ax_, self.figure_ = ax, ax.figure
        totals = table.sum(axis=1, keepdims=True)
        shades = np.divide(table, totals, out=np.zeros(table.shape), where=totals > 0)
        self.im_ = ax.imshow(shades, cmap="Blues", vmin=0, vmax=1)
        whole = bool(np.all(table == np.round(table))) and table.max(initial=0) > 1
        form = values_format or (",.0f" if whole else ".2f")
        self.text_ = np.full((k, k), None, dtype=object)
        for i, j in np.ndindex(k, k) if include_values else ():
            self.text_[i, j] = ax.text(
                j, i, format(table[i, j], form), ha="center", va="center",
                color="white" if shades[i, j] > 0.55 else (style.INK if table[i, j] else "#b9b9c2"),
                fontweight="bold" if i == j else None,
            )  # fmt: skip
        given = self.display_labels
        names = [str(name) for name in (range(k) if given is None else given)]
        long = sum(map(len, names)) > 40
        ax.set_xticks(range(k), names, rotation=45 if long else 0, ha="right" if long else "center")
        ax.set_yticks(range(k), names)
        style.label_axes(ax, "predicted class", "true class")
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.tick_params(length=0)
        return self
