"""Draw docs/picture.png, the picture of the README, with the estimators themselves."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

import kilogram as kg

INK, LINEAR, KERNEL = "#2b2b33", "#c2410c", "#1d4ed8"


def twins(ax: plt.Axes) -> None:
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0, 10, 60))[:, None]
    y = np.sin(x[:, 0]) + 0.25 * x[:, 0] + 0.25 * rng.standard_normal(60)
    grid = np.linspace(-0.3, 10.3, 300)[:, None]
    line = kg.RidgeCV().fit(x, y).predict(grid)
    curve = kg.KernelRidgeCV(alphas=np.logspace(-4, 2, 20), kernel=kg.Gaussian(sigma=1.0))
    ax.plot(x, y, "o", color=INK, ms=3.5, alpha=0.65, mew=0)
    ax.plot(grid, line, color=LINEAR, lw=2.2, label="Ridge")
    ax.plot(grid, curve.fit(x, y).predict(grid), color=KERNEL, lw=2.2, label="KernelRidge")
    ax.legend(frameon=False, loc="upper left", labelcolor="linecolor", handlelength=1.2)
    ax.set_title("one objective, two coordinate systems")


def circles(ax: plt.Axes) -> None:
    X, y = make_circles(400, noise=0.04, factor=1 / 3, random_state=0)
    X = 3 * X
    model = kg.KernelPCA(1, kernel=kg.Gaussian(sigma=1.0)).fit(X)
    side = np.linspace(-4, 4, 160)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    field = model.transform(grid).reshape(160, 160)
    ax.contourf(side, side, field, levels=24, cmap="PuOr", alpha=0.85)
    for label, face in ((0, "white"), (1, INK)):
        ax.plot(*X[y == label].T, "o", ms=3.2, mew=0.5, mfc=face, mec=INK, alpha=0.9)
    ax.set_aspect("equal")
    ax.set_title("KernelPCA: the first component")


def pairs(ax: plt.Axes) -> None:
    z = np.random.default_rng(0).uniform(0, 2 * np.pi, (500, 1))
    X, Y = np.sin(z), np.cos(z)
    model = kg.KernelCCA(1, kernel=kg.Gaussian(sigma=1.0), alpha=1e-3, random_state=0).fit(X, Y)
    U, V = model.transform(X, Y)
    ax.scatter(U, V, c=z[:, 0], cmap="twilight", s=9, linewidths=0)
    ax.set_title(f"KernelCCA of sin and cos: r = {model.correlations_[0]:.2f}")


def main() -> None:
    plt.rcParams.update({"font.size": 9.5, "axes.titlesize": 10.5, "axes.titlecolor": INK})
    figure, axes = plt.subplots(1, 3, figsize=(10.2, 3.2), constrained_layout=True)
    for draw, ax in zip((twins, circles, pairs), axes, strict=True):
        draw(ax)
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_color("#c8c8d0")
    figure.savefig(Path(__file__).with_name("picture.png"), dpi=150, facecolor="white")


if __name__ == "__main__":
    main()
