"""A child made by fork finishes what its parent did with several threads before.

GNU's OpenMP keeps a pool of threads that a fork does not copy: a parallel region in the child would
wait for it for ever. Each case runs in a process of its own, which is ended where it hangs.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing
import sys

import numpy as np

import kilogram as kg
from kilogram.native.threads import n_threads

rng = np.random.default_rng(0)
X = rng.standard_normal((1600, 40))
y = (X[:, 0] + 0.3 * rng.standard_normal(1600) > 0).astype(int)
model = {
    "SVC": lambda: kg.SVC(),
    "KernelRidge": lambda: kg.KernelRidge(kernel="rbf", gamma=0.05),
    "KernelPCA": lambda: kg.KernelPCA(3, kernel="rbf"),
    "KMeans": lambda: kg.KMeans(200, max_iter=3, tol=np.inf, random_state=0),
}[sys.argv[1]]


def fit(queue=None):
    found = model().fit(X, y)
    found = found.transform(X[:5]) if hasattr(found, "transform") else found.predict(X[:5])
    if queue is not None:
        queue.put((n_threads(), np.asarray(found)))
    return np.asarray(found)


expected = fit()
assert n_threads() == 2, n_threads()
context = multiprocessing.get_context("fork")
queue = context.Queue()
child = context.Process(target=fit, args=(queue,), daemon=True)
child.start()
threads, found = queue.get(timeout=60)
child.join(10)
assert threads == 1, threads
np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-6, atol=1e-8)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("name", ["SVC", "KernelRidge", "KernelPCA", "KMeans"])
def test_a_forked_child_finishes(name):
    env = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.stdout.strip() == "done", ended.stderr[-2000:]
