"""Declared parameter constraints: what they accept, and the words of their errors."""

import math

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Peer

from kilogram.base import Estimator
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Dictionary,
    Function,
    HasMethods,
    Integer,
    InvalidParameterError,
    Null,
    OneOf,
    RandomState,
    Real,
    check_parameter,
    check_parameters,
)

NUMBERS = {
    "closed": (Real(0), [0, 0.5, 1e300, math.inf, np.float32(0.5), np.int64(3)], [-1e-300, "1"]),
    "open": (Real(0, closed="neither"), [1e-300, 7], [0, 0.0, -0.0, math.inf, None]),
    "unit": (Real(0, 1), [0, 1, 0.5], [1.0000001, -1, math.inf]),
    "left": (Real(0, 1, closed="left"), [0, 0.99], [1, 1.0]),
    "right": (Real(0, 1, closed="right"), [1, 0.01], [0]),
    "any": (Real(), [-5, math.inf, -math.inf], [math.nan, np.float64("nan"), 10**400, 1j, [1.0]]),
    "count": (Integer(1), [1, np.int64(4), np.uint8(2), 10**30], [0, 1.0, np.float64(2), "3"]),
    "few": (Integer(2, 4), [2, 3, 4], [1, 5]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case):
    constraint, good, bad = NUMBERS[case]
    for value in good:
        assert constraint.accepts(value), value
    for value in [*bad, True, False, np.True_, math.nan]:
        assert not constraint.accepts(value), value


OTHERS = {
    "words": (OneOf("auto", "svd"), ["auto", np.str_("svd")], ["SVD", "", None, 1, ["auto"]]),
    "constants": (OneOf(0, 1), [0, np.int32(1)], [True, False, 0.0, "0", 2]),
    "truth": (OneOf(True), [True], [1, "True", False]),
    "boolean": (Boolean(), [True, np.False_], [0, 1, "True", None]),
    "null": (Null(), [None], [0, False, ""]),
    "function": (Function(), [len, lambda x: x], ["len", None]),
    "array": (ArrayLike(), [[1], (2,), np.ones(2), range(3)], ["ab", {1: 2}, {1}, 5, None, list]),
    "dict": (Dictionary(), [{}], [[], None]),
    "random": (
        RandomState(),
        [None, 0, np.int64(5), np.random.default_rng(0), np.random.RandomState(0)],
        [-1, 0.5, "0", True],
    ),
    "estimator": (HasMethods(("fit", "predict"), "a regressor"), [Peer()], [len, None, "Ridge"]),
    "combined": (
        Integer(1) | Real(0, 1) | OneOf("all") | Null(),
        [3, 0.2, "all", None],
        [1.5, 0.5j],
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_kinds(case):
    constraint, good, bad = OTHERS[case]
    for value in good:
        assert constraint.accepts(value), value
    for value in bad:
        assert not constraint.accepts(value), value


@pytest.mark.parametrize(
    ("constraint", "value", "message"),
    [
        (Real(0), -1, "alpha must be a float of at least 0, got -1."),
        (Real(0, closed="neither"), 0, "alpha must be a float greater than 0, got 0."),
        (Real(high=2), 3, "alpha must be a float of at most 2, got 3."),
        (Real(high=2, closed="neither"), 2, "alpha must be a float less than 2, got 2."),
        (Real(0, 1, closed="left"), 1, "alpha must be a float in [0, 1), got 1."),
        (Real(), "x", "alpha must be a float, got 'x'."),
        (Integer(1), 0.5, "alpha must be an integer of at least 1, got 0.5."),
        (OneOf("a"), "b", "alpha must be 'a', got 'b'."),
        (OneOf("a", "b"), "c", "alpha must be one of 'a', 'b', got 'c'."),
        (Boolean(), 1, "alpha must be True or False, got 1."),
        (Integer(1) | Null(), 0, "alpha must be an integer of at least 1 or None, got 0."),
        (
            Real(0) | OneOf("auto") | Null(),
            -2,
            "alpha must be a float of at least 0, 'auto' or None, got -2.",
        ),
        (
            RandomState(),
            -1,
            "alpha must be None, an integer of at least 0, a numpy RandomState or a Generator, "
            "got -1.",
        ),
    ],
)
def test_messages(constraint, value, message):
    with pytest.raises(InvalidParameterError) as caught:
        check_parameter("alpha", value, constraint)
    assert str(caught.value) == message


def test_the_error_is_a_value_error_and_a_type_error():
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match="alpha must be"):
            check_parameter("alpha", None, Real())


class _Declared(Estimator):
    parameter_constraints = {"alpha": Real(0), "center": Boolean()}

    def __init__(self, alpha=1.0, center=True):
        self.alpha = alpha
        self.center = center

    def fit(self, X, y=None):
        self.mean_ = self._validate(X, alone=True).X.mean(axis=0)
        return self

    def transform(self, X):
        return self._validate(X, reset=False).X - self.mean_


def test_an_estimator_checks_its_parameters_at_fit_and_not_before():
    model = _Declared(alpha=-1.0)
    with pytest.raises(InvalidParameterError, match="alpha must be a float of at least 0, got -1"):
        check_parameters(model)
    with pytest.raises(InvalidParameterError, match="alpha must be"):
        model.fit(np.eye(3))
    assert not hasattr(model, "n_features_in_")
    model.set_params(alpha=np.float32(2), center=np.True_).fit(np.eye(3))
    model.alpha = "wrong"  # a fitted model predicts by its fitted attributes
    np.testing.assert_allclose(model.transform(np.eye(3)).sum(axis=0), 0, atol=1e-15)
