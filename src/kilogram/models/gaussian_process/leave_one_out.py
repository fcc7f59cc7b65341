"""Leave-one-out of a Gaussian process, in closed form.

    y_i - mu_-i = a_i / c_i,    var_-i = 1 / c_i,    c the diagonal of C^-1

with a = C^-1 y of all rows: no refit is needed.

Reference: Rasmussen and Williams, Gaussian processes for machine learning, 2006, equation 5.12.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.models.gaussian_process.fitting import TargetScale
from kilogram.models.gaussian_process.posterior import ProcessPosterior
from kilogram.solvers.gaussian_process.exact import Observations, inverse_of


class LeaveOneOut(NamedTuple):
    """Predictions of every training row from the others: means, variances of an observation, and
    the logarithms of the predictive densities, (n,) or (n, t) each."""

    mean: Any
    variance: Any
    log_density: Any


def leave_one_out(
    posterior: ProcessPosterior, data: Observations, scale: TargetScale
) -> LeaveOneOut:
    """Leave-one-out predictions of every row, with the fitted kernel parameters."""
    xp = namespace(posterior.L)
    inverse = inverse_of(xp.asarray(posterior.L, copy=True))
    own = 1.0 / xp.linalg.diagonal(inverse)[:, None]
    mean = data.Y - posterior.a * own
    s = data.noise(posterior.kernel)
    variance = own + (s - data.weighted(s))[:, None]  # of one observation, not of w of them
    density = -0.5 * ((data.Y - mean) ** 2 / variance + xp.log(2.0 * np.pi * variance))
    return LeaveOneOut(
        flat(mean * scale.std + scale.mean),
        flat(variance * scale.std**2),
        flat(density - xp.log(scale.std)),
    )


def flat(columns: Any) -> Any:
    """One output without its axis."""
    return columns[..., 0] if columns.shape[-1] == 1 else columns
