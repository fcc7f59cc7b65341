"""A kernel as a function of a vector: theta, the logarithms of its free parameters.

    log parameter_j = power_j theta_j,    lower_j <= theta_j <= upper_j

The power is 1 but for parameters that scikit-learn gives as their square root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.kernels import Kernel
from kilogram.kernels.gradients import Gradient, parameters, with_parameters

Bounds = tuple[float, float] | str


@dataclass(frozen=True)
class Free:
    """One free parameter: its path in the kernel, its power, and bounds of exp(theta)."""

    path: str
    bounds: tuple[float, float]
    power: float = 1.0


@dataclass(frozen=True, eq=False)
class FreeParameters:
    """A kernel with numbers for parameters, and which of them are free."""

    kernel: Kernel
    free: tuple[Free, ...]

    @classmethod
    def of(cls, kernel: Kernel, bounds: Bounds | Mapping[str, Bounds]) -> FreeParameters:
        """All parameters free within `bounds`: one pair for all, "fixed", or a pair per path."""
        paths = list(parameters(kernel))
        given = bounds if isinstance(bounds, Mapping) else dict.fromkeys(paths, bounds)
        unknown = sorted(set(given) - set(paths))
        if unknown:
            raise ValueError(
                f"bounds has unknown parameters {unknown}; those of {kernel!r} are {paths}."
            )
        free = []
        for path in paths:
            pair = given.get(path, DEFAULT_BOUNDS)
            if isinstance(pair, str) and pair == "fixed":
                continue
            free.append(Free(path, _checked(path, pair)))
        return cls(kernel, tuple(free))

    @property
    def theta(self) -> np.ndarray:
        values = parameters(self.kernel)
        return np.asarray([np.log(values[f.path]) / f.power for f in self.free])

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of theta, (p, 2)."""
        return np.log(np.asarray([f.bounds for f in self.free])).reshape(-1, 2)

    def at(self, theta: Sequence[float] | np.ndarray) -> Kernel:
        """The kernel at theta."""
        if len(theta) != len(self.free):
            raise ValueError(
                f"theta has {len(theta)} entries, the kernel has {len(self.free)} free parameters: "
                f"{[f.path for f in self.free]}."
            )
        pairs = zip(self.free, theta, strict=True)
        values = {f.path: float(np.exp(f.power * t)) for f, t in pairs}
        return with_parameters(self.kernel, values) if values else self.kernel

    def moved(self, theta: np.ndarray) -> FreeParameters:
        return FreeParameters(self.at(theta), self.free)

    def gradient(self, found: Gradient) -> np.ndarray:
        """A gradient by parameters as one by theta, (p,)."""
        return np.asarray([f.power * found[f.path] for f in self.free], dtype=np.float64)

    def at_bounds(self) -> list[str]:
        """A sentence for each parameter that is on one of its bounds."""
        found = []
        for f, t, (low, high) in zip(self.free, self.theta, self.bounds, strict=True):
            for end, name in ((low, "lower"), (high, "upper")):
                if np.isclose(t, end) and low < high:
                    found.append(f"{f.path} = {np.exp(t):.3g} is on its {name} bound")
        return found


DEFAULT_BOUNDS = (1e-5, 1e5)


def _checked(path: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in pair)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 < low <= high:
        raise ValueError(
            f"bounds of {path} must be two numbers 0 < lower <= upper, or 'fixed', got {pair!r}."
        )
    return low, high
