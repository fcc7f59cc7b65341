"""The list behind `make test-cpus`: what it covers, and that it reports what fails."""

from kilogram.native.simd import LEVELS
from tests import cpus
from tests.cpus import MACHINES, Machine, is_available


def test_every_level_core_and_number_of_threads_occurs():
    assert {machine.simd for machine in MACHINES} == set(LEVELS)
    cores = {machine.core for machine in MACHINES}
    assert cores >= {"Prescott", "Haswell", "SkylakeX", "Zen"}
    assert {machine.threads for machine in MACHINES} == {1, 2}
    assert any(machine.load for machine in MACHINES)
    assert len(set(MACHINES)) == len(MACHINES)


def test_what_the_cpu_lacks_is_left_out():
    old = ["avx2", "baseline"]
    assert is_available(Machine("Haswell", "avx2", 1), old)
    assert not is_available(Machine("Haswell", "avx512", 1), old)
    assert not is_available(Machine("SkylakeX", "baseline", 1), old)


def test_failures_are_named(tmp_path, monkeypatch, capsys):
    test = tmp_path / "test_level.py"
    test.write_text(
        "from kilogram.native import simd_level\n"
        "def test_good(): pass\n"
        "def test_level(): assert simd_level() != 'baseline'\n"
    )
    monkeypatch.setattr(cpus, "MACHINES", (Machine("Haswell", "baseline", 1),))
    assert cpus.main([str(test), "-p", "no:cacheprovider", "-n", "0"]) == 1
    said = capsys.readouterr().out
    assert "test_level::test_level\n    Haswell, baseline, 1 thread" in said
    assert "test_good" not in said
