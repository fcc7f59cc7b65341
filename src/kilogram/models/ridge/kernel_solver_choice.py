"""Which solver a kernel ridge regression uses: decided from size, memory and time, before the work.

cholesky   exact: K + alpha I factored (solvers/linear/positive_definite.py), one K of memory
lean       exact, with a float32 factor and K recomputed: half a K of memory
cg         exact to `tol`: conjugate gradients, K stored if it fits, else computed in tiles
falkon     on m centres: K_nm stored in float32 if it fits, else computed in tiles
nystroem   on m landmarks, one pass over rows in any container for their moments
fourier    on m random Fourier features, likewise
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.base.estimate import human_seconds
from kilogram.kernels import FromCallable, Kernel, Precomputed
from kilogram.operators.memory_plan import StoragePlan, plan_storage

FALKON_STEPS = 30  # iterations of Falkon that estimates assume; usual problems take 10 to 40
PRODUCTS = 60  # products with K that estimates of "cg" assume: our choice, twice those of Falkon
# Default number of landmarks or random features: 8 kB a row, 1e9 operations to factor.
FEATURES = 1000
# A factorisation, which cannot be stopped, must fit max_time this many times: estimates are right
# within a factor of two or three.
SLACK = 3.0


@dataclass(frozen=True)
class KernelPlan:
    """The solver, its memory and time, and the reason if it was not the one asked for."""

    name: str
    storage: StoragePlan
    seconds: float
    centres: int = 0
    stored: bool = True
    #: Whether the exact solver may try conjugate gradients before it factors.
    iterate: bool = False
    reason: str = ""

    @property
    def solver(self) -> str:
        """The name of the solver in the parameters of KernelRidge."""
        return "cholesky" if self.name == "lean" else self.name


@dataclass(frozen=True)
class KernelSize:
    """Sizes and options on which the choice of a solver depends."""

    n: int
    d: int
    dtype: Any
    kernel: Kernel
    solver: str
    max_memory: int | str | None
    max_time: float | None
    n_components: int | None
    numpy: bool
    streamed: bool = False
    approximation: str | None = None

    def storage(self, copies: float = 1.0, **work: Any) -> StoragePlan:
        return plan_storage(
            self.n, self.d, self.dtype, max_memory=self.max_memory, copies=copies, **work
        )


def choose_solver(size: KernelSize) -> KernelPlan:
    """The solver for this problem; MemoryError if the one asked for does not fit in memory."""
    if size.approximation is not None:
        m = FEATURES if size.n_components is None else size.n_components
        plan = _on_centres(replace(size, n_components=m))
        return replace(plan, name=size.approximation, centres=m)
    if size.solver == "falkon":
        return _falkon(size)
    if size.solver == "cg":
        storage = size.storage(products=PRODUCTS)
        return KernelPlan("cg", storage, storage.seconds)
    return _exact(size)


def _exact(size: KernelSize) -> KernelPlan:
    factor = size.n**3 / 6
    auto = size.solver == "auto"
    whole = size.storage(flops=factor)
    if whole.stores:
        limit = size.max_time
        if limit is not None and auto and SLACK * whole.seconds > limit:
            reason = (
                f"factoring K takes about {whole.seconds:.2g} s, too long for "
                f"max_time={limit:g}; conjugate gradients, which can be stopped, are used instead."
            )
            return KernelPlan("cg", whole, whole.seconds, reason=reason)
        return KernelPlan("cholesky", whole, whole.seconds, iterate=auto)
    half = size.storage(copies=0.5, flops=factor / 2)
    recomputable = size.numpy and not isinstance(size.kernel, Precomputed | FromCallable)
    if half.stores and recomputable and "float64" in str(size.dtype):
        return KernelPlan("lean", half, half.seconds, iterate=auto)
    if size.solver == "cholesky":
        raise MemoryError(
            f"solver='cholesky' does not fit in memory: {whole.reason}. Use solver='cg' or "
            "'falkon', approximation='nystroem', or raise max_memory."
        )
    if isinstance(size.kernel, Precomputed):
        reason = f"{whole.reason}; conjugate gradients are used instead."
        return KernelPlan("cg", whole, whole.seconds, reason=reason)
    plan = _falkon(size)
    cause = whole.reason.split(";")[0]
    reason = (
        f"{cause}; solver='falkon' is used instead, on {plan.centres} centres drawn from the "
        f"{size.n} rows (about {human_seconds(plan.seconds)}, {human_bytes(plan.storage.bytes)}). "
        "Use solver='cg' for the exact solution at much more time, n_components for more centres."
    )
    return replace(plan, reason=reason)


def _falkon(size: KernelSize) -> KernelPlan:
    if isinstance(size.kernel, Precomputed):
        raise ValueError(
            "solver='falkon' draws centres from the rows of X, which a precomputed kernel does not "
            "contain. Pass the kernel itself, or use solver='cg'."
        )
    return _on_centres(size)


def _on_centres(size: KernelSize) -> KernelPlan:
    """Centres as many as asked for, or as memory and a sensible time allow."""
    limit = memory_limit(size.max_memory)
    m = min(size.n_components or default_centres(size.n, limit), size.n)
    storage = plan_storage(
        size.n,
        size.d,
        "float32",
        columns=m,
        max_memory=max(1, int(limit - 24.0 * m * m)),
        products=2 * FALKON_STEPS,
        flops=2.0 * m**3,  # two factors and a product of order m
    )
    name = "nystroem" if size.streamed else "falkon"
    return KernelPlan(name, storage, storage.seconds, m, storage.stores)


def default_centres(n: int, limit: int) -> int:
    """About 5 sqrt(n): beyond, the error falls slowly; fewer if K_nm in float32 does not fit."""
    fits = int(0.75 * limit / (4.0 * n))
    return max(min(n, 100), min(n, int(5 * n**0.5), fits))
