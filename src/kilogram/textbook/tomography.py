"""Computed tomography as sparse least squares (lecture_notes L11).

A ray through matter of attenuation mu loses intensity along its way, I = I_0 exp(-int mu ds), so
y = -log(I / I_0) = int mu ds is linear in mu. With K x K pixels j = k + K l and n sensors at every
angle t, ray i = i' + n t:

    X_ij = max(0, 1 - |theta|),     theta the distance of pixel j's centre from ray i, in pixels

A row has about 2 K of the K^2 entries: X is sparse, and LSQR needs only X v and X'u.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kilogram.textbook.least_squares import lsqr
from kilogram.textbook.state import Array, States


def system_matrix(K: int, angles: Array, n: int | None = None) -> sp.csr_array:
    """X (n T, K^2) for T angles in radians and n sensors one pixel apart (enough for the image)."""
    n = int(np.ceil(K * np.sqrt(2))) | 1 if n is None else n
    k, l = np.meshgrid(np.arange(K), np.arange(K), indexing="ij")
    x, z = (k - (K - 1) / 2).T.ravel(), (l - (K - 1) / 2).T.ravel()  # j = k + K l
    rows, columns, entries = [], [], []
    for t, angle in enumerate(angles):
        place = x * np.cos(angle) + z * np.sin(angle) + (n - 1) / 2  # on the line of sensors
        first = np.floor(place).astype(int)
        for sensor, weight in ((first, 1 - (place - first)), (first + 1, place - first)):
            seen = (sensor >= 0) & (sensor < n) & (weight > 0)
            rows.append(sensor[seen] + n * t)
            columns.append(np.nonzero(seen)[0])
            entries.append(weight[seen])
    shape = (n * len(angles), K * K)
    parts = np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array(parts, shape=shape).tocsr()


def phantom(K: int) -> Array:
    """A head of ellipses: skull, brain, two ventricles, a small tumour; (K, K), values 0 to 1."""
    a = (np.arange(K) - (K - 1) / 2) / (K / 2)
    x, z = np.meshgrid(a, a, indexing="ij")

    def in_ellipse(cx: float, cz: float, rx: float, rz: float) -> Array:
        return ((x - cx) / rx) ** 2 + ((z - cz) / rz) ** 2 <= 1

    image = 1.0 * in_ellipse(0, 0, 0.72, 0.92)
    image[in_ellipse(0, 0, 0.64, 0.84)] = 0.4
    for side in (-0.25, 0.25):
        image[in_ellipse(side, 0.1, 0.12, 0.35)] = 0.1
    image[in_ellipse(0.1, -0.5, 0.12, 0.12)] = 0.8
    return image


def measure(X: sp.csr_array, image: Array, rng: np.random.Generator, photons: float) -> Array:
    """y = -log(I / I_0) of counted photons: I is Poisson about I_0 exp(-X mu)."""
    mean = photons * np.exp(-(X @ image.ravel(order="F")))
    return -np.log(np.maximum(rng.poisson(mean), 1) / photons)


def reconstruct(X: sp.csr_array, y: Array, steps: int) -> States:
    """LSQR from mu = 0; few steps are a regularisation. beta.reshape(K, K, order="F") is mu."""
    return (yield from lsqr(lambda v: X @ v, lambda u: X.T @ u, y, steps))
