"""Honest evaluation of any scikit-learn estimator: what it leaves to the expert, made plain.

    nested_cross_validate, compare_models     tuned scores with optimism and intervals; ties
    Search, Real, Whole                       parameters searched: grid, random, coarse to fine,
                                              Bayesian, halving; paths and closed forms used
    make_splits, bootstrap_error              ways to part the rows; .632+ and out of the bag
    corrected_cross_validate, covariance_penalty, learning_curve, permutation_test
    curve, auc_interval, best_threshold       ranking, its intervals, costs
    reliability, fit_scaling                  do probabilities come true, and how to make them
    confusion, class_report, r_squared        what the counts and the errors say
    split_conformal, cv_plus, conformal_sets  intervals and sets that hold without a model
    subgroup_losses                           for whom it errs more
    learn_actively, most_uncertain            which row to label next

A name is imported when it is first used.

Examples
--------
>>> import numpy as np
>>> from sklearn.linear_model import RidgeCV
>>> from kilogram.evaluation import cv_plus, nested_cross_validate
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(80, 3))
>>> y = X[:, 0] + 0.5 * rng.normal(size=80)
>>> nested = nested_cross_validate(RidgeCV([0.1, 1, 10], scoring="r2"), X, y, cv=5, scoring="r2")
>>> interval = nested.interval()
>>> 0.5 < interval.low < interval.mean < interval.high < 1
True
>>> nested.stability is not None
True
>>> low, high = cv_plus(RidgeCV(), X, y).interval(X[:2], coverage=0.9)
>>> bool(np.all(low < high))
True
"""

from importlib import import_module
from typing import Any

_ROOMS = {
    "nested": ("Fold", "Nested", "nested_cross_validate"),
    "intervals": (
        "Comparison", "Interval", "compare", "corrected_error", "corrected_interval",
        "no_narrower", "rows_error",
    ),
    "models": ("McNemar", "compare_models", "mcnemar"),
    "search": ("Search",),
    "trials": ("Tried",),
    "space": ("Choice", "Real", "Space", "Whole"),
    "proposals": ("expected_improvement",),
    "splits": ("ReversedFolds", "fold_map", "make_splits"),
    "bootstrap": ("Bootstrap", "bootstrap_error", "no_information_error"),
    "optimism": (
        "CorrectedError", "CovariancePenalty", "corrected_cross_validate", "covariance_penalty",
        "linear_penalty", "ridge_degrees_of_freedom",
    ),
    "chance": ("ChanceTest", "held_out_test", "permutation_test"),
    "learning": ("LearningCurve", "MoreRows", "learning_curve"),
    "calibration": ("Reliability", "brier", "reliability", "wilson"),
    "counts": (
        "ClassReport", "Confusion", "accuracy", "balanced_accuracy", "class_report", "confusion",
        "one_versus_rest",
    ),
    "numbers": (
        "adjusted_r_squared", "r_squared", "root_mean_squared_error", "squared_correlation",
    ),
    "ranking": (
        "Curve", "auc", "auc_interval", "average_precision", "compare_auc", "curve",
        "rows_interval",
    ),
    "threshold": (
        "Threshold", "best_threshold", "likelihood_ratio_threshold", "probability_threshold",
    ),
    "subgroups": ("Subgroup", "holm", "subgroup_losses"),
    "conformal": (
        "CVPlus", "ConformalSets", "CoverageTest", "SplitConformal", "conformal_quantile",
        "conformal_sets", "coverage_test", "cv_plus", "split_conformal",
    ),
    "scaling": ("Scaling", "fit_scaling"),
    "losses": ("absolute", "squared", "zero_one"),
    "active": ("Learnt", "learn_actively", "most_uncertain", "uncertainty"),
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"kilogram.evaluation has no {name!r}.")
    return getattr(import_module(f"kilogram.evaluation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
