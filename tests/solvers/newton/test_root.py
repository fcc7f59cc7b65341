"""Newton's method for a root: the textbook's steps, brackets, and what stops it."""

import math

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import roots
from kilogram.textbook.state import run


def cubic(x):
    return x**3 - 2 * x - 5  # Newton's own example: 2.0945514815...


def slope(x):
    return 3 * x**2 - 2


def test_takes_the_textbook_steps():
    found = kg.newton_root(cubic, 2.0, slope)
    assert found.x == pytest.approx(2.0945514815423265, rel=1e-14)
    assert found.n_iter == len(found.path) - 1
    states = [s["x"] for s in roots.newton_root(cubic, slope, 2.0)]
    shared = min(len(states), len(found.path))
    np.testing.assert_allclose(found.path[:shared], states[:shared], rtol=1e-12)
    assert run(roots.newton_root(cubic, slope, 2.0))["x"] == pytest.approx(found.x, rel=1e-14)
    errors = np.abs(np.array(found.path[:4]) - found.x)
    assert (errors[1:] < errors[:-1] ** 2 * 2 + 1e-15).all()  # quadratic


def test_differences_serve_as_derivative():
    assert kg.newton_root(cubic, 2.0).x == pytest.approx(2.0945514815423265, rel=1e-12)
    assert kg.newton_root(lambda x: x**2, 1.0, tol=1e-6).x == pytest.approx(0, abs=1e-5)
    assert kg.newton_root(lambda x: x, 0.0) == kg.newton_root(lambda x: x, 0.0)


@pytest.mark.parametrize("x0", [-10.0, -1.0, 0.0, 3.0, 10.0])
def test_a_bracket_makes_every_start_work(x0):
    found = kg.newton_root(math.atan, x0, lambda x: 1 / (1 + x * x), bracket=(-10, 12))
    assert found.x == pytest.approx(0, abs=1e-12)
    flat = kg.newton_root(lambda x: x**3, x0, lambda x: 3 * x * x, bracket=(-10, 12), tol=1e-9)
    assert flat.x == pytest.approx(0, abs=1e-6)
    falling = kg.newton_root(lambda x: 1 - math.exp(x), x0, bracket=(-10, 12))
    assert falling.x == pytest.approx(0, abs=1e-12)
    edge = kg.newton_root(lambda x: x + 10, x0, bracket=(-10, 12))
    assert edge.x == pytest.approx(-10, abs=1e-9)


def test_errors():
    with pytest.raises(ValueError, match="derivative at x = 0 is 0"):
        kg.newton_root(lambda x: x * x - 1, 0.0, lambda x: 2 * x)
    with pytest.raises(RuntimeError, match="after 100 steps"):
        kg.newton_root(lambda x: x**3 - 2 * x + 2, 0.0, slope)  # 0, 1, 0, 1, ...
    with pytest.raises(ValueError, match="f is nan"):
        kg.newton_root(lambda x: math.nan, 1.0)
    with pytest.raises(ValueError, match="different signs"):
        kg.newton_root(cubic, 3.0, bracket=(2.5, 4))
    with pytest.raises(ValueError, match="in the bracket"):
        kg.newton_root(cubic, 9.0, bracket=(0, 4))
    with pytest.raises(ValueError, match="x0 must be finite"):
        kg.newton_root(cubic, math.inf)
    with pytest.raises(ValueError, match="tol must be"):
        kg.newton_root(cubic, 1.0, tol=0)
