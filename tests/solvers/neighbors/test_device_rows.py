"""Neighbours found in the library of the rows are those that NumPy finds row by row."""

import array_api_strict
import numpy as np
import pytest

from kilogram.arrays.namespace import to_numpy
from kilogram.solvers.neighbors import device_rows
from kilogram.solvers.neighbors.device_rows import DeviceRows


def put(X, library):
    if library == "torch":
        return pytest.importorskip("torch").asarray(X)
    return array_api_strict.asarray(X, device=array_api_strict.Device(library))


def plain(Y, X, k):
    """Distances rounded to the type of the rows; of equal ones the first row."""
    gap = X.astype(np.float64)[:, None, :] - Y.astype(np.float64)[None, :, :]
    squares = (gap**2).sum(axis=2).astype(Y.dtype)
    places = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squares, places, axis=1)), places


def agree(Y, X, k, library):
    distances, places = DeviceRows(put(Y, library)).nearest(put(X, library), k)
    assert str(distances.dtype).endswith(str(Y.dtype))
    want, rows = plain(Y, X, k)
    np.testing.assert_array_equal(to_numpy(places), rows)
    # a sum in another order, rounded to the same type
    np.testing.assert_allclose(to_numpy(distances), want, rtol=4 * np.finfo(Y.dtype).eps)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(device_rows, "TILE", 500)
    monkeypatch.setattr(device_rows, "TILE_ROWS", 37)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("library", ["torch", "device1"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 5, 95, 100])
def test_nearest_rows(library, dtype, k):
    rng = np.random.default_rng(k)
    Y, X = rng.standard_normal((100, 7)), rng.standard_normal((23, 7))
    agree(Y.astype(dtype), X.astype(dtype), k, library)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("library", ["torch", "device1"])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_of_equal_distances_the_first_row_is_taken(library, k):
    """More ties than candidates: a grid of few points, with copies."""
    rng = np.random.default_rng(k)
    Y, X = rng.integers(0, 3, (150, 2)).astype(float), rng.integers(0, 3, (20, 2)).astype(float)
    agree(Y, X, k, library)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("library", ["torch", "device1"])
def test_rows_far_from_the_origin_and_from_each_other(library):
    """Products of float32 rows around 1e6 know nothing of distances of 1."""
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((120, 3)) + 1e6).astype(np.float32)
    Y[0] = -1e9  # the mean lies far from the others
    X = Y[5:30] + np.float32(0.5)
    agree(Y, X, 3, library)


def test_a_device_without_float64():
    rng = np.random.default_rng(0)
    Y, X = (rng.standard_normal((n, 4)).astype(np.float32) for n in (60, 9))
    float32 = array_api_strict.float32
    place = array_api_strict.Device("no_float64")
    found = DeviceRows(array_api_strict.asarray(Y, dtype=float32, device=place))
    distances, places = found.nearest(array_api_strict.asarray(X, dtype=float32, device=place), 3)
    want, rows = plain(Y, X, 3)
    np.testing.assert_array_equal(to_numpy(places), rows)
    np.testing.assert_allclose(to_numpy(distances), want, rtol=1e-5)


def test_factors_that_torch_rounds_are_multiplied_in_float64():
    torch = pytest.importorskip("torch")
    Y = torch.ones((3, 2))
    assert DeviceRows(Y).products == torch.float32
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert DeviceRows(Y).products == torch.float64
    finally:
        torch.set_float32_matmul_precision(before)
