"""
An image from its shadows
=========================

Every ray through a body measures a sum of its pixels. From rays at 90 angles sparse least
squares (LSQR) finds the image; stopping early keeps the noise out, which is regularisation too.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg
from kilogram.textbook.tomography import measure, phantom, system_matrix

K = 48
truth = phantom(K)


def reconstruction(angles, tol):
    """The image from noisy shadows at so many angles."""
    X = system_matrix(K, np.linspace(0, np.pi, angles, endpoint=False))
    y = measure(X, 4 / K * truth, np.random.default_rng(0), 1e5)
    model = kg.LinearRegression(fit_intercept=False, solver="lsqr", tol=tol).fit(X, y)
    return model.coef_.reshape(K, K, order="F") * K / 4


figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
pictures = {
    "body": truth,
    "10 angles": reconstruction(10, 1e-2),
    "90 angles": reconstruction(90, 1e-3),
    "90 angles, run too long": reconstruction(90, 1e-4),
}
for ax, (name, image) in zip(axes, pictures.items()):
    ax.imshow(image.T, cmap="gray", vmin=0, vmax=1, origin="lower")
    ax.set_title(f"{name}\nerror {np.sqrt(np.mean((image - truth) ** 2)):.3f}", fontsize=10)
    ax.set_axis_off()
plt.show()
