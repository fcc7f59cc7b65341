"""Decision trees and random forests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    objective_panel,
    plane,
    python_lines,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    points,
    segments,
    text,
)
from kilogram.book.scene import Break, Points, Scene, slider
from kilogram.book.scenes.two_classes import errors
from kilogram.book.textbook_steps import record, thinned
from kilogram.models.trees.decision_tree import DecisionTreeClassifier
from kilogram.models.trees.random_forest import RandomForestClassifier


def _tree(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    classes = np.unique(y)
    indicators = (y[:, None] == classes).astype(float)
    steps = thinned(record("decision_tree", X, indicators, "gini", 1, c["depth"]), 30)
    model = DecisionTreeClassifier(max_depth=c["depth"], random_state=0).fit(X, y)
    forest = RandomForestClassifier(n_estimators=c["trees"], max_depth=None, random_state=0).fit(
        X, y
    )
    grid = data_grid(data)
    panel, mark = objective_panel([s.state.objective for s in steps], title="Impurity (Gini)")
    frames = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        grown = step.state["nodes"], step.state["values"]
        region = grid.regions(model.predict if last else partial(_tree_class, classes, *grown))
        shown = {
            "data": [region, data_points()],
            "objective": mark(i),
            "tree": _drawn_tree(classes, *grown),
        }
        frames.append(
            Frame(
                step.name,
                shown,
                step.line,
                [("leaves", int(np.sum(np.asarray(step.state["nodes"])[:, 0] < 0)))],
            )
        )
    beside = plane(
        data,
        "forest",
        f"Forest of {c['trees']} trees",
        layers=[grid.regions(forest.predict), data_points()],
        describe="regions of the forest",
    )
    tree = Panel(
        "tree", "The tree", (0, 1), (0, 1), axes=False, describe="splits from the root down"
    )
    return Recording(
        [plane(data, "data", f"One tree, depth at most {c['depth']}", describe="regions of the tree, split by split"), beside, tree, panel], frames,
        [*[(f"{n}, tree", v) for n, v in errors(model, data)], *[(f"{n}, forest", v) for n, v in errors(forest, data)]],
        python=python_lines("classes", f"model = kg.DecisionTreeClassifier(max_depth={c['depth']}, random_state=0).fit(X, y)"),
        code="decision_tree", fitted={"n_features_in_": 2},
    )  # fmt: skip


def _tree_class(classes: np.ndarray, nodes: Any, values: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(classes[_descend(nodes, values, X)])


def _descend(nodes: Any, values: Any, X: np.ndarray) -> np.ndarray:
    """The class index of the leaf of every row."""
    table, at = np.asarray(nodes, float), np.zeros(len(X), dtype=int)
    while True:
        inner = table[at, 0] >= 0
        if not inner.any():
            return np.asarray(values)[at].argmax(axis=1)
        feature = table[at, 0].astype(int)
        left = X[np.arange(len(X)), np.maximum(feature, 0)] <= table[at, 1]
        at = np.where(inner, np.where(left, table[at, 2], table[at, 3]).astype(int), at)


def _drawn_tree(classes: np.ndarray, nodes: Any, values: Any) -> list[dict[str, Any]]:
    """The tree as lines: leaves side by side in the colours of their classes, the root on top."""
    table, shares = np.asarray(nodes, float), np.asarray(values)
    place: dict[int, tuple[float, int]] = {}
    leaves = 0

    def visit(node: int, depth: int) -> float:
        nonlocal leaves
        if table[node, 0] < 0:
            x = float(leaves)
            leaves += 1
        else:
            x = (visit(int(table[node, 2]), depth + 1) + visit(int(table[node, 3]), depth + 1)) / 2
        place[node] = (x, depth)
        return x

    visit(0, 0)
    deepest = max(depth for _, depth in place.values()) or 1

    def spot(node: int) -> tuple[float, float]:
        return 0.06 + 0.88 * (place[node][0] + 0.5) / leaves, 0.9 - 0.82 * place[node][1] / deepest

    inner = [n for n in place if table[n, 0] >= 0]
    ends = [(spot(n), spot(int(child))) for n in inner for child in table[n, 2:4]]
    layers = [
        segments(
            [a[0] for a, _ in ends],
            [a[1] for a, _ in ends],
            [b[0] for _, b in ends],
            [b[1] for _, b in ends],
            color="muted",
            width=1.4,
        )
    ]
    leaves_of = [n for n in place if table[n, 0] < 0]
    leaf, colors = np.array([spot(n) for n in leaves_of]), classes[shares[leaves_of].argmax(axis=1)]
    layers.append(points(leaf[:, 0], leaf[:, 1], c=colors, r=5.5))
    if len(inner) <= 12:
        layers += [
            text(x, y + 0.025, f"x{'₁₂'[int(table[n, 0])]} ≤ {table[n, 1]:.2f}")
            for n, (x, y) in ((n, spot(n)) for n in inner)
        ]
    return layers


SCENES = (
    Scene(
        "trees", "trees", "Tree and forest",
        "The best split, then the best split of each half, and so on. A forest averages many trees grown on resampled points.",
        _tree, data="classes", presets=("moons", "overlap", "xor", "circles", "three", "long"), classes=3,
        controls=(slider("depth", "depth of the tree", 4, 1, 10, export=(1, 2, 4, 8)), slider("trees", "trees in the forest", 50, 1, 100, export=(1, 50))),
        breaks=(Break("A diagonal border becomes stairs", "long", {"depth": 6}), Break("Exclusive or: the first split gains nothing", "xor", {"depth": 2}), Break("Grown to the end: every point its own box", "overlap", {"depth": 10})),
        question="Exclusive or: why does a greedy first split gain almost nothing?",
        answer="Each half still holds both classes half and half. Only the second level gains, which a greedy choice cannot see.",
        names=("DecisionTreeClassifier", "RandomForestClassifier"), min_points=4,
    ),
)  # fmt: skip
