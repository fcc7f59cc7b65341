"""Block SMO: the one solver of all kernel machines with an equality constraint and a box."""

from kilogram.solvers.smo.block import BlockOptions, solve_block
from kilogram.solvers.smo.certificate import Certificate, certify
from kilogram.solvers.smo.machine import Machine, fit_machine, scaled
from kilogram.solvers.smo.problem import Problem, soft_margin, tube
from kilogram.solvers.smo.rows import kernel_rows
from kilogram.solvers.smo.stored import KernelRows, StoredRows

__all__ = [
    "BlockOptions",
    "Certificate",
    "KernelRows",
    "Machine",
    "Problem",
    "StoredRows",
    "certify",
    "fit_machine",
    "kernel_rows",
    "scaled",
    "soft_margin",
    "solve_block",
    "tube",
]
