"""The CPUs that control groups leave to a process."""

import pytest

from kilogram.native.threads import cpu_quota, idle_threads, n_threads


@pytest.mark.parametrize(
    ("files", "own", "expected"),
    [
        ({"cpu.max": "max 100000"}, "0::/\n", 1 << 20),
        ({"cpu.max": "150000 100000"}, "0::/\n", 2),
        ({"a/b/cpu.max": "100000 100000", "a/cpu.max": "max 100000"}, "0::/a/b\n", 1),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, "0::/a/b\n", 3),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"},
         "4:memory:/\n3:cpu,cpuacct:/\n", 2),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "3:cpu:/\n", 1 << 20),
        ({}, "", 1 << 20),
    ],
)  # fmt: skip
def test_the_least_quota_counts(files, own, expected, tmp_path):
    for name, content in files.items():
        (tmp_path / "cg" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cg" / name).write_text(content)
    (tmp_path / "own").write_text(own)
    assert cpu_quota(tmp_path / "cg", tmp_path / "own") == expected


def test_threads_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.getloadavg", lambda: (7.4, 5.0, 5.0))
    assert idle_threads() == 1
    monkeypatch.setattr("os.getloadavg", lambda: (0.2, 5.0, 5.0))
    assert idle_threads() == min(8, n_threads())
    monkeypatch.setattr("os.getloadavg", lambda: (40.0, 5.0, 5.0))
    assert idle_threads() == 1
