"""Draw the figures of mfeat.md: what two descriptions of the same digits have in common, by CCA.

Run with KILOGRAM_DATA=folder, the folder that holds mfeat.npz.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import kilogram as kg

HERE = Path(__file__).parent
BLUE, RED, GREY = "#0072B2", "#D55E00", "#999999"


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """2 000 digits: Fourier coefficients of the shape, numbers of the picture, and which it is."""
    path = Path(os.environ.get("KILOGRAM_DATA", "data")) / "mfeat.npz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing. Set KILOGRAM_DATA to a folder with mfeat.npz: the Multiple "
            "Features set of the UCI repository, fou (2000, 76), kar (2000, 64) and y (2000,)."
        )
    order = np.random.default_rng(0).permutation(2000)
    with np.load(path) as file:
        views = file["fou"].astype(float), file["kar"].astype(float), file["y"]
    return tuple(view[order] for view in views)


def agreement(model: kg.CCA, X: np.ndarray, Y: np.ndarray) -> float:
    """The correlation of the first pair of scores on these rows."""
    U, V = model.transform(X, Y)
    return np.corrcoef(U[:, 0], V[:, 0])[0, 1]


def save(figure: plt.Figure, name: str) -> None:
    """As a PNG of 128 colours, sharp enough for a wall and still small."""
    figure.set_dpi(150)
    FigureCanvasAgg(figure).draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def draw_rows(X: np.ndarray, Y: np.ndarray) -> None:
    """The first correlation against the number of rows it was found on."""
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.9), sharey=True, layout="constrained")
    sizes, rng = (70, 100, 140, 200, 300, 500, 700, 1000), np.random.default_rng(1)
    for ax, alpha in zip(axes, (0.0, 0.5), strict=True):
        curves = []
        for n in sizes:
            true = kg.CCA(1, alpha=alpha).fit(X[:n], Y[:n])
            mixed = kg.CCA(1, alpha=alpha).fit(X[:n], Y[rng.permutation(n)])
            curves.append((true.correlations_[0], agreement(true, X[1000:], Y[1000:]),
                           mixed.correlations_[0]))  # fmt: skip
        print(f"alpha {alpha}", *np.round(curves, 2).tolist(), sep="\n")
        names = "rows of the fit", "1 000 other rows", "rows of the fit, partners mixed up"
        styles = {"color": RED, "ls": "--"}, {"color": BLUE}, {"color": "0.4", "ls": ":"}
        for name, style, values in zip(names, styles, zip(*curves, strict=True), strict=True):
            ax.plot(sizes, values, lw=2.2, label=name, **style)
        ax.set(xscale="log", xticks=[70, 140, 300, 1000], xticklabels=[70, 140, 300, 1000])
        ax.minorticks_off()
        ax.set(xlabel="rows of the fit", ylim=(-0.05, 1.05))
        ax.set_title("no regularisation" if alpha == 0 else f"alpha = {alpha}")
    axes[0].set_ylabel("correlation of the first pair")
    axes[1].legend(frameon=False, loc="lower right")
    save(figure, "rows.png")


def draw_shared(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> None:
    """What is shared, as a map, and how well one description finds the digit in the other."""
    model = kg.CCA(9, alpha=0.1).fit(X[:1000], Y[:1000])
    U, V = (scores * model.correlations_ for scores in model.transform(X[1000:], Y[1000:]))
    seen = y[1000:]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    for digit in range(10):
        colour = {6: BLUE, 9: RED}.get(digit, GREY)
        rows = V[seen == digit][:50]
        left.scatter(rows[:, 0], rows[:, 1], marker=f"${digit}$", s=45, lw=0.3, color=colour,
                     zorder=2 if digit in (6, 9) else 1)  # fmt: skip
    left.set(xlabel="first shared direction", ylabel="second shared direction")
    left.set_title("500 new digits by their pictures; sixes blue, nines red")
    nearest = ((U[:, None] - V[None]) ** 2).sum(axis=2).argmin(axis=1)
    table = np.zeros((10, 10), dtype=int)
    np.add.at(table, (seen, seen[nearest]), 1)
    fraction = table / table.sum(axis=1, keepdims=True)
    right.imshow(fraction, cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(fraction > 0.045):
        right.text(j, i, f"{fraction[i, j]:.0%}".replace("%", ""), ha="center", va="center",
                   color="white" if fraction[i, j] > 0.5 else "black", fontsize=10)  # fmt: skip
    right.set(xticks=range(10), yticks=range(10), xlabel="digit of the nearest picture")
    right.set(ylabel="digit of the shape", title="from a shape to a picture (%)")
    save(figure, "shared.png")
    print(f"nearest picture is of the same digit: {np.mean(seen == seen[nearest]):.3f}")


def six_or_nine(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> None:
    """How often a linear rule tells sixes from nines, by what it is given."""
    model = kg.CCA(9, alpha=0.1).fit(X[:1000], Y[:1000])
    U, V = model.transform(X, Y)
    pick, then = np.isin(y, (6, 9)), np.arange(len(y)) < 1000
    given = {"shapes": X, "pictures": Y, "the shared part of shapes": U, "that of pictures": V}
    for name, Z in given.items():
        rule = kg.LinearDiscriminantAnalysis().fit(Z[pick & then], y[pick & then])
        print(f"six or nine from {name}: {rule.score(Z[pick & ~then], y[pick & ~then]):.3f}")


def main() -> None:
    X, Y, y = digits()
    draw_rows(X, Y)
    draw_shared(X, Y, y)
    six_or_nine(X, Y, y)


if __name__ == "__main__":
    main()
