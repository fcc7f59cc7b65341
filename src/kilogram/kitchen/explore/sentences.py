"""The summary of an exploration in plain words, each sentence computed from the facts it states."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kilogram.kitchen.explore.dependence import Dependence
from kilogram.kitchen.explore.structure import FoundClusters, FoundComponents, Outliers
from kilogram.kitchen.explore.topics import TextTopics
from kilogram.kitchen.formatting import figure, percent
from kilogram.kitchen.report.overview import ColumnSummary

ORDER = ("numeric", "ordinal", "date", "time", "categorical", "text", "image")


def summary_sentences(
    table: str,
    rows: int,
    columns: tuple[ColumnSummary, ...],
    dependence: Dependence,
    components: FoundComponents | None,
    clusters: FoundClusters | None,
    outliers: Outliers | None,
    topics: tuple[TextTopics, ...],
    sampled: int,
) -> tuple[str, ...]:
    """The sentences of the first screen; what was not computed has none."""
    found = [_size(table, rows, columns)]
    found += _missing(columns, dependence)
    found += _dependence(dependence)
    if components is not None:
        found.append(of_components(components))
    if clusters is not None:
        found.append(of_clusters(clusters, sampled))
    if outliers is not None:
        found.append(of_outliers(outliers))
    found += [of_topics(one) for one in topics]
    return tuple(found)


def _size(table: str, rows: int, columns: tuple[ColumnSummary, ...]) -> str:
    kinds = Counter(one.kind for one in columns if one.used)
    parts = [f"{kinds[kind]} {kind}" for kind in ORDER if kinds[kind]]
    left = sum(not one.used for one in columns)
    unused = f"; {left} without information ({_kinds(columns)})" if left else ""
    named = ", ".join(parts) or "none of them usable"
    return (f"{table} has {rows:,} row{'s' * (rows != 1)} and {len(columns)} "
            f"column{'s' * (len(columns) != 1)}: {named}{unused}.")  # fmt: skip


def _kinds(columns: tuple[ColumnSummary, ...]) -> str:
    return ", ".join(sorted({one.kind for one in columns if not one.used}))


def _missing(columns: tuple[ColumnSummary, ...], dependence: Dependence) -> list[str]:
    used = [one for one in columns if one.used]
    lost = [one for one in used if one.missing]
    if not lost:
        return ["No cell is missing."] if used else []
    cells = sum(one.rows for one in used)
    part = sum(one.missing for one in lost) / cells
    worst = sorted(lost, key=lambda one: -one.missing)
    named = _named([f"{one.name} ({percent(one.missing / one.rows)})" for one in worst], 3)
    text = (f"{_percent(part)} of the cells are missing, in {len(lost)} "
            f"column{'s' * (len(lost) != 1)}: {named}.")  # fmt: skip
    if dependence.missing:
        one = dependence.missing[0]
        text += (f" They are not missing completely at random: whether {one.first} is missing "
                 f"depends on {one.second}.")  # fmt: skip
    return [text]


def _named(names: list[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _percent(part: float) -> str:
    if part < 0.0005:
        return "Less than 0.1 %"
    return percent(part, 0 if part >= 0.095 else 1)


def _dependence(found: Dependence) -> list[str]:
    if len(found.columns) < 2:
        return []
    strong = [pair for pair in found.pairs if pair.significant]
    if not strong:
        return [f"No dependence between columns was found ({len(found.pairs)} pairs compared on "
                f"{found.rows:,} rows)."]  # fmt: skip
    named = "; ".join(
        f"{p.first} and {p.second} ({_strength(p.rank_correlation, p.strength)})"
        for p in strong[:3]
    )  # fmt: skip
    text = (f"{len(strong)} of {len(found.pairs)} pairs of columns are significantly dependent, "
            f"most strongly {named}.")  # fmt: skip
    bent = [pair for pair in strong if pair.bent]
    bent.sort(key=lambda pair: -(pair.bend or 0.0))
    if bent:
        named = _named([f"{pair.first} and {pair.second}" for pair in bent], 3)
        text += f" Not only rising or falling: the relation of {named}."
    return [text]


def _strength(rank: float | None, strength: float) -> str:
    if rank is None:
        return f"distance correlation {figure(strength, 2)}"
    return f"rank correlation {figure(rank, 2)}"


def of_components(found: FoundComponents) -> str:
    """How many components there are beyond those of shuffled columns."""
    if not found.beyond:
        return ("No principal component has more variance than components of shuffled columns: "
                "the columns do not vary together in any direction.")  # fmt: skip
    part = float(np.sum(found.fractions[: found.beyond]))
    one = found.beyond == 1
    return (f"{found.beyond} principal component{'s' * (not one)} "
            f"{'has' if one else 'have'} more variance than components of shuffled columns and "
            f"explain{'s' * one} {percent(part)} of the variance.")  # fmt: skip


def of_clusters(found: FoundClusters, sampled: int) -> str:
    """The verdict on clusters, by both references."""
    if not found.found:
        choices = found.choice.choices
        most = sum(k > 1 for k in choices.values())
        even = "the rows are no more clustered than rows spread evenly over the same range"
        if most:
            return (
                f"No clear clusters: {most} of {len(choices)} criteria "
                f"find{'s' * (most == 1)} more than one cluster; by the others {even}."
            )
        return f"No clusters: by all {len(choices)} criteria {even}."
    sizes = np.bincount(found.labels, minlength=found.choice.k)
    parts = ", ".join(f"{percent(size / sampled)}" for size in sizes)
    named = sum(k == found.choice.k for k in found.choice.choices.values())
    text = (f"{found.choice.k} clusters, found by {named} of {len(found.choice.choices)} criteria "
            f"({parts} of the rows; mean silhouette {figure(found.silhouette, 2)})")  # fmt: skip
    if found.of_single_columns:
        return (
            f"{text}, but they come from single columns: after shuffling each column, clusters "
            f"are as distinct (silhouette up to {figure(max(found.shuffled), 2)})."
        )
    if not found.shuffled:
        return f"{text}."
    return (f"{text}, more distinct than after shuffling each column (silhouette up to "
            f"{figure(max(found.shuffled), 2)}).")  # fmt: skip


def of_outliers(found: Outliers) -> str:
    """Sentence on the rows that are far from their neighbours."""
    count = len(found.rows)
    if not count:
        return ("No outliers: no row is further from its neighbours than rows of a Gaussian "
                "distribution with the same covariance.")  # fmt: skip
    word = "outlier: it is" if count == 1 else "outliers: they are"
    return (f"{count:,} {word} further from the nearest neighbours than any row of a Gaussian "
            "distribution with the same covariance.")  # fmt: skip


def of_topics(found: TextTopics) -> str:
    """The topics of a text column."""
    if not found.topics:
        return (f"No topics were found in {found.column}: one distribution of words predicts "
                "held-out words as well as several.")  # fmt: skip
    named = "; ".join(", ".join(topic.terms[:3]) for topic in found.topics[:3])
    more = f" and {len(found.topics) - 3} more" if len(found.topics) > 3 else ""
    return f"{found.column} has {len(found.topics)} topics: {named}{more}."
