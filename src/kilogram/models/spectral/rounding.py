"""From the rows of relaxed memberships H (n, k) to labels: three ways without random starts.

H is known up to an orthogonal matrix R, so the axes of H mean nothing by themselves.

    threshold    argmax_c H_ic with H as it comes: only as good as its R is (the book's simple way)
    cluster_qr   k rows far from each other by a pivoted QR of H', and the R that turns these rows,
                 as nearly as an orthogonal matrix can, into the axes (Damle, Minden and Ying 2019)
    discretize   labels and R in turn: the nearest axes of H R, then the R nearest to the labels
                 (Yu and Shi 2003)

Each returns R (k, k): labels are argmax_c (H R)_ic, for new rows too.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from kilogram.arrays.linalg import svd


def threshold(H: np.ndarray) -> np.ndarray:
    """The axes as they are, each turned so that most of it is positive."""
    signs = np.where(H.sum(axis=0) < 0, -1.0, 1.0)
    return np.diag(signs)


def cluster_qr(H: np.ndarray) -> np.ndarray:
    """R from k rows of H that differ most."""
    k = H.shape[1]
    chosen = scipy.linalg.qr(H.T, mode="r", pivoting=True, check_finite=False)[1][:k]
    return _nearest_orthogonal(H[chosen].T)


def discretize(H: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """R by turns, from the start of `cluster_qr`, until the labels rest."""
    length = np.linalg.norm(H, axis=1, keepdims=True)
    H = H / np.where(length > 0, length, 1.0)
    R, labels = cluster_qr(H), np.full(len(H), -1)
    for _ in range(max_iter):
        new = (H @ R).argmax(axis=1)
        if (new == labels).all():
            break
        labels = new
        sums = np.zeros((R.shape[1], H.shape[1]))
        np.add.at(sums, labels, H)
        R = _nearest_orthogonal(sums.T)
    return R


def labels_of(H: np.ndarray, R: np.ndarray) -> np.ndarray:
    """argmax_c (H R)_ic, (n,), of as many columns of H as there are clusters."""
    return np.asarray((H[:, : len(R)] @ R).argmax(axis=1))


def _nearest_orthogonal(B: np.ndarray) -> np.ndarray:
    P, _, Qt = svd(B)
    return P @ Qt


ROUNDINGS = {"threshold": threshold, "cluster_qr": cluster_qr, "discretize": discretize}
