"""Haar features: against plain sums of pixels, their number, the errors of bad windows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.models.features.haar import GRIDS


def plain(window: np.ndarray, feature: np.ndarray) -> float:
    """The weighted sums of the cells, pixel by pixel."""
    g, p, q, top, left = feature
    total = 0.0
    for (i, j), weight in np.ndenumerate(GRIDS[g]):
        r, c = top + i * p, left + j * q
        cell = window[r : r + p, c : c + q]
        assert cell.shape == (p, q)
        total += weight * cell.sum(dtype=np.float64)
    return total


@pytest.mark.parametrize(
    ("h", "w", "step"), [(4, 6, 1), (5, 5, 1), (7, 4, 2), (1, 9, 1), (6, 1, 1)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_integral_images_agree_with_plain_sums(h, w, step, dtype):
    X = np.random.default_rng(0).uniform(0, 255, (5, h * w)).astype(dtype)
    model = kg.HaarFeatures((h, w), step=step).fit(X)
    want = [[plain(x.reshape(h, w), f) for f in model.features_] for x in X]
    got = model.transform(X)
    assert got.dtype == dtype
    scale = 255 * h * w * np.finfo(dtype).eps
    np.testing.assert_allclose(got, want, rtol=0, atol=4 * scale)
    np.testing.assert_array_equal(model.transform(sp.csr_array(X)), got)
    assert len(np.unique(model.features_, axis=0)) == len(model.features_)
    np.testing.assert_allclose(model.transform(np.full((1, h * w), 3.0)), 0, atol=1e-9)


def test_number_of_features_of_a_24_by_24_window():
    assert len(kg.HaarFeatures((24, 24)).fit(np.zeros((1, 576))).features_) == 162_336


def test_features_are_drawn_without_repetition():
    X = np.random.default_rng(0).random((3, 64))
    every = kg.HaarFeatures((8, 8)).fit(X)
    some = kg.HaarFeatures((8, 8), max_features=50, random_state=0).fit(X)
    assert some.features_.shape == (50, 5)
    names = {tuple(f): k for k, f in enumerate(every.features_.tolist())}
    at = [names[tuple(f)] for f in some.features_.tolist()]
    assert len(set(at)) == 50
    np.testing.assert_array_equal(some.transform(X), every.transform(X)[:, at])
    assert len(some.get_feature_names_out()) == 50
    assert len(kg.HaarFeatures((8, 8), max_features=10**6).fit(X).features_) == len(names)


def test_shape_by_default():
    assert kg.HaarFeatures().fit(np.zeros((1, 49))).shape_ == (7, 7)
    assert kg.HaarFeatures().fit(np.zeros((1, 6))).shape_ == (1, 6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (kg.HaarFeatures((3, 5)), "15 pixels, but X has 16 features"),
        (kg.HaarFeatures((16,)), "shape must be two integers"),
        (kg.HaarFeatures((4.0, 4)), "shape must be two integers"),
        (kg.HaarFeatures((4, 4), step=3), "no rectangle features"),
        (kg.HaarFeatures(step=0), "step must be an integer of at least 1, got 0"),
    ],
)
def test_bad_windows(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.zeros((2, 16)))


def test_too_many_features_and_overflow():
    with pytest.raises(ValueError, match="use a larger step, or max_features"):
        kg.HaarFeatures((64, 64)).fit(np.zeros((1, 4096)))
    few = kg.HaarFeatures((64, 64), max_features=20, random_state=0).fit(np.zeros((1, 4096)))
    assert len(few.features_) == 20
    with pytest.raises(ValueError, match="overflow"):
        few.transform(np.full((1, 4096), 1e307))
