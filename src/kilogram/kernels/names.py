"""The one table from names to kernels: below it there are only objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kilogram.kernels.base import Kernel
from kilogram.kernels.chi2 import AdditiveChi2, Chi2
from kilogram.kernels.gaussian import Gaussian
from kilogram.kernels.laplacian import Laplacian
from kilogram.kernels.linear import Cosine, Linear, Sigmoid
from kilogram.kernels.matern import Matern, RationalQuadratic
from kilogram.kernels.polynomial import AllSubsets, Polynomial
from kilogram.kernels.precomputed import FromCallable, Precomputed

# scikit-learn's names first; each kernel takes those of gamma, degree, coef0 that it has
NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "rbf": Gaussian,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "laplacian": Laplacian,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "chi2": Chi2,
    "additive_chi2": AdditiveChi2,
    "precomputed": Precomputed,
    "gaussian": Gaussian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
    "all_subsets": AllSubsets,
}


def is_precomputed(spec: Any) -> bool:
    """Whether X holds kernel values, by the name or by the object.

    Examples
    --------
    >>> from kilogram.kernels import is_precomputed
    >>> is_precomputed("precomputed"), is_precomputed("rbf")
    (True, False)
    """
    return isinstance(spec, Precomputed) or (isinstance(spec, str) and spec == "precomputed")


def as_kernel(
    spec: str | Kernel | Callable[..., float],
    *,
    gamma: Any = None,
    degree: Any = 3,
    coef0: Any = 1,
    params: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel meant by a name, a kernel object, or a function of two rows.

    `gamma`, `degree` and `coef0` go to the named kernels that have them, `params` to a function
    or, as further constructor arguments, to a named kernel; a kernel object carries its own.

    Examples
    --------
    >>> from kilogram.kernels import as_kernel
    >>> as_kernel("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    >>> as_kernel(lambda x, y: float(x @ y))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """
    if not (params is None or isinstance(params, Mapping)):
        raise TypeError(f"kernel_params must be a dict or None, got {params!r}.")
    if isinstance(spec, Kernel):
        if gamma is not None or params:
            raise ValueError(
                f"gamma={gamma!r}, kernel_params={params!r} given beside the kernel object "
                f"{spec!r}: set the parameters on the kernel itself"
            )
        return spec
    if isinstance(spec, str):
        if spec not in NAMES:
            raise ValueError(f"unknown kernel {spec!r}; the names are {sorted(NAMES)}")
        made = NAMES[spec]()
        known = made.get_params()
        given = {"degree": degree, "coef0": coef0} | ({} if gamma is None else {"gamma": gamma})
        given = {name: value for name, value in given.items() if name in known}
        return made.set_params(**given | (params or {}))
    if callable(spec):
        return FromCallable(spec, params=params)
    raise TypeError(f"kernel must be a name, a Kernel or a function of two rows, got {spec!r}")
