"""Kernels of Gaussian processes: Kilogram's, or scikit-learn's converted.

scikit-learn's kernels have their own bounds and their own order of theta; both are kept, so a
theta has the same meaning in both libraries:

    ConstantKernel c          c as a factor in a product, or the constant kernel c
    RBF l, Matern l           Gaussian(l), Matern(l); Stretched by l with one width per column
    RationalQuadratic l, a    RationalQuadratic(l, a)
    DotProduct s0             <x, y> + s0^2
    WhiteKernel v             White(v)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from kilogram.kernels import (
    Composite,
    Gaussian,
    Kernel,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    ScaledKernel,
    Stretched,
    White,
    as_kernel,
)
from kilogram.solvers.gaussian_process.hyperparameters import DEFAULT_BOUNDS, Free, FreeParameters


def tuning_of(kernel: Any, bounds: Any, X: Any) -> FreeParameters:
    """The kernel with numbers for parameters, and which of them are free, for rows X (n, d)."""
    if kernel is None:
        return FreeParameters.of(ScaledKernel(Gaussian(1.0), 1.0), "fixed")
    if isinstance(kernel, theirs.Kernel):
        if bounds is not None:
            raise ValueError(
                "bounds must be None with a kernel of scikit-learn, which has bounds of its own, "
                f"got {bounds!r}."
            )
        low, high = np.exp(kernel.bounds).reshape(-1, 2).T
        if not (low <= high).all():
            wrong = int(np.argmin(low <= high))
            raise ValueError(
                f"the lower bound of a parameter of the kernel must be at most its upper bound, "
                f"got ({low[wrong]:g}, {high[wrong]:g})."
            )
        found = _translate(kernel)
        return FreeParameters(found.kernel, found.free)
    ours = as_kernel(kernel)
    if _needs_matrix(ours):
        raise ValueError(
            "a Gaussian process needs the covariance of new rows with each other, which a "
            "precomputed kernel does not have. Give the kernel itself."
        )
    return FreeParameters.of(ours.resolve(X), DEFAULT_BOUNDS if bounds is None else bounds)


def named_kernel(given: Any, tuning: FreeParameters) -> Any:
    """The tuned kernel as a kernel of the library it was given in."""
    if isinstance(given, theirs.Kernel):
        return clone(given).clone_with_theta(tuning.theta)
    return tuning.kernel


def prior_kernel(kernel: Any, X: Any) -> Kernel:
    """The kernel before any fit, for rows X."""
    return tuning_of(kernel, None, X).kernel


def _needs_matrix(kernel: Kernel) -> bool:
    if isinstance(kernel, Composite):
        return any(_needs_matrix(part) for part in kernel.parts())
    return isinstance(kernel, Precomputed)


@dataclass(frozen=True)
class _Found:
    """A translated kernel, and its free parameters in scikit-learn's order."""

    kernel: Kernel
    free: tuple[Free, ...] = ()

    def within(self, name: str) -> tuple[Free, ...]:
        return tuple(Free(f"{name}__{f.path}", f.bounds, f.power) for f in self.free)


def _translate(kernel: theirs.Kernel) -> _Found:
    if isinstance(kernel, theirs.Sum | theirs.Product):
        return _pair(kernel)
    names: Mapping[str, str] = {}
    powers: Mapping[str, float] = {}
    if isinstance(kernel, theirs.ConstantKernel):
        made: Kernel = Polynomial(1, gamma=0.0, coef0=kernel.constant_value)
        names = {"constant_value": "coef0"}
    elif isinstance(kernel, theirs.WhiteKernel):
        made, names = White(kernel.noise_level), {"noise_level": "noise"}
    elif isinstance(kernel, theirs.DotProduct):
        made = Polynomial(1, gamma=1.0, coef0=kernel.sigma_0**2)
        names, powers = {"sigma_0": "coef0"}, {"sigma_0": 2.0}
    elif isinstance(kernel, theirs.RationalQuadratic):
        made = RationalQuadratic(kernel.length_scale, kernel.alpha)
        names = {"length_scale": "length_scale", "alpha": "alpha"}
    elif isinstance(kernel, theirs.RBF):
        made, names = _of_distance(kernel)
    else:
        raise ValueError(
            f"{kernel!r} is not supported; scikit-learn's ConstantKernel, RBF, Matern, "
            "RationalQuadratic, DotProduct, WhiteKernel and their sums and products are. Write it "
            "with Kilogram's kernels (FromCallable takes any function of two rows)."
        )
    return _Found(made, _free(kernel, names, powers))


def _of_distance(kernel: theirs.RBF) -> tuple[Kernel, Mapping[str, str]]:
    """RBF and Matern (a subclass), with one width or one per column."""
    nu = getattr(kernel, "nu", np.inf)
    if nu not in (0.5, 1.5, 2.5, np.inf):
        raise ValueError(f"Matern has nu in [0.5, 1.5, 2.5, inf] here, got {nu!r}.")
    scales = np.atleast_1d(kernel.length_scale).astype(float)
    base: Kernel = Gaussian(1.0) if nu == np.inf else Matern(nu, 1.0)
    if scales.size > 1:
        return Stretched(base, scales.tolist()), {"length_scale": "scales"}
    name = "sigma" if nu == np.inf else "length_scale"
    return base.replaced(**{name: float(scales[0])}), {"length_scale": name}


def _free(
    kernel: theirs.Kernel, names: Mapping[str, str], powers: Mapping[str, float]
) -> tuple[Free, ...]:
    free = []
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        path, power = names[parameter.name], powers.get(parameter.name, 1.0)
        for j in range(parameter.n_elements):
            at = path if parameter.n_elements == 1 else f"{path}__{j}"
            low, high = parameter.bounds[j]
            free.append(Free(at, (float(low), float(high)), power))
    return tuple(free)


def _pair(kernel: theirs.Sum | theirs.Product) -> _Found:
    one, two = _translate(kernel.k1), _translate(kernel.k2)
    if isinstance(kernel, theirs.Sum):
        return _Found(one.kernel + two.kernel, one.within("left") + two.within("right"))
    for constant, other, first in ((one, two, True), (two, one, False)):
        given = kernel.k1 if first else kernel.k2
        if isinstance(given, theirs.ConstantKernel):
            factor = tuple(Free("factor", f.bounds, f.power) for f in constant.free)
            inner = other.within("kernel")
            free = factor + inner if first else inner + factor
            return _Found(ScaledKernel(other.kernel, given.constant_value), free)
    product = one.kernel * two.kernel
    return _Found(product, one.within("left") + two.within("right"))
