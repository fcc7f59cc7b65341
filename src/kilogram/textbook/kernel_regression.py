"""Kernel regression after Nadaraya and Watson (lecture_notes L15).

    f(x) = sum_i w_i y_i,      w_i = k(x, x_i) / sum_j k(x, x_j)

A weighted mean of the targets: nothing is solved. A narrow kernel gives the nearest neighbour, a
wide one the mean. Not kernel ridge regression, whose weights may be negative and need not sum to 1.
"""

from __future__ import annotations

from kilogram.textbook.state import Array, States, begin


def kernel_regression(K_t: Array, y: Array) -> States:
    """Predictions from K_t = k(X_new, X_train), one row per new point."""
    yield (s := begin("1 similarities", K_t=K_t, y=y))
    yield (s := s.then("2 weights that sum to 1", w=K_t / K_t.sum(axis=1, keepdims=True)))
    yield (s := s.then("3 weighted mean", f=s["w"] @ y))
    return s
