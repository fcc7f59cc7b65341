"""Decision regions of two features, with margins and support vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, OneOf, Real, check_parameter
from kilogram.plotting import style, validation

METHODS = ("auto", "predict", "decision_function", "predict_proba")


class DecisionBoundaryDisplay:
    """What a model predicts over the plane of two features.

    Create it with `from_estimator`. Regions are coloured by the predicted class; with
    ``response_method="predict_proba"`` colours blend by probability, with ``"decision_function"``
    they show the value of two classes. A support vector machine has its margins drawn (where the
    decision function is -1, 0 and 1) and its support vectors ringed.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        The grid.
    response : ndarray of shape (grid_resolution, grid_resolution) or (..., n_classes)
        Response of the model at the points of the grid.
    classes : ndarray or None
        Classes of a classifier, or clusters.
    margin : ndarray or None
        Values of the decision function, if margins are drawn.
    support_vectors : ndarray or None
        Support vectors, marked by rings.
    labels : tuple of str
        Names of the features.

    Attributes
    ----------
    surface_ : matplotlib artist
        The regions.
    lines_ : QuadContourSet or None
        The boundary and the margins.
    points_ : list of PathCollection
        The rows, one collection for every class.
    support_ : PathCollection or None
        Rings around the support vectors.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> import kilogram as kg
    >>> X, y = kg.make_two_moons(100, random_state=0)
    >>> model = kg.SVC(C=10.0).fit(X, y)
    >>> display = kg.DecisionBoundaryDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_xlabel()
    'feature 0'
    """

    def __init__(
        self,
        *,
        xx0: Any,
        xx1: Any,
        response: Any,
        classes: Any = None,
        margin: Any = None,
        support_vectors: Any = None,
        labels: tuple[str, str] = ("feature 0", "feature 1"),
        rows: Any = None,
    ):
        self.xx0, self.xx1, self.response = xx0, xx1, response
        self.classes, self.margin, self.support_vectors = classes, margin, support_vectors
        self.labels, self.rows = labels, rows

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any = None,
        *,
        grid_resolution: int = 200,
        eps: float = 0.3,
        response_method: str = "auto",
        margins: bool | str = "auto",
        feature_names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Predict on a grid around the rows of X and draw it.

        Parameters
        ----------
        estimator : fitted classifier, regressor, clusterer or outlier detector
        X : array-like of shape (n, 2)
            The range of the grid; drawn if y is given.
        y : array-like of shape (n,) or None, default=None
            Classes (or targets) of the rows: they are drawn as points.
        grid_resolution : int, default=200
            Points on each side of the grid.
        eps : float, default=0.3
            Margin around the rows, in standard deviations of each feature.
        response_method : {"auto", "predict", "decision_function", "predict_proba"}
            "auto" is "predict".
        margins : bool or "auto", default="auto"
            Draw the lines of the decision function at -1, 0 and 1; "auto" does for support vector
            machines of two classes.
        feature_names : sequence of str or None, default=None
            None takes those of a data frame.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        DecisionBoundaryDisplay
        """
        check_parameter("grid_resolution", grid_resolution, Integer(2))
        check_parameter("eps", eps, Real(0))
        check_parameter("response_method", response_method, OneOf(*METHODS))
        validation.check_fitted(estimator, cls.__name__, "predict")
        points = validation.as_points(X, cls.__name__)
        rows = None if y is None else validation.as_columns(y, points[:, 0], ("y", "X"))[0]
        xx0, xx1 = grid_around(points, int(grid_resolution), float(eps))
        grid = validation.rows_like(np.c_[xx0.ravel(), xx1.ravel()], X)
        response, classes = _response(estimator, grid, response_method)
        margin = _margin(estimator, grid, margins)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=response.reshape(*xx0.shape, *response.shape[1:]),
            classes=classes,
            margin=None if margin is None else margin.reshape(xx0.shape),
            support_vectors=_support_vectors(estimator),
            labels=tuple(validation.feature_labels(X, feature_names)),  # type: ignore[arg-type]
            rows=None if rows is None else (points, rows),
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
        DecisionBoundaryDisplay
        """
        ax = style.new_axes(ax, (5.4, 4.4))
        self.ax_, self.figure_ = ax, ax.figure
        self.surface_, self.lines_ = self._regions(ax), None
        self.points_: list[Any] = []
        if self.margin is not None:
            self.lines_ = ax.contour(
                self.xx0, self.xx1, self.margin, levels=[-1, 0, 1], colors=style.INK,
                linestyles=["--", "-", "--"], linewidths=[1.0, 1.6, 1.0], zorder=2,
            )  # fmt: skip
        self._draw_rows(ax)
        self.support_ = None
        if self.support_vectors is not None and self.rows is not None:
            self.support_ = ax.scatter(
                *self.support_vectors.T, s=90, facecolors="none", edgecolors=style.INK,
                linewidths=1.0, zorder=4, label="support vectors",
            )  # fmt: skip
        ax.set_xlim(self.xx0.min(), self.xx0.max())
        ax.set_ylim(self.xx1.min(), self.xx1.max())
        style.label_axes(ax, *self.labels)
        if self.classes is None or len(self.classes) <= 10:
            style.legend(ax, frameon=True, framealpha=0.85, edgecolor="none")
        return self

    def _regions(self, ax: Any) -> Any:
        """Classes as pale colours, probabilities as blends of them, values as shades."""
        extent = (self.xx0.min(), self.xx0.max(), self.xx1.min(), self.xx1.max())
        if self.classes is None:
            drawn = ax.contourf(self.xx0, self.xx1, self.response, 16, cmap=style.SEQUENTIAL)
            ax.figure.colorbar(drawn, ax=ax, label="prediction")
            return drawn
        if self.response.dtype.kind == "f" and self.response.ndim == 2:  # values of two classes
            top = float(np.abs(self.response).max()) or 1.0
            levels = np.linspace(-top, top, 21)
            drawn = ax.contourf(
                self.xx0, self.xx1, self.response, levels, cmap=_between_classes(), alpha=0.75
            )
            ax.figure.colorbar(drawn, ax=ax, label="decision function")
            ax.contour(self.xx0, self.xx1, self.response, [0.0], colors=style.INK, linewidths=1.2)
            return drawn
        palette = _rgb(style.colours(len(self.classes)))
        if self.response.ndim == 3:
            picture = 1 - 0.75 * (1 - self.response @ palette)
        else:
            picture = 1 - 0.3 * (1 - palette[self.response])
            for code in range(len(self.classes) if self.margin is None else 0):
                inside = (self.response == code).astype(float)
                if 0 < inside.mean() < 1:
                    ax.contour(self.xx0, self.xx1, inside, [0.5], colors=style.INK, linewidths=0.8)
        return ax.imshow(
            np.clip(picture, 0, 1), extent=extent, origin="lower", aspect="auto",
            interpolation="bilinear", zorder=0,
        )  # fmt: skip

    def _draw_rows(self, ax: Any) -> None:
        if self.rows is None:
            return
        points, y = self.rows
        if self.classes is None:
            found = ax.scatter(
                *points.T, c=y, s=24, cmap=style.SEQUENTIAL, edgecolors="white", linewidths=0.6,
                norm=self.surface_.norm,
            )  # fmt: skip
            self.points_ = [found]
            return
        known = np.unique(y)
        names = self.classes if set(known) <= set(self.classes) else known
        self.points_ = style.scatter_classes(ax, points, y, names)


def grid_around(points: np.ndarray, m: int, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates around the rows; a constant feature has the width 1."""
    spread = points.std(axis=0)
    spread[spread == 0] = 1.0
    low, high = points.min(axis=0) - eps * spread, points.max(axis=0) + eps * spread
    same = high <= low
    low[same], high[same] = low[same] - 0.5, high[same] + 0.5
    xx0, xx1 = np.meshgrid(*(np.linspace(a, b, m) for a, b in zip(low, high, strict=True)))
    return xx0, xx1


def _response(
    estimator: BaseEstimator, grid: Any, method: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes of classes (n,), probabilities (n, k), values (n,), and the classes if any."""
    if is_regressor(estimator):
        if method not in ("auto", "predict"):
            raise ValueError(f"A regressor has no {method}: use response_method='predict'.")
        return np.asarray(to_numpy(estimator.predict(grid)), dtype=float).reshape(len(grid)), None
    if method in ("auto", "predict"):
        predicted = np.asarray(to_numpy(estimator.predict(grid)))
        classes = np.unique(_classes(estimator, predicted))
        return np.searchsorted(classes, predicted), classes
    if not hasattr(estimator, method):
        raise AttributeError(
            f"{type(estimator).__name__} has no {method}: use response_method='predict'."
        )
    values = np.asarray(to_numpy(getattr(estimator, method)(grid)), dtype=float)
    classes = np.asarray(to_numpy(getattr(estimator, "classes_", np.array([-1, 1]))))
    if method == "decision_function" and values.ndim == 2:
        raise ValueError(
            f"The decision function has {values.shape[1]} columns: use 'predict' or "
            "'predict_proba' for more than two classes."
        )
    return values, classes


def _classes(estimator: BaseEstimator, predicted: np.ndarray) -> np.ndarray:
    if hasattr(estimator, "classes_"):
        return np.asarray(to_numpy(estimator.classes_))
    labels = np.asarray(to_numpy(getattr(estimator, "labels_", predicted[:0])))
    return np.concatenate([predicted, labels.astype(predicted.dtype)])


def _support_vectors(estimator: BaseEstimator) -> np.ndarray | None:
    """Rows of the plane; those of a precomputed kernel are none."""
    found = getattr(estimator, "support_vectors_", None)
    if found is None:
        return None
    vectors = validation.as_matrix(found) if len(found) else np.empty((0, 2))
    return vectors if vectors.shape[1] == 2 else None


def _margin(estimator: BaseEstimator, grid: Any, margins: bool | str) -> np.ndarray | None:
    """The decision function of two classes, where its lines are wanted."""
    machine = type(estimator).__name__ in ("SVC", "LinearSVC", "NuSVC")
    if margins is False or (margins == "auto" and not machine):
        return None
    if margins not in (True, "auto"):
        raise ValueError(f"margins must be a bool or 'auto', got {margins!r}.")
    wide = not hasattr(estimator, "decision_function")
    values = None if wide else np.asarray(to_numpy(estimator.decision_function(grid)))
    if values is None or values.ndim != 1:
        if margins == "auto":
            return None
        raise ValueError("margins=True needs a decision_function of two classes.")
    return values


def _rgb(names: list[Any]) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(name) for name in names])


def _between_classes() -> Any:
    """From the colour of the first class over white to that of the second."""
    from matplotlib.colors import LinearSegmentedColormap

    first, second = style.PALETTE[:2]
    return LinearSegmentedColormap.from_list("classes", [first, "#ffffff", second])
