"""Load the compiled module so that its idle threads sleep.

By default the threads of an OpenMP team spin for milliseconds after the work, each on a core that
the next BLAS call needs: a small eigendecomposition right after a native loop took 8 ms, not 1.
OpenMP reads its policy once, when its library is loaded, so the variable is set for that moment
only; a policy that the user has set stays.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from kilogram.native.source_digest import source_digest

SOURCES = Path(__file__).parent / "src"  # there in a checkout, not in a wheel
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
    check_sources(core.source_digest, SOURCES)
    core.load_blas()
    return core


def check_sources(compiled: str, folder: Path) -> None:
    """Refuse a module compiled from other sources than those in the checkout.

    Its functions may take other arguments, or compute something else: wrong numbers, no error.
    """
    if folder.is_dir() and source_digest(folder) != compiled:
        raise ImportError(
            "the compiled core of Kilogram does not match its C++ sources. Build it again: "
            "python -m pip install --editable . (`make test` and `make cook` do so)."
        )


load_core()
