"""Long native calls end at Ctrl-C and at a deadline."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kilogram.arrays.interruptible import DeadlinePassed, run_interruptible
from kilogram.arrays.lapack import largest_eigenpairs
from kilogram.native.threads import n_threads


def test_returns_and_raises_what_the_function_does():
    assert run_interruptible(lambda a, b: a + b, 1, 2, work=np.inf) == 3
    with pytest.raises(ZeroDivisionError):
        run_interruptible(lambda: 1 / 0, work=np.inf)


def test_short_work_stays_in_the_calling_thread():
    assert run_interruptible(threading.current_thread, work=1) is threading.current_thread()
    assert run_interruptible(threading.current_thread, work=np.inf) is not threading.main_thread()


def test_the_worker_uses_as_many_threads_as_its_caller():
    assert run_interruptible(n_threads, work=np.inf) == n_threads()


def test_a_deadline_ends_the_wait():
    released = threading.Event()
    with pytest.raises(DeadlinePassed):
        run_interruptible(released.wait, 60, work=np.inf, deadline=time.perf_counter() + 0.05)
    released.set()


def test_ctrl_c_ends_the_wait():
    released = threading.Event()
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    # a shell starts background jobs with SIGINT ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run_interruptible(released.wait, 60, work=np.inf)
    finally:
        released.set()
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_largest_eigenpairs(dtype, k):
    A = np.random.default_rng(0).standard_normal((40, 40)).astype(dtype)
    A = A + A.T
    before = A.copy()
    values, vectors = largest_eigenpairs(A, k)
    eps = np.finfo(dtype).eps * 40 * np.abs(A).sum()
    np.testing.assert_array_equal(A, before)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:k], atol=eps)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=eps)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=eps)


LEFT_BEHIND = """
import signal, time
import numpy as np
from kilogram import native
from kilogram.arrays.interruptible import run_interruptible

class Slow:  # the interpreter shuts down for a second
    def __del__(self, sleep=time.sleep):
        sleep(1.0)

slow = Slow()
signal.signal(signal.SIGPROF, signal.default_int_handler)
A, X = 2.0 * np.eye(8000), np.random.default_rng(0).random((9000, 400))
signal.setitimer(signal.ITIMER_PROF, 0.5)
try:
    run_interruptible({call}, work=1e12)
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "call", ["native.cholesky_inplace, A", "native.kernel_half, 'laplacian', X, (1.0,)"]
)
def test_a_call_left_behind_does_not_abort_the_process(call):
    """Python ended its thread by an exception that a destructor must not pass on: status 134."""
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_BEHIND.format(call=call)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "interrupted"), ended.stderr[-500:]


LEFT_IN_SUPERLU = """
import time
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from kilogram.arrays.interruptible import DeadlinePassed, run_interruptible

A = sp.random_array((6000, 6000), density=1e-3, rng=0)
A = (A + A.T + 50 * sp.eye_array(6000)).tocsc()
try:
    run_interruptible(splu, A, work=np.inf, deadline=time.perf_counter() + 0.5)
except DeadlinePassed:
    print("gave up")
"""


def test_a_factor_left_behind_does_not_change_the_exit_status():
    """SuperLU's buffers went with the state of its thread, and the status was 120."""
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_IN_SUPERLU],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "gave up"), ended.stderr[-500:]
