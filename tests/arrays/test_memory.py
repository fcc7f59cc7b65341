"""Memory limits as text, and memory at hand as the system and its control groups tell it."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram.arrays import memory
from kilogram.arrays.memory import available_memory, parse_memory


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("12GiB", 12 * 2**30),
        ("500MB", 500 * 10**6),
        ("1.5 gb", 1_500_000_000),
        ("64k", 64_000),
        ("2TiB", 2**41),
        ("100", 100),
        ("100B", 100),
        (4096, 4096),
        (1e9, 10**9),
        (np.int64(4096), 4096),
        (None, None),
    ],
)
def test_parse(text, bytes_):
    assert parse_memory(text) == bytes_


@pytest.mark.parametrize("text", ["", "GiB", "12 apples", "-3GB", "1e3x", "0", 0, -1, float("nan")])
def test_parse_says_what_is_wrong(text):
    with pytest.raises(ValueError, match="memory"):
        parse_memory(text)


@pytest.mark.parametrize("thing", [[1], True, {}])
def test_parse_wrong_type(thing):
    with pytest.raises(TypeError, match="memory limit"):
        parse_memory(thing)


def test_available():
    assert 2**20 < available_memory() < 2**50


@pytest.mark.parametrize("version", [1, 2])
def test_control_group(tmp_path, monkeypatch, version):
    root = tmp_path if version == 2 else tmp_path / "memory"
    own = root / "box" / "job"
    own.mkdir(parents=True)
    limit, usage = (
        ("memory.max", "memory.current")
        if version == 2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    (own / limit).write_text("max\n" if version == 2 else "9223372036854771712\n")
    (own / usage).write_text("5\n")
    (own / "memory.stat").write_text("inactive_file 0\n")
    (own.parent / limit).write_text("1000\n")
    (own.parent / usage).write_text("300\n")
    (own.parent / "memory.stat").write_text("anon 200\ninactive_file 40\n")
    line = "0::/box/job" if version == 2 else "4:memory:/box/job"
    monkeypatch.setattr(memory, "_own_groups", lambda: ["7:cpu:/x", line])
    assert memory._cgroup_memory(tmp_path) == 740


def test_no_control_group(tmp_path):
    assert memory._cgroup_memory(tmp_path) == 1 << 62
