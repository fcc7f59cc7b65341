"""Block SMO: the one solver of all kernel machines with an equality constraint and a box."""

from kilogram.solvers.smo.binary_machine import BinaryMachine, fit_machine, scaled
from kilogram.solvers.smo.certificate import Certificate, certify
from kilogram.solvers.smo.problem import DualProblem, soft_margin, tube
from kilogram.solvers.smo.row_storage import kernel_rows
from kilogram.solvers.smo.stored_rows import KernelRows, StoredRows
from kilogram.solvers.smo.working_set import BlockOptions, solve_block

__all__ = [
    "BinaryMachine",
    "BlockOptions",
    "Certificate",
    "DualProblem",
    "KernelRows",
    "StoredRows",
    "certify",
    "fit_machine",
    "kernel_rows",
    "scaled",
    "soft_margin",
    "solve_block",
    "tube",
]
