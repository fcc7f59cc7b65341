"""Coefficients over the strength of the penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_consistent_length

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, check_parameter
from kilogram.plotting import style, validation

LABELLED = 8  # coefficients with a colour and a name: as many as colours that one tells apart


class CoefficientPathDisplay:
    """Coefficients of a linear model as its penalty changes.

    Create it with `from_estimator`, which fits the model for every value, or with `from_path` from
    what `lasso_path` and its relatives return. The largest coefficients have a colour and a name.

    Parameters
    ----------
    param_range : ndarray of shape (m,)
        Values of the parameter.
    coefs : ndarray of shape (d, m)
        Coefficients of every feature at every value.
    param_name : str
        Name of the parameter.
    feature_names : sequence of str or None
        Names of the features.
    chosen : float or None
        The value that was selected: a dashed line.

    Attributes
    ----------
    lines_ : list of Line2D
        The lines drawn, one for every coefficient.
    chosen_ : Line2D or None
        The dashed line at the selected value.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import kilogram as kg
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = kg.CoefficientPathDisplay.from_estimator(kg.Lasso(), X, y, n_values=20)
    >>> display.coefs.shape
    (10, 20)
    """

    def __init__(
        self,
        *,
        param_range: Any,
        coefs: Any,
        param_name: str = "alpha",
        feature_names: Any = None,
        chosen: float | None = None,
    ):
        self.param_range, self.coefs, self.param_name = param_range, coefs, param_name
        self.feature_names, self.chosen = feature_names, chosen

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        param_name: str = "alpha",
        param_range: Any = None,
        n_values: int = 60,
        feature_names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Fit a clone of the model for every value of its penalty.

        Parameters
        ----------
        estimator : linear model with `coef_`
            Such as `Ridge`, `Lasso`, `ElasticNet`, `LogisticRegression` (``param_name="C"``).
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        param_name : str, default="alpha"
        param_range : array-like of positive numbers or None, default=None
            None takes `n_values` on a logarithmic scale: down from where a lasso has no coefficient
            left, or around the mean variance of the features.
        n_values : int, default=60
        feature_names : sequence of str or None, default=None
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        CoefficientPathDisplay
        """
        check_parameter("n_values", n_values, Integer(2))
        if param_name not in estimator.get_params():
            raise ValueError(f"{type(estimator).__name__} has no parameter {param_name!r}.")
        values = _values(param_range, estimator, X, y, param_name, int(n_values))
        columns = []
        for value in values:
            model = clone(estimator).set_params(**{param_name: float(value)}).fit(X, y)
            columns.append(_coefficients(model))
        names = validation.feature_labels(X, feature_names)
        return cls(
            param_range=values, coefs=np.column_stack(columns), param_name=param_name,
            feature_names=names,
        ).plot(ax=ax)  # fmt: skip

    @classmethod
    def from_path(
        cls,
        param_range: Any,
        coefs: Any,
        *,
        param_name: str = "alpha",
        feature_names: Any = None,
        chosen: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a path that was computed.

        Parameters
        ----------
        param_range : array-like of shape (m,)
            As `lasso_path` returns it.
        coefs : array-like of shape (d, m)
        param_name : str, default="alpha"
        feature_names : sequence of str or None, default=None
        chosen : float or None, default=None
            The value that cross-validation selected.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        CoefficientPathDisplay
        """
        values, table = (
            validation.as_column(param_range, "param_range"),
            validation.as_matrix(coefs, "coefs"),
        )
        check_consistent_length(values, table.T)
        if feature_names is not None and len(feature_names) != len(table):
            raise ValueError(
                f"feature_names must contain {len(table)} names, got {len(feature_names)}."
            )
        return cls(
            param_range=values, coefs=table, param_name=param_name, feature_names=feature_names,
            chosen=chosen,
        ).plot(ax=ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        CoefficientPathDisplay
        """
        ax = style.new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        values, coefs = np.asarray(self.param_range), np.asarray(self.coefs)
        largest = np.argsort(-np.abs(coefs).max(axis=1), kind="stable")[:LABELLED]
        shades = dict(zip(largest.tolist(), style.colours(len(largest)), strict=True))
        positive = bool(np.all(values > 0))
        self.lines_ = [
            ax.plot(values, path, color=shades.get(j, "#c9c9d1"), lw=1.8 if j in shades else 1.0,
                    zorder=3 if j in shades else 2)[0]
            for j, path in enumerate(coefs)
        ]  # fmt: skip
        ax.axhline(0, color=style.QUIET, lw=0.8, zorder=1)
        if positive:
            ax.set_xscale("log")
        self.chosen_ = None
        if self.chosen is not None:
            self.chosen_ = ax.axvline(self.chosen, color=style.INK, lw=1.0, ls=(0, (5, 4)))
        style.label_axes(ax, self.param_name, "coefficient")
        self._name_lines(ax, shades, int(np.argmin(values)))
        return self

    def _name_lines(self, ax: Any, shades: dict[int, Any], end: int) -> None:
        """Names at the weak end of the penalty, moved apart where they would overlap."""
        names = self.feature_names or [f"feature {j}" for j in range(len(self.coefs))]
        weak_left = self.param_name == "alpha"
        heights = {j: float(self.coefs[j][end if weak_left else -1 - end]) for j in shades}
        low, high = ax.get_ylim()
        spaced = _spread_heights(np.array(list(heights.values())), 0.055 * (high - low))
        x = float(np.asarray(self.param_range)[end if weak_left else -1 - end])
        for j, y in zip(heights, spaced, strict=True):
            ax.annotate(
                str(names[j]), (x, y), (-6 if weak_left else 6, 0), textcoords="offset points",
                ha="right" if weak_left else "left", va="center", color=shades[j], fontsize=8.5,
                annotation_clip=False,
            )  # fmt: skip
        if weak_left:  # names stand where the scale would be
            ax.yaxis.tick_right()
            ax.yaxis.set_label_position("right")
            ax.spines["left"].set_visible(False)
            ax.spines["right"].set(visible=True, color=style.QUIET)


def _values(
    given: Any, estimator: BaseEstimator, X: Any, y: Any, param_name: str, n_values: int
) -> np.ndarray:
    if given is not None:
        values = validation.as_column(given, "param_range").astype(float)
        if np.any(values < 0):
            raise ValueError("param_range must contain numbers of at least 0.")
        return np.sort(values)
    if param_name != "alpha":
        return np.geomspace(1e-4, 1e4, n_values)
    table = validation.as_matrix(X)
    Z, target = table - table.mean(axis=0), validation.as_column(y)
    if hasattr(estimator, "l1_ratio") or "Lasso" in type(estimator).__name__:
        ratio = max(float(getattr(estimator, "l1_ratio", 1.0) or 0.0), 1e-2)
        top = float(np.abs(Z.T @ (target - target.mean())).max()) / len(Z) / ratio
        return np.geomspace(1e-3 * top, top, n_values)
    scale = float((Z**2).sum(axis=0).mean()) or 1.0
    return scale * np.geomspace(1e-4, 1e3, n_values)


def _coefficients(model: BaseEstimator) -> np.ndarray:
    if not hasattr(model, "coef_"):
        raise TypeError(f"{type(model).__name__} has no coef_: give a linear model.")
    found = np.asarray(to_numpy(model.coef_))
    if found.ndim == 2 and 1 not in found.shape:
        raise ValueError(
            f"The model has {min(found.shape)} sets of coefficients: draw one target or class at a "
            "time with from_path."
        )
    return found.ravel()


def _spread_heights(heights: np.ndarray, gap: float) -> np.ndarray:
    """Heights of labels moved apart by at least a gap, in blocks around their mean."""
    order = np.argsort(heights, kind="stable")
    blocks: list[list[float]] = []  # [sum of heights, count]
    for h in heights[order]:
        blocks.append([float(h), 1])
        while len(blocks) > 1 and _top(blocks[-2], gap) + gap > _bottom(blocks[-1], gap):
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    placed = [_bottom(b, gap) + gap * i for b in blocks for i in range(int(b[1]))]
    found = np.empty(len(heights))
    found[order] = placed
    return found


def _bottom(block: list[float], gap: float) -> float:
    return block[0] / block[1] - gap * (block[1] - 1) / 2


def _top(block: list[float], gap: float) -> float:
    return block[0] / block[1] + gap * (block[1] - 1) / 2
