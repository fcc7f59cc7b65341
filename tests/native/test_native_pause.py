"""Ctrl-C ends a long native call between its steps."""

import signal
import subprocess
import sys

import pytest

LONG = """
import numpy as np
from kilogram.native.structure import link_rows
from kilogram.native.kmeans_start import greedy_rows
rng = np.random.default_rng(0)
try:
    print("begun", flush=True)
    {call}
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
"""
CALLS = {
    "single": "link_rows(rng.standard_normal((200_000, 4)))",
    "ward": "link_rows(rng.standard_normal((200_000, 4)), ward=True)",
    "k-means++": "greedy_rows(rng.standard_normal((50_000, 20)), 0, rng.random((20_000, 8)))",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_long_call_is_interrupted(call):
    """Each of these takes minutes."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG.format(call=call)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"
