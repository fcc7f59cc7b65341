"""Rows that do not fit: a Parquet file within a memory limit, a cluster that loses a worker."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kilogram as kg

SCRIPT = """
import resource, sys
import numpy as np
import kilogram as kg

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rng = np.random.default_rng(0)
kg.LinearRegression().fit(rng.standard_normal((2000, 40)), rng.standard_normal(2000))
warm = kg.open_rows(sys.argv[2])
kg.LinearRegression().fit(warm.drop("y"), warm.column("y"))  # what the readers take by themselves
before = peak()
rows = kg.open_rows(sys.argv[1])
model = kg.LinearRegression().fit(rows.drop("y"), rows.column("y"))
print(peak() - before)
np.save(sys.argv[3], np.append(model.coef_, model.intercept_))
"""


def write(path, n, d, seed):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    moments = None
    with pq.ParquetWriter(
        path, pa.schema([(f"x{j}", "f8") for j in range(d)] + [("y", "f8")])
    ) as w:
        for _ in range(n // 10_000):
            X = rng.standard_normal((10_000, d))
            y = X @ np.arange(d) + rng.standard_normal(10_000)
            w.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(d)}, "y": y}))
            moments = (
                kg.LinearRegression().partial_fit(X, y)
                if moments is None
                else moments.partial_fit(X, y)
            )
    return moments


def test_a_parquet_file_three_times_the_memory_it_may_take(tmp_path):
    """120 MB of rows, and at most 40 MB more memory than reading a small file takes."""
    pytest.importorskip("pyarrow")
    want = write(tmp_path / "large.parquet", 370_000, 40, 0)
    write(tmp_path / "small.parquet", 20_000, 40, 1)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(SCRIPT),
            str(tmp_path / "large.parquet"),
            str(tmp_path / "small.parquet"),
            str(tmp_path / "coef.npy"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert float(done.stdout) < 40
    found = np.load(tmp_path / "coef.npy")
    np.testing.assert_allclose(found[:-1], want.coef_, rtol=1e-9, atol=1e-10)


class KilledOnce:
    """A chunk whose first reader is killed with all it holds; never this process itself."""

    def __init__(self, marker):
        self.marker, self.home = marker, os.getpid()

    def __call__(self, block):
        if os.getpid() != self.home and not os.path.exists(self.marker):
            with open(self.marker, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return block


def test_a_cluster_of_four_that_loses_one(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.array as da

    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 8))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])  # dependent: two passes, moments and triangle
    y = X @ np.arange(9.0) + rng.standard_normal(4000)
    want = kg.LinearRegression().fit(X, y)
    rows = da.from_array(X, chunks=(200, 9))
    poisoned = rows.blocks[15].map_blocks(
        KilledOnce(str(tmp_path / "killed")), meta=np.empty((0, 0))
    )
    rows = da.concatenate([rows[:3000], poisoned, rows[3200:]])
    with (
        distributed.LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address=None,
            local_directory=str(tmp_path / "workers"),
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster, timeout=120) as client,
    ):
        before = set(client.run(os.getpid).values())
        got = kg.LinearRegression().fit(rows, da.from_array(y, chunks=200))
    assert int((tmp_path / "killed").read_text()) in before
    assert (got.rank_, got.solver_) == (8, "svd")
    np.testing.assert_allclose(got.coef_, want.coef_, rtol=1e-9)
    assert got.intercept_ == pytest.approx(want.intercept_, rel=1e-7)
