"""The vectorised exp, log and cos against NumPy in higher precision, at awkward values."""

from __future__ import annotations

import numpy as np
import pytest

from kilogram.native import _core

TYPES = [np.float32, np.float64]
pytestmark = pytest.mark.usefixtures("level")


def call(name, x):
    y = np.empty_like(x)
    _core.elementwise(name, x, y)
    return y


def ulps(found, exact):
    return np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(found)).astype(
        np.longdouble
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_exp(dtype):
    rng = np.random.default_rng(0)
    low, high = (-87.0, 88.0) if dtype == np.float32 else (-707.0, 709.0)
    x = np.concatenate(
        [rng.uniform(low, high, 20_001), rng.uniform(-1, 1, 1003), [0.0, -0.0, 1e-300, -1e-20]]
    ).astype(dtype)
    assert ulps(call("exp", x), np.exp(x.astype(np.longdouble))).max() < 1.5


@pytest.mark.parametrize("dtype", TYPES)
def test_exp_ends(dtype):
    x = np.array([-np.inf, -1e30, -1e4, -760, 0, 1e4, np.inf, np.nan], dtype=dtype)
    y = call("exp", x)
    np.testing.assert_array_equal(y, np.array([0, 0, 0, 0, 1, np.inf, np.inf, np.nan], dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_log(dtype):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [10 ** rng.uniform(-30, 30, 10_001), 1 + rng.uniform(0, 1e-3, 500), [1.0, 2.0, 0.5]]
    ).astype(dtype)
    exact = np.log(x.astype(np.longdouble))
    assert np.abs(call("log", x) - exact).max() < 2 * np.finfo(dtype).eps * np.abs(exact).max()
    assert ulps(call("log", x), exact).max() < 2
    assert np.isnan(call("log", np.array([np.nan], dtype=dtype)))[0]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 9e4, 1e7, 1e12])
def test_cos(dtype, size):
    """Absolute error, also at multiples of pi/2, and beyond the reach of the vector reduction."""
    rng = np.random.default_rng(2)
    near = np.round(rng.uniform(-size, size, 500) / (np.pi / 2)) * (np.pi / 2)
    x = np.concatenate([rng.uniform(-size, size, 5003), near, [0.0, size, -size]]).astype(dtype)
    exact = np.cos(x.astype(np.float64))  # exact to half a unit in float64 for any argument
    assert np.abs(call("cos", x) - exact).max() < 1.5 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", TYPES)
def test_cos_of_what_is_not_a_number(dtype):
    x = np.array([0.5, np.nan, np.inf, -np.inf], dtype=dtype)
    y = call("cos", x)
    assert np.isnan(y[1:]).all()
    assert y[0] == pytest.approx(np.cos(0.5), rel=1e-6)
