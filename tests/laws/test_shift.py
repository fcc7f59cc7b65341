"""Law: centred methods and shift-invariant kernels ignore X + c, in fit and in use together."""

import numpy as np
import pytest

from tests.laws.cases import answer, assert_same, data, fit, make, target_for, under


@under("shift")
@pytest.mark.parametrize("size", [3.0, 1e4])
def test_shift(name, size):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    c = size * np.array([1.0, -0.5, 0.25, 2.0, -1.0])
    still = answer(fit(model, X, y), X[:10])
    moved = answer(fit(model, X + c, y), X[:10] + c)
    assert_same(fit(model, X, y), moved, still, 1e-6)
