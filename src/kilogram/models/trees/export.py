"""Fitted trees as text, as SVG and as a plot."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.base.constraints import Integer, OneOf, check_parameter
from kilogram.models.trees.decision_tree import SingleTree

BOX, GAP, LEVEL, LINE = (150, 14, 96, 15)  # of the drawing: width, gap, height of a level, a line


class NodeText(NamedTuple):
    """How nodes are written: names of features and classes, digits."""

    model: SingleTree
    features: list[str]
    classes: list[str] | None
    decimals: int

    @classmethod
    def of(cls, model: SingleTree, feature_names: Any, class_names: Any, decimals: int) -> NodeText:
        if not isinstance(model, SingleTree):
            raise TypeError(
                f"Expected a decision tree of kilogram, got {type(model).__name__}. The trees of a "
                "forest are in its `estimators_`."
            )
        check_is_fitted(model, "trees_")
        check_parameter("decimals", decimals, Integer(0))
        features = _names(feature_names, model)
        if class_names is None and model.n_outputs_ == 1 and hasattr(model, "classes_"):
            class_names = model.classes_
        classes = None if class_names is None else [str(name) for name in class_names]
        if classes is not None and len(classes) != model.tree_.max_n_classes:
            raise ValueError(
                f"class_names must contain {model.tree_.max_n_classes} elements, got {len(classes)}"
            )
        return cls(model, features, classes, decimals)

    def split(self, node: int, left: bool) -> str:
        """The condition of the left or of the right child."""
        tree = self.model.tree_
        name = self.features[tree.feature[node]]
        categories = left_categories(self.model, node)
        if categories is not None:
            listed = "{" + ", ".join(map(_shown, categories)) + "}"
            return f"{name} {'in' if left else 'not in'} {listed}"
        if np.isposinf(tree.threshold[node]):
            return f"{name} is {'not ' if left else ''}missing"
        sign = "<=" if left else "> "
        return f"{name} {sign} {tree.threshold[node]:.{self.decimals}f}"

    def value(self, node: int) -> str:
        """The prediction of a node."""
        value = self.model.tree_.value[node]
        if self.classes is not None and len(value) == 1:
            return f"class: {self.classes[int(np.argmax(value[0]))]}"
        numbers = value[0] if len(value) == 1 else value.ravel()
        return "value: [" + ", ".join(f"{v:.{self.decimals}f}" for v in numbers) + "]"


def left_categories(model: SingleTree, node: int) -> list[Any] | None:
    """The categories that go left; None where a threshold splits the node."""
    bits = model.trees_.categories
    if not len(bits) or not bits[node].any():
        return None
    codes = [c for c in range(64 * bits.shape[1]) if int(bits[node, c // 64]) >> (c % 64) & 1]
    if model._codes is None:  # saved when categories were numbers from 0 to 255
        return codes
    known = model._codes.categories[int(model.tree_.feature[node])]
    return [known[c] for c in codes]


def _shown(category: Any) -> str:
    return f"{category:g}" if isinstance(category, float) else str(category)


def _names(feature_names: Any, model: SingleTree) -> list[str]:
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        return [f"feature_{k}" for k in range(model.n_features_in_)]
    names = [str(name) for name in feature_names]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must contain {model.n_features_in_} elements, got {len(names)}"
        )
    return names


def export_text(
    decision_tree: SingleTree,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """The rules of a fitted tree as text.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names, class_names : array-like of str or None, default=None
        None uses `feature_names_in_` and `classes_`.
    max_depth : int, default=10
        Deeper branches are cut off.
    spacing : int, default=3
        Width of one level.
    decimals : int, default=2
    show_weights : bool, default=False
        Add the weights of the classes to the leaves.

    Returns
    -------
    str

    Examples
    --------
    >>> from kilogram import DecisionTreeRegressor, export_text
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [4.0]], [0, 0, 6])
    >>> print(export_text(model, feature_names=["age"]))
    |--- age <= 2.50
    |   |--- value: [0.00]
    |--- age >  2.50
    |   |--- value: [6.00]
    <BLANKLINE>
    """
    check_parameter("max_depth", max_depth, Integer(0))
    check_parameter("spacing", spacing, Integer(1))
    words = NodeText.of(decision_tree, feature_names, class_names, decimals)
    tree, lines = decision_tree.tree_, []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = ("|" + " " * spacing) * depth
        if condition:
            lines.append(indent[: -spacing - 1] + "|" + "-" * spacing + " " + condition)
        if tree.children_left[node] < 0 or depth > max_depth:
            text = words.value(node)
            if tree.children_left[node] >= 0:
                text = "truncated branch"
            elif show_weights and words.classes is not None:
                w = tree.value[node, 0] * tree.weighted_n_node_samples[node]
                text = "weights: [" + ", ".join(f"{v:.{decimals}f}" for v in w) + "] " + text
            lines.append(indent + "|" + "-" * spacing + " " + text)
            continue
        stack.append((int(tree.children_right[node]), depth + 1, words.split(node, False)))
        stack.append((int(tree.children_left[node]), depth + 1, words.split(node, True)))
    return "\n".join(lines) + "\n"


def _places(tree: Any, max_depth: int) -> dict[int, tuple[float, int]]:
    """The place of every node that is drawn: parents between their children."""
    found: dict[int, tuple[float, int]] = {}
    depth = tree.compute_node_depths() - 1
    shown = [i for i in range(tree.node_count) if depth[i] <= max_depth]
    column = 0.0
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] >= 0 and depth[node] < max_depth:
            stack += [int(tree.children_right[node]), int(tree.children_left[node])]
        else:
            found[node] = (column, int(depth[node]))
            column += 1
    for node in reversed(order):
        if node not in found:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            found[node] = ((found[left][0] + found[right][0]) / 2, int(depth[node]))
    return {node: found[node] for node in shown}


def _lines(words: NodeText, node: int, cut_off: bool) -> list[str]:
    tree = words.model.tree_
    first = [] if tree.children_left[node] < 0 else [words.split(node, True)]
    if cut_off:
        first = ["(...)"]
    return [
        *first,
        f"impurity = {tree.impurity[node]:.{words.decimals}f}",
        f"samples = {tree.n_node_samples[node]}",
        words.value(node),
    ]


def export_svg(
    decision_tree: SingleTree,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 4,
    decimals: int = 2,
) -> str:
    """A drawing of a fitted tree as SVG, for a browser or a notebook.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names, class_names : array-like of str or None, default=None
        None uses `feature_names_in_` and `classes_`.
    max_depth : int, default=4
        Deeper branches are cut off.
    decimals : int, default=2

    Returns
    -------
    str
        An `<svg>` element. Left branches are those that meet the condition.
    """
    check_parameter("max_depth", max_depth, Integer(0))
    words = NodeText.of(decision_tree, feature_names, class_names, decimals)
    tree = decision_tree.tree_
    places = _places(tree, max_depth)
    at = {
        i: (GAP + BOX / 2 + x * (BOX + GAP), GAP + depth * LEVEL)
        for i, (x, depth) in places.items()
    }
    width = max(x for x, _ in at.values()) + BOX / 2 + GAP
    height = max(y for _, y in at.values()) + LEVEL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="11">'
    ]
    for i, (x, y) in at.items():
        for child in (int(tree.children_left[i]), int(tree.children_right[i])):
            if child in at:
                to = at[child]
                parts.append(
                    f'<line x1="{x:.1f}" y1="{y + 4 * LINE + 6:.1f}" x2="{to[0]:.1f}" '
                    f'y2="{to[1]:.1f}" stroke="#888"/>'
                )
    for i, (x, y) in at.items():
        text = _lines(words, i, tree.children_left[i] >= 0 and int(tree.children_left[i]) not in at)
        parts.append(
            f'<rect x="{x - BOX / 2:.1f}" y="{y:.1f}" width="{BOX}" height="{4 * LINE + 6}" rx="5" '
            'fill="#f4f6fb" stroke="#5577aa"/>'
        )
        for k, line in enumerate(text):
            parts.append(
                f'<text x="{x:.1f}" y="{y + LINE * (k + 1):.1f}" text-anchor="middle">'
                f"{escape(line)}</text>"
            )
    return "\n".join([*parts, "</svg>"])


class BoxContents(NamedTuple):
    """What `plot_tree` writes into the boxes, as in scikit-learn."""

    label: str
    impurity: bool
    node_ids: bool
    proportion: bool


def _short(number: float, decimals: int) -> str:
    """The number without zeros at its end, but for one: 0.5, 2.0."""
    return str(round(float(number), decimals))


def _box(words: NodeText, node: int, cut_off: bool, shown: BoxContents) -> str:
    """The text of one box of `plot_tree`."""
    if cut_off:
        return "(...)"
    model, tree = words.model, words.model.tree_
    named = shown.label == "all" or (shown.label == "root" and node == 0)
    lines = [f"node #{node}" if named else f"#{node}"] if shown.node_ids else []
    if tree.children_left[node] >= 0:
        lines.append(words.split(node, True))
    weight = float(tree.weighted_n_node_samples[node])
    count = str(int(tree.n_node_samples[node]))
    if shown.proportion:
        count = f"{100 * tree.n_node_samples[node] / tree.n_node_samples[0]:.1f}%"
    value = tree.value[node]
    if hasattr(model, "classes_") and not shown.proportion:
        value = value * weight
    whole = bool((value == np.rint(value)).all())
    digits = [str(int(v)) if whole else _short(v, words.decimals) for v in value.ravel()]
    facts = {"samples": count, "value": digits[0] if len(digits) == 1 else f"[{', '.join(digits)}]"}
    if shown.impurity:
        facts = {str(model.criterion): _short(tree.impurity[node], words.decimals), **facts}
    if words.classes is not None and len(value) == 1:
        facts["class"] = words.classes[int(np.argmax(value[0]))]
    return "\n".join([*lines, *(f"{k} = {v}" if named else v for k, v in facts.items())])


def _colours(model: SingleTree) -> list[Any]:
    """The colour of every node: of its class, paler where it is mixed; of its mean."""
    import matplotlib as mpl

    tree = model.tree_
    values = tree.value[:, 0] if model.n_outputs_ == 1 else -tree.impurity[:, None]
    if model.n_outputs_ > 1 or not hasattr(model, "classes_"):
        low, high = float(values[:, 0].min()), float(values[:, 0].max())
        share = (values[:, 0] - low) / (high - low) if high > low else np.zeros(len(values))
        return [mpl.colormaps["Oranges"](0.7 * s) for s in share]
    classes = values.shape[1]
    hues = mpl.colormaps["tab10" if classes <= 10 else "gist_rainbow"]
    colours = []
    for fractions in values:
        top = int(np.argmax(fractions))
        purity = 1.0 if classes == 1 else (fractions[top] - 1 / classes) / (1 - 1 / classes)
        hue = np.array(hues(top if classes <= 10 else top / classes)[:3])
        colours.append(tuple(1 - 0.7 * purity * (1 - hue)))
    return colours


def plot_tree(
    decision_tree: SingleTree,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: str = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Plot a fitted tree with matplotlib.

    Parameters
    ----------
    decision_tree : DecisionTreeClassifier or DecisionTreeRegressor
    max_depth : int or None, default=None
        Deeper branches are cut off; None draws all.
    feature_names, class_names : array-like of str or None, default=None
        None uses `feature_names_in_` and `classes_`.
    label : {"all", "root", "none"}, default="all"
        Which boxes name their numbers ("samples = 50").
    filled : bool, default=False
        Colour the boxes by the class, paler where classes are mixed, or by the mean.
    impurity, node_ids : bool, default=True, False
        Write the impurity, the number of the node.
    proportion : bool, default=False
        Fractions of rows and classes instead of counts.
    rounded : bool, default=False
        Whether to draw boxes with round corners.
    precision : int, default=3
        Number of decimals.
    ax : matplotlib axis or None, default=None
        Axes to draw on; None takes the current ones.
    fontsize : float or None, default=None
        None shrinks the text until the boxes of a level fit beside each other.

    Returns
    -------
    list of matplotlib annotations
        One for every node.
    """
    import matplotlib.pyplot as plt

    check_parameter("precision", precision, Integer(0))
    check_parameter("label", label, OneOf("all", "root", "none"))
    words = NodeText.of(decision_tree, feature_names, class_names, precision)
    shown = BoxContents(label, impurity, node_ids, proportion)
    tree = decision_tree.tree_
    places = _places(tree, tree.max_depth if max_depth is None else int(max_depth))
    ax = plt.gca() if ax is None else ax
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))  # the limits of the lines would cut the outer boxes
    columns = 1 + max(x for x, _ in places.values())
    levels = 1 + max(depth for _, depth in places.values())
    at = {i: ((x + 0.5) / columns, 1 - (depth + 0.5) / levels) for i, (x, depth) in places.items()}
    colours = _colours(decision_tree) if filled else ["#f4f6fb"] * tree.node_count
    shape = "round" if rounded else "square"
    drawn = []
    for i, place in at.items():
        for child in (int(tree.children_left[i]), int(tree.children_right[i])):
            if child in at:
                ax.plot(*zip(place, at[child], strict=True), color="0.6", zorder=1)
        cut_off = tree.children_left[i] >= 0 and int(tree.children_left[i]) not in at
        box = {"boxstyle": shape, "facecolor": colours[i], "edgecolor": "#5577aa"}
        drawn.append(
            ax.annotate(
                _box(words, i, cut_off, shown), place, ha="center", va="center", bbox=box,
                fontsize=8 if fontsize is None else fontsize,
            )
        )  # fmt: skip
    if fontsize is None:
        _fit_text(drawn, ax)
    return drawn


def _fit_text(boxes: list[Any], ax: Any) -> None:
    """Shrink the text until boxes of one level do not overlap."""
    renderer = ax.figure.canvas.get_renderer()
    pad = 0.6 * boxes[0].get_fontsize() * ax.figure.dpi / 72  # of both sides of a box
    levels: dict[float, list[Any]] = {}
    for box in boxes:
        levels.setdefault(box.xy[1], []).append(box.get_window_extent(renderer))
    scale = 1.0
    for level in levels.values():
        level.sort(key=lambda extent: extent.x0)
        for left, right in pairwise(level):
            room = (right.x0 + right.x1 - left.x0 - left.x1) / 2
            scale = min(scale, 0.95 * room / ((left.width + right.width) / 2 + pad))
    for box in boxes:
        box.set_fontsize(scale * box.get_fontsize())
