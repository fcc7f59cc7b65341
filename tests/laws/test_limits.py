"""Law: a fit keeps to max_time and max_memory, and Ctrl-C ends it; measured in a child process.

Tolerances: a fit may use 2 s of processor time beyond `max_time`, the longest that Ctrl-C may take
as well, and a quarter plus 24 MiB beyond `max_memory`, for buffers of BLAS and Python's allocator.
Processor time is measured, as other work on the machine does not count.

A call is interrupted at three moments, unless it is over within 0.3 s for the largest number of
rows: `python -m tests.laws.limits_child interrupt 1 NAME` prints how many were measured.

A few estimators are measured here, all of them with KILOGRAM_LIMITS=1.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.laws.cases import ESTIMATORS

TIME, MEMORY = 0.3, 40  # seconds, MiB; one kernel matrix of the child has 48 MiB
BEYOND_TIME = 2.0
BEYOND_MEMORY = 0.25 * MEMORY * 2**20 + 24 * 2**20
EVERY = "KILOGRAM_LIMITS" in os.environ
FEW = {"KMeans", "KernelRidge", "SVC", "PCA"}
SYSTEM = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def _limited(parameter):
    found = [name for name, cls in ESTIMATORS.items() if parameter in cls().get_params()]
    return [name for name in found if EVERY or name in FEW]


def _measure(what, limit, name):
    command = [sys.executable, "-m", "tests.laws.limits_child", what, str(limit), name]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **threads}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@SYSTEM
@pytest.mark.slow
@pytest.mark.parametrize("name", _limited("max_time"))
def test_time(name):
    found = _measure("time", TIME, name)
    assert not found["error"]
    assert found["seconds"] <= TIME + BEYOND_TIME


@SYSTEM
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", list(ESTIMATORS) if EVERY else ["KernelPCA", "Isomap", "PolynomialFeatures"]
)
def test_interrupt(name):
    """Of a fit; of features, whose fit reads little of the rows, of `transform` as well."""
    assert _measure("interrupt", 1.0, name)["seconds"] <= BEYOND_TIME


@SYSTEM
@pytest.mark.slow
@pytest.mark.parametrize("name", list(ESTIMATORS) if EVERY else ["KernelRidge"])
def test_interrupt_of_answers(name):
    """Of predictions, scores or transformed rows."""
    assert _measure("interrupt-answers", 1.0, name)["seconds"] <= BEYOND_TIME


@SYSTEM
@pytest.mark.slow
@pytest.mark.parametrize("name", _limited("max_memory"))
def test_memory(name):
    found = _measure("memory", MEMORY, name)
    assert not found["error"] or "emory" in found["error"] or "MiB" in found["error"]
    assert found["bytes"] <= MEMORY * 2**20 + BEYOND_MEMORY
