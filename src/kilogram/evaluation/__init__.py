"""Honest evaluation of any scikit-learn estimator: what it leaves to the expert, made plain.

A name is imported when it is first used.
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
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"kilogram.evaluation has no {name!r}.")
    return getattr(import_module(f"kilogram.evaluation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
