"""Law: a linear method equals its kernel twin under the linear kernel, off centre and weighted."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.base import Twin
from tests.laws.cases import ESTIMATORS, answer, assert_same, data, fit, laws, make, target_for

TWINS = [name for name in ESTIMATORS if isinstance(laws(name).twin, Twin)]


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(60, 5), (12, 30)])
def test_twin(name, weighted, shape):
    twin = laws(name).twin
    X, y = data(*shape)
    w = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    if weighted and isinstance(laws(name).weight, str):
        pytest.skip(laws(name).weight)
    linear = make(name, **twin.linear_params)
    kernel = ESTIMATORS[twin.name](**{"kernel": kg.Linear(), **twin.kernel_params})
    y = target_for(linear, y)
    new = data(20, shape[1], seed=7)[0]
    one, two = fit(linear, X, y, w), fit(kernel, X, y, w)
    assert_same(one, answer(two, new), answer(one, new), 1e-6)


def test_there_are_twins():
    assert len(TWINS) >= 2
