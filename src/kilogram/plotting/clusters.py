"""Clusters of two features: rows, centres, borders, and the ellipses of a mixture."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, check_parameter
from kilogram.plotting import style, validation
from kilogram.plotting.decision_boundary import grid_around


class ClusterDisplay:
    """Rows coloured by cluster, with centres, borders and ellipses.

    Create it with `from_estimator`. A model that can predict has the borders of its clusters drawn;
    a Gaussian mixture has an ellipse of one and of two standard deviations for every component.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        The rows.
    labels : ndarray of shape (n,)
        -1 is no cluster.
    centers : ndarray of shape (k, 2) or None
        Centres of the clusters.
    covariances : ndarray of shape (k, 2, 2) or None
        Covariances of the components, drawn as ellipses.
    regions : tuple of three ndarrays or None
        Grid and the cluster at each of its points.
    names : tuple of str
        Names of the features.

    Attributes
    ----------
    points_ : list of PathCollection
        The points drawn, one collection for every cluster.
    centers_ : PathCollection or None
        The centres.
    ellipses_ : list of Ellipse
        The ellipses drawn.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> import kilogram as kg
    >>> X, _ = make_blobs(90, centers=3, random_state=0)
    >>> model = kg.GaussianMixture(3, random_state=0).fit(X)
    >>> display = kg.ClusterDisplay.from_estimator(model, X)
    >>> len(display.ellipses_)
    6
    """

    def __init__(
        self,
        *,
        points: Any,
        labels: Any,
        centers: Any = None,
        covariances: Any = None,
        regions: Any = None,
        names: tuple[str, str] = ("feature 0", "feature 1"),
    ):
        self.points, self.labels, self.centers = points, labels, centers
        self.covariances, self.regions, self.names = covariances, regions, names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        *,
        borders: bool = True,
        grid_resolution: int = 300,
        feature_names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted clusterer or mixture.

        Parameters
        ----------
        estimator : fitted clusterer or mixture
            With `predict`, or with `labels_` of the rows of X.
        X : array-like of shape (n, 2)
        borders : bool, default=True
            Draw borders, where the model can predict.
        grid_resolution : int, default=300
        feature_names : sequence of str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ClusterDisplay
        """
        check_parameter("grid_resolution", grid_resolution, Integer(2))
        validation.check_fitted(estimator, cls.__name__, "predict", "labels_")
        points = validation.as_points(X, cls.__name__)
        labels = _labels(estimator, X, len(points))
        regions = None
        if borders and hasattr(estimator, "predict"):
            xx0, xx1 = grid_around(points, int(grid_resolution), 0.3)
            grid = validation.rows_like(np.c_[xx0.ravel(), xx1.ravel()], X)
            cells = np.asarray(to_numpy(estimator.predict(grid))).reshape(xx0.shape)
            regions = (xx0, xx1, cells)
        centers = next(
            (
                getattr(estimator, a)
                for a in ("cluster_centers_", "means_")
                if hasattr(estimator, a)
            ),
            None,
        )
        centers = None if centers is None else np.asarray(to_numpy(centers))
        return cls(
            points=points, labels=labels, regions=regions,
            centers=centers if centers is not None and centers.shape[1:] == (2,) else None,
            covariances=_covariances(estimator),
            names=tuple(validation.feature_labels(X, feature_names)),  # type: ignore[arg-type]
        ).plot(ax=ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        ClusterDisplay
        """
        ax = style.new_axes(ax, (5.4, 4.4))
        self.ax_, self.figure_ = ax, ax.figure
        clusters = np.unique(self.labels)
        clusters = clusters[clusters >= 0]
        palette = style.colours(max(len(clusters), len(self.covariances or ())))
        noise = self.labels < 0
        if noise.any():
            ax.scatter(*self.points[noise].T, s=14, color="#b9b9c2", marker="x", label="noise")
        self.points_ = [
            ax.scatter(*self.points[self.labels == c].T, s=22, color=palette[j % len(palette)],
                       alpha=0.75, edgecolors="white", linewidths=0.5, label=f"cluster {c}")
            for j, c in enumerate(clusters)
        ]  # fmt: skip
        if self.regions is not None:
            xx0, xx1, cells = self.regions
            for c in np.unique(cells)[1:]:
                inside = (cells == c).astype(float)
                ax.contour(xx0, xx1, inside, [0.5], colors=style.QUIET, linewidths=0.9)
            ax.set_xlim(xx0.min(), xx0.max())
            ax.set_ylim(xx1.min(), xx1.max())
        self.ellipses_ = self._ellipses(ax, palette)
        self.centers_ = None
        if self.centers is not None:
            self.centers_ = ax.scatter(
                *self.centers.T, s=110, marker="X", color=style.INK, edgecolors="white",
                linewidths=1.2, zorder=4, label="centres",
            )  # fmt: skip
        style.label_axes(ax, *self.names)
        if len(clusters) <= 10:
            style.legend(ax, frameon=True, framealpha=0.85, edgecolor="none")
        return self

    def _ellipses(self, ax: Any, palette: list[Any]) -> list[Any]:
        """One and two standard deviations of every component."""
        from matplotlib.patches import Ellipse

        drawn = []
        for j, covariance in enumerate([] if self.covariances is None else self.covariances):
            values, vectors = np.linalg.eigh(covariance)
            angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
            width, height = 2 * np.sqrt(np.maximum(values[::-1], 0))
            for times in (1, 2):
                ring = Ellipse(
                    self.centers[j], times * width, times * height, angle=angle, fill=False,
                    edgecolor=palette[j % len(palette)], linewidth=2.2 - 0.6 * times, zorder=3,
                )  # fmt: skip
                drawn.append(ax.add_patch(ring))
        return drawn


def _labels(estimator: BaseEstimator, X: Any, n: int) -> np.ndarray:
    labels = getattr(estimator, "labels_", None)
    if labels is not None and len(labels) == n and not hasattr(estimator, "predict"):
        return np.asarray(to_numpy(labels))
    if hasattr(estimator, "predict"):
        return np.asarray(to_numpy(estimator.predict(X)))
    rows = 0 if labels is None else len(labels)
    raise ValueError(
        f"{type(estimator).__name__} cannot predict and was fitted on {rows} rows, "
        f"X has {n}: give the rows it was fitted on."
    )


def _covariances(estimator: BaseEstimator) -> list[np.ndarray] | None:
    """One matrix for every component, whatever form the mixture stores."""
    if not hasattr(estimator, "covariances_"):
        return None
    stored = np.asarray(to_numpy(estimator.covariances_))
    k = len(estimator.means_)
    kind = getattr(estimator, "covariance_type", "full")
    if kind == "tied":
        return [stored] * k
    if kind == "diag":
        return [np.diag(row) for row in stored]
    if kind == "spherical":
        return [value * np.eye(2) for value in stored]
    return list(stored) if stored.ndim == 3 else None
