"""Threads: how many there are, and a BLAS limited to some of them for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from kilogram.native.threads import blas_libraries, n_threads

__all__ = ["blas_threads", "n_threads", "one_team"]

SMALL = 256  # order of matrices that one thread handles best


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """BLAS on n threads while the block runs (10 microseconds; the setting is global)."""
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    libraries = blas_libraries()
    before = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(n)
        yield
    finally:
        for library, count in zip(libraries, before, strict=True):
            library.set_num_threads(count)


def one_team(d: int) -> AbstractContextManager[None]:
    """BLAS on one thread for matrices of d columns, if d is small: waking a second thread, while
    the team of a native loop still spins, costs more than all the work."""
    return blas_threads(1) if d <= SMALL else nullcontext()
