"""Draw docs/picture.png, the picture of the README: four linear methods above their kernel versions."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from sklearn.datasets import make_circles, make_moons

import kilogram as kg

INK, PAPER, RUST, BLUE, GREEN = "#23232b", "#ffffff", "#d1495b", "#2e5eaa", "#2a9d8f"
FIELD = LinearSegmentedColormap.from_list("field", [RUST, "#f7e6e3", "#fbfaf7", "#e0e8f4", BLUE])
PAIR, TRIO = ListedColormap([RUST, BLUE]), ListedColormap([RUST, BLUE, GREEN])
SIDE = 300


def wave() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0, 10, 70))[:, None]
    return x, np.sin(1.2 * x[:, 0]) + 0.22 * x[:, 0] + 0.25 * rng.standard_normal(70)


def grid(X: np.ndarray, margin: float = 0.35) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    across, up = np.linspace(low[0], high[0], SIDE), np.linspace(low[1], high[1], SIDE)
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def points(ax: plt.Axes, X: np.ndarray, labels: np.ndarray, colours: ListedColormap) -> None:
    ax.scatter(*X.T, c=labels, cmap=colours, s=15, edgecolors="white", linewidths=0.5, zorder=3)


def regression(ax: plt.Axes, model: kg.Ridge, colour: str) -> None:
    x, y = wave()
    across = np.linspace(-0.4, 10.4, 400)[:, None]
    ax.scatter(x, y, s=13, color=INK, alpha=0.55, linewidths=0)
    ax.plot(across, model.fit(x, y).predict(across), color=colour, lw=2.6)
    ax.margins(x=0)


def margin(ax: plt.Axes, model: kg.SVC) -> None:
    X, y = make_moons(160, noise=0.16, random_state=3)
    across, up, rows = grid(X)
    height = model.fit(X, y).decision_function(rows).reshape(SIDE, SIDE)
    top = np.abs(height).max()
    ax.contourf(across, up, height, levels=np.linspace(-top, top, 41), cmap=FIELD, alpha=0.75)
    ax.contour(across, up, height, levels=[-1, 0, 1], colors=INK, linewidths=[0.9, 1.9, 0.9],
               linestyles=["--", "-", "--"])  # fmt: skip
    points(ax, X, y, PAIR)


def component(ax: plt.Axes, model: kg.PCA) -> None:
    X, y = make_circles(240, noise=0.05, factor=0.35, random_state=0)
    X = 3 * X
    across, up, rows = grid(X, 0.8)
    height = model.fit(X).transform(rows)[:, 0].reshape(SIDE, SIDE)
    height -= (height.max() + height.min()) / 2
    top = np.abs(height).max()
    ax.contourf(across, up, height, levels=np.linspace(-top, top, 25), cmap=FIELD, alpha=0.85)
    points(ax, X, y, PAIR)


def clusters(ax: plt.Axes, model: kg.KMeans) -> None:
    rng = np.random.default_rng(2)
    sizes = (50, 120, 180)
    angle = np.concatenate([np.linspace(0, 2 * np.pi, n, endpoint=False) for n in sizes])
    radius = np.repeat([0.3, 1.6, 2.9], sizes) + 0.13 * rng.standard_normal(sum(sizes))
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points(ax, X, model.fit(X).labels_, TRIO)


PANELS = (
    ("Ridge", "KernelRidge", lambda ax, kernel: regression(
        ax, *((kg.KernelRidgeCV(kernel=kg.Gaussian(1.0)), BLUE) if kernel else (kg.RidgeCV(), RUST)))),
    ("LinearSVC", "SVC", lambda ax, kernel: margin(
        ax, kg.SVC(kernel="rbf", gamma=1.5, C=5) if kernel else kg.LinearSVC(C=1.0))),
    ("PCA", "KernelPCA", lambda ax, kernel: component(
        ax, kg.KernelPCA(1, kernel=kg.Gaussian(1.0)) if kernel else kg.PCA(1))),
    ("KMeans", "SpectralClustering", lambda ax, kernel: clusters(
        ax, kg.SpectralClustering(3, affinity="nearest_neighbors", random_state=0) if kernel
        else kg.KMeans(3, random_state=0))),
)  # fmt: skip


def main() -> None:
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 12.5, "axes.titlecolor": INK})
    figure, axes = plt.subplots(2, 4, figsize=(12.4, 6.1), constrained_layout=True)
    for (linear, kernel, draw), column in zip(PANELS, axes.T, strict=True):
        for name, ax, twin in ((linear, column[0], False), (kernel, column[1], True)):
            draw(ax, twin)
            ax.set_title(name, family="monospace", weight="bold")
            ax.set(xticks=[], yticks=[])
            for spine in ax.spines.values():
                spine.set_color("#d4d4da")
    for ax, label in zip(axes[:, 0], ("linear", "kernel version"), strict=True):
        ax.set_ylabel(label, fontsize=13, color=INK, labelpad=8)
    figure.savefig(Path(__file__).with_name("picture.png"), dpi=125, facecolor=PAPER)


if __name__ == "__main__":
    main()
