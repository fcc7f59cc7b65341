"""Ctrl-C ends a long native call between its steps."""

import signal
import subprocess
import sys
import time

import pytest

LONG = """
import signal
import numpy as np
from kilogram.native.linkage import link_rows
from kilogram.native.kmeans_initialization import greedy_rows
signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
rng = np.random.default_rng(0)
rows, wide, draws = rng.random((200_000, 4)), rng.random((50_000, 20)), rng.random((20_000, 8))
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
