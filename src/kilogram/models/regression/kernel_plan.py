"""Which road a kernel ridge regression takes: decided from size and memory, said before the work.

double, mixed   exact: K + alpha I factored (solvers/linear/positive.py), one K of memory
lean            exact, with a float32 factor and K computed anew: half a K of memory
cg              exact to `tol`: conjugate gradients, K stored if it fits, else computed in tiles
falkon          on m centres: K_nm stored in float32 if it fits, else computed in tiles
moments         on m centres, for rows that come in blocks: one pass for their moments
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.kernels import FromCallable, Kernel, Precomputed
from kilogram.operators.memory_plan import Road, choose_road, human_bytes, memory_limit

SOLVERS = ("auto", "cholesky", "cg", "falkon")
APPROXIMATIONS = (None, "nystroem", "fourier")
FALKON_STEPS = 30  # passes over K_nm, about, for estimates


@dataclass(frozen=True)
class Plan:
    """The road, its memory and time, and a sentence for the user where it was not his choice."""

    name: str
    road: Road
    seconds: float
    centres: int = 0
    stored: bool = True
    said: str = ""

    @property
    def solver(self) -> str:
        """The road by the name a user knows."""
        return "cholesky" if self.name in ("exact", "lean") else self.name


@dataclass(frozen=True)
class Ask:
    """What is known when the road is chosen."""

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

    @property
    def given(self) -> bool:
        """Whether K can be had only as a whole, from the user."""
        return isinstance(self.kernel, Precomputed)

    def road(self, copies: float = 1.0, **work: Any) -> Road:
        return choose_road(
            self.n, self.d, self.dtype, max_memory=self.max_memory, copies=copies, **work
        )


def make_plan(ask: Ask) -> Plan:
    """The road for this problem; MemoryError where the one asked for has no room."""
    if ask.solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, got {ask.solver!r}.")
    if ask.solver == "falkon":
        return falkon_plan(ask)
    if ask.solver == "cg":
        road = ask.road(products=60)
        return Plan("cg", road, road.seconds)
    return _exact_plan(ask)


def _exact_plan(ask: Ask) -> Plan:
    factor = ask.n**3 / 6
    whole = ask.road(flops=factor)
    if whole.stores:
        if ask.max_time is not None and ask.solver == "auto" and whole.seconds > ask.max_time:
            said = (
                f"factoring K takes about {whole.seconds:.0f} s, more than max_time: "
                "conjugate gradients are used, which can be stopped."
            )
            return Plan("cg", whole, whole.seconds, said=said)
        return Plan("exact", whole, whole.seconds)
    half = ask.road(copies=0.5, flops=factor / 2)
    recomputable = ask.numpy and not isinstance(ask.kernel, Precomputed | FromCallable)
    if half.stores and recomputable and "float64" in str(ask.dtype):
        return Plan("lean", half, half.seconds)
    if ask.solver == "cholesky":
        raise MemoryError(
            f"solver='cholesky' cannot be kept within memory: {whole.reason}. Use solver='cg' or "
            "'falkon', approximation='nystroem', or raise max_memory."
        )
    if ask.given:
        return Plan("cg", whole, whole.seconds, said=f"{whole.reason}; solved by products with K.")
    plan = falkon_plan(ask)
    cause = whole.reason.split(";")[0]
    said = (
        f"{cause}; solved on {plan.centres} centres drawn from the {ask.n} rows "
        f"(solver='falkon', about {plan.seconds:.0f} s, {human_bytes(plan.road.bytes)}). "
        "Use solver='cg' for the exact solution at much more time, n_components for more centres."
    )
    return Plan(plan.name, plan.road, plan.seconds, plan.centres, plan.stored, said)


def falkon_plan(ask: Ask) -> Plan:
    """Centres as many as asked for, or as memory and a sensible time allow."""
    if ask.given:
        raise ValueError(
            "solver='falkon' picks centres among the rows of X, which a precomputed kernel hides; "
            "give the kernel itself, or use solver='cg'."
        )
    limit = memory_limit(ask.max_memory)
    m = ask.n_components or default_centres(ask.n, limit)
    m = min(m, ask.n)
    road = choose_road(
        ask.n,
        ask.d,
        "float32",
        columns=m,
        max_memory=max(1, int(limit - 24.0 * m * m)),
        products=2 * FALKON_STEPS,
    )
    return Plan("moments" if ask.streamed else "falkon", road, road.seconds, m, road.stores)


def default_centres(n: int, limit: int) -> int:
    """About 5 sqrt(n): beyond, the error falls slowly; fewer if K_nm in float32 has no room."""
    fits = int(0.75 * limit / (4.0 * n))
    return max(min(n, 100), min(n, int(5 * n**0.5), fits))
