"""Why a method is suggested, and why another is not."""

from __future__ import annotations

from collections.abc import Iterator

from kilogram.kitchen.choose.measurements import TableProperties
from kilogram.kitchen.choose.methods import METHODS, MethodInfo
from kilogram.kitchen.choose.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    leaves,
)

# The exact kernel methods take minutes beyond: 3e12 operations a fit, and many fits.
MANY_ROWS = 20_000
_BENDS = ("kitchen sinks", "forest", "Levenberg-Marquardt")


def linear_baseline(answers: TableProperties, methods: tuple[str, ...]) -> tuple[str, ...]:
    """For a non-linear dependence, the linear method as a baseline."""
    if answers.task is None or answers.linear.answer == "linear":
        return ()
    key = "ridge" if answers.task == "regression" else "logistic regression"
    return () if key in methods else (key,)


def reasons(key: str, method: MethodInfo, answers: TableProperties) -> Iterator[str]:
    """The reasons for a method."""
    bends = method.kernel or key.startswith(_BENDS)
    if answers.probabilities and method.probabilities:
        yield "gives probabilities"
    if key == "Levenberg-Marquardt":
        yield "only if the formula is known"
    elif answers.task is not None and answers.linear.answer == "linear" and not bends:
        yield "linear, and no kernel improves on it"
    elif answers.task is not None:
        yield "non-linear" if bends else "a linear baseline to compare with"
    if key.startswith("kitchen sinks") and answers.rows >= MANY_ROWS:
        yield f"cheap for {answers.rows:,} rows"
    if key == "ridge" and answers.weak.yes:
        yield answers.weak.why
    if key == "weighted least squares":
        yield "the noise variance is not constant"
    if key in ("robust regression", "forest", "Poisson regression"):
        yield answers.noise.why
    if method.rated().get("interpretable model"):
        yield "interpretable model"


def not_reached(answers: TableProperties, methods: tuple[str, ...]) -> list[tuple[str, str]]:
    """The methods of the same task that were not suggested, and why."""
    if answers.task is None:
        pool = leaves(UNSUPERVISED)
    elif answers.task == "classification":
        pool = leaves(CLASSIFICATION) | {"neural network"}
    else:
        pool = leaves(COOKBOOK_REGRESSION) | leaves(LECTURE_REGRESSION)
        pool |= {"neural network, numbers", "k-NN, numbers"}
    rest = [key for key in METHODS if key in pool and key not in methods]
    return [(METHODS[key].title, _excluded(key, answers)) for key in rest]


def _network(answers: TableProperties) -> str:
    """Why a network is not suggested, and when it is worth a try all the same."""
    if answers.linear.answer != "linear" and answers.rows >= MANY_ROWS:
        return f"slow to train and hard to interpret, but {answers.rows:,} rows are worth a try"
    return "slow to train and hard to interpret; try it if others are not enough"


def _excluded(key: str, answers: TableProperties) -> str:
    method = METHODS[key]
    if key.startswith("neural network"):
        return _network(answers)
    own = {
        "lasso": "sparsity was not requested (--sparse)",
        "total least squares": "inputs are assumed exact (otherwise --noisy-inputs)",
        "robust regression": f"no outliers: {answers.noise.why}",
        "Poisson regression": "the target is not a count",
        "weighted least squares": f"the noise variance is about constant: {answers.unequal.why}",
        "NMF": answers.nonnegative.why,
    }
    if answers.task is None:
        return own.get(key, "for another task")
    linear = answers.linear.answer == "linear"
    bends = method.kernel or key.startswith(_BENDS)
    if key in own and (linear or key in ("lasso", "total least squares")):
        return own[key]
    if linear and bends:
        return "no kernel improves on the linear recipe"
    if not linear and not bends:
        return "the dependence is not linear"
    if answers.probabilities and not method.probabilities:
        return "gives no probabilities"
    if method.probabilities:
        return "probabilities were not requested (--probabilities)"
    return (
        f"the noise is {answers.noise.answer}"
        if answers.task == "regression"
        else "other methods are preferred"
    )
