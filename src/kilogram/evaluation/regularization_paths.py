"""Many values of one penalty for about the cost of one fit, where the estimator has such a path.

SVC, SVR, LinearSVC, LinearSVR   C       each machine starts where the last one ended (svm_path)
LogisticRegression               C       likewise (logistic_path)
Ridge, KernelRidge               alpha   one eigendecomposition gives the exact leave-one-out
                                         predictions of all penalties (RidgeCV, KernelRidgeCV)
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from kilogram.evaluation.search_space import SearchSpace
from kilogram.models.logistic.logistic_regression import LogisticRegression
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.kernel_ridge_cv import KernelRidgeCV
from kilogram.models.ridge.ridge import Ridge
from kilogram.models.ridge.ridge_cv import RidgeCV
from kilogram.models.svm.kernel_machine import KernelMachine
from kilogram.models.svm.linear_machine import LinearMachine
from kilogram.models.svm.path import fit_path

# Values of a range that is followed along a path: LassoCV takes 100 for an exact path, a search
# scores each on every fold.
POINTS = 10
_KERNEL = ("kernel", "gamma", "degree", "coef0", "kernel_params", "fit_intercept")


def path_axis(estimator: BaseEstimator, space: SearchSpace) -> str | None:
    """The parameter of the last step that the estimator has a path along, if it is searched."""
    last, prefix = last_step(estimator)
    if isinstance(last, KernelMachine | LinearMachine | LogisticRegression):
        name = f"{prefix}C"
    elif isinstance(last, Ridge | KernelRidge):
        name = f"{prefix}alpha"
    else:
        return None
    return name if name in space.axes else None


def by_leave_one_out(estimator: BaseEstimator) -> bool:
    """Whether the path of the last step is the closed form."""
    return isinstance(last_step(estimator)[0], Ridge | KernelRidge)


def last_step(estimator: BaseEstimator) -> tuple[Any, str]:
    """The last step of a pipeline, and what its parameters are called."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        prefix += f"{estimator.steps[-1][0]}__"
        estimator = estimator[-1]
    return estimator, prefix


def fit_along(estimator: BaseEstimator, values: list[float], X: Any, y: Any) -> list[Any]:
    """The estimator fitted for each value of C, extractors once for all of them."""
    last, _ = last_step(estimator)
    head = None
    if isinstance(estimator, Pipeline):
        head = clone(estimator[:-1])
        X = head.fit_transform(X, y)
    if isinstance(last, LogisticRegression):
        models = _warm(last, values, X, y)
    else:
        models = fit_path(last, X, y, np.asarray(values, dtype=float), None)
    if head is None:
        return models
    name = estimator.steps[-1][0]
    return [Pipeline([*head.steps, (name, model)]) for model in models]


def _warm(last: LogisticRegression, values: list[float], X: Any, y: Any) -> list[Any]:
    """From the strongest penalty to the weakest, given back in the order asked for."""
    model_on_path = clone(last).set_params(warm_start=True)
    found = {}
    for C in sorted(values):
        found[C] = copy.copy(model_on_path.set_params(C=float(C)).fit(X, y))
    return [found[C] for C in values]


def leave_one_out_scores(
    estimator: BaseEstimator, values: list[float], X: Any, y: Any, scoring: Any
) -> np.ndarray:
    """Scores of Ridge or KernelRidge for all penalties, each row predicted without it.

    Extractors are fitted once on all rows: they must not look at y.
    """
    last, _ = last_step(estimator)
    if isinstance(estimator, Pipeline):
        X = clone(estimator[:-1]).fit_transform(X, y)
    order, scoring = np.argsort(values), scoring or "r2"
    alphas = [float(values[k]) for k in order]
    if isinstance(last, KernelRidge):
        rest = {name: getattr(last, name) for name in _KERNEL}
        model: Any = KernelRidgeCV(alphas, scoring=scoring, **rest)
    else:
        model = RidgeCV(alphas, scoring=scoring, fit_intercept=last.fit_intercept)
    scores = np.empty(len(values))
    scores[order] = np.ravel(model.fit(X, y).scores_)
    return scores
