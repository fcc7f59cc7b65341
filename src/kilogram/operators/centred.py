"""Kernel matrices of centred features, without the features.

With weights w that sum to one and mu = sum_j w_j phi(x_j),

    <phi(t) - mu, phi(x_j) - mu> = k(t, x_j) - kappa(t) - kappa_j + kappa

    kappa(t) = sum_j k(t, x_j) w_j      the mean of t's row
    kappa_j  = sum_i w_i k(x_i, x_j)    training means, one per column
    kappa    = sum_j kappa_j w_j        the grand mean

In matrices, K_c = H K H' with H = I - 1 w', for the training rows; new rows t are centred with the
training means, never with their own. Equal weights, w = 1/n, give K - 1K - K1 + 1K1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.namespace import like, namespace
from kilogram.operators.operator import Operator


@dataclass(frozen=True)
class KernelMeans:
    """Training means of a kernel matrix: per column (n,), overall, and the weights (n,), sum 1."""

    columns: Any
    grand: float
    weights: Any

    @classmethod
    def of(cls, A: Any, weights: Any = None) -> KernelMeans:
        """The means of a symmetric operator or matrix A, by one product."""
        n = A.shape[0]
        if weights is None:
            w = like(_equal_weights(n), A.diag() if isinstance(A, Operator) else A)
        else:
            xp = namespace(weights)
            w = weights / xp.sum(weights)
        columns = A @ w
        return cls(columns, float(namespace(w).sum(columns * w)), w)


def _equal_weights(n: int) -> Any:
    xp = namespace()
    return xp.full(n, 1.0 / n)


def centre(K: Any, means: KernelMeans) -> Any:
    """Rows of kernel values against the training rows, (m, n), centred with the training means."""
    own = K @ means.weights
    out = K - own[:, None]
    out -= means.columns[None, :] - means.grand  # in place: one copy of K, not three
    return out


def centre_in_place(K: Any, means: KernelMeans) -> Any:
    """`centre` of a square K that the caller owns, in its memory."""
    own = K @ means.weights
    K -= own[:, None]
    K -= means.columns[None, :] - means.grand
    return K


class Centred(Operator):
    """H A H' for a symmetric operator A (n, n): both sides centred with the same weights.

    Parameters
    ----------
    A : Operator (n, n)
    weights : (n,) or None
        Weights of the mean; None is equal weights.
    """

    def __init__(self, A: Any, weights: Any = None):
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"double centring needs a square operator, got shape {A.shape}")
        self.A = A
        self.means = KernelMeans.of(A, weights)

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    @property
    def dtype(self) -> Any:
        return self.A.dtype

    @property
    def T(self) -> Centred:
        return self

    def __matmul__(self, V: Any) -> Any:
        w = self.means.weights
        out = self.A @ (V - outer(w, namespace(V).sum(V, axis=0)))
        return out - w @ out

    def rows(self, i: Any) -> Any:
        return centre(self.A.rows(i), self.means)

    def diag(self) -> Any:
        return self.A.diag() - 2.0 * self.means.columns + self.means.grand

    def dense(self) -> Any:
        return centre(self.A.dense(), self.means)

    def cross(self, B: Any) -> CentredCross:
        """The centred map of k(new rows, training rows)."""
        return CentredCross(B, self.means)


class CentredCross:
    """k(new rows, training rows), (m, n), centred with the training means: products, rows, entries.

    Parameters
    ----------
    B : Operator (m, n)
    means : KernelMeans
        Of the training rows.
    """

    def __init__(self, B: Any, means: KernelMeans):
        if B.shape[1] != means.weights.shape[0]:
            raise ValueError(
                f"the kernel of new rows needs one column per training row "
                f"({means.weights.shape[0]}), got shape {tuple(B.shape)}"
            )
        self.B = B
        self.means = means

    @property
    def shape(self) -> tuple[int, int]:
        return self.B.shape

    @property
    def dtype(self) -> Any:
        return self.B.dtype

    def __matmul__(self, V: Any) -> Any:
        total = namespace(V).sum(V, axis=0)
        shift = self.means.columns @ V - self.means.grand * total
        return self.B @ (V - outer(self.means.weights, total)) - shift

    def rows(self, i: Any) -> Any:
        return centre(self.B.rows(i), self.means)

    def dense(self) -> Any:
        return centre(self.B.dense(), self.means)


def outer(v: Any, total: Any) -> Any:
    """v total' for one total (a number) or several, (n,) or (n, t)."""
    return v * total if total.ndim == 0 else v[:, None] * total[None, :]
