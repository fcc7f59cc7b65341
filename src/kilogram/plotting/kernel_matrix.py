"""A Gram matrix as a picture."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, check_parameter
from kilogram.kernels.names import as_kernel
from kilogram.plotting import style, validation


class KernelMatrixDisplay:
    """The matrix k(x_i, x_j), rows sorted by class: a good kernel shows bright blocks.

    Create it with `from_kernel` or `from_estimator`.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Gram matrix, with rows sorted by class.
    classes : ndarray or None
        Classes that order the rows.
    counts : ndarray or None
        Rows of each class.
    name : str
        Name of the kernel.

    Attributes
    ----------
    im_ : AxesImage
        The image drawn.
    lines_ : list of Line2D
        Borders of the classes.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> import kilogram as kg
    >>> X, y = kg.make_two_moons(60, random_state=0)
    >>> display = kg.KernelMatrixDisplay.from_kernel(kg.Gaussian(sigma=0.5), X, y)
    >>> display.matrix.shape
    (60, 60)
    """

    def __init__(self, *, matrix: Any, classes: Any = None, counts: Any = None, name: str = ""):
        self.matrix, self.classes, self.counts, self.name = matrix, classes, counts, name

    @classmethod
    def from_kernel(
        cls, kernel: Any, X: Any, y: Any = None, *, max_rows: int = 1000, ax: Any = None
    ) -> Self:
        """Compute the matrix of a kernel and draw it.

        Parameters
        ----------
        kernel : Kernel or str
            Such as ``kg.Gaussian(sigma=1.0)`` or "rbf".
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or None, default=None
            Classes (or a target) to sort the rows by; None keeps their order.
        max_rows : int, default=1000
            Of more rows, so many at equal distances are taken.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        KernelMatrixDisplay
        """
        check_parameter("max_rows", max_rows, Integer(1))
        points = validation.as_matrix(X)
        order = np.arange(len(points))
        values = None if y is None else validation.as_columns(y, points[:, 0], ("y", "X"))[0]
        if values is not None:
            order = np.argsort(values, kind="stable")
        if len(order) > max_rows:
            order = order[np.linspace(0, len(order) - 1, int(max_rows)).round().astype(int)]
        found = as_kernel(kernel).resolve(points)
        classes = counts = None
        if values is not None and len(np.unique(values)) <= 20:
            classes, counts = np.unique(values[order], return_counts=True)
        matrix = np.asarray(to_numpy(found(points[order])))
        return cls(matrix=matrix, classes=classes, counts=counts, name=_short(found)).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 1000,
        ax: Any = None,
    ) -> Self:
        """Draw the kernel of a fitted kernel method (`kernel_`) on the rows of X.

        Parameters
        ----------
        estimator : fitted kernel method
        X : array-like of shape (n, d)
        y : array-like of shape (n,) or None, default=None
        max_rows : int, default=1000
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        KernelMatrixDisplay
        """
        validation.check_fitted(estimator, cls.__name__)
        kernel = getattr(estimator, "kernel_", getattr(estimator, "kernel", None))
        if kernel is None or isinstance(kernel, (list, tuple)):
            raise TypeError(
                f"{type(estimator).__name__} has no single kernel: give one to from_kernel."
            )
        return cls.from_kernel(kernel, X, y, max_rows=max_rows, ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        KernelMatrixDisplay
        """
        ax = style.new_axes(ax, (5.2, 4.4))
        self.ax_, self.figure_ = ax, ax.figure
        signed = float(self.matrix.min()) < 0
        top = float(np.abs(self.matrix).max()) or 1.0
        limits = {"vmin": -top if signed else 0.0, "vmax": top}
        cmap = style.DIVERGING if signed else "magma"
        self.im_ = ax.imshow(self.matrix, cmap=cmap, interpolation="nearest", **limits)
        ax.figure.colorbar(self.im_, ax=ax, label="k(x, x')", shrink=0.9)
        self.lines_ = []
        if self.classes is not None:
            ends = np.cumsum(self.counts)
            for end in ends[:-1]:
                for draw in (ax.axhline, ax.axvline):
                    self.lines_.append(draw(end - 0.5, color="white", lw=0.9))
            middles = ends - np.asarray(self.counts) / 2 - 0.5
            names = [str(c) for c in self.classes]
            ax.set_xticks(middles, names)
            ax.set_yticks(middles, names)
            style.label_axes(ax, "rows by class", "rows by class")
        else:
            style.label_axes(ax, "row", "row")
        ax.set_title(self.name, fontsize=10, color=style.INK, loc="left")
        return self


def _short(kernel: Any) -> str:
    """The kernel with its numbers to four digits."""
    return re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", repr(kernel))[:60]
