"""Law: a fit gives its answer in processes made by fork, forkserver, spawn and joblib, after
threads were used in the parent; GridSearchCV(n_jobs=2) as well. So do workers of a server that
fits its models and then forks.

GNU's OpenMP does not survive a fork: a fit in the child would wait for ever. A few estimators are
fitted here, one of each kind of threaded loop; all of them with KILOGRAM_LIMITS=1.
"""

import os
import subprocess
import sys

import pytest

from tests.laws.processes_child import METHODS

FEW = (
    *("SVC", "SVR", "KernelRidge", "KernelPCA", "GaussianProcessRegressor", "SpectralClustering"),
    *("KernelKMeans", "KMeans", "RandomForestClassifier", "LogisticRegression", "PCA", "Ridge"),
)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_fits_in_child_processes(method):
    if method in ("fork", "forkserver", "preload") and not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    names = () if "KILOGRAM_LIMITS" in os.environ else FEW
    ended = subprocess.run(
        [sys.executable, "-m", "tests.laws.processes_child", method, *names],
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.stdout.strip() == "done", ended.stdout + ended.stderr[-2000:]
