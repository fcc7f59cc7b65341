"""The picture of `choose_k`: a small curve for every criterion, its choice marked."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

INK, QUIET, CURVE, CHOSEN = "#2b2b33", "#9a9aa6", "#1d4ed8", "#c2410c"
PANELS_PER_ROW = 4  # of 3.1 inches each
LETTERS_PER_INCH = 11  # letters of the verdict: 72 points / 11, a letter is 0.6 as wide as high
CRITERION_TITLES = {
    "elbow": "fraction of the sum of squares left",
    "gap": "gap statistic (higher)",
    "silhouette": "mean silhouette (higher)",
    "instability": "instability (lower)",
    "compression": "bits against one cluster (lower)",
    "bic": "BIC of Gaussian mixtures (lower)",
    "aic": "AIC of Gaussian mixtures (lower)",
}


def draw(found: Any, axes: Any = None) -> Any:
    """A figure of all curves, or the curves in the axes given."""
    names = list(found.curves)
    if axes is None:
        from matplotlib.figure import Figure

        rows = -(-len(names) // PANELS_PER_ROW)
        columns = -(-len(names) // rows) if names else 1  # no row much shorter than the others
        figure = Figure(figsize=(3.1 * columns, 2.5 * rows + 0.5), layout="constrained")
        axes = figure.subplots(max(rows, 1), columns, squeeze=False)
    flat = np.asarray(axes).ravel()
    if len(flat) < len(names):
        raise ValueError(f"{len(names)} criteria need as many axes, got {len(flat)}.")
    for name, ax in zip(names, flat, strict=False):
        _curve(ax, found.ks, found.curves[name], name)
    for ax in flat[len(names) :]:
        ax.set_visible(False)
    figure = flat[0].figure
    verdict = fill(found.verdict, int(LETTERS_PER_INCH * figure.get_figwidth()))
    figure.suptitle(verdict, color=INK, fontsize=11, x=0.01, ha="left")
    return figure


def _curve(ax: Any, ks: np.ndarray, curve: Any, name: str) -> None:
    if curve.references is not None:
        usual, spread = curve.references.mean(axis=0), curve.references.std(axis=0)
        ax.fill_between(ks, usual - 2 * spread, usual + 2 * spread, color=QUIET, alpha=0.25, lw=0)
        ax.plot(ks, usual, color=QUIET, lw=1.0, label="no clusters")
        ax.legend(frameon=False, fontsize=7, labelcolor=INK, handlelength=1.2)
    ax.plot(ks, curve.values, color=CURVE, lw=1.8, marker="o", ms=3.5)
    at = int(np.flatnonzero(ks == curve.choice)[0])
    if np.isfinite(curve.values[at]):
        ax.plot(ks[at], curve.values[at], "o", ms=10, mfc="none", mec=CHOSEN, mew=1.8)
    ax.set_title(CRITERION_TITLES[name], fontsize=8.5, color=INK, loc="left")
    ax.set_title(f"k = {curve.choice}", fontsize=8.5, color=CHOSEN, loc="right", fontweight="bold")
    ax.set_xlabel("number of clusters", fontsize=8, color=INK)
    ax.set_xticks(ks if len(ks) <= 12 else ks[:: max(1, len(ks) // 10)])
    ax.tick_params(labelsize=7.5, color=QUIET, labelcolor=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(QUIET)
