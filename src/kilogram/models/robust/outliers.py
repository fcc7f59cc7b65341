"""Which rows are outliers: robust residuals beside robust distances of the features.

                    |r| / scale up to 2.5       beyond
distance inside     regular                     vertical outlier
distance beyond     good leverage               bad leverage

Inside: squared distance from MinCovDet up to the 97.5 % quantile of chi^2 with d degrees of freedom
(Rousseeuw and Van Zomeren 1990).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import to_numpy
from kilogram.base.regression_data import gather_regression_data, validate_regression_data
from kilogram.models.robust.min_cov_det import MinCovDet

Array = np.ndarray
RESIDUAL_CUT = 2.5  # Rousseeuw and van Zomeren 1990: 1.2 % of normal residuals lie beyond
KINDS = ("regular", "vertical outlier", "good leverage", "bad leverage")
COLOURS = ("#9a9aa6", "#c2410c", "#1d4ed8", "#be123c")


@dataclass(frozen=True, eq=False)
class OutlierReport:
    """Residuals in robust standard deviations, robust distances, and the kind of every row."""

    residuals: Array = field(repr=False)
    distances: Array = field(repr=False)
    #: One of "regular", "vertical outlier", "good leverage", "bad leverage".
    kinds: Array = field(repr=False)
    scale: float
    distance_cut: float
    residual_cut: float = RESIDUAL_CUT

    @property
    def outliers(self) -> Array:
        """Indices of the rows with a far residual, the furthest first."""
        far = np.flatnonzero(np.abs(self.residuals) > self.residual_cut)
        return far[np.argsort(-np.abs(self.residuals[far]), kind="stable")]

    def __repr__(self) -> str:
        n = len(self.residuals)
        counts = ", ".join(f"{int((self.kinds == k).sum())} {k}" for k in KINDS)
        lines = [f"outliers of {n:,} rows at scale {self.scale:.4g}: {counts}"]
        lines.append(f"{'row':>8}{'r / scale':>12}{'distance':>11}  kind")
        for i in self.outliers[:20]:
            r, d = self.residuals[i], self.distances[i]
            lines.append(f"{i:>8}{r:>12.3g}{d:>11.3g}  {self.kinds[i]}")
        more = len(self.outliers) - 20
        return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)

    def to_frame(self) -> Any:
        """A pandas or polars data frame, whichever is installed; one row per row."""
        columns = {
            "residual": self.residuals, "distance": self.distances, "kind": self.kinds,
        }  # fmt: skip
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(columns)
        raise ImportError("to_frame needs pandas or polars; the report's attributes need neither.")

    def plot(self, ax: Any = None, *, names: int = 10) -> Any:
        """Residuals against distances, with both limits; the furthest rows are numbered.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        names : int, default=10
            Outliers and leverage points numbered at most.

        Returns
        -------
        ax : matplotlib Axes
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")[1]
        for kind, colour in zip(KINDS, COLOURS, strict=True):
            at = self.kinds == kind
            ax.scatter(self.distances[at], self.residuals[at], s=18, color=colour, label=kind)
        for limit in (-self.residual_cut, self.residual_cut):
            ax.axhline(limit, color="#9a9aa6", linewidth=0.8, linestyle="--")
        ax.axvline(self.distance_cut, color="#9a9aa6", linewidth=0.8, linestyle="--")
        far = np.maximum(
            np.abs(self.residuals) / self.residual_cut, self.distances / self.distance_cut
        )
        for i in np.argsort(-far, kind="stable")[:names]:
            if far[i] > 1:
                at = (self.distances[i], self.residuals[i])
                # beside the point, as numbers on it cannot be read
                ax.annotate(str(i), at, (5, 0), textcoords="offset points", va="center", fontsize=8)
        ax.margins(x=0.08)  # room for the numbers of the last points
        ax.set_xlabel("robust distance of the features")
        ax.set_ylabel("residual / scale")
        ax.legend(fontsize=8)
        return ax


def outlier_report(model: BaseEstimator, X: Any, y: Any, *, random_state: Any = 0) -> OutlierReport:
    """Standardised residuals and leverage of rows under a fitted robust regression.

    Parameters
    ----------
    model : RobustRegressor, LeastTrimmedSquares, HuberRegressor or TheilSenRegressor
        Fitted; its `scale_` standardises the residuals.
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    random_state : int, RandomState instance, Generator or None, default=0
        Of the robust distances (`MinCovDet`).

    Returns
    -------
    OutlierReport
        With `residuals`, `distances`, `kinds`, `outliers`, `to_frame()` and `plot()`.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LeastTrimmedSquares, outlier_report
    >>> x = np.arange(20.0)[:, None]
    >>> y = 2 * x[:, 0] + 0.1 * (-1) ** np.arange(20)
    >>> y[7] = 50.0
    >>> model = LeastTrimmedSquares(random_state=0).fit(x, y)
    >>> outlier_report(model, x, y).outliers.tolist()
    [7]
    """
    check_is_fitted(model)
    if not hasattr(model, "scale_"):
        raise TypeError(
            f"{type(model).__name__} has no scale_: outlier_report takes a fitted robust "
            "regression, such as RobustRegressor."
        )
    rows = validate_regression_data(model, X, y, None, reset=False)
    if hasattr(rows.X, "tocsr"):
        raise TypeError("Sparse data was passed for X, but outlier_report needs dense data.")
    if not hasattr(rows.X, "shape"):
        rows = gather_regression_data(model, rows)
    Z = np.asarray(to_numpy(rows.X), dtype=np.float64)
    r = np.asarray(to_numpy(rows.Y), dtype=np.float64)[:, 0] - np.asarray(
        to_numpy(model.predict(rows.X)), dtype=np.float64
    )
    distance = np.sqrt(np.maximum(MinCovDet(random_state=random_state).fit(Z).dist_, 0.0))
    cut = float(np.sqrt(scipy.stats.chi2.ppf(0.975, Z.shape[1])))
    floor = 1e-12 * float(np.abs(to_numpy(rows.Y)).max(initial=0.0)) + 1e-300
    standardised = r / max(float(model.scale_), floor)
    far, lever = np.abs(standardised) > RESIDUAL_CUT, distance > cut
    kinds = np.array(KINDS)[far.astype(int) + 2 * lever.astype(int)]
    return OutlierReport(standardised, distance, kinds, float(model.scale_), cut)
