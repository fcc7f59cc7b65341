"""Eigenpairs of symmetric operators: all of them, the leading ones, or a random approximation."""

from kilogram.solvers.eigen.full import full
from kilogram.solvers.eigen.leading import leading
from kilogram.solvers.eigen.subspace import subspace_iteration
from kilogram.solvers.eigen.symmetric import eigenpairs, prefers_full

__all__ = ["eigenpairs", "full", "leading", "prefers_full", "subspace_iteration"]
