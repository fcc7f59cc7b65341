"""The picture of a merge tree: leaves below, every merger a bracket at its height.

Clusters of the cut have a colour each, what joins them is grey, a dashed line is the cut. A tree
of many leaves is drawn from its last mergers; a leaf is then labelled with its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.base.constraints import Integer, check_parameter
from kilogram.solvers.linkage.linkage import roots

if TYPE_CHECKING:
    from kilogram.models.hierarchical.agglomerative import AgglomerativeClustering

# Leaves beyond are too close together to be named: 150 names of 6 points need 12 inches.
MOST_NAMES = 150
INK, QUIET = "#2b2b33", "#9a9aa6"
COLOURS = (
    "#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#be123c", "#0e7490", "#a16207", "#4338ca",
)  # fmt: skip


def dendrogram(
    model: AgglomerativeClustering,
    *,
    ax: Any = None,
    max_leaves: int = 40,
    names: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the tree of a fitted `AgglomerativeClustering`.

    Parameters
    ----------
    model : AgglomerativeClustering
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    max_leaves : int, default=40
        Leaves drawn; of a larger tree the last mergers are.
    names : sequence of str or None, default=None
        One for every leaf of the tree, below it.
    title : str or None, default=None
        None: the linkage and the number of rows.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import kilogram as kg
    >>> model = kg.AgglomerativeClustering(2).fit([[0.0], [1.0], [10.0], [11.5]])
    >>> ax = kg.dendrogram(model)
    >>> ax.get_ylabel()
    'distance'
    """
    from matplotlib.collections import LineCollection

    check_is_fitted(model)
    if not hasattr(model, "linkage_matrix_"):
        raise TypeError(
            f"dendrogram draws trees of kilogram's AgglomerativeClustering, not {model!r:.60}."
        )
    check_parameter("max_leaves", max_leaves, Integer(2))
    n = model.n_leaves_
    if names is not None and len(names) != n:
        raise ValueError(f"names: the tree has {n} leaves, {len(names)} names were given.")
    picture = Picture(model, min(int(max_leaves), n))
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(8.0, 3.8), layout="constrained")[1]
    ax.add_collection(LineCollection(picture.lines, colors=picture.colours, linewidths=1.6))
    _decorate(ax, picture, names)
    ax.set_title(title or f"{model.linkage} linkage of {n:,} rows", color=INK, loc="left")
    return ax


class Picture:
    """Brackets and their colours, leaves from left to right."""

    def __init__(self, model: AgglomerativeClustering, leaves: int):
        self.n, self.model = model.n_leaves_, model
        self.first = self.n - leaves  # mergers before this one are not drawn
        self.heights = np.concatenate([np.zeros(self.n), model.distances_])
        self.order = self._leaves()
        self.x = {leaf: 10.0 * i + 5.0 for i, leaf in enumerate(self.order)}
        self.colour = self._colour_of()
        self.lines, self.colours = self._brackets()

    def _is_leaf(self, node: int) -> bool:
        return node < self.n + self.first

    def _leaves(self) -> list[int]:
        """From left to right, the lower of two children first; no recursion: chains are deep."""
        found, stack = [], [2 * self.n - 2]
        while stack:
            node = stack.pop()
            if self._is_leaf(node):
                found.append(node)
                continue
            children = [int(c) for c in self.model.children_[node - self.n]]
            children.sort(key=lambda c: (self.heights[c], self.model._tree.weights[c], c))
            stack += children[::-1]
        return found

    def _colour_of(self) -> dict[int, str]:
        """The colour of every node: that of the cluster it lies in."""
        k, colour = self.model.n_clusters_, {}
        tops = {int(node): c for c, node in enumerate(roots(self.model._tree, k))}
        stack: list[tuple[int, str]] = [(2 * self.n - 2, QUIET)]
        while stack:
            node, above = stack.pop()
            mine = COLOURS[tops[node] % len(COLOURS)] if node in tops else above
            colour[node] = mine
            if not self._is_leaf(node):
                stack += [(int(c), mine) for c in self.model.children_[node - self.n]]
        return colour

    def _brackets(self) -> tuple[list[np.ndarray], list[str]]:
        lines, colours = [], []
        for t in range(self.first, self.n - 1):
            a, b = (int(c) for c in self.model.children_[t])
            top, node = self.heights[self.n + t], self.n + t
            xa, xb = self.x[a], self.x[b]
            ya, yb = (0.0 if self._is_leaf(c) else self.heights[c] for c in (a, b))
            lines.append(np.array([(xa, ya), (xa, top), (xb, top), (xb, yb)]))
            colours.append(self.colour[node])
            self.x[node] = (xa + xb) / 2
        return lines, colours

    def label(self, leaf: int, names: Any) -> str:
        if leaf < self.n:
            return str(names[leaf] if names is not None else self.model.leaves_[leaf])
        return f"({self._count(leaf):,})"

    def _count(self, node: int) -> int:
        """Rows below a node."""
        found, stack = 0, [node]
        while stack:
            node = stack.pop()
            if node < self.n:
                found += 1
            else:
                stack += [int(c) for c in self.model.children_[node - self.n]]
        return found


def _decorate(ax: Any, picture: Picture, names: Any) -> None:
    """Axes, names of leaves, and the cut."""
    model = picture.model
    top = float(model.distances_.max()) or 1.0
    ax.set_xlim(0.0, 10.0 * len(picture.order))
    ax.set_ylim(0.0, 1.05 * top)
    named = picture.order if len(picture.order) <= MOST_NAMES else []
    ax.set_xticks([picture.x[leaf] for leaf in named])
    texts = [picture.label(leaf, names) for leaf in named]
    long = sum(len(text) for text in texts) > 90 or max(map(len, texts), default=0) > 5
    ax.set_xticklabels(texts, rotation=90 if long else 0, fontsize=8)
    for leaf, tick in zip(named, ax.get_xticklabels(), strict=True):
        tick.set_color(picture.colour[leaf])
    ax.tick_params(axis="x", length=0)
    ax.tick_params(axis="y", color=QUIET, labelcolor=INK, labelsize=8)
    ax.set_ylabel("distance", color=INK)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["left"].set_color(QUIET)
    k, d = model.n_clusters_, model.distances_
    if 1 < k < len(d) + 1:
        height = (d[len(d) - k] + d[len(d) - k + 1]) / 2
        ax.axhline(height, color=INK, lw=0.9, ls=(0, (5, 4)))
        where = (10.0 * len(picture.order), height)
        ax.annotate(f"{k} clusters", where, (-2, 3), textcoords="offset points", fontsize=8,
                    ha="right", va="bottom", color=INK)  # fmt: skip
