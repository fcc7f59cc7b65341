"""The door: every container comes in as rows, or is refused with a sentence."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from kilogram.base import Estimator


class Guest(Estimator):
    """Nothing but the door."""


def test_arrays_lists_and_sparse():
    for X in ([[1, 2], [3, 4]], np.eye(3), np.eye(3, dtype="f4"), sp.eye_array(3, format="coo")):
        guest = Guest()
        rows = guest._enter(X).X
        assert guest.n_features_in_ == rows.shape[1]
        assert rows.dtype in (np.float32, np.float64)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
    ],
)
def test_frames_keep_their_names(make):
    frame = make({"height": [1.0, 2.0, 3.0], "width": [4.0, 5.0, 6.0]})
    guest = Guest()
    assert guest._enter(frame).X.shape == (3, 2)
    assert list(guest.feature_names_in_) == ["height", "width"]
    swapped = make({"width": [4.0], "height": [1.0]})
    with pytest.raises(ValueError, match="feature names"):
        guest._enter(swapped, reset=False)


def test_strict_arrays_stay_where_they_are():
    xp = pytest.importorskip("array_api_strict")
    guest = Guest()
    X = xp.asarray(np.eye(3))
    inside = guest._enter(X, xp.asarray(np.ones(3)), np.ones(3))
    assert type(inside.X) is type(inside.y) is type(inside.w) is type(X)
    with pytest.raises(ValueError, match="NaN"):
        guest._enter(X * xp.asarray(np.nan))
    with pytest.raises(ValueError, match="features"):
        guest._enter(xp.asarray(np.eye(2)), reset=False)
    with pytest.raises(ValueError, match="inconsistent"):
        guest._enter(X, xp.asarray(np.ones(2)))
    with pytest.raises(ValueError, match="2D"):
        guest._enter(xp.asarray(np.ones(2)))


def test_dask_is_let_in_unread():
    guest = Guest()
    X = da.ones((10, 4), chunks=(3, 4))
    assert guest._enter(X).X is X
    assert guest.n_features_in_ == 4


def test_deferred_search_for_nan():
    guest = Guest()
    X = np.eye(3)
    X[1, 1] = np.nan
    assert guest._enter(X, finite=False).X is not None
    with pytest.raises(ValueError, match="NaN"):
        guest._ensure_finite(X.sum(axis=0), X)
    with pytest.raises(ValueError, match="overflow"):
        guest._ensure_finite(np.array([np.inf]), np.full((2, 2), 1e300))


@pytest.mark.parametrize(
    ("w", "match"),
    [
        (-np.ones(3), "Negative"),
        (np.zeros(3), "zero"),
        (np.ones(2), "inconsistent"),
        (np.ones((3, 1)), "1D"),
        ([1.0, np.nan, 1.0], "NaN"),
    ],
)
def test_weights(w, match):
    with pytest.raises(ValueError, match=match):
        Guest()._enter(np.eye(3), sample_weight=w)


def test_scalar_weight():
    np.testing.assert_array_equal(Guest()._enter(np.eye(3), sample_weight=2).w, [2, 2, 2])
