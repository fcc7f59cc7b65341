"""The loss over the iterations of a fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.plotting import style, validation

#: Attribute, what the axis says, what an iteration is.
CURVES = (
    ("loss_curve_", "training loss", "epoch"),
    ("train_score_", "score", "boosting round"),
    ("lower_bounds_", "lower bound of the log-likelihood", "EM iteration"),
)
HELD_OUT = ("validation_scores_", "validation_score_")


class LossCurveDisplay:
    """Loss (or score) over the iterations of one or several fitted models.

    Create it with `from_estimator`: networks have `loss_curve_`, boosting `train_score_` (with
    early stopping), mixtures `lower_bounds_`. Scores of rows kept for early stopping are dashed.

    Parameters
    ----------
    curves : dict of name to ndarray
        Losses by iteration, one sequence for each curve.
    held_out : dict of name to ndarray
        Scores of validation rows.
    ylabel, xlabel : str
        Labels of the axes.

    Attributes
    ----------
    lines_ : list of Line2D
        The lines drawn.
    held_out_ : list of Line2D
        The curves of held-out rows.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure drawn on.

    Examples
    --------
    >>> import kilogram as kg
    >>> X, y = kg.make_two_moons(200, random_state=0)
    >>> model = kg.MLPClassifier((10,), solver="adam", max_iter=20, tol=0.0, random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = model.fit(X, y)
    >>> display = kg.LossCurveDisplay.from_estimator(model)
    >>> len(display.curves["MLPClassifier"])
    20
    """

    def __init__(
        self, *, curves: Any, held_out: Any = None, ylabel: str = "loss", xlabel: str = "iteration"
    ):
        self.curves, self.held_out = curves, {} if held_out is None else held_out
        self.ylabel, self.xlabel = ylabel, xlabel

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None) -> Self:
        """Draw what a fitted model recorded.

        Parameters
        ----------
        estimator : fitted model, or dict of name to fitted model
            Models of a dict are drawn side by side.
        ax : matplotlib Axes or None, default=None

        Returns
        -------
        LossCurveDisplay
        """
        models = (
            estimator
            if isinstance(estimator, dict)
            else {validation.estimator_name(estimator): estimator}
        )
        if not models:
            raise ValueError("LossCurveDisplay needs at least one fitted model, got an empty dict.")
        kinds = {name: _kind(model) for name, model in models.items()}
        if len(set(kinds.values())) > 1:
            raise ValueError(
                "The models record different quantities: "
                + ", ".join(f"{name} {kind[0]}" for name, kind in kinds.items())
                + ". Draw them on axes of their own."
            )
        attribute, ylabel, xlabel = next(iter(kinds.values()))
        curves = {name: np.asarray(getattr(model, attribute)) for name, model in models.items()}
        held = {name: _held_out(model) for name, model in models.items()}
        held = {name: values for name, values in held.items() if values is not None}
        return cls(curves=curves, held_out=held, ylabel=ylabel, xlabel=xlabel).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        LossCurveDisplay
        """
        ax = style.new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_, self.held_out_ = [], []
        same = self.ylabel == "score" or not self.held_out
        right = ax if same else ax.twinx()  # validation scores are another quantity than the loss
        for (name, values), colour in zip(
            self.curves.items(), style.colours(len(self.curves)), strict=True
        ):
            at = np.arange(1, len(values) + 1)
            self.lines_ += ax.plot(at, values, color=colour, lw=1.8, label=name)
            if name in self.held_out:
                held = np.asarray(self.held_out[name])
                self.held_out_ += right.plot(
                    np.arange(1, len(held) + 1), held, color=colour, lw=1.6, ls="--",
                    label=f"{name}, validation rows",
                )  # fmt: skip
        style.label_axes(ax, self.xlabel, self.ylabel)
        if right is not ax:
            style.label_axes(right, None, "validation score")
            right.spines["right"].set(visible=True, color=style.QUIET)
        drawn = [*self.lines_, *self.held_out_]
        if len(drawn) > 1:
            right.legend(handles=drawn, frameon=False, fontsize=9, labelcolor=style.INK)
        return self


def _kind(model: BaseEstimator) -> tuple[str, str, str]:
    validation.check_fitted(model, "LossCurveDisplay")
    for kind in CURVES:
        found = getattr(model, kind[0], None)
        if found is not None and len(found):
            return kind
    attributes = ", ".join(kind[0] for kind in CURVES)
    raise TypeError(
        f"{type(model).__name__} recorded no losses ({attributes}): LossCurveDisplay takes "
        "networks, boosting with early_stopping=True and mixtures."
    )


def _held_out(model: BaseEstimator) -> np.ndarray | None:
    for name in HELD_OUT:
        values = getattr(model, name, None)
        if values is not None and len(values):
            return np.asarray(values)
    return None
