"""The cookbook's decision tree (figures 6.4 to 6.6) and the lecture notes' regression chooser.

A `Fork` asks one question of the `Answers` and goes on with the branch of the answer; a leaf is
the methods to try. `walk` returns what was asked, what was answered and why, and the leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kilogram.kitchen.choosing.answers import Answers

Leaf = tuple[str, ...]


@dataclass(frozen=True)
class Fork:
    """A question, how the data answers it, and where each answer leads."""

    question: str
    ask: Callable[[Answers], tuple[str, str]]
    branches: dict[str, Fork | Leaf]


@dataclass(frozen=True)
class Step:
    """One question with its answer and the reason for it."""

    question: str
    answer: str
    why: str


def walk(tree: Fork | Leaf, answers: Answers) -> tuple[list[Step], Leaf]:
    """The path through a tree and the methods at its end."""
    steps = []
    while isinstance(tree, Fork):
        answer, why = tree.ask(answers)
        steps.append(Step(tree.question, answer, why))
        tree = tree.branches[answer]
    return steps, tree


def leaves(tree: Fork | Leaf) -> set[str]:
    """Every method a tree can lead to."""
    if not isinstance(tree, Fork):
        return set(tree)
    return set().union(*(leaves(branch) for branch in tree.branches.values()))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _probabilities(a: Answers) -> tuple[str, str]:
    return _yes(a.probabilities), "asked for" if a.probabilities else "not asked for"


def _sparse(a: Answers) -> tuple[str, str]:
    return _yes(a.sparse), "asked for" if a.sparse else "not asked for"


_LINEAR_CLASSES = Fork(
    "Probabilities wanted?", _probabilities,
    {
        "yes": ("logistic regression", "naive Bayes", "linear discriminant"),
        "no": ("nearest centroid", "linear discriminant", "linear SVM", "logistic regression"),
    },
)  # fmt: skip
_CURVED_CLASSES = Fork(
    "Probabilities wanted?", _probabilities,
    {
        "yes": ("Gaussian process, classes", "k-NN", "logistic regression"),
        "no": ("kernel SVM", "k-NN", "kitchen sinks, classes"),
    },
)  # fmt: skip
CLASSIFICATION = Fork(
    "Is the dependency linear?", lambda a: (a.linear.answer, a.linear.why),
    {"linear": _LINEAR_CLASSES, "non-linear": _CURVED_CLASSES},
)  # fmt: skip

COOKBOOK_REGRESSION = Fork(
    "Is the dependency linear?", lambda a: (a.linear.answer, a.linear.why),
    {
        "linear": Fork("Shall few columns decide?", _sparse,
                       {"yes": ("lasso",), "no": ("ridge", "least squares")}),
        "non-linear": Fork("Probabilities or intervals wanted?", _probabilities,
                           {"yes": ("Gaussian process", "kernel ridge"),
                            "no": ("kernel ridge", "kitchen sinks")}),
    },
)  # fmt: skip

_ONLY_Y = Fork(
    "Too few rows for the columns, or ill-conditioned?", lambda a: (_yes(a.weak.yes), a.weak.why),
    {
        "yes": ("ridge",),
        "no": Fork("Is the noise equal everywhere?",
                   lambda a: (_yes(not a.unequal.yes), a.unequal.why),
                   {"yes": ("least squares",), "no": ("weighted least squares",)}),
    },
)  # fmt: skip
LECTURE_REGRESSION = Fork(
    "Is f linear?", lambda a: (a.linear.answer, a.linear.why),
    {
        "linear": Fork(
            "What noise is it?", lambda a: (a.noise.answer, a.noise.why),
            {
                "additive Gaussian": Fork(
                    "Is only the target noisy?",
                    lambda a: (_yes(not a.noisy_inputs), "inputs are noisy too, as said"
                               if a.noisy_inputs else "taken for granted; else --noisy-inputs"),
                    {"yes": _ONLY_Y, "no": ("total least squares",)},
                ),
                "counts": ("Poisson regression",),
                "outliers": ("robust regression",),
                "other": ("robust regression", "forest"),
            },
        ),
        "non-linear": Fork(
            "What noise is it?", lambda a: (a.noise.answer, a.noise.why),
            {
                "additive Gaussian": ("Levenberg-Marquardt", "kernel ridge"),
                "counts": ("forest",),
                "outliers": ("forest",),
                "other": ("forest",),
            },
        ),
    },
)  # fmt: skip

UNSUPERVISED = Fork(
    "What is wanted?",
    lambda a: ("clusters" if a.clusters else "views" if a.views > 1 else "fewer dimensions",
               "as asked"),
    {
        "clusters": Fork("Soft, with probabilities?", _probabilities,
                         {"yes": ("mixture",), "no": ("k-means", "mixture", "kernel k-means")}),
        "views": ("CCA", "kernel CCA"),
        "fewer dimensions": Fork(
            "Is everything non-negative?", lambda a: (_yes(a.nonnegative.yes), a.nonnegative.why),
            {"yes": ("PCA", "NMF", "kernel PCA"), "no": ("PCA", "kernel PCA")}),
    },
)  # fmt: skip


def labels(a: Answers) -> Step:
    """The first question of the tree."""
    return Step("Are there labels?", _yes(a.task is not None), a.labels_why)


def label_kind(a: Answers) -> Step:
    """The second one."""
    kind = "categories" if a.task == "classification" else "numbers"
    return Step("What kind of labels?", kind, a.task_why)
