"""Law: max_time stops a fit with a usable model that says so; max_memory is kept or refused."""

import warnings

import numpy as np
import pytest

from kilogram.base import ConvergenceWarning
from tests.laws.cases import ESTIMATORS, answer, data, fit, make, target_for, under


@under("budget")
def test_max_time(name):
    X, y = data(600, 5, name=name)
    model = make(name, max_time=1e-9, **dict(ESTIMATORS[name].laws.budget_example))
    y = target_for(model, y)
    with pytest.warns(ConvergenceWarning, match=r"usable"):
        fitted = fit(model, X, y)
    assert np.isfinite(np.asarray(answer(fitted, X))).all()


@under("budget")
def test_ample_time_is_silent(name):
    X, y = data(name=name)
    model = make(name, max_time=600.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(model, X, target_for(model, y))
    assert not [str(warning.message) for warning in said]


@pytest.mark.parametrize(
    "name", [n for n, c in ESTIMATORS.items() if "max_time" in c().get_params()]
)
@pytest.mark.parametrize("bad", [0, -1.0, "soon", True])
def test_bad_max_time(name, bad):
    X, y = data(name=name)
    model = make(name, max_time=bad)
    with pytest.raises(ValueError, match="max_time"):
        fit(model, X, target_for(model, y))


@pytest.mark.parametrize(
    "name", [n for n, c in ESTIMATORS.items() if "max_memory" in c().get_params()]
)
@pytest.mark.parametrize("bad", [-1, "plenty", 0])
def test_bad_max_memory(name, bad):
    X, y = data(name=name)
    model = make(name, max_memory=bad)
    with pytest.raises(ValueError, match="memory"):
        fit(model, X, target_for(model, y))
