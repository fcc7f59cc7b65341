"""Honest evaluation of any scikit-learn estimator: what scikit-learn lacks.

    nested_cross_validate, compare_models     tuned scores with optimism and intervals; ties
    Search, RealRange, IntegerRange           parameters searched: grid, random, coarse to fine,
                                              Bayesian, halving; paths and closed forms used
    make_splits, bootstrap_error              cross-validation splits; .632+ and out-of-bag error
    corrected_cross_validate, covariance_penalty, learning_curve, permutation_test
    stability_selection                       features that random halves of the rows agree on
    curve, auc_interval, best_threshold       ranking, its intervals, costs
    reliability, fit_scaling                  calibration of probabilities
    confusion, class_report, r_squared        confusion matrix, its measures, errors
    split_conformal, cv_plus, conformal_sets  intervals and sets that hold without a model
    subgroup_losses                           error by subgroup
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

_MODULES = {
    "nested": ("Fold", "Nested", "nested_cross_validate"),
    "intervals": (
        "Comparison", "Interval", "compare", "corrected_error", "corrected_interval",
        "no_narrower", "rows_error",
    ),
    "model_comparison": ("compare_models",),
    "mcnemar_test": ("McNemar", "mcnemar"),
    "search": ("Search",),
    "search_trials": ("Tried",),
    "search_space": ("Categorical", "IntegerRange", "RealRange", "SearchSpace"),
    "search_strategies": ("expected_improvement",),
    "splits": ("ReversedFolds", "fold_map", "make_splits"),
    "bootstrap": ("Bootstrap", "bootstrap_error", "no_information_error"),
    "optimism": (
        "CorrectedError", "CovariancePenalty", "corrected_cross_validate", "covariance_penalty",
        "linear_penalty", "ridge_degrees_of_freedom",
    ),
    "permutation_tests": ("ChanceTest", "exchange_test", "held_out_test", "permutation_test"),
    "stability_selection": ("StabilitySelection", "stability_selection"),
    "learning_curves": ("LearningCurve", "MoreRows", "learning_curve"),
    "calibration": ("Reliability", "brier", "reliability", "wilson"),
    "confusion_matrix": (
        "ClassReport", "Confusion", "accuracy", "balanced_accuracy", "class_report", "confusion",
        "one_versus_rest",
    ),
    "regression_metrics": (
        "adjusted_r_squared", "r_squared", "root_mean_squared_error", "squared_correlation",
    ),
    "ranking": (
        "ThresholdCurve", "auc", "auc_interval", "average_precision", "compare_auc", "curve",
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
    "probability_scaling": ("TemperatureScaling", "fit_scaling"),
    "losses": ("absolute", "squared", "zero_one"),
    "active_learning": ("Learnt", "learn_actively", "most_uncertain", "uncertainty"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"kilogram.evaluation has no {name!r}.")
    return getattr(import_module(f"kilogram.evaluation.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
