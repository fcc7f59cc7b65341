"""Constraints on constructor parameters, declared on the class and checked in one place.

    class Ridge(Estimator):
        parameter_constraints = {
            "alpha": Real(0),
            "max_iter": Integer(1) | Null(),
            "solver": OneOf("auto", "cholesky", "svd"),
        }

`Estimator._validate` checks them at the start of every fit. The message is always

    alpha must be a float of at least 0, got -1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class InvalidParameterError(ValueError, TypeError):
    """A constructor parameter has a value that its declared constraint excludes."""


class Constraint:
    """What a parameter may be: `accepts(value)`, and the words `describe()` of the message."""

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def __or__(self, other: Constraint) -> Constraint:
        return AnyOf((*_parts(self), *_parts(other)))


@dataclass(frozen=True)
class AnyOf(Constraint):
    """At least one of several constraints holds."""

    options: tuple[Constraint, ...]

    def accepts(self, value: Any) -> bool:
        return any(option.accepts(value) for option in self.options)

    def describe(self) -> str:
        words = [option.describe() for option in self.options]
        return ", ".join(words[:-1]) + " or " + words[-1]


@dataclass(frozen=True)
class _Interval(Constraint):
    low: float = -math.inf
    high: float = math.inf
    #: Which ends belong to the interval: "both", "left", "right" or "neither".
    closed: str = "both"

    def _contains(self, value: Any) -> bool:
        if value != value:  # NaN
            return False
        above = value >= self.low if self.closed in ("both", "left") else value > self.low
        below = value <= self.high if self.closed in ("both", "right") else value < self.high
        return above and below

    def _range(self) -> str:
        left, right = self.closed in ("both", "left"), self.closed in ("both", "right")
        if math.isinf(self.low) and math.isinf(self.high):
            return ""
        if math.isinf(self.high):
            return f" of at least {self.low:g}" if left else f" greater than {self.low:g}"
        if math.isinf(self.low):
            return f" of at most {self.high:g}" if right else f" less than {self.high:g}"
        return f" in {'[' if left else '('}{self.low:g}, {self.high:g}{']' if right else ')'}"


class Real(_Interval):
    """A number in an interval; NaN and booleans are none."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, RealNumber):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer beyond the range of floats
            return False
        return self._contains(number) and (
            math.isfinite(number) or self.closed in ("both", "right")
        )

    def describe(self) -> str:
        return "a float" + self._range()


class Integer(_Interval):
    """An integer in an interval; booleans are none."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
            return False
        return self._contains(int(value))

    def describe(self) -> str:
        return "an integer" + self._range()


@dataclass(frozen=True, init=False)
class OneOf(Constraint):
    """One of several strings or other constants."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def accepts(self, value: Any) -> bool:
        return any(_comparable(value, known) and bool(value == known) for known in self.values)

    def describe(self) -> str:
        words = [repr(value) for value in self.values]
        return words[0] if len(words) == 1 else "one of " + ", ".join(words)


class Boolean(Constraint):
    """True or False, of Python or of NumPy."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))

    def describe(self) -> str:
        return "True or False"


class Null(Constraint):
    """None."""

    def accepts(self, value: Any) -> bool:
        return value is None

    def describe(self) -> str:
        return "None"


class Function(Constraint):
    """Anything callable."""

    def accepts(self, value: Any) -> bool:
        return callable(value)

    def describe(self) -> str:
        return "a callable"


@dataclass(frozen=True)
class HasMethods(Constraint):
    """An object with certain methods, such as an estimator; `words` describe it."""

    methods: tuple[str, ...]
    words: str

    def accepts(self, value: Any) -> bool:
        return all(callable(getattr(value, name, None)) for name in self.methods)

    def describe(self) -> str:
        return self.words


class ArrayLike(Constraint):
    """An array or a sequence; its content is checked where it is used."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (str, bytes, Mapping, Set, type)):
            return False
        return hasattr(value, "shape") or hasattr(value, "__len__") or hasattr(value, "__iter__")

    def describe(self) -> str:
        return "array-like"


class Dictionary(Constraint):
    """A mapping; its content is checked where it is used."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def describe(self) -> str:
        return "a dict"


class RandomState(Constraint):
    """None, a seed of at least 0, a RandomState or a Generator."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (np.random.RandomState, np.random.Generator)):
            return True
        return value is None or Integer(0).accepts(value)

    def describe(self) -> str:
        return "None, an integer of at least 0, a numpy RandomState or a Generator"


def check_parameter(name: str, value: Any, constraint: Constraint) -> None:
    """Raise InvalidParameterError unless the constraint accepts the value.

    Functions check their arguments with it too, so that they speak as the estimators do.
    """
    if not constraint.accepts(value):
        raise InvalidParameterError(f"{name} must be {constraint.describe()}, got {value!r}.")


def check_parameters(estimator: BaseEstimator) -> None:
    """Check every parameter that the class of the estimator has declared a constraint for."""
    constraints: Mapping[str, Constraint] = type(estimator).parameter_constraints
    for name, constraint in constraints.items():
        check_parameter(name, getattr(estimator, name), constraint)


def _comparable(value: Any, known: Any) -> bool:
    """Whether a value can stand for a constant: NumPy's scalars can, True does not mean 1."""
    if isinstance(known, str):
        return isinstance(value, str)
    if isinstance(known, Integral) and not isinstance(known, bool):
        return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    return type(value) is type(known)


def _parts(constraint: Constraint) -> tuple[Constraint, ...]:
    return constraint.options if isinstance(constraint, AnyOf) else (constraint,)
