"""Draw docs/examples/tomography.png: an image found again from its shadows, by sparse LSQR."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg
from kilogram.textbook.tomography import measure, phantom, system_matrix

K, PHOTONS = 64, 1e6
MU = 4 / K * phantom(K)  # attenuation by pixel: a ray through the head keeps some of its light


def reconstruction(angles: int, tol: float) -> tuple[np.ndarray, kg.LinearRegression]:
    """The image from noisy shadows at so many angles."""
    X = system_matrix(K, np.linspace(0, np.pi, angles, endpoint=False))
    y = measure(X, MU, np.random.default_rng(0), PHOTONS)
    model = kg.LinearRegression(fit_intercept=False, solver="lsqr", tol=tol).fit(X, y)
    return model.coef_.reshape(K, K, order="F") * K / 4, model


def panels() -> list[tuple[str, np.ndarray]]:
    """The phantom, its shadows, and what is found from few and from many of them."""
    X = system_matrix(K, np.linspace(0, np.pi, 90, endpoint=False))
    shadows = measure(X, MU, np.random.default_rng(0), PHOTONS).reshape(90, -1)
    found = [("phantom", phantom(K)), ("90 shadows", shadows)]
    for angles, tol in ((10, 1e-3), (90, 1e-2), (90, 1e-4)):
        image, model = reconstruction(angles, tol)
        error = np.sqrt(np.mean((image - phantom(K)) ** 2))
        said = f"{angles} angles, {model.n_iter_} steps\nerror {error:.3f}"
        print(said.replace("\n", ": "))
        found.append((said, image))
    return found


def main() -> None:
    figure, axes = plt.subplots(1, 5, figsize=(13, 3), layout="constrained")
    for ax, (title, image) in zip(axes, panels(), strict=True):
        top = 1.0 if image.shape == (K, K) else image.max()
        ax.imshow(image.T, cmap="gray", vmin=0, vmax=top, origin="lower", aspect="auto")
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
