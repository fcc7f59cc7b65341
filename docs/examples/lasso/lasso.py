"""Figures of lasso.md: paths of the lasso and of MCP, and stable features, on the diabetes data."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import kilogram as kg
from kilogram.models.sparse.penalized_path import PenalizedPathResult

HERE = Path(__file__).parent
NAMES = ["age", "sex", "bmi", "pressure", "tc", "ldl", "hdl", "tch", "ltg", "glucose"]
COLOURS = ["#9a9aa6", "#0f766e", "#c2410c", "#1d4ed8", "#7c3aed", "#be185d", "#15803d", "#a16207",
           "#b91c1c", "#4b5563"]  # fmt: skip


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Ten measurements of 442 patients, in standard deviations; progression after one year."""
    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def draw_path(ax: plt.Axes, path: PenalizedPathResult) -> None:
    """Every coefficient against the strength, named at the right end."""
    ends = path.coefs[:, -1]
    order = np.argsort(ends)
    heights = spread(ends[order], 2.6)
    for j, height in zip(order, heights, strict=True):
        ax.plot(path.alphas, path.coefs[j], color=COLOURS[j], lw=1.6)
        text = {"textcoords": "offset points", "fontsize": 8, "va": "center", "color": COLOURS[j]}
        ax.annotate(
            NAMES[j], (path.alphas[-1], height), xytext=(4, 0), annotation_clip=False, **text
        )
    ax.axhline(0, color="#d4d4d8", lw=0.8, zorder=0)
    ax.set(xscale="log", xlabel="alpha", xlim=(1.1 * path.alphas[0], path.alphas[-1]))
    ax.spines[["top", "right"]].set_visible(False)


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Sorted heights of labels, pushed apart until none overlap, about their own mean."""
    found = heights.copy()
    for i in range(1, len(found)):
        found[i] = max(found[i], found[i - 1] + gap)
    return found - (found - heights).mean()


def main() -> None:
    X, y = diabetes()
    lasso = kg.penalized_path(X, y, eps=2e-3, tol=1e-7)
    mcp = kg.penalized_path(X, y, penalty="mcp", gamma=3.0, eps=2e-3, tol=1e-6)
    chosen = kg.LassoCV(cv=10).fit(X, y)
    stable = kg.stability_selection(kg.Lasso(), X, y, alphas=[8.0, 5.0, 3.0], n_pairs=100)
    print("chosen by cross-validation:", round(float(chosen.alpha_), 2))
    print(dict(zip(NAMES, chosen.coef_.round(1).tolist(), strict=True)))
    print("probabilities:", dict(zip(NAMES, stable.probabilities.round(2).tolist(), strict=True)))
    print("stable:", [NAMES[j] for j in stable.selected], "bound:", round(stable.false_bound, 2))
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.2), layout="constrained",
                                width_ratios=[1.1, 1.1, 0.8])  # fmt: skip
    for ax, path, title in ((axes[0], lasso, "Lasso"), (axes[1], mcp, "MCP")):
        draw_path(ax, path)
        ax.set_title(title)
    axes[0].axvline(chosen.alpha_, color="#2b2b33", lw=1, ls="--")
    axes[0].text(chosen.alpha_ * 1.12, axes[0].get_ylim()[0] * 0.95, "cross-validation",
                 rotation=90, fontsize=8, ha="right", va="bottom")  # fmt: skip
    axes[0].set_ylabel("coefficient of the standardised feature")
    order = np.argsort(stable.probabilities)
    bars = axes[2].barh([NAMES[j] for j in order], stable.probabilities[order])
    for bar, j in zip(bars, order, strict=True):
        bar.set_color(COLOURS[j])
    axes[2].axvline(stable.threshold, color="#2b2b33", lw=1, ls="--")
    axes[2].set(xlabel="probability on half of the rows", title="Stability selection", xlim=(0, 1))
    figure.savefig(HERE / "paths.png", dpi=110)


if __name__ == "__main__":
    main()
