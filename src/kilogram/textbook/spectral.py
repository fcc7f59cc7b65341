"""Spectral clustering: first_encounter chapter 11 (equations 11.13 to 11.17).

cost of memberships Z     tr K - tr(H'K H),  H = Z L^1/2,  L = diag(1 / N_k),  H'H = I
relaxed                   any H with H'H = I: the K eigenvectors of largest eigenvalue, times any
                          orthogonal R; tr(H'K H) = sum of these eigenvalues, and no Z reaches more
back to clusters          rows of H to length 1, then k-means on them; or the largest entry of a row
degrees (not in the text) D = diag(A 1):  D^-1/2 A D^-1/2 u = lambda u,  rows of D^-1/2 u

E11.3: "the K largest eigenvectors" are those of the K largest eigenvalues, and orthonormal.
E11.5: R is any orthogonal matrix, so an entry of H by itself has no meaning.
E11.6: the sum under the root runs over the K columns kept; a row of zeros stays as it is.
E11.7: without degrees this is not the normalised cut.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.k_means import lloyd
from kilogram.textbook.state import Array, State, States, begin


def leading(K: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, largest first, and their orthonormal eigenvectors."""
    Lambda, U = np.linalg.eigh(K)
    return Lambda[::-1][:k], U[:, ::-1][:, :k]


def relaxation(K: Array, k: int) -> States:
    """max tr(H'K H) over H'H = I, and the bound tr K - sum of eigenvalues on every cost."""
    yield (s := begin("1 kernel matrix", K=K))
    Lambda, U = leading(K, k)
    yield (s := s.then("2 eigenvectors", objective=float(Lambda.sum()), Lambda=Lambda, H=U))
    yield (
        s := s.then("3 bound", float(np.trace(K) - Lambda.sum()), bound=np.trace(K) - Lambda.sum())
    )
    return s


def unit_rows(H: Array) -> Array:
    """H_nk / sqrt(sum_k H_nk^2), the sum over the columns kept."""
    length = np.sqrt((H**2).sum(axis=1, keepdims=True))
    return H / np.where(length > 0, length, 1.0)


def farthest(H: Array, k: int) -> Array:
    """k rows far from each other, to begin k-means with: the text gives no start."""
    chosen = [int(((H - H.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    while len(chosen) < k:
        D = ((H[:, None] - H[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(D.argmax()))
    return H[chosen]


def _clustered(s: State, H: Array, k: int) -> States:
    for moment in lloyd(H, farthest(H, k)):
        yield (s := s.then(f"k-means: {moment.step}", moment.objective, **moment.arrays))
    return s


def spectral_clustering(K: Array, k: int) -> States:
    """Eigenvectors of the kernel matrix, rows of length 1, k-means; labels c."""
    s = yield from relaxation(K, k)
    H = unit_rows(s["H"])
    yield (s := s.then("4 rows on the sphere", H_hat=H))
    s = yield from _clustered(s, H, k)
    return s


def threshold(K: Array, k: int) -> States:
    """The simpler way back, which works less well: the largest entry of each row of H."""
    s = yield from relaxation(K, k)
    H = s["H"] * np.where(s["H"].sum(axis=0) < 0, -1.0, 1.0)  # eigh may return either sign
    yield (s := s.then("4 largest entry", H=H, c=H.argmax(axis=1)))
    return s


def normalised_cut(A: Array, k: int) -> States:
    """With degrees: every row weighs what its affinities sum to; labels c."""
    yield (s := begin("1 affinities", A=A))
    d = A.sum(axis=1)
    S = A / np.sqrt(np.outer(d, d))
    yield (s := s.then("2 divided by degrees", d=d, S=S))
    Lambda, U = leading(S, k)
    F = U / np.sqrt(d)[:, None]
    yield (s := s.then("3 eigenvectors", float(Lambda.sum()), Lambda=Lambda, F=F))
    s = yield from _clustered(s, F, k)
    return s
