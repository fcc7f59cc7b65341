"""Silhouettes by cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.evaluation.silhouette import silhouette_samples
from kilogram.plotting import style, validation


class SilhouetteDisplay:
    """The silhouette of every row, sorted within its cluster: good clusters look alike.

    Create it with `from_estimator` or `from_predictions`. Rows below 0 are nearer to another
    cluster.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Silhouette of every row.
    labels : ndarray of shape (n,)
        Clusters of the rows.

    Attributes
    ----------
    bars_ : list of FillBetweenPolyCollection
        The bars drawn, one collection for every cluster.
    line_ : Line2D
        The mean of all rows.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> import kilogram as kg
    >>> X, _ = make_blobs(90, centers=3, random_state=0)
    >>> model = kg.KMeans(3, random_state=0).fit(X)
    >>> display = kg.SilhouetteDisplay.from_estimator(model, X)
    >>> len(display.bars_)
    3
    """

    def __init__(self, *, values: Any, labels: Any):
        self.values, self.labels = values, labels

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Any, *, metric: Any = "euclidean", ax: Any = None
    ) -> Self:
        """Draw the silhouettes of a fitted clusterer.

        Parameters
        ----------
        estimator : fitted clusterer
        X : array-like of shape (n, d)
        metric : str, Kernel or callable, default="euclidean"
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        SilhouetteDisplay
        """
        validation.check_fitted(estimator, cls.__name__, "predict", "labels_")
        known = getattr(estimator, "labels_", None)
        if known is None or (hasattr(estimator, "predict") and len(known) != len(X)):
            known = estimator.predict(X)
        return cls.from_predictions(X, to_numpy(known), metric=metric, ax=ax)

    @classmethod
    def from_predictions(
        cls, X: Any, labels: Any, *, metric: Any = "euclidean", ax: Any = None
    ) -> Self:
        """Draw the silhouettes of labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
        labels : array-like of shape (n,)
            -1 is no cluster: such rows are left out.
        metric : str, Kernel or callable, default="euclidean"
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        SilhouetteDisplay
        """
        names = validation.as_column(labels, "labels")
        if names.dtype.kind in "iu" and (names < 0).any():
            rows = validation.as_matrix(X)
            X, names = rows[names >= 0], names[names >= 0]
        return cls(values=silhouette_samples(X, names, metric=metric), labels=names).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        SilhouetteDisplay
        """
        ax = style.new_axes(ax, (5.2, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        clusters = np.unique(self.labels)
        gap, start, middles = max(1.0, 0.02 * len(self.values)), 0.0, []
        self.bars_ = []
        for c, colour in zip(clusters, style.colours(len(clusters)), strict=True):
            values = np.sort(self.values[self.labels == c])
            at = start + np.arange(len(values) + 1)
            edge = np.append(values, values[-1])
            self.bars_.append(ax.fill_betweenx(at, 0, edge, color=colour, step="post", linewidth=0))
            middles.append(start + len(values) / 2)
            start += len(values) + gap
        mean = float(np.mean(self.values))
        self.line_ = ax.axvline(mean, color=style.INK, lw=1.0, ls=(0, (5, 4)))
        ax.axvline(0, color=style.QUIET, lw=0.8)
        ax.set_yticks(middles, [str(c) for c in clusters])
        ax.tick_params(axis="y", length=0)
        style.label_axes(ax, "silhouette", "cluster")
        ax.set_title(f"mean silhouette {mean:.3f}", loc="left", fontsize=10, color=style.INK)
        return self
