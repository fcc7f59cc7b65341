"""Which instruction set the elementwise loops use; chosen at import, changed only by tests."""

from __future__ import annotations

from kilogram.native import _core


def simd_level() -> str:
    """The level in use: "vnni", "avx512", "avx2" or "baseline"."""
    return str(_core.simd_level())


def set_simd_level(name: str) -> None:
    """Use another level; ValueError where this machine or build lacks it."""
    _core.set_simd_level(name)


def simd_levels() -> list[str]:
    """All levels this machine can run, best first."""
    before, found = simd_level(), []
    for name in ("vnni", "avx512", "avx2", "baseline"):
        try:
            set_simd_level(name)
        except ValueError:
            continue
        found.append(name)
    set_simd_level(before)
    return found
