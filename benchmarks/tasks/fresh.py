"""A fresh process: what an import and a first small fit cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from benchmarks.task import Task

FIT = "from {package} import Ridge; import numpy as np; Ridge().fit(np.eye(50), np.arange(50.0))"


def _python(code: str) -> Callable[[None], None]:
    def run(_: None) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    return run


def _task(name: str, title: str, ours: str, peer: str) -> Task:
    return Task(
        name=name,
        title=title,
        make=lambda: None,
        run={"kilogram": _python(ours), "scikit-learn": _python(peer)},
        quality=lambda result, data: {},
        floor=lambda rates: 0.02,
        counted="a bare interpreter, roughly",
        repeats=5,
    )


TASKS = [
    _task("import", "Import in a fresh process", "import kilogram", "import sklearn"),
    _task(
        "first_fit",
        "First small fit in a fresh process",
        FIT.format(package="kilogram"),
        FIT.format(package="sklearn.linear_model"),
    ),
]
