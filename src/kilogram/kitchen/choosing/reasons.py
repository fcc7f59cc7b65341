"""Why a method is tried, and why another is not: a sentence each, from the same answers."""

from __future__ import annotations

from collections.abc import Iterator

from kilogram.kitchen.choosing.answers import Answers
from kilogram.kitchen.choosing.methods import METHODS, Method
from kilogram.kitchen.choosing.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    leaves,
)

MANY_ROWS = 20_000
_BENDS = ("kitchen sinks", "forest", "Levenberg-Marquardt")


def yardstick(answers: Answers, methods: tuple[str, ...]) -> tuple[str, ...]:
    """Where things bend, the linear method to measure the gain by."""
    if answers.task is None or answers.linear.answer == "linear":
        return ()
    key = "ridge" if answers.task == "regression" else "logistic regression"
    return () if key in methods else (key,)


def reasons(key: str, method: Method, answers: Answers) -> Iterator[str]:
    """What speaks for a method."""
    bends = method.kernel or key.startswith(_BENDS)
    if answers.probabilities and method.probabilities:
        yield "gives probabilities"
    if key == "Levenberg-Marquardt":
        yield "only if you can write the formula down"
    elif answers.task is not None and answers.linear.answer == "linear" and not bends:
        yield "linear, and no kernel gains over it"
    elif answers.task is not None:
        yield "bends with the data" if bends else "the yardstick: what does bending gain?"
    if key.startswith("kitchen sinks") and answers.rows >= MANY_ROWS:
        yield f"cheap for {answers.rows:,} rows"
    if key == "ridge" and answers.weak.yes:
        yield answers.weak.why
    if key == "weighted least squares":
        yield "the noise is not equal everywhere"
    if key in ("robust regression", "forest", "Poisson regression"):
        yield answers.noise.why
    if method.rated().get("interpretable model"):
        yield "its model can be read"


def not_reached(answers: Answers, methods: tuple[str, ...]) -> list[tuple[str, str]]:
    """The methods of the same task that the trees did not lead to, and what excludes them."""
    if answers.task is None:
        pool = leaves(UNSUPERVISED)
    elif answers.task == "classification":
        pool = leaves(CLASSIFICATION) | {"neural network"}
    else:
        pool = leaves(COOKBOOK_REGRESSION) | leaves(LECTURE_REGRESSION)
    rest = [key for key in METHODS if key in pool and key not in methods]
    return [(METHODS[key].title, _excluded(key, answers)) for key in rest]


def _excluded(key: str, answers: Answers) -> str:
    method = METHODS[key]
    own = {
        "neural network": "slow to train and hard to read; try it when the others fall short",
        "lasso": "few deciding columns were not asked for (--sparse)",
        "total least squares": "inputs count as exact (--noisy-inputs says otherwise)",
        "robust regression": f"no outliers to resist: {answers.noise.why}",
        "Poisson regression": "the target does not count",
        "weighted least squares": f"the noise is equal enough: {answers.unequal.why}",
        "NMF": answers.nonnegative.why,
    }
    if answers.task is None:
        return own.get(key, "another question was asked")
    linear = answers.linear.answer == "linear"
    bends = method.kernel or key.startswith(_BENDS)
    if key in own and (linear or key in ("neural network", "lasso", "total least squares")):
        return own[key]
    if linear and bends:
        return "no kernel gains over the linear recipe"
    if not linear and not bends:
        return "the dependency is not linear"
    if answers.probabilities and not method.probabilities:
        return "gives no probabilities"
    if method.probabilities:
        return "probabilities were not asked for (--probabilities)"
    return f"the noise is {answers.noise.answer}" if answers.task == "regression" else "others lead"
