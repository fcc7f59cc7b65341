"""Honest evaluation of any scikit-learn estimator: what it leaves to the expert, made plain."""

from kilogram.evaluation.intervals import Comparison, Interval, compare, corrected_interval
from kilogram.evaluation.nested import Fold, Nested, nested_cross_validate

__all__ = [
    "Comparison",
    "Fold",
    "Interval",
    "Nested",
    "compare",
    "corrected_interval",
    "nested_cross_validate",
]
