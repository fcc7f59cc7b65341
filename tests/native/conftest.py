"""Native tests run on each instruction set of the machine, on one thread and on two."""

from __future__ import annotations

import pytest
from threadpoolctl import ThreadpoolController

from kilogram import native
from kilogram.native import buffers

LEVELS = native.simd_levels()
MACHINES = [(LEVELS[0], 1), *((level, 2) for level in LEVELS)]
OPENMP = ThreadpoolController().select(user_api="openmp")


@pytest.fixture(params=LEVELS)
def level(request):
    before = native.simd_level()
    native.set_simd_level(request.param)
    yield request.param
    native.set_simd_level(before)


@pytest.fixture(params=MACHINES, ids=lambda machine: f"{machine[0]}-{machine[1]}")
def machine(request, monkeypatch):
    """Small problems normally run on one thread; here they are shared too, to test the sharing."""
    level, threads = request.param
    before = native.simd_level()
    native.set_simd_level(level)
    monkeypatch.setattr(buffers, "SMALL_WORK", 0)
    with OPENMP.limit(limits=threads):
        yield request.param
    native.set_simd_level(before)
