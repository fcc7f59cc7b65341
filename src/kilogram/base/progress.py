"""Progress of a fit, reported through scikit-learn's callbacks where its version has them.

A solver calls `tick(iteration, objective)` once per iteration; True asks it to stop. `tick` checks
the time limit and calls the callbacks that the user attached with `set_callbacks`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn < 1.9 has no callbacks: fits run the same, unobserved

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn 1.9 has its mixin."""

    def with_callbacks(method: Callable) -> Callable:
        return method

    HAS_CALLBACKS = False

__all__ = ["HAS_CALLBACKS", "CallbackSupportMixin", "Tick", "ticking", "with_callbacks"]

Tick = Callable[[int, float | None], bool]


@contextmanager
def ticking(estimator: BaseEstimator, name: str, deadline: float | None) -> Iterator[Tick]:
    """A `tick` for one fit of `estimator`; must run inside a method wrapped by `with_callbacks`."""
    observed = HAS_CALLBACKS and hasattr(estimator, "_skl_callbacks")
    root = estimator._init_callback_context(max_subtasks=None) if observed else None
    if root is not None:
        root.call_on_fit_task_begin(estimator=estimator)

    def tick(iteration: int, objective: float | None = None) -> bool:
        stop = deadline is not None and time.perf_counter() >= deadline
        if root is not None:
            task = root.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=estimator)
            stop = bool(task.call_on_fit_task_end(estimator=estimator)) or stop
        return stop

    try:
        yield tick
    finally:
        if root is not None:
            root.call_on_fit_task_end(estimator=estimator)
