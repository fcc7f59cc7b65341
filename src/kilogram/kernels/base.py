"""What a kernel is, and the algebra that makes new kernels from old ones.

A kernel is a symmetric function k(x, y) = <phi(x), phi(y)>; a positive semidefinite Gram matrix on
every sample is what makes phi exist. Kernels are closed under

    sum        k1 + k2          phi = [phi1, phi2]
    product    k1 * k2          phi = phi1 (x) phi2
    scaling    c * k, c >= 0    phi = sqrt(c) phi

and for stationary kernels, k(x, y) = kappa(x - y), Bochner's theorem gives kappa as the Fourier
transform of a probability over frequencies w (times kappa(0)):

    sum        mixture of the two spectra, with odds kappa1(0) : kappa2(0)
    product    sum of two independent frequencies
    scaling    the same frequencies
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from kilogram.arrays.namespace import is_numpy, namespace
from kilogram.kernels.row_pairs import as_pair, blocked_matmul, check_squares, dense, runs_native
from kilogram.native import kernel_block, kernel_matmul


class Kernel(BaseEstimator, ABC):
    """A positive semidefinite function of two rows.

    Parameters live in the constructor and nothing is ever fitted, so a kernel is a value: it can be
    cloned, compared, and searched over as a nested parameter (`kernel__sigma`).
    """

    stationary = False
    has_spectrum = False
    has_features = False
    #: Whether k is computed from inner products or squared distances, which may overflow.
    uses_squares = True

    @abstractmethod
    def formula(self, X: Any, Y: Any) -> Any:
        """k of all pairs of rows, (n, m), in X's array library; Y is None for Y = X."""

    @abstractmethod
    def diag(self, X: Any) -> Any:
        """k(x_i, x_i), (n,)."""

    def check_domain(self, X: Any, Y: Any) -> None:
        """Refuse rows the kernel is not defined for; most are unless their squares overflow."""
        for rows in () if not self.uses_squares else (X,) if Y is None else (X, Y):
            check_squares(rows, type(self).__name__)

    def native(self, d: int) -> tuple[str, tuple[float, ...]] | None:
        """Name and parameters of the compiled loop for rows of length d, or None."""
        return None

    def is_compiled(self, X: Any) -> bool:
        """Whether k(X, X) and its products are made by one compiled loop, in either precision."""
        return is_numpy(X) and self.native(X.shape[1]) is not None

    def resolve(self, X: Any) -> Kernel:
        """This kernel with every data-driven parameter replaced by its number on X."""
        return self

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        """Frequencies, (d, n_features), drawn from the kernel's spectral distribution."""
        raise ValueError(
            f"{self!r} has no spectrum here: random Fourier features need a stationary kernel "
            "(Gaussian, Laplacian, Matern, RationalQuadratic, or sums and products of them); "
            "use Nystroem instead"
        )

    def features(self, X: Any) -> Any:
        """phi(X) with phi(X) phi(Y)' = k(X, Y) exactly."""
        raise ValueError(
            f"{self!r} has no finite feature map; use FourierFeatures or Nystroem to approximate it"
        )

    @property
    def at_zero(self) -> float:
        """kappa(0) = k(x, x) of a stationary kernel."""
        if not self.stationary:
            raise ValueError(f"{self!r} is not stationary: k(x, x) depends on x")
        return 1.0

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """k(X, Y), (n, m); k(X, X) when Y is None; a number when both are single rows."""
        X, Y = as_pair(X, Y)
        if X.ndim == 1:
            return float(self(X[None, :], None if Y is None else Y[None, :])[0, 0])
        self.check_domain(X, Y)
        plan = self.native(X.shape[1])
        if plan is not None and runs_native(X, Y):
            kind, params = plan
            return kernel_block(kind, X, Y, params)
        return self.formula(X, Y)

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        """k(X, Y) V without storing k(X, Y); Y = X when Y is None."""
        X, Y = as_pair(X, Y)
        V = namespace(V).astype(V, X.dtype, copy=False)
        self.check_domain(X, Y)
        plan = self.native(X.shape[1])
        if plan is not None and runs_native(X, Y) and is_numpy(V):
            kind, params = plan
            return kernel_matmul(kind, X, Y, params, V)
        return blocked_matmul(self, X, X if Y is None else Y, V)

    def __add__(self, other: Any) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return ScaledKernel(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __eq__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(False), other.get_params(False)
        return all(_parameters_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # set_params changes kernels in place

    def replaced(self, **params: Any) -> Self:
        """A copy with some parameters changed."""
        return clone(self).set_params(**params)


def _parameters_equal(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, arrays as a whole."""
    if hasattr(a, "tolist") or hasattr(b, "tolist"):
        return list(a) == list(b)
    return bool(a == b)


class Composite(Kernel):
    """A kernel made of kernels: it has the properties that all its parts have."""

    def check_domain(self, X: Any, Y: Any) -> None:
        """The parts check their own."""

    @abstractmethod
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels it is made of."""

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return all(k.stationary for k in self.parts())

    @property
    def has_spectrum(self) -> bool:  # type: ignore[override]
        return all(k.has_spectrum for k in self.parts())

    @property
    def has_features(self) -> bool:  # type: ignore[override]
        return all(k.has_features for k in self.parts())


class Sum(Composite):
    """k1(x, y) + k2(x, y); written `k1 + k2`."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def parts(self) -> tuple[Kernel, ...]:
        return self.left, self.right

    def formula(self, X: Any, Y: Any) -> Any:
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Any) -> Any:
        return self.left.diag(X) + self.right.diag(X)

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        return self.left.matmul(X, Y, V) + self.right.matmul(X, Y, V)

    def resolve(self, X: Any) -> Kernel:
        return Sum(self.left.resolve(X), self.right.resolve(X))

    @property
    def at_zero(self) -> float:
        return self.left.at_zero + self.right.at_zero

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        W = self.left.spectrum(rng, d, n_features, orthogonal=orthogonal)
        other = self.right.spectrum(rng, d, n_features, orthogonal=orthogonal)
        from_right = rng.uniform(size=n_features) * self.at_zero > self.left.at_zero
        W[:, from_right] = other[:, from_right]
        return W

    def features(self, X: Any) -> Any:
        parts = [dense(self.left.features(X)), dense(self.right.features(X))]
        return namespace(*parts).concat(parts, axis=1)


class Product(Composite):
    """k1(x, y) * k2(x, y); written `k1 * k2`."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def parts(self) -> tuple[Kernel, ...]:
        return self.left, self.right

    def formula(self, X: Any, Y: Any) -> Any:
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Any) -> Any:
        return self.left.diag(X) * self.right.diag(X)

    def resolve(self, X: Any) -> Kernel:
        return Product(self.left.resolve(X), self.right.resolve(X))

    @property
    def at_zero(self) -> float:
        return self.left.at_zero * self.right.at_zero

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        W = self.left.spectrum(rng, d, n_features, orthogonal=orthogonal)
        return W + self.right.spectrum(rng, d, n_features, orthogonal=orthogonal)

    def features(self, X: Any) -> Any:
        P, Q = dense(self.left.features(X)), dense(self.right.features(X))
        pairs = P[:, :, None] * Q[:, None, :]
        return namespace(P, Q).reshape(pairs, (P.shape[0], P.shape[1] * Q.shape[1]))


class ScaledKernel(Composite):
    """factor * k(x, y) with factor >= 0; written `2.0 * k`."""

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = kernel
        self.factor = factor

    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _factor(self) -> float:
        if not self.factor >= 0:
            raise ValueError(
                f"a kernel can be scaled by a factor >= 0 only, got {self.factor}: "
                "a negative multiple is not positive semidefinite"
            )
        return float(self.factor)

    def formula(self, X: Any, Y: Any) -> Any:
        return self._factor() * self.kernel(X, Y)

    def diag(self, X: Any) -> Any:
        return self._factor() * self.kernel.diag(X)

    def matmul(self, X: Any, Y: Any, V: Any) -> Any:
        return self._factor() * self.kernel.matmul(X, Y, V)

    def resolve(self, X: Any) -> Kernel:
        return ScaledKernel(self.kernel.resolve(X), self._factor())

    @property
    def at_zero(self) -> float:
        return self._factor() * self.kernel.at_zero

    def spectrum(self, rng: Any, d: int, n_features: int, *, orthogonal: bool = False) -> Any:
        return self.kernel.spectrum(rng, d, n_features, orthogonal=orthogonal)

    def features(self, X: Any) -> Any:
        return self._factor() ** 0.5 * self.kernel.features(X)
