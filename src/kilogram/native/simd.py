"""Which instruction set the C++ core uses: the best of the machine, or what `KILOGRAM_SIMD` allows.

The variable names the highest level to use and is read once, when the core is loaded. A level that
the machine lacks is lowered to the best one below it, so one setting serves a mixed cluster.
"""

from __future__ import annotations

import os

import kilogram.native._core as _core

LEVELS = ("baseline", "avx2", "avx512", "vnni")  # each has all that the one before has
VARIABLE = "KILOGRAM_SIMD"


def simd_level() -> str:
    """The level in use: "vnni", "avx512", "avx2" or "baseline"."""
    return str(_core.simd_level())


def set_simd_level(name: str) -> None:
    """Use another level; ValueError where this machine or build lacks it."""
    _core.set_simd_level(name)


def simd_levels() -> list[str]:
    """All levels this machine can run, best first; `KILOGRAM_SIMD` does not shorten the list."""
    before, found = simd_level(), []
    for name in reversed(LEVELS):
        try:
            set_simd_level(name)
        except ValueError:
            continue
        found.append(name)
    set_simd_level(before)
    return found


def allowed_level(highest: str, available: list[str]) -> str:
    """The best of the available levels, listed best first, that is not above `highest`."""
    if highest not in LEVELS:
        raise ValueError(
            f"{VARIABLE} must be one of {', '.join(LEVELS)}, got {highest!r}. "
            "Unset it to use the best level of this machine."
        )
    return next(name for name in available if LEVELS.index(name) <= LEVELS.index(highest))


if highest := os.environ.get(VARIABLE, ""):
    set_simd_level(allowed_level(highest, simd_levels()))
