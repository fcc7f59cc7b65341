"""The plots of an exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from kilogram.kitchen.explore.dependence import Pair
from kilogram.kitchen.explore.structure import FoundClusters, FoundComponents
from kilogram.kitchen.features.columns import AS_NUMBER, Column
from kilogram.kitchen.formatting import figure, percent
from kilogram.kitchen.report.svg import INK, Plot, drawing, inline, light_axes, short

if TYPE_CHECKING:
    from kilogram.kitchen.explore.exploration import Exploration

COLOURS = ("linear", "kernel", "good", "trees", "baseline")
MAX_SHOWN, MAX_MISSING, MAX_POINTS, MAX_PAIRS = 22, 16, 500, 6
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
CRITERIA = {"gap": "gap statistic", "silhouette": "mean silhouette",
        "instability": "instability (lower is better)",
        "compression": "code length, bits"}  # fmt: skip


def plots(found: Exploration) -> list[Plot]:
    """All plots that there is data for, in reading order."""
    shown = []
    if any(one.missing for one in found.columns if one.used):
        shown.append(missing(found))
    if any(pair.significant for pair in found.dependence.pairs):
        shown.append(heat_map(found))
        shown += [pair_plot(found, pair, k) for k, pair in enumerate(_pairs(found))]
    if found.components is not None:
        shown.append(variances(found.components))
        shown.append(component_map(found, found.components))
    if found.kernel_map is not None:
        shown.append(kernel_plot(found, found.kernel_map))
    if found.clusters is not None and len(found.clusters.choice.ks) > 1:
        shown.append(criteria(found.clusters))
    return shown


def missing(found: Exploration) -> Plot:
    lost = sorted((c for c in found.columns if c.used and c.missing), key=lambda c: -c.missing)
    few = lost[:MAX_MISSING]
    with drawing(height=max(1.8, 0.9 + 0.24 * len(few))) as fig:
        ax = fig.subplots()
        part = [one.missing / one.rows for one in reversed(few)]
        ax.barh(range(len(few)), part, color=INK["kernel"], alpha=0.8, height=0.62)
        ax.set_yticks(range(len(few)), [short(one.name, 24) for one in reversed(few)])
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(0, min(1.0, 1.1 * max(part)))
        ax.set_ylim(-0.6, max(len(few), 3) - 0.4)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(lambda v, _: f"{100 * v:.3g}%")
        ax.set_xlabel("missing cells")
        ax.grid(axis="x")
        values = ", ".join(f"{one.name} {percent(one.missing / one.rows, 1)}" for one in few[:6])
        more = f" The {len(few)} largest of {len(lost)} columns." if len(lost) > len(few) else ""
        depends = "; ".join(f"{p.first} on {p.second}" for p in found.dependence.missing[:3])
        why = f" Whether a cell is missing depends on other columns: {depends}." if depends else ""
        return Plot("missing", "Missing values", f"Fraction of the cells of a column.{why}{more}",
                    f"Missing values: {values}.", inline(fig, "missing", values))  # fmt: skip


def heat_map(found: Exploration) -> Plot:
    """The columns with the strongest dependence, ordered so that dependent ones are neighbours."""
    S = found.dependence.matrix()
    names = found.dependence.columns
    sure = {(p.first, p.second) for p in found.dependence.pairs if p.significant}
    kept = np.argsort(-np.nan_to_num(np.abs(S)).max(axis=1), kind="stable")[:MAX_SHOWN]
    kept = kept[_seriation(np.nan_to_num(np.abs(S[np.ix_(kept, kept)])))]
    n = len(kept)
    side = max(3.0, min(5.2, 1.4 + 0.2 * n))
    with drawing(width=side + 0.6, height=side) as fig:
        ax = fig.subplots()
        for a, i in enumerate(kept):
            for b, j in enumerate(kept[:a]):
                place, size = (b - 0.47, a - 0.47), (0.94, 0.94)
                ax.add_patch(Rectangle(place, *size, fill=False, ec=INK["grid"], lw=0.6))
                if (names[i], names[j]) not in sure and (names[j], names[i]) not in sure:
                    continue
                value = S[i, j]
                colour = INK["linear" if value > 0 else "kernel"]
                strength = float(0.08 + 0.85 * abs(value))
                ax.add_patch(Rectangle(place, *size, color=colour, alpha=strength, lw=0))
                if n <= 9:
                    ax.text(b, a, figure(abs(value), 2), ha="center", va="center", size=8)
        ax.set_xlim(-0.5, n - 1.5)
        ax.set_ylim(n - 0.5, 0.5)
        ax.set_xticks(range(n - 1), [short(names[k], 14) for k in kept[:-1]], rotation=55,
                      ha="right", rotation_mode="anchor")  # fmt: skip
        ax.set_yticks(range(1, n), [short(names[k], 18) for k in kept[1:]])
        ax.tick_params(length=0, labelsize=8 if n <= 14 else 7)
        ax.spines[:].set_visible(False)
        strong = [p for p in found.dependence.pairs if p.significant][:5]
        values = ", ".join(f"{p.first} and {p.second} {figure(p.strength, 2)}" for p in strong)
        rest = len(names) - n + found.dependence.skipped
        more = f" The {n} most dependent columns; {rest} more are in the JSON file." * (rest > 0)
        return Plot(
            "dependence", "Dependence between columns",
            "Distance correlation of the ranks: 0 for independent columns only, 1 for a monotone "
            "relation. Blue: increasing together, or categories; orange: one decreases with the "
            f"other. Empty: not significant (5 %, Bonferroni, {found.dependence.rows:,} rows)."
            f"{more}",
            f"Distance correlations, strongest first: {values}.",
            inline(fig, "dependence", values),
        )  # fmt: skip


def _seriation(A: np.ndarray) -> np.ndarray:
    """An order in which strongly dependent columns stand beside each other: the Fiedler vector."""
    if len(A) < 3:
        return np.arange(len(A))
    L = np.diag(A.sum(axis=1)) - A
    return np.argsort(np.linalg.eigh(L)[1][:, 1], kind="stable")


def _pairs(found: Exploration) -> list[Pair]:
    """Pairs with more than a monotone trend first, then the strongest."""
    kinds = {c.name: c.kind for c in found.layout.used}
    strong = [p for p in found.dependence.pairs if p.significant
              and "categorical" not in (kinds[p.first], kinds[p.second])]  # fmt: skip
    mixed = [
        p
        for p in found.dependence.pairs
        if p.significant and (kinds[p.first] == "categorical") != (kinds[p.second] == "categorical")
    ]
    bent = sorted((p for p in strong if p.bent), key=lambda p: -(p.bend or 0))[:2]
    rest = [p for p in strong if p not in bent]
    return [*bent, *rest[: 4 - len(bent)], *mixed[:2]][:MAX_PAIRS]


def pair_plot(found: Exploration, pair: Pair, number: int) -> Plot:
    """Two columns against each other."""
    place = {c.name: k for k, c in enumerate(found.layout.used)}
    columns = [found.layout.used[place[name]] for name in (pair.first, pair.second)]
    x, y = (found.cells[:, place[c.name]].astype(float) for c in columns)
    if columns[1].kind == "categorical":
        columns, x, y = columns[::-1], y, x
    both = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    few = np.sort(np.random.default_rng(0).permutation(both)[:MAX_POINTS])
    name = f"pair-{number}"
    with drawing(height=2.7) as fig:
        ax = fig.subplots()
        if columns[0].kind == "categorical":
            _levels(ax, columns[0], x[both], y[both])
            what = (
                f"Distance correlation {figure(pair.strength, 2)}. Bars: the middle half of "
                "the rows of a level; dots: medians."
            )
        else:
            ax.plot(x[few], y[few], "o", color=INK["linear"], ms=3, alpha=0.45, mew=0)
            what = (f"Rank correlation {figure(pair.rank_correlation, 2)}, distance correlation "
                    f"{figure(pair.strength, 2)}.")  # fmt: skip
            if pair.bent:
                what += " There is more than a monotone trend: a bend, or a change of spread."
            _axis(ax.xaxis, columns[0], x[both])
        _axis(ax.yaxis, columns[1], y[both])
        ax.set_xlabel(short(columns[0].name, 40))
        ax.set_ylabel(short(columns[1].name, 30))
        light_axes(ax)
        alt = f"{columns[1].name} against {columns[0].name}. {what}"
        title = short(f"{columns[1].name} and {columns[0].name}", 60)
        return Plot(name, title, what, alt, inline(fig, name, alt))


def _levels(ax: Axes, column: Column, codes: np.ndarray, y: np.ndarray) -> None:
    """Quartiles of y by level, the most frequent levels."""
    counts = np.bincount(codes.astype(int), minlength=len(column.levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[:10])
    kept = kept[counts[kept] > 0]
    for k, code in enumerate(kept):
        low, middle, high = np.quantile(y[codes == code], [0.25, 0.5, 0.75])
        ax.plot([k, k], [low, high], color=INK["linear"], lw=9, alpha=0.35, solid_capstyle="butt")
        ax.plot(k, middle, "o", color=INK["linear"], ms=6)
    crowded = len(kept) > 4
    ax.set_xticks(range(len(kept)), [short(column.levels[k], 14) for k in kept],
                  rotation=30 if crowded else 0, ha="right" if crowded else "center")  # fmt: skip
    ax.set_xlim(-0.6, len(kept) - 0.4)


def _axis(axis: Any, column: Column, values: np.ndarray) -> None:
    """Dates as dates, numbers without offsets."""
    if column.kind in ("date", "time") and column.form != AS_NUMBER:
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(lambda v, _: str(np.datetime64(int(v), "D")))
    elif column.kind == "ordinal" and len(column.levels) <= 8:
        ticks = (np.arange(len(column.levels)) + 1) / len(column.levels)
        axis.set_ticks(ticks, [short(level, 12) for level in column.levels])


def variances(found: FoundComponents) -> Plot:
    count = min(len(found.fractions), 12)
    with drawing(height=2.5) as fig:
        ax = fig.subplots()
        at = np.arange(1, count + 1)
        sure = at <= found.beyond
        for mask, alpha in ((sure, 0.85), (~sure, 0.3)):
            ax.bar(at[mask], found.fractions[:count][mask], color=INK["linear"], alpha=alpha)
        ax.plot(at, found.usual[:count], "o-", color=INK["kernel"], ms=4, lw=1.4,
                label="shuffled columns")  # fmt: skip
        ax.set_xticks(at)
        ax.yaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel("principal component")
        ax.set_ylabel("fraction of variance")
        ax.legend()
        ax.grid(axis="y")
        ax.set_axisbelow(True)
        values = ", ".join(f"{percent(f)}" for f in found.fractions[:count])
        return Plot("variance", "Principal components",
                    "Variance of each component of the scaled columns, and of columns shuffled "
                    "independently: a component above the line shows columns that vary together "
                    f"({found.beyond} of them).",
                    f"Fractions of variance: {values}.",
                    inline(fig, "variance", values))  # fmt: skip


def component_map(found: Exploration, parts: FoundComponents) -> Plot:
    """The first two components, with the features that make them."""
    S = parts.scores[:, :2] if parts.scores.shape[1] > 1 else np.c_[parts.scores, parts.scores * 0]
    with drawing(height=3.6) as fig:
        ax = fig.subplots()
        _points(ax, found, S[found.map_rows], found.map_rows)
        reach = 0.85 * float(np.quantile(np.abs(S), 0.99))
        L = parts.loadings[:2]
        if len(L) == 2:
            longest = np.sqrt((L * L).sum(axis=0))
            seen: set[str] = set()
            for k in np.argsort(-longest):
                if len(seen) >= 5 or longest[k] < 0.3 * longest.max():
                    break
                if found.names[k] in seen or found.names[k] == "missing":
                    continue
                seen.add(found.names[k])
                end = L[:, k] / longest.max() * reach
                ax.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK["ink"],
                                                         "lw": 1.1})  # fmt: skip
                ax.annotate(short(found.names[k], 16), end, (4 * np.sign(end[0]), 4),
                            textcoords="offset points", size=8, weight="bold",
                            ha="left" if end[0] >= 0 else "right")  # fmt: skip
        names = [f"component {k + 1} ({percent(part)} of the variance)"
                 for k, part in enumerate(parts.fractions[:2])]  # fmt: skip
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[-1] if len(names) > 1 else "")
        light_axes(ax)
        alt = (f"Map of {len(found.map_rows):,} rows by their first two principal components"
               f"{_by_cluster(found)}.")  # fmt: skip
        return Plot("components", "Map of the rows: PCA",
                    f"Each point is a row{_by_cluster(found)}. Arrows: the columns that the two "
                    "components are made of; rows in the direction of an arrow have larger values."
                    f"{_rings(found)}",
                    alt, inline(fig, "components", alt))  # fmt: skip


def kernel_plot(found: Exploration, points: np.ndarray) -> Plot:
    with drawing(height=3.6) as fig:
        ax = fig.subplots()
        _points(ax, found, points, found.map_rows)
        ax.set_xlabel("kernel component 1")
        ax.set_ylabel("kernel component 2")
        light_axes(ax)
        alt = f"Map of {len(points):,} rows by kernel PCA{_by_cluster(found)}."
        return Plot("kernel-map", "Map of the rows: kernel PCA",
                    f"Each point is a row{_by_cluster(found)}. Gaussian kernel of median width: "
                    "near rows stay near, so that curved shapes and separate groups show."
                    f"{_rings(found)}", alt, inline(fig, "kernel-map", alt))  # fmt: skip


def _points(ax: Axes, found: Exploration, points: np.ndarray, rows: np.ndarray) -> None:
    labels = found.labels[rows]
    for k in range(labels.max() + 1):
        mine = points[labels == k]
        mark = MARKS[(k // len(COLOURS) + k) % len(MARKS)] if labels.max() else "o"
        ax.plot(mine[:, 0], mine[:, 1], mark, color=INK[COLOURS[k % len(COLOURS)]], ms=3.6,
                alpha=0.55, mew=0, label=f"cluster {k + 1}")  # fmt: skip
    if labels.max():
        ax.legend(markerscale=1.6, loc="best", handletextpad=0.2)
    if found.outliers is not None and len(found.outliers.rows):
        far = np.isin(rows, found.outliers.rows)
        ax.plot(points[far, 0], points[far, 1], "o", mfc="none", mec=INK["ink"], ms=8, mew=1.0)


def _by_cluster(found: Exploration) -> str:
    return ", coloured by cluster" if found.labels.max() else ""


def _rings(found: Exploration) -> str:
    return (
        " Rings: outlying rows." if found.outliers is not None and len(found.outliers.rows) else ""
    )


def criteria(found: FoundClusters) -> Plot:
    """The criteria of `choose_k` beside rows without clusters."""
    choice = found.choice
    names = list(choice.curves)
    with drawing(width=5.2, height=3.8) as fig:
        for ax, name in zip(fig.subplots(2, 2).ravel(), names, strict=False):
            curve = choice.curves[name]
            if curve.references is not None:
                mean, spread = curve.references.mean(axis=0), curve.references.std(axis=0)
                ax.fill_between(choice.ks, mean - 2 * spread, mean + 2 * spread,
                                color=INK["soft"], alpha=0.2, lw=0)  # fmt: skip
                ax.plot(choice.ks, mean, color=INK["soft"], lw=1, ls="--")
            ax.plot(choice.ks, curve.values, "o-", color=INK["linear"], ms=3.5, lw=1.5)
            at = int(np.flatnonzero(choice.ks == curve.choice)[0])
            if np.isfinite(curve.values[at]):
                ax.plot(choice.ks[at], curve.values[at], "o", ms=9, mfc="none", mec=INK["kernel"],
                        mew=1.6)  # fmt: skip
            ax.set_title(f"{CRITERIA[name]}: {curve.choice}", loc="left")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            light_axes(ax)
        values = ", ".join(f"{CRITERIA[name]} {choice.curves[name].choice}" for name in names)
        return Plot("criteria", "How many clusters?",
                    "Four criteria over the number of clusters; the ring marks the number that "
                    "each selects (1: none). Dashed, with a band of two standard deviations: rows "
                    "spread evenly over the same range, which have no clusters.",
                    f"Numbers of clusters by criterion: {values}.",
                    inline(fig, "criteria", values))  # fmt: skip
