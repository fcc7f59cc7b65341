"""White noise as a kernel: every row is correlated with itself only.

    k(X) = noise I          k(X, Y) = 0

The call decides, not the values or the identity of the arrays: k(X, Y) compares two tables, whose
errors are independent also where their rows are equal, and also if X itself is given twice; two
measurements at one place have two errors. A Gaussian process with `k + White(s)` sees y = f(x) + e,
Var e = s.

In a composition of sums and products the diagonal has two parts, k(x, x) = latent + noise: the
latent part is what two different rows at the same place share,

    sum        (l1 + l2,  n1 + n2)
    product    (l1 l2,    l1 n2 + n1 l2 + n1 n2)
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels.bandwidths import positive
from kilogram.kernels.base import Kernel, Product, ScaledKernel, Sum
from kilogram.kernels.on_columns import OnColumns
from kilogram.kernels.row_pairs import as_rows, row_ones


class White(Kernel):
    """White noise: k(X) = noise I for one table of rows, k(X, Y) = 0 between two.

    For the noise of a Gaussian process. Kernel methods with a penalty `alpha` have their own. The
    noise belongs to the rows of `fit`: predictions, also of the training rows, are without it.

    Parameters
    ----------
    noise : float, default=1.0
        Variance of the noise, at least 0.

    Examples
    --------
    >>> from kilogram import Linear, White
    >>> (Linear() + White(0.5))([[1.0], [2.0]])
    array([[1.5, 2. ],
           [2. , 4.5]])
    >>> White(0.5)([[1.0]], [[1.0]])
    array([[0.]])
    """

    uses_squares = False

    stationary = True

    def __init__(self, noise: float = 1.0):
        self.noise = noise

    def _noise(self) -> float:
        return positive("noise", self.noise, zero=True)

    @property
    def at_zero(self) -> float:
        return self._noise()

    def formula(self, X: Any, Y: Any) -> Any:
        xp = namespace(X, Y)
        device = {} if is_sparse(X) else {"device": X.device}
        if Y is None:
            return self._noise() * xp.eye(X.shape[0], dtype=X.dtype, **device)
        return xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, **device)

    def diag(self, X: Any) -> Any:
        return row_ones(as_rows(X), self._noise())

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        if Y is None:
            return self._noise() * V
        return namespace(V).zeros((X.shape[0], *V.shape[1:]), dtype=V.dtype, device=V.device)


def without_noise(kernel: Kernel) -> Kernel | None:
    """The kernel of the function behind the noise; None if nothing is left."""
    if isinstance(kernel, White):
        return None
    if isinstance(kernel, ScaledKernel):
        part = without_noise(kernel.kernel)
        return None if part is None else ScaledKernel(part, kernel.factor)
    if isinstance(kernel, OnColumns):
        part = without_noise(kernel.kernel)
        return None if part is None else OnColumns(part, kernel.columns)
    if isinstance(kernel, Sum | Product):
        left, right = without_noise(kernel.left), without_noise(kernel.right)
        if left is not None and right is not None:
            return type(kernel)(left, right)
        return None if isinstance(kernel, Product) else (right if left is None else left)
    return kernel


def split_diag(kernel: Kernel, X: Any) -> tuple[Any, Any]:
    """The latent part and the noise part of k(x_i, x_i), each (n,)."""
    if isinstance(kernel, White):
        noise = kernel.diag(X)
        return 0.0 * noise, noise
    if isinstance(kernel, ScaledKernel):
        latent, noise = split_diag(kernel.kernel, X)
        return kernel.factor * latent, kernel.factor * noise
    if isinstance(kernel, OnColumns):
        return split_diag(kernel.kernel, kernel.restrict(X))
    if isinstance(kernel, Sum | Product):
        (l1, n1), (l2, n2) = split_diag(kernel.left, X), split_diag(kernel.right, X)
        if isinstance(kernel, Sum):
            return l1 + l2, n1 + n2
        return l1 * l2, l1 * n2 + n1 * l2 + n1 * n2
    latent = kernel.diag(X)
    return latent, 0.0 * latent
