"""Budgets: given by the user, checked at once."""

import math
import time

import pytest

from kilogram.base import Budget


def test_no_limit():
    free = Budget()
    assert free.left == math.inf
    assert free.deadline is None
    assert not free.expired
    assert free.bytes > 0


def test_time_runs_out():
    short = Budget(max_time=1e-6)
    time.sleep(1e-3)
    assert short.expired
    assert short.left < 0
    assert short.deadline == short.started + 1e-6


def test_memory_in_words():
    assert Budget(max_memory="2MiB").bytes == 2 * 2**20
    assert Budget(max_memory=1000).bytes == 1000


@pytest.mark.parametrize("bad", [0, -1, "long", float("nan"), True])
def test_bad_time(bad):
    with pytest.raises(ValueError, match="max_time"):
        Budget(max_time=bad)


@pytest.mark.parametrize("bad", [0, -5, "plenty", "3 elephants"])
def test_bad_memory(bad):
    with pytest.raises(ValueError, match="memory"):
        Budget(max_memory=bad)
