"""Law: the answer does not depend on the instruction set that the core uses."""

import pytest

from kilogram import native
from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under

LEVELS = native.simd_levels()


@pytest.fixture
def restored():
    before = native.simd_level()
    yield
    native.set_simd_level(before)


@under("cpu")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.usefixtures("restored")
def test_cpu(name, dtype):
    X, y = data(700, 5, name=name, dtype=dtype)  # as for threads: several panels of the loops
    model = make(name)
    y = target_for(model, y)
    found = []
    for level in LEVELS:
        native.set_simd_level(level)
        fitted = fit(model, X, y)
        found.append(answer(fitted, X))
    # single precision: the tolerance of the law of backends
    rtol = laws(name).rtol if dtype == "float64" else 5e-3
    for got in found[:-1]:
        assert_same(fitted, got, found[-1], rtol)
