"""Whether the parameters of spectral clustering make sense."""

from __future__ import annotations

from typing import Any

from kilogram.base import Budget
from kilogram.base.checks import number
from kilogram.models.clusters.rounding import ROUNDINGS
from kilogram.models.manifolds.affinity import SOLVERS
from kilogram.models.manifolds.graphs import check_count

CHOICES: dict[str, tuple[Any, ...]] = {
    "eigen_solver": tuple(SOLVERS),
    "assign_labels": ("kmeans", *ROUNDINGS),
    "relaxation": ("ncut", "trace"),
}


def checked(model: Any) -> Budget:
    """The parameters make sense; the clock starts."""
    check_count("n_clusters", model.n_clusters)
    check_count("n_init", model.n_init)
    for name, known in CHOICES.items():
        if getattr(model, name) not in known:
            raise ValueError(f"{name} must be one of {known}, got {getattr(model, name)!r}.")
    if model.eigen_tol != "auto" and not number(model.eigen_tol) >= 0:
        raise ValueError(f"eigen_tol must be 'auto' or 0 or more, got {model.eigen_tol!r}.")
    if model.n_components is not None:
        check_count("n_components", model.n_components)
    return Budget(model.max_time, model.max_memory)
