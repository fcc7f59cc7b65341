"""Load the compiled module so that its idle threads sleep.

By default the threads of an OpenMP team spin for milliseconds after the work, each on a core that
the next BLAS call needs: a small eigendecomposition right after a native loop took 8 ms, not 1.
OpenMP reads its policy once, when its library is loaded, so the variable is set for that moment
only; a policy that the user has set stays.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

POLICY = "OMP_WAIT_POLICY"


def load_core() -> Any:
    """The module `kilogram.native._core`, with SciPy's BLAS routines loaded."""
    ours = POLICY not in os.environ
    if ours:
        os.environ[POLICY] = "passive"
    try:
        core = import_module("kilogram.native._core")
    finally:
        if ours:
            del os.environ[POLICY]
    core.load_blas()
    return core


load_core()
