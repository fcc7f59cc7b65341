"""Histograms of oriented gradients: against a loop over pixels, invariances, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kilogram as kg
from kilogram.models.features import hog as module


def plain_votes(image: np.ndarray, cell: int, bins: int) -> np.ndarray:
    """Every pixel votes for the two bins whose centres are nearest to its direction."""
    down, right = np.gradient(image)
    rows, columns = image.shape[0] // cell, image.shape[1] // cell
    votes = np.zeros((rows, columns, bins))
    for r in range(rows * cell):
        for c in range(columns * cell):
            angle = np.arctan2(down[r, c], right[r, c]) % np.pi
            place = angle / (np.pi / bins) - 0.5
            low = int(np.floor(place))
            length = np.hypot(down[r, c], right[r, c])
            votes[r // cell, c // cell, low % bins] += length * (low + 1 - place)
            votes[r // cell, c // cell, (low + 1) % bins] += length * (place - low)
    return votes


@pytest.mark.parametrize(
    ("h", "w", "cell", "block"), [(16, 24, 4, 2), (13, 17, 3, 1), (9, 9, 2, 3)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_votes_and_blocks_agree_with_a_loop_over_pixels(h, w, cell, block, dtype):
    X = np.random.default_rng(0).uniform(0, 255, (3, h * w)).astype(dtype)
    model = kg.HOGFeatures((h, w), cell=cell, block=block).fit(X)
    got = model.transform(X)
    assert got.dtype == dtype
    want = []
    for x in X:
        votes = plain_votes(x.reshape(h, w).astype(np.float64), cell, 9)
        features = []
        for r in range(votes.shape[0] - block + 1):
            for c in range(votes.shape[1] - block + 1):
                v = votes[r : r + block, c : c + block].ravel()
                v = np.minimum(v / np.sqrt(v @ v + 1e-10), 0.2)
                features.append(v / np.sqrt(v @ v + 1e-10))
        want.append(np.concatenate(features))
    np.testing.assert_allclose(got, want, atol=50 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(model.transform(sp.csr_array(X)), got)
    assert len(model.get_feature_names_out()) == got.shape[1]


def test_brightness_and_contrast_do_not_matter():
    X = np.random.default_rng(1).uniform(0, 1, (4, 256))
    model = kg.HOGFeatures(cell=4).fit(X)
    np.testing.assert_allclose(model.transform(3.0 * X + 5.0), model.transform(X), atol=1e-9)
    np.testing.assert_allclose(model.transform(np.full((1, 256), 7.0)), 0.0)


def test_images_are_worked_on_in_chunks(monkeypatch):
    X = np.random.default_rng(2).uniform(0, 1, (11, 64))
    model = kg.HOGFeatures(cell=2).fit(X)
    whole = model.transform(X)
    monkeypatch.setattr(module, "PIXELS", 3 * 64)
    np.testing.assert_array_equal(model.transform(X), whole)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (kg.HOGFeatures(), "too small for blocks of 2 x 2 cells of 8 pixels"),
        (kg.HOGFeatures((3, 5)), "15 pixels, but X has 16 features"),
        (kg.HOGFeatures((4.0, 4)), "shape must be two integers"),
        (kg.HOGFeatures(cell=0), "cell must be an integer of at least 1, got 0"),
    ],
)
def test_windows_that_do_not_fit_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.zeros((2, 16)))


def test_huge_pixels_are_refused():
    model = kg.HOGFeatures(cell=2, block=1).fit(np.zeros((1, 16)))
    with pytest.raises(ValueError, match="features overflow"):
        model.transform(np.full((1, 16), 1e300))
