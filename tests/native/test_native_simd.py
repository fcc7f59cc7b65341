"""The dispatch level of the core, as the environment variable KILOGRAM_SIMD sets it."""

import os
import subprocess
import sys

import pytest

from kilogram import native
from kilogram.native.simd import LEVELS, allowed_level


def start(level):
    """Load the core in a new process under this setting."""
    program = "from kilogram import native; print(native.simd_level())"
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KILOGRAM_SIMD": level},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("level", LEVELS)
def test_the_variable_is_an_upper_bound(level):
    found = start(level)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == allowed_level(level, native.simd_levels())


def test_an_empty_variable_is_no_bound():
    assert start("").stdout.strip() == native.simd_levels()[0]


def test_an_unknown_word_is_an_error():
    found = start("sse9")
    assert found.returncode != 0
    assert "KILOGRAM_SIMD must be one of baseline, avx2, avx512, vnni, got 'sse9'." in found.stderr


def test_a_level_the_machine_lacks_falls_back_to_the_best_below():
    assert allowed_level("vnni", ["avx2", "baseline"]) == "avx2"
    assert allowed_level("avx512", ["vnni", "avx512", "avx2", "baseline"]) == "avx512"
    assert allowed_level("avx2", ["baseline"]) == "baseline"
