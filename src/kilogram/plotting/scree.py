"""Variance by component."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.base.constraints import Real, check_parameter
from kilogram.plotting import style, validation


class ScreeDisplay:
    """The variance of every component, and how much the first ones explain together.

    Create it with `from_estimator` or `from_values`.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Fractions of the variance, or eigenvalues.
    are_ratios : bool
        Whether they are fractions of all variance, which can be added up.
    threshold : float or None
        Fraction of the variance marked by a line.

    Attributes
    ----------
    bars_ : BarContainer
        The bars drawn.
    line_ : Line2D or None
        The cumulative fraction.
    n_components_ : int or None
        Components that explain the threshold; None if those fitted do not.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import kilogram as kg
    >>> X, _ = load_wine(return_X_y=True)
    >>> model = kg.PCA().fit((X - X.mean(axis=0)) / X.std(axis=0))
    >>> kg.ScreeDisplay.from_estimator(model, threshold=0.8).n_components_
    5
    """

    def __init__(self, *, values: Any, are_ratios: bool = True, threshold: float | None = None):
        self.values, self.are_ratios, self.threshold = values, are_ratios, threshold

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, threshold: float | None = 0.9, ax: Any = None
    ) -> Self:
        """Draw a fitted PCA, or the eigenvalues of a fitted kernel PCA or embedding.

        Parameters
        ----------
        estimator : fitted model
            With `explained_variance_ratio_`, `eigenvalues_` or `singular_values_`.
        threshold : float or None, default=0.9
            The fraction of the variance to reach; None draws no line.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ScreeDisplay
        """
        validation.check_fitted(estimator, cls.__name__)
        names = ("explained_variance_ratio_", "eigenvalues_", "singular_values_")
        values = validation.first_attribute(
            estimator, cls.__name__, names, "PCA, KernelPCA and their relatives"
        )
        ratios = getattr(estimator, names[0], None) is not None
        return cls._of(values, ratios, threshold, ax)

    @classmethod
    def from_values(
        cls,
        values: Any,
        *,
        are_ratios: bool = False,
        threshold: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw eigenvalues or fractions of the variance.

        Parameters
        ----------
        values : array-like of shape (m,)
        are_ratios : bool, default=False
            They are fractions of the whole variance.
        threshold : float or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        ScreeDisplay
        """
        return cls._of(validation.as_column(values, "values"), are_ratios, threshold, ax)

    @classmethod
    def _of(cls, values: Any, ratios: bool, threshold: float | None, ax: Any) -> Self:
        if threshold is not None:
            check_parameter("threshold", threshold, Real(0, 1, closed="right"))
        values = np.asarray(values, dtype=float)
        return cls(values=values, are_ratios=ratios, threshold=threshold).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        ScreeDisplay
        """
        ax = style.new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        at = np.arange(1, len(self.values) + 1)
        blue, red = style.PALETTE[:2]
        self.bars_ = ax.bar(at, self.values, color=blue, width=0.75, label="component")
        self.line_ = None
        self.n_components_: int | None = None
        if self.are_ratios:
            total = np.cumsum(self.values)
            (self.line_,) = ax.plot(at, total, "o-", color=red, ms=4, lw=1.8, label="together")
            ax.set_ylim(0, max(1.02, float(total[-1])))
            self._draw_threshold(ax, total)
            style.legend(ax, loc="center right")
        ax.xaxis.get_major_locator().set_params(integer=True)
        style.label_axes(
            ax, "component", "fraction of the variance" if self.are_ratios else "eigenvalue"
        )
        return self

    def _draw_threshold(self, ax: Any, total: np.ndarray) -> None:
        if self.threshold is None:
            return
        ax.axhline(self.threshold, color=style.QUIET, lw=1.0, ls=(0, (5, 4)), zorder=0)
        reached = np.flatnonzero(total >= self.threshold - 1e-12)
        if len(reached):
            self.n_components_ = int(reached[0]) + 1
            some = "component explains" if self.n_components_ == 1 else "components explain"
            ax.set_title(
                f"{self.n_components_} {some} {self.threshold:.0%} of the variance",
                loc="left", fontsize=10, color=style.INK,
            )  # fmt: skip
