"""Law: a fitted model survives pickle and a skops file with the same answers."""

import pickle

import numpy as np
import pytest
import skops.io

from tests.laws.cases import ESTIMATORS, answer, data, fit, make, target_for


@pytest.mark.parametrize("name", ESTIMATORS)
def test_pickle(name):
    X, y = data(name=name)
    model = fit(make(name), X, target_for(make(name), y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(answer(again, X), answer(model, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_skops(name):
    X, y = data(name=name)
    model = fit(make(name), X, target_for(make(name), y))
    blob = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=blob)
    assert all(kind.startswith("kilogram.") for kind in unknown), unknown
    again = skops.io.loads(blob, trusted=unknown)
    np.testing.assert_allclose(answer(again, X), answer(model, X), rtol=1e-9, atol=1e-12)
