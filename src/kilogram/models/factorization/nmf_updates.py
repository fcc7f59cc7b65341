"""The rules by which `NMF` improves loadings and components: solver, sweeps and penalties.

The penalties are scikit-learn's: alpha_W counts once for every column of X and alpha_H once for
every row, so that they keep their meaning when the data grow.

A penalty on one factor alone has no least value: W / c and c H describe the same, and the penalty
of W / c falls to 0 as c grows. Descent follows it, and H grows without end. The limit is the loss
without the penalty, so that is what the parts are found by. For parts that are given, of length 1
then, the penalty on loadings has a meaning again, and loadings of rows are penalised.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.base.warnings import ConvergenceWarning
from kilogram.models.factorization.nmf_fitting import About
from kilogram.native.factorization import HalfUpdateRule


@dataclass(frozen=True)
class Rules:
    """How loadings and components are improved, and the loadings of new rows found."""

    rows: HalfUpdateRule
    columns: HalfUpdateRule
    final: HalfUpdateRule

    def scaled(self, H: Any) -> Any:
        """The components, of length 1 where a penalty on loadings did not choose their size."""
        if not _penalty(self.final) or _penalty(self.rows):
            return H
        xp = namespace(H)
        lengths = xp.sqrt(xp.sum(H * H, axis=1))[:, None]
        return H / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _penalty(rule: HalfUpdateRule) -> float:
    return rule.l1 + rule.l2


@dataclass(frozen=True)
class UpdateSettings:
    """The parameters of `NMF` that decide how factors are improved; `alpha_H` as a number."""

    loss: str  # "frobenius" or "poisson"
    solver: str
    alpha_W: float
    alpha_H: float
    l1_ratio: float


def rules(settings: UpdateSettings, about: About, k: int, X: Any = None) -> Rules:
    """From the parameters; several sweeps wherever the products with X cost more.

    An entry of sparse rows costs about four of dense ones, and there are few of them.
    """
    d, n, dtype = about.d, about.weight, about.dtype
    poisson = settings.loss == "poisson"
    update = "poisson" if poisson else settings.solver
    a_w, a_h, l1 = settings.alpha_W * d, settings.alpha_H * n, settings.l1_ratio
    eps = float(np.finfo(dtype).eps)
    least = max(about.mean, float(np.finfo(dtype).tiny) / eps)
    base = HalfUpdateRule(update, floor=eps * least)
    final = base._replace(l1=a_w * l1, l2=a_w * (1 - l1))
    rows, columns = final, base._replace(l1=a_h * l1, l2=a_h * (1 - l1))
    if (a_w > 0) != (a_h > 0):
        _warn_of_one_penalty(on_loadings=a_w > 0)
        rows = columns = base
    if poisson:
        return Rules(rows._replace(sweeps=2), columns, final._replace(sweeps=500, tol=1e-6))
    tol = 1e-10 if np.dtype(dtype) == np.float64 else 1e-6
    final = final._replace(update="cd", sweeps=1000, tol=tol)
    if settings.solver == "mu":
        return Rules(rows, columns, final)
    filled = min(1.0, 4 * X.nnz / max(1, X.shape[0] * X.shape[1])) if is_sparse(X) else 1.0
    return Rules(
        rows._replace(sweeps=int(np.clip(filled * d // (4 * k), 2, 8))),
        columns._replace(sweeps=int(np.clip(filled * n // (4 * k), 2, 8))),
        final,
    )


def _warn_of_one_penalty(*, on_loadings: bool) -> None:
    penalised, other = ("W", "H") if on_loadings else ("H", "W")
    kept = "alpha_W is used for the loadings only" if on_loadings else "alpha_H is not used"
    advice = "alpha_H='same'" if on_loadings else "alpha_W > 0"
    warnings.warn(
        f"NMF: alpha_{penalised} > 0 with alpha_{other} = 0 has no minimum: scaling "
        f"{penalised} down and {other} up lowers the penalty and leaves the product as it is. The "
        f"components are fitted without a penalty, and {kept}. "
        f"Penalise both factors: set {advice}.",
        ConvergenceWarning,
        stacklevel=4,
    )
