"""Ctrl-C ends a long native call between its steps."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from kilogram.arrays.threads import map_cancellable
from kilogram.native.cancel import CancelFlag, Cancelled
from kilogram.native.density import grow_density_tree

LONG = """
import signal
import numpy as np
from kilogram.native.linkage import link_rows
from kilogram.native.density import ColumnMajorRows, density_sums
from kilogram.native.kernels import kernel_matmul, kernel_normal_matmul
from kilogram.native.kmeans_initialization import greedy_rows
signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
rng = np.random.default_rng(0)
rows, wide, draws = rng.random((200_000, 4)), rng.random((50_000, 20)), rng.random((20_000, 8))
ones = np.ones(200_000)
start, end = np.zeros((200_000, 1), np.int64), np.full((200_000, 1), 200_000)
columns = ColumnMajorRows.of(rows, ones)
try:
    print("begun", flush=True)
    {call}
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
"""
CALLS = {
    "single": "link_rows(rows)",
    "ward": "link_rows(rows, ward=True)",
    "k-means++": "greedy_rows(wide, 0, draws)",
    "kernel matrix times vector": 'kernel_matmul("gaussian", rows, None, (1.0,), ones)',
    "predictions": 'kernel_matmul("gaussian", rows, rows.copy(), (1.0,), ones)',
    "kernel density": 'density_sums("gaussian", columns, rows, start, end)',
    "normal equations": 'kernel_normal_matmul("gaussian", rows, rows, (1.0,), ones)',
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_long_call_is_interrupted(call):
    """Each of these takes minutes."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG.format(call=call)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)  # until the call is in native code: Python would stop before it by itself
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()


DENSITY_TREE = """
import signal
import numpy as np
import kilogram.native._core as core
from kilogram.native.cancel import CancelFlag
column = np.random.default_rng(0).random(300_000)
X = np.tile(column, (40, 1))
order = np.tile(np.argsort(column).astype(np.int32), (40, 1))  # only growth takes long
links, values = np.empty((3, 60_003), np.int32), np.empty((3, 60_003))
box, limits = np.tile([[0.0], [1.0]], 40), np.array([2, 10, 0, 0, 1e-6, 1e-6, 0])
arguments = (False, 1000, limits, 40, 0, CancelFlag().value, links, values)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    core.grow_density_tree(X, order, np.ones(300_000), box, *arguments)
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_growth_of_a_density_tree_is_interrupted():
    """It takes some 10 s, in one call."""
    ended = subprocess.run(
        [sys.executable, "-c", DENSITY_TREE], capture_output=True, text=True, timeout=120
    )
    assert ended.stdout == "interrupted\n", ended.stderr


def test_the_growth_of_a_density_tree_is_cancelled():
    """By another thread than that which grows it, as in a forest."""
    X, w = np.random.default_rng(0).random((2000, 3)), np.ones(2000)
    limits, cancel = np.array([2, 10, 0, 0, 1e-3, 1e-6, 0]), CancelFlag()
    box, how = np.array([[0.0] * 3, [1.0] * 3]), {"likelihood": False, "max_depth": 99, "seed": 0}
    assert len(grow_density_tree(X, w, box, limits=limits, columns=3, **how).gain) > 1
    cancel.set()
    with pytest.raises(Cancelled):
        grow_density_tree(X, w, box, limits=limits, columns=3, cancel=cancel, **how)


def test_an_error_cancels_the_other_threads():
    def call(item, cancel):
        if item == 0:
            raise KeyboardInterrupt
        while not cancel.value[0]:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        list(map_cancellable(call, range(2), 2))
