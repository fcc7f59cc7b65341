"""A real cluster of worker processes; one of them is killed in the middle of the work."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import kilogram as kg
from kilogram.arrays.rows import map_rows, reduce_rows, sample_rows
from kilogram.statistics import JointMoments, Moments

distributed = pytest.importorskip("distributed")

rng = np.random.default_rng(0)
X, y = rng.normal(size=(2400, 6)) + 5.0, rng.normal(size=2400)
CHUNKS = 24


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    # on a busy machine a killed worker takes longer than the 15 s after which Dask gives it up
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"}),
        distributed.LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address=None,
            local_directory=str(tmp_path_factory.mktemp("workers")),
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster, timeout=120) as connected,
    ):
        yield connected


def chunked(a):
    return da.from_array(a, chunks=(len(a) // CHUNKS, *a.shape[1:]))


class PoisonedOnce:
    """JointMoments, but the first worker to meet the marked chunk is killed with all it holds."""

    def __init__(self, marker: Path, poison: float) -> None:
        self.marker, self.poison = marker, poison

    def __call__(self, X, Y, w=None):
        if X[0, 0] == self.poison and not self.marker.exists():
            self.marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return JointMoments.of(X, Y, w)


class KilledOnce:
    """Rows as they are, but the first worker to read the marked chunk is killed."""

    def __init__(self, marker: Path, poison: float) -> None:
        self.marker, self.poison = marker, poison

    def __call__(self, X):
        if len(X) and X[0, 0] == self.poison and not self.marker.exists():
            self.marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return X


MODELS = [
    kg.Ridge(),
    kg.LogisticRegression(tol=1e-10),
    kg.LinearDiscriminantAnalysis(),
    kg.GaussianNB(),
]


@dataclass
class Heavy:
    """A statistic with a large state, which counts how often it is sent."""

    centres: np.ndarray
    sent = 0

    def __reduce__(self):
        Heavy.sent += 1
        return Heavy, (self.centres,)

    def __call__(self, X):
        return Moments.of(X @ self.centres)


def test_a_killed_worker_does_not_change_the_sum(client, tmp_path):
    marker = tmp_path / "killed"
    rows, target = chunked(X), chunked(y)
    poison = X[(CHUNKS - 4) * len(X) // CHUNKS, 0]  # late: workers already hold statistics
    before = set(client.run(os.getpid).values())
    found = reduce_rows(PoisonedOnce(marker, poison), rows, target)
    killed = int(marker.read_text())
    assert killed in before
    wanted = JointMoments.of(X, y)
    assert found.weight == wanted.weight == 2400
    np.testing.assert_allclose(found.scatter, wanted.scatter, rtol=1e-10)
    np.testing.assert_allclose(found.cross, wanted.cross, rtol=1e-9, atol=1e-9)
    client.wait_for_workers(4, timeout=120)
    assert killed not in set(client.run(os.getpid).values())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_killed_worker_does_not_change_the_fit(client, tmp_path, model):
    marker = tmp_path / "killed"
    target = (X[:, 0] + y > 5).astype(int)
    poison = X[(CHUNKS - 4) * len(X) // CHUNKS, 0]
    rows = chunked(X).map_blocks(KilledOnce(marker, poison), dtype=X.dtype, meta=X[:0])
    before = set(client.run(os.getpid).values())
    found = clone(model).fit(rows, chunked(target))
    assert int(marker.read_text()) in before
    wanted = clone(model).fit(X, target)
    names = [n for n in ("coef_", "intercept_", "theta_", "var_")
             if hasattr(wanted, n)]  # fmt: skip
    assert names
    for name in names:
        np.testing.assert_allclose(
            np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name)), rtol=1e-7
        )
    client.wait_for_workers(4, timeout=120)


def test_the_state_of_a_statistic_is_sent_once(client):
    heavy = Heavy(rng.normal(size=(6, 2)))
    Heavy.sent = 0
    found = reduce_rows(heavy, chunked(X))
    np.testing.assert_allclose(found.mean, (X @ heavy.centres).mean(axis=0))
    assert Heavy.sent <= 4  # not once per chunk


def test_maps_and_samples_on_the_cluster(client):
    out = map_rows(lambda x: x[:, 0] ** 2, chunked(X))
    np.testing.assert_array_equal(out.compute(), X[:, 0] ** 2)
    drawn = sample_rows(chunked(X), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, sample_rows(X, 50, np.random.default_rng(1)))


def test_an_error_on_a_worker_comes_back(client):
    def fails(x):
        raise ZeroDivisionError("this statistic cannot be")

    with pytest.raises(ZeroDivisionError, match="cannot be"):
        reduce_rows(fails, chunked(X))
