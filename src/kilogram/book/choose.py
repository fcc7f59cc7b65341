"""The decision trees of the texts. Imported when they are opened: they need the whole kitchen."""

from __future__ import annotations

from functools import cache
from typing import Any

from kilogram.kitchen.choose.methods import METHODS
from kilogram.kitchen.choose.tree import (
    CLASSIFICATION,
    COOKBOOK_REGRESSION,
    LECTURE_REGRESSION,
    UNSUPERVISED,
    DecisionNode,
    Leaf,
)
from kilogram.registry import page_of


@cache
def choose_trees() -> dict[str, Any]:
    """The decision tree as the reader clicks through it; a leaf is a list of methods."""
    regression = {
        "question": "Whose tree for regression?",
        "branches": [
            ["the cookbook's", _tree(COOKBOOK_REGRESSION)],
            ["the lecture notes'", _tree(LECTURE_REGRESSION)],
        ],
    }
    return {
        "question": "Are there labels?",
        "branches": [
            [
                "yes, categories",
                _tree(CLASSIFICATION),
            ],
            ["yes, numbers", regression],
            ["no", _tree(UNSUPERVISED)],
        ],
    }


def _tree(node: DecisionNode | Leaf) -> dict[str, Any]:
    if isinstance(node, DecisionNode):
        branches = [[word, _tree(branch)] for word, branch in node.branches.items()]
        return {"question": node.question, "branches": branches}
    return {"methods": [_method(key) for key in node]}


def _method(key: str) -> dict[str, Any]:
    method = METHODS[key]
    page = page_of(method.name)
    return {"title": method.title, "name": method.where, "page": page.slug if page else None}
