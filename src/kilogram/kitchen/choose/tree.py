"""The cookbook's decision tree (figures 6.4 to 6.6) and the lecture notes' regression chooser.

A `DecisionNode` has one question about the `TableProperties` and a branch for each answer; a leaf
is the methods to try. `follow` returns the decisions with their reasons, and the leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kilogram.kitchen.choose.measurements import TableProperties

Leaf = tuple[str, ...]


@dataclass(frozen=True)
class DecisionNode:
    """A question, the function that answers it, and a branch for each answer."""

    question: str
    ask: Callable[[TableProperties], tuple[str, str]]
    branches: dict[str, DecisionNode | Leaf]


@dataclass(frozen=True)
class Decision:
    """One question with its answer and the reason for it."""

    question: str
    answer: str
    why: str


def follow(tree: DecisionNode | Leaf, answers: TableProperties) -> tuple[list[Decision], Leaf]:
    """The path through a tree and the methods at its end."""
    steps = []
    while isinstance(tree, DecisionNode):
        answer, why = tree.ask(answers)
        steps.append(Decision(tree.question, answer, why))
        tree = tree.branches[answer]
    return steps, tree


def leaves(tree: DecisionNode | Leaf) -> set[str]:
    """Every method a tree can lead to."""
    if not isinstance(tree, DecisionNode):
        return set(tree)
    return set().union(*(leaves(branch) for branch in tree.branches.values()))


def _word(value: bool) -> str:
    return "yes" if value else "no"


def _probabilities(a: TableProperties) -> tuple[str, str]:
    return _word(a.probabilities), "requested" if a.probabilities else "not requested"


def _sparse(a: TableProperties) -> tuple[str, str]:
    return _word(a.sparse), "requested" if a.sparse else "not requested"


_LINEAR_CLASSES = DecisionNode(
    "Probabilities wanted?", _probabilities,
    {
        "yes": ("logistic regression", "naive Bayes", "linear discriminant"),
        "no": ("nearest centroid", "linear discriminant", "linear SVM", "logistic regression"),
    },
)  # fmt: skip
_CURVED_CLASSES = DecisionNode(
    "Probabilities wanted?", _probabilities,
    {
        "yes": ("Gaussian process, classes", "k-NN", "logistic regression"),
        "no": ("kernel SVM", "k-NN", "kitchen sinks, classes"),
    },
)  # fmt: skip
CLASSIFICATION = DecisionNode(
    "Is the dependency linear?", lambda a: (a.linear.answer, a.linear.why),
    {"linear": _LINEAR_CLASSES, "non-linear": _CURVED_CLASSES},
)  # fmt: skip

COOKBOOK_REGRESSION = DecisionNode(
    "Is the dependency linear?", lambda a: (a.linear.answer, a.linear.why),
    {
        "linear": DecisionNode("Should the model use few columns?", _sparse,
                       {"yes": ("lasso",), "no": ("ridge", "least squares")}),
        "non-linear": DecisionNode("Probabilities or intervals wanted?", _probabilities,
                           {"yes": ("Gaussian process", "kernel ridge"),
                            "no": ("kernel ridge", "kitchen sinks")}),
    },
)  # fmt: skip

_ONLY_Y = DecisionNode(
    "Too few rows for the columns, or ill-conditioned?", lambda a: (_word(a.weak.yes), a.weak.why),
    {
        "yes": ("ridge",),
        "no": DecisionNode("Is the noise variance constant?",
                   lambda a: (_word(not a.unequal.yes), a.unequal.why),
                   {"yes": ("least squares",), "no": ("weighted least squares",)}),
    },
)  # fmt: skip
LECTURE_REGRESSION = DecisionNode(
    "Is f linear?", lambda a: (a.linear.answer, a.linear.why),
    {
        "linear": DecisionNode(
            "What is the noise distribution?", lambda a: (a.noise.answer, a.noise.why),
            {
                "additive Gaussian": DecisionNode(
                    "Is only the target noisy?",
                    lambda a: (_word(not a.noisy_inputs), "inputs are noisy too, as given"
                               if a.noisy_inputs else "assumed; otherwise use --noisy-inputs"),
                    {"yes": _ONLY_Y, "no": ("total least squares",)},
                ),
                "counts": ("Poisson regression",),
                "outliers": ("robust regression",),
                "other": ("robust regression", "forest"),
            },
        ),
        "non-linear": DecisionNode(
            "What is the noise distribution?", lambda a: (a.noise.answer, a.noise.why),
            {
                "additive Gaussian": ("Levenberg-Marquardt", "kernel ridge"),
                "counts": ("forest",),
                "outliers": ("forest",),
                "other": ("forest",),
            },
        ),
    },
)  # fmt: skip

UNSUPERVISED = DecisionNode(
    "What is wanted?",
    lambda a: ("clusters" if a.clusters else "views" if a.views > 1 else "fewer dimensions",
               "as requested"),
    {
        "clusters": DecisionNode("Soft clustering, with probabilities?", _probabilities,
                         {"yes": ("mixture",), "no": ("k-means", "mixture", "kernel k-means")}),
        "views": ("CCA", "kernel CCA"),
        "fewer dimensions": DecisionNode(
            "Is everything non-negative?", lambda a: (_word(a.nonnegative.yes), a.nonnegative.why),
            {"yes": ("PCA", "NMF", "kernel PCA"), "no": ("PCA", "kernel PCA")}),
    },
)  # fmt: skip


def labels(a: TableProperties) -> Decision:
    """The first question of the tree."""
    return Decision("Are there labels?", _word(a.task is not None), a.labels_why)


def label_kind(a: TableProperties) -> Decision:
    """The second one."""
    kind = "categories" if a.task == "classification" else "numbers"
    return Decision("What kind of labels?", kind, a.task_why)
