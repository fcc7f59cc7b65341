"""One view of kernel CCA: its kernel matrix behind a ridge smoother, and the scores of new rows.

    R = K (K + W alpha I)^-1,    R v = v - W alpha (K + W alpha I)^-1 v

K is centred with the weights of the rows and multiplied by their roots on both sides, D K D with
D = diag(sqrt w); W is the sum of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import NotPositiveDefinite, cholesky, cholesky_solve
from kilogram.arrays.namespace import like, namespace
from kilogram.arrays.rows import is_streamed, map_rows
from kilogram.kernels import Kernel, Precomputed
from kilogram.kernels.row_pairs import cast, wide
from kilogram.operators import Gram
from kilogram.operators.centred import KernelMeans, centre_in_place
from kilogram.solvers.eigen.canonical import ALL_EQUAL
from kilogram.solvers.linear.ridged_gram import add_diagonal


@dataclass(frozen=True, eq=False)
class View:
    """Rows X (n, d), the factor L of D K D + W alpha I, K's means, W alpha, and roots (n,)/None."""

    X: Any
    L: Any
    means: KernelMeans
    total: float
    ridge: float
    root: Any

    @classmethod
    def of(cls, kernel: Kernel, X: Any, w: Any, alpha: float) -> View:
        """The view of rows X with weights w (n,) or None."""
        K = Gram(kernel, wide(X), store=False).dense()
        K = namespace(K).asarray(K, copy=True) if isinstance(kernel, Precomputed) else K
        xp = namespace(K)
        w = None if w is None else like(w, K)
        total = float(K.shape[0]) if w is None else float(xp.sum(w))
        means = KernelMeans.of(K, w)
        size = _largest_diagonal(K, w)
        K = centre_in_place(K, means)
        if _largest_diagonal(K, w) <= _rounding(K) * size:
            raise ValueError(ALL_EQUAL)
        root = None if w is None else xp.sqrt(w)
        if root is not None:
            K *= root[:, None]
            K *= root[None, :]
        ridge = total * alpha
        return cls(X, ridged_factor(K, ridge), means, total, ridge, root)

    def smooth(self, V: Any) -> Any:
        """R V."""
        return V - self.ridge * cholesky_solve(self.L, V)

    def coefficients(self, V: Any) -> Any:
        """a = sqrt(W) (K + W alpha I)^-1 v, in the unweighted rows."""
        a = self.total**0.5 * cholesky_solve(self.L, V)
        return a if self.root is None else self.root[:, None] * a


def _largest_diagonal(K: Any, w: Any) -> float:
    """The largest size of k(x, x) of a row that has a weight."""
    xp = namespace(K)
    sizes = xp.abs(xp.linalg.diagonal(K))
    return float(xp.max(sizes if w is None else xp.where(w > 0, sizes, xp.zeros_like(sizes))))


def _rounding(K: Any) -> float:
    """What centring leaves of equal entries, relative to them: sums of n terms, of random signs."""
    return float(4 * K.shape[0] ** 0.5 * namespace(K).finfo(K.dtype).eps)


def ridged_factor(K: Any, ridge: float) -> Any:
    """The factor of K + ridge I, in the memory of a NumPy K; ValueError if there is none.

    A centred kernel matrix has no negative directions but those of rounding.
    """
    xp = namespace(K)
    size = float(xp.max(xp.linalg.diagonal(K)))
    try:
        return cholesky(add_diagonal(K, ridge), overwrite=True)
    except NotPositiveDefinite as broken:
        raise ValueError(
            f"the ridge on the kernel matrix, alpha times the rows = {ridge:.3g}, is lost in the "
            f"rounding of its entries of size {size:.3g}: scale the columns, raise alpha, or check "
            "that the kernel is positive semidefinite."
        ) from broken


def view_scores(kernel: Kernel, X: Any, X_fit: Any, a: Any, means: KernelMeans) -> Any:
    """Centred kernel rows times a: k(X, X_fit) (a - w sum a) minus the training means."""
    if is_streamed(X):
        return map_rows(lambda block: view_scores(kernel, block, X_fit, a, means), X)
    xp = namespace(a)
    total = xp.sum(a, axis=0)
    shifted = cast(a - means.weights[:, None] * total, X.dtype)
    offset = cast(means.columns @ a - means.grand * total, X.dtype)
    return kernel.matmul(X, cast(X_fit, X.dtype), shifted) - offset
