"""Small machines all at once: one kernel matrix, one compiled call for all pairs of classes.

Ten classes make 45 machines of a few dozen steps each, and then what goes on around the steps is
most of the time. Here the squares, the steps and the certificates are one call; a machine that does
not end soon is left to block SMO, which can be watched and stopped.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kilogram.models.classification.svm_machines import Duel
from kilogram.native.svm import Duels, solve_duels

if TYPE_CHECKING:
    from kilogram.models.classification.svm_fit import Active

Array = np.ndarray
VISITS = 64  # pair steps for every row: most machines need one or two
USUAL_STEPS = 10_000_000  # max_iter below this is the user's, and counted exactly by block SMO


class Small(NamedTuple):
    """Coefficients (n, t) of all rows, dual points by machine, and `Duelled.results` (t, 5)."""

    coef: Array
    b: tuple[Array, ...]
    results: Array


def all_at_once(model: Any, C: Array, max_steps: int) -> bool:
    """Whether nobody watches the single steps, and every penalty is finite."""
    watched = model.max_time is not None or hasattr(model, "_skl_callbacks")
    return not watched and max_steps >= USUAL_STEPS and bool(np.isfinite(C).all())


def solve_small(K: Array, active: Active, plan: list[Duel], slack: int, tol: float) -> Small | None:
    """All machines of the plan on K (n, n), or None where one is slow."""
    ats = rows_of(active.codes, plan)
    at, sizes = np.concatenate(ats), np.array([len(a) for a in ats])
    y = np.concatenate([d.signs(active.codes[a]) for d, a in zip(plan, ats, strict=True)])
    start = np.concatenate([[0], np.cumsum(sizes)])
    duels = Duels(at, start, y, np.ascontiguousarray(active.C[at], dtype=np.float64))
    found = solve_duels(K, duels, slack=slack, tol=tol, visits=VISITS)
    if (found.results[:, 4] > tol).any():
        return None
    coef = np.zeros((active.n, len(plan)))
    coef[active.where[at], np.repeat(np.arange(len(plan)), sizes)] = found.b
    return Small(coef, tuple(np.split(found.b, start[1:-1])), found.results)


def rows_of(codes: Array, plan: list[Duel]) -> list[Array]:
    """The rows of every machine; classes that follow one another are found by their ends."""
    if plan[0].second is None or len(plan) == 1 or (np.diff(codes) < 0).any():
        return [duel.rows(codes) for duel in plan]
    ends = np.searchsorted(codes, np.arange(codes[-1] + 2))
    rows = np.arange(codes.shape[0])
    members = [rows[a:b] for a, b in pairwise(ends)]
    return [np.concatenate([members[i], members[j]]) for i, j in plan if j is not None]
