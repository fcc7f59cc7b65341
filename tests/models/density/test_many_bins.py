"""Histograms of more bins than memory holds are refused before they are made, with advice."""

from __future__ import annotations

import numpy as np
import pytest

import kilogram as kg

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((50, 2)), np.arange(50) % 2
MODELS = [kg.HistogramDensity, kg.HistogramNB]


@pytest.fixture
def little_memory(monkeypatch):
    """64 MiB are left."""
    monkeypatch.setattr("kilogram.base.estimator.memory_limit", lambda given=None: 2**26)


@pytest.mark.parametrize("model", MODELS)
def test_bins_are_refused_by_memory(model, little_memory):
    with pytest.raises(MemoryError, match=r"up to 1000000000 bins .* Use fewer bins"):
        model(bins=10**9).fit(X, Y)


def test_bins_of_a_rule_are_counted_too(little_memory):
    far = np.append(np.linspace(0, 1e-9, 50), 1.0)[:, None]  # a width for most, a range for one
    with pytest.raises(MemoryError, match="fewer bins"):
        kg.HistogramDensity(max_bins=10**9).fit(far)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_left_of_a_refused_fit(model, little_memory):
    refused = model(bins=10**9)
    with pytest.raises(MemoryError):
        refused.fit(X, Y)
    assert not hasattr(refused, "grid_")
    assert not hasattr(refused, "bins_")


@pytest.mark.parametrize("model", MODELS)
def test_numbers_beyond_all_machines(model):
    with pytest.raises((MemoryError, ValueError), match=r"fewer bins|bins each"):
        model(bins=10**30).fit(X, Y)


def test_what_fits_is_made():
    model = kg.HistogramDensity(bins=10**5).fit(X)
    assert [len(edges) for edges in model.bin_edges_] == [10**5 + 1] * 2
    assert not kg.estimate(kg.HistogramDensity(bins=10**15), n=50, d=1).fits
    assert kg.estimate(kg.HistogramDensity(), n=50, d=1).fits
    few, numpy = (kg.HistogramNB(bins=b).fit(X, Y) for b in (4, np.int64(4)))
    np.testing.assert_array_equal(numpy.predict_proba(X), few.predict_proba(X))
