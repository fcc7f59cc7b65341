"""Draw the figures of geyser.md: two kinds of eruptions, found by k-means and by EM.

Run with KILOGRAM_DATA=folder, the folder that holds classics/faithful.csv.gz.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Ellipse
from PIL import Image

import kilogram as kg
from kilogram.textbook.mixture import em
from kilogram.textbook.state import State

HERE = Path(__file__).parent
BLUE, RED = "#0072B2", "#D55E00"  # distinct in every kind of colour vision
MEMBERSHIP = LinearSegmentedColormap.from_list("fraction", [BLUE, "#BBBBBB", RED])


def eruptions() -> np.ndarray:
    """272 eruptions: their lengths and the waits that followed, both in minutes."""
    path = Path(os.environ.get("KILOGRAM_DATA", "data")) / "classics" / "faithful.csv.gz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing. Set KILOGRAM_DATA to a folder with classics/faithful.csv.gz: "
            "R's data set `faithful`, a header and the columns eruptions, waiting."
        )
    return np.loadtxt(path, delimiter=",", skiprows=1)


def save(figure: plt.Figure, name: str) -> None:
    """As a PNG of 128 colours, sharp enough for a wall and still small."""
    figure.set_dpi(150)
    FigureCanvasAgg(figure).draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def ellipse(ax: plt.Axes, mu: np.ndarray, Sigma: np.ndarray, colour: str) -> None:
    """The lines of one and two standard deviations."""
    values, vectors = np.linalg.eigh(Sigma)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    for times in (1, 2):
        width, height = 2 * times * np.sqrt(values[::-1])
        ax.add_patch(Ellipse(mu, width, height, angle=angle, fill=False, ec=colour, lw=2))
    ax.plot(*mu, "o", ms=7, mec="white", color=colour)


def moments(Z: np.ndarray, start: np.ndarray) -> list[tuple[str, State]]:
    """Six moments of EM: the start, the first E step, and the components after some rounds."""
    states = list(em(Z, start, tol=1e-8))
    parts = [state for state in states if state.step.startswith("3")]
    print("log-likelihood before and after:", states[1]["L"], states[-1]["L"])
    early = [("start: two round guesses", states[0]), ("first E step: responsibilities", states[1])]
    later = [(f"M step {m}", parts[m - 1]) for m in (1, 4, 10)]
    return [*early, *later, (f"M step {len(parts)}: nothing moves", states[-1])]


def draw_em(Z: np.ndarray, panels: list[tuple[str, State]]) -> None:
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.6), sharex=True, sharey=True)
    for ax, (title, state) in zip(axes.flat, panels, strict=True):
        gamma = state["gamma"][:, 1] if "gamma" in state.arrays else np.full(len(Z), 0.5)
        ax.scatter(*Z.T, c=gamma, cmap=MEMBERSHIP, vmin=0, vmax=1, s=11, alpha=0.45, lw=0)
        for mu, Sigma, colour in zip(state["mu"], state["Sigma"], (BLUE, RED), strict=True):
            ellipse(ax, mu, Sigma, colour)
        ax.set_title(title, fontsize=12)
        ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    figure.supxlabel("length of eruption (standard deviations from the mean)")
    figure.supylabel("wait for the next (standard deviations from the mean)")
    figure.tight_layout()
    save(figure, "em.png")


def draw_clusters(X: np.ndarray, Z: np.ndarray) -> None:
    """What three models say of every eruption: hard borders, then responsibilities."""
    minutes = kg.KMeans(2, init=X[[1, 0]]).fit(X)
    standard = kg.KMeans(2, init=Z[[1, 0]]).fit(Z)
    mixture = kg.GaussianMixture(2, means_init=Z[[1, 0]], tol=1e-6).fit(Z)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 4), sharey=True, layout="constrained")
    grid = np.stack(np.meshgrid(np.linspace(1.4, 5.3, 800), np.linspace(41, 98, 800)), axis=-1)
    flat = grid.reshape(-1, 2)
    models = (("k-means on minutes", minutes, False), ("k-means, standardised", standard, True),
              ("mixture of two Gaussians", mixture, True))  # fmt: skip
    for ax, (title, model, standardised) in zip(axes, models, strict=True):
        there = (flat - X.mean(axis=0)) / X.std(axis=0) if standardised else flat
        rows = Z if standardised else X
        gamma = model.predict_proba(rows)[:, 1] if model is mixture else model.predict(rows)
        field = model.predict(there).reshape(grid.shape[:2])
        ax.contour(grid[..., 0], grid[..., 1], field, [0.5], colors="black", linewidths=1.5)
        ax.scatter(*X.T, c=gamma, cmap=MEMBERSHIP, vmin=0, vmax=1, s=14)
        ax.set_title(title)
        ax.set_xlabel("length of eruption (min)")
    axes[0].set_ylabel("wait for the next (min)")
    save(figure, "clusters.png")
    print("labels that differ:", np.sum(minutes.labels_ != standard.labels_), "by units;",
          np.sum(standard.labels_ != mixture.predict(Z)), "by model")  # fmt: skip
    print("means in minutes:", mixture.means_ * X.std(axis=0) + X.mean(axis=0), mixture.weights_)
    print("responsibilities below 0.99:", X[mixture.predict_proba(Z).max(axis=1) < 0.99])


def main() -> None:
    X = eruptions()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    draw_em(Z, moments(Z, np.array([[-1.5, 1.0], [1.5, -1.0]])))
    draw_clusters(X, Z)
    found = kg.choose_k(Z, 8, random_state=0)
    print(found)
    figure = found.plot()
    figure.supxlabel("number of clusters k", fontsize=10)
    save(figure, "how_many.png")


if __name__ == "__main__":
    main()
