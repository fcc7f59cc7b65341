"""The solver is chosen by memory, says why, and its costs grow with the work."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.kernels import Gaussian
from kilogram.operators import Gram, plan_storage
from kilogram.operators.cost import rates


def test_stored_while_it_fits_then_blocked_or_low_rank():
    stored = plan_storage(1000, 10, max_memory="100MiB")
    assert stored.name == "stored"
    assert stored.bytes == 8 * 1000**2
    blocked = plan_storage(10_000, 10, max_memory="100MiB")
    assert blocked.name == "blocked"
    assert blocked.bytes < 100 * 2**20
    low = plan_storage(10_000, 10, max_memory="100MiB", rank=500)
    assert low.name == "low_rank"
    assert low.bytes == 8 * 10_000 * 500
    assert all(solver.fits for solver in (stored, blocked, low))


def test_float32_takes_half_and_copies_count():
    assert plan_storage(1000, 10, np.float32).bytes == 4 * 1000**2
    assert plan_storage(4000, 10, "float32", max_memory=70_000_000).stores
    assert not plan_storage(4000, 10, "float64", max_memory=70_000_000).stores
    assert not plan_storage(4000, 10, "float32", max_memory=70_000_000, copies=2.0).stores


def test_what_cannot_fit_says_so():
    solver = plan_storage(10**7, 10, max_memory="1MiB")
    assert not solver.fits
    assert "does not fit in the 1 MiB allowed" in solver.reason


def test_seconds_grow_with_the_work():
    small = plan_storage(1000, 10, max_memory="1GiB")
    large = plan_storage(4000, 10, max_memory="1GiB")
    assert 0 < small.seconds < large.seconds
    again = plan_storage(4000, 10, max_memory="1MiB", products=50)
    assert again.seconds > large.seconds
    assert rates(8) is rates(8)


def test_gram_follows_the_plan():
    X = np.random.default_rng(0).standard_normal((400, 3))
    assert Gram(Gaussian(1.0), X, max_memory="10MiB").stores
    tight = Gram(Gaussian(1.0), X, max_memory="1MiB")
    assert not tight.stores
    assert tight.plan.name == "blocked"
    with pytest.raises(MemoryError, match="does not fit in the 1 MiB"):
        Gram(Gaussian(1.0), X, max_memory="1MiB", store=True)


def test_limit_is_what_was_given_or_a_fraction_of_what_is_free():
    assert memory_limit("2GiB") == 2 * 2**30
    assert memory_limit(12345) == 12345
    assert memory_limit() > 0


def test_bytes_for_people():
    assert human_bytes(512) == "512 bytes"
    assert human_bytes(1.5 * 2**30) == "1.5 GiB"
    assert human_bytes(3 * 2**40) == "3 TiB"
