"""Draw the figures of faces.md: 400 faces as sums of eigenfaces (PCA) and of parts (NMF).

Run with KILOGRAM_DATA=folder, the folder that holds orl_faces.npz.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import kilogram as kg

HERE = Path(__file__).parent
SHAPE, PARTS = (112, 92), 25
STYLES = {"color": "#D55E00", "ls": "--"}, {"color": "#0072B2"}, {"color": "0.4", "ls": ":"}


def faces() -> tuple[np.ndarray, np.ndarray]:
    """40 people, ten pictures each, as rows of brightness from 0 to 1; and who it is."""
    path = Path(os.environ.get("KILOGRAM_DATA", "data")) / "orl_faces.npz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing. Set KILOGRAM_DATA to a folder with orl_faces.npz: the AT&T (ORL) "
            "faces, X of shape (400, 112, 92) with bytes and y with the number of the person."
        )
    with np.load(path) as file:
        return file["X"].reshape(400, -1).astype(np.float32) / 255, file["y"]


def save(figure: plt.Figure, name: str) -> None:
    """As a PNG of 256 colours, chosen by k-means: enough for the eye, and small."""
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(256, kmeans=4).save(HERE / name, optimize=True)


def draw_parts(pca: kg.PCA, nmf: kg.NMF) -> None:
    figure = plt.figure(figsize=(10, 6), layout="constrained", dpi=110)
    blocks = figure.subfigures(1, 2, wspace=0.05)
    titles = "PCA: more (red) or less (blue) light", "NMF: parts, only to be added (dark: much)"
    tables = pca.components_[:PARTS], nmf.components_
    for block, title, table in zip(blocks, titles, tables, strict=True):
        block.suptitle(title, fontsize=14)
        for ax, part in zip(block.subplots(5, 5).flat, table, strict=True):
            top = np.abs(part).max()
            colours = {"cmap": "RdBu_r", "vmin": -top} if part.min() < 0 else {"cmap": "gray_r"}
            ax.imshow(part.reshape(SHAPE), **colours, vmax=top)
            ax.set_axis_off()
    save(figure, "parts.png")


def rebuilt(pca: kg.PCA, X: np.ndarray, k: int) -> np.ndarray:
    """The mean and the first k eigenfaces, as much of each as X has."""
    H = pca.components_[:k]
    return pca.mean_ + (X - pca.mean_) @ H.T @ H


def draw_rebuilt(pca: kg.PCA, nmf: kg.NMF, shown: dict[str, np.ndarray]) -> None:
    figure, axes = plt.subplots(len(shown), 6, figsize=(9, 5.9), layout="constrained", dpi=72)
    for row, (name, face) in zip(axes, shown.items(), strict=True):
        X = face[None]
        pictures = [X, *(rebuilt(pca, X, k) for k in (5, 25, 100, 250)),
                    nmf.transform(X) @ nmf.components_]  # fmt: skip
        for ax, picture in zip(row, pictures, strict=True):
            ax.imshow(picture.reshape(SHAPE), cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, fontsize=12)
    counts = "5 eigenfaces", "25 eigenfaces", "100 eigenfaces", "250 eigenfaces"
    for ax, name in zip(axes[0], ("itself", *counts, "25 parts"), strict=True):
        ax.set_title(name, fontsize=12)
    save(figure, "rebuilt.png")


def draw_errors(pca: kg.PCA, groups: dict[str, np.ndarray]) -> None:
    ks = np.unique(np.geomspace(1, len(pca.components_), 40).astype(int))
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained", dpi=150)
    for (name, X), style in zip(groups.items(), STYLES, strict=True):
        errors = [np.sqrt(np.mean((X - rebuilt(pca, X, k)) ** 2)) for k in ks]
        ax.plot(ks, errors, **style, lw=2.2, label=name)
        print(name, np.round(errors, 3))
    ticks = [1, 3, 10, 30, 100, 279]
    ax.set(xscale="log", ylim=(0, None), xticks=ticks, xticklabels=ticks)
    ax.set_xlabel("number of eigenfaces")
    ax.minorticks_off()
    ax.set_ylabel("root mean square error of a pixel\n(black 0, white 1)")
    ax.legend(frameon=False)
    save(figure, "errors.png")


def recognise(
    pca: kg.PCA, known: np.ndarray, who: np.ndarray, new: np.ndarray
) -> dict[int, np.ndarray]:
    """Whose the new pictures are, by the nearest known one, for several numbers of eigenfaces."""
    A, B = pca.transform(known), pca.transform(new)
    found = {}
    for k in (2, 5, 10, 20, 50, 100, 279):
        away = ((B[:, None, :k] - A[None, :, :k]) ** 2).sum(axis=2)
        found[k] = who[away.argmin(axis=1)]
    return found


def main() -> None:
    X, y = faces()
    stranger, late = y >= np.unique(y)[35], np.arange(400) % 10 >= 8  # kept from the models
    train, known = X[~stranger & ~late], X[~stranger & late]
    pca = kg.PCA(279).fit(train)
    nmf = kg.NMF(PARTS, init="random", random_state=0, max_iter=500, tol=1e-3).fit(train)
    draw_parts(pca, nmf)
    shown = {"used for the fit": train[24], "same person, later": known[6], "stranger": X[360]}
    draw_rebuilt(pca, nmf, shown)
    names = "five strangers", "new pictures of known people", "the 280 pictures of the fit"
    groups = dict(zip(names, (X[stranger], known, train), strict=True))
    draw_errors(pca, groups)
    for k, names in recognise(pca, train, y[~stranger & ~late], known).items():
        print(f"{k} eigenfaces: {np.mean(names == y[~stranger & late]):.1%} recognised")
    for name, rows in groups.items():
        error = np.sqrt(np.mean((rows - nmf.transform(rows) @ nmf.components_) ** 2))
        print(f"{name}: 25 parts leave {error:.4f}")


if __name__ == "__main__":
    main()
