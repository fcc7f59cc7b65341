"""The weights of the neighbours' votes: equal, by distance, or those of a callable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from kilogram.native.neighbors import RadiusNeighbours

Array = np.ndarray[Any, np.dtype[Any]]


def vote_weights(weights: Any, distances: Array) -> Array | None:
    """None for equal votes, 1 / distance (exact matches alone if any), or those of a callable."""
    if weights in (None, "uniform"):
        return None
    if weights == "distance":
        with np.errstate(divide="ignore", over="ignore"):
            votes = 1.0 / np.asarray(distances, dtype=np.float64)
        exact = np.isinf(votes)  # 0, or so near that 1 / distance overflows
        return np.where(exact.any(axis=-1, keepdims=True), exact.astype(np.float64), votes)
    return _votes_by(weights, distances)


def votes_within(weights: Any, found: RadiusNeighbours) -> Array:
    """The votes of all rows found, query by query, as `vote_weights` for the rows of one query."""
    if weights in (None, "uniform"):
        return np.ones(len(found.indices))
    query = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    if weights == "distance":
        with np.errstate(divide="ignore", over="ignore"):
            votes = 1.0 / found.distances
        exact = np.isinf(votes)
        some = np.bincount(query, weights=exact, minlength=len(found.start) - 1) > 0
        return np.where(some[query], exact.astype(np.float64), votes)
    votes = np.empty(len(found.indices))
    for a, b in pairwise(found.start.tolist()):
        if b > a:
            votes[a:b] = _votes_by(weights, found.distances[None, a:b])[0]
    return votes


def _votes_by(weights: Any, distances: Array) -> Array:
    """The votes of a callable, checked."""
    votes = np.asarray(weights(distances), dtype=np.float64)
    if votes.shape != distances.shape:
        raise ValueError(
            f"weights must return an array of the shape {distances.shape} of the distances, got "
            f"{votes.shape}."
        )
    if not (votes >= 0).all():
        raise ValueError(
            "The weights of the neighbours must be numbers that are not negative: a negative one "
            "votes against its class. Return a similarity such as np.exp(-distance)."
        )
    if not votes.any(axis=-1).all():
        raise ValueError(
            "All weights of the neighbours of some sample are zero: modify 'weights', or use more "
            "neighbours."
        )
    return votes


def votes_of_first(weights: Any, distances: Array) -> Iterator[Array]:
    """For k = 1, 2, ...: votes (m,) of the k-th neighbour; of a callable those of all k, (m, k)."""
    if callable(weights):
        for k in range(1, distances.shape[1] + 1):
            yield _votes_by(weights, distances[:, :k])
        return
    votes = vote_weights(weights, distances)  # exact matches come first: they decide for every k
    for k in range(distances.shape[1]):
        yield np.ones(len(distances)) if votes is None else votes[:, k]
