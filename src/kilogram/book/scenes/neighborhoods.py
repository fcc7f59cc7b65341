"""Neighbours: outliers by local density, and neighbours found by hashing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import data_grid, plane, python_lines, short
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    limits,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, slider
from kilogram.models.neighbors.hashing import LSHNeighbors
from kilogram.models.neighbors.nearest_neighbors import NearestNeighbors
from kilogram.models.neighbors.outliers import LocalOutlierFactor


def _outliers(data: Points, c: Mapping[str, Any]) -> Recording:
    X, n = data.xy, len(data)
    ks = [k for k in (2, 4, 7, 12, 20, 35) if k < n]
    if not ks:
        raise BookError("The local outlier factor needs at least three points.")
    grid = data_grid(data, 32)
    spread = 0.25 + 0.75 * np.linspace(0, 1, 4)
    chosen = int(np.argmin([abs(k - c["k"]) for k in ks]))
    fits = [LocalOutlierFactor(n_neighbors=k, novelty=True).fit(X) for k in ks]
    search = NearestNeighbors(n_neighbors=ks[-1]).fit(X)
    own, places = search.kneighbors(), search.kneighbors(grid.places)[0]
    frames, worst = [], []
    order = np.argsort(fits[chosen].negative_outlier_factor_)
    for k, model in zip(ks, fits, strict=True):
        factor = -model.negative_outlier_factor_
        far = factor > c["limit"]
        distance, near = own[0][:, k - 1], own[1][order[0], :k]
        lines = segments(np.repeat(X[order[0], 0], k), np.repeat(X[order[0], 1], k), X[near, 0], X[near, 1], color="ink", width=1)  # fmt: skip
        field = np.clip(-model.score_samples(grid.places), 1, 4)
        worst.append(float(factor.max()))
        frames.append(Frame(
            f"{k} neighbours",
            {"data": [grid.values(np.log(field), levels=np.log(1 + spread), color="accent"), lines, data_points(r=np.clip(2.5 + 2.2 * (factor - 1), 2.5, 13), ring=far.astype(int))],
             "distance": [grid.values(np.clip(places[:, k - 1], 0, 3)), data_points(r=np.clip(2.5 + 5 * (distance - distance.min()), 2.5, 13), ring=(distance > np.sort(distance)[-max(int(far.sum()), 1)] - 1e-12).astype(int))],
             "factors": [bars(np.arange(n), np.sort(factor)[::-1], 0.9), line([-1, n], [c["limit"]] * 2, color="c1", dash=True)]},
            None,
            [("outliers by LOF", int(far.sum())), ("largest factor", short(worst[-1])), ("median factor", short(float(np.median(factor))))],
        ))  # fmt: skip
    panels = [
        plane(data, "data", "Local outlier factor", describe="points, larger the less dense they lie compared with their neighbours; ringed ones are outliers"),
        plane(data, "distance", "Distance to the k-th neighbour alone", describe="points, larger the farther their k-th neighbour; as many ringed"),
        Panel("factors", "Factors, largest first", (-1, n), (0, max(2.5, 1.05 * max(worst))), x_label="point", legend=(("c1", "limit"),), small=True),
    ]  # fmt: skip
    fit = f"model = kg.LocalOutlierFactor(n_neighbors={ks[-1]}, novelty=True).fit(X); print(-model.negative_outlier_factor_)"
    return Recording(
        panels, frames,
        notes=["Rings mark outliers. The segments join the most outlying point with its neighbours: its density is compared with theirs."],
        python=python_lines("cloud", fit), fitted={"negative_outlier_factor_": fits[-1].negative_outlier_factor_}, start=chosen,
    )  # fmt: skip


def _hashing(data: Points, c: Mapping[str, Any]) -> Recording:
    X, n, k = data.xy, len(data), min(5, len(data) - 1)
    query = np.array([[c["x"], c["y"]]])
    exact = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(query)[1][0]
    grid = data_grid(data, 40)
    bits = (64, 128, 256, 512)
    shown = (1, 2, 3, 4, 6, 8, 12, 16)
    model = LSHNeighbors(k, n_bits=bits[0], random_state=c["seed"]).fit(X)
    planes, centre = model.planes_, np.ravel(model.center_)
    sides = (X - centre) @ planes > 0
    own = ((query - centre) @ planes > 0)[0]
    ranks = np.array([
        [LSHNeighbors(k, n_bits=b, n_candidates=m, random_state=c["seed"]).fit(X).recall(X) for b in bits]
        for m in (k, min(4 * k, n))
    ])  # fmt: skip
    frames = []
    for count in shown:
        away = (sides[:, :count] != own[:count]).sum(axis=1)
        candidates = np.argsort(away, kind="stable")[: min(c["candidates"], n)]
        found = candidates[np.argsort(((X[candidates] - query) ** 2).sum(axis=1))[:k]]
        ends = []
        for w in planes[:, :count].T:
            along = 9 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
            ends.append([*(centre - along), *(centre + along)])
        cut = np.array(ends)
        differ = ((grid.places - centre) @ planes[:, :count] > 0) != own[:count]
        field = grid.values(-differ.sum(axis=1).astype(float))
        ring = np.isin(np.arange(n), candidates).astype(int)
        hit = len(set(found.tolist()) & set(exact.tolist()))
        frames.append(Frame(
            f"{count} hyperplane{'s' * (count != 1)}: {count} bit{'s' * (count != 1)} for each point",
            {"data": [field, segments(cut[:, 0], cut[:, 1], cut[:, 2], cut[:, 3], color="contour", width=1.2, dash=True),
                      segments(np.repeat(query[0, 0], k), np.repeat(query[0, 1], k), X[exact, 0], X[exact, 1], color="c1", width=1.4), data_points(ring=ring), points(query[:, 0], query[:, 1], color="c1", shape="centre")],
             "bits": [bars(np.arange(n), np.sort(away), 0.9), line([len(candidates) - 0.5] * 2, [0, 99], color="c1", dash=True)]},
            None, [("true neighbours found", f"{hit} of {k}"), ("distances computed", f"{len(candidates)} of {n}")],
        ))  # fmt: skip
    panels = [
        plane(data, "data", "Points on the same sides are candidates", describe="random lines through the mean; darker places differ in fewer bits from the query; ringed points are candidates"),
        Panel("bits", "Bits that differ from the query", (-1, n), (0, shown[-1] + 0.5), x_label="point, sorted", legend=(("c1", "candidates end"),)),
        Panel("recall", "Recall by bits", limits(np.log2(bits)), (0, 1.05), [
            line(np.log2(bits), ranks[0], color="c0"), line(np.log2(bits), ranks[1], color="c2"), points(np.log2(bits), ranks[0], color="c0"), points(np.log2(bits), ranks[1], color="c2")],
            x_label="log2 bits", legend=(("c0", f"{k} candidates"), ("c2", f"{min(4 * k, n)} candidates")), small=True),
    ]  # fmt: skip
    fit = f"model = kg.LSHNeighbors({k}, n_bits=64, random_state={c['seed']}).fit(X); print(model.recall(X))"
    return Recording(
        panels, frames,
        notes=["The diamond is the query, with its true neighbours joined to it. In the plane exact search is faster; hashing pays in hundreds of columns."],
        python=python_lines("cloud", fit), fitted={"planes_": model.planes_},
    )  # fmt: skip


SCENES = (
    Scene(
        "outliers", "neighbors", "Outliers: LOF",
        "A point is an outlier if it lies in a thinner place than its neighbours do. Distance alone would blame every point of a sparse group.",
        _outliers, data="cloud", presets=("unequal", "blobs", "moons", "one", "circles"),
        controls=(slider("k", "neighbours shown first", 12, 2, 35, export=(5, 12, 20)), slider("limit", "limit of the factor", 1.5, 1.05, 3.0, 0.05, export=(1.2, 1.5, 2.0))),
        breaks=(Break("Few neighbours: chance decides", "one", {"k": 2, "limit": 1.2}), Break("More neighbours than a small group has points", "unequal", {"k": 35})),
        question="Add one point just outside a dense group. Which of the two panels finds it?",
        answer="LOF: its density is compared with that of the dense group. By distance alone it is closer to its neighbours than points of the sparse group are.",
        names=("LocalOutlierFactor", "KNeighborsOutlierDetector"), min_points=3,
    ),
    Scene(
        "hashing", "neighbors", "Hashing: LSH",
        "Random lines cut the plane; a point’s bits say on which sides it lies. Near points share bits, so only those with similar bits are compared with the query.",
        _hashing, data="cloud", presets=("one", "blobs", "moons", "circles"),
        controls=(slider("x", "query: x", 0.6, -3.0, 3.0, 0.1, export=(-1.0, 0.6)), slider("y", "query: y", 0.4, -3.0, 3.0, 0.1, export=(0.4,)), slider("candidates", "candidates", 15, 5, 60, export=(8, 15, 40)), slider("seed", "random choice of lines", 0, 0, 20, export=(0, 1))),
        breaks=(Break("Few candidates: neighbours are missed", "one", {"candidates": 5}), Break("The query beside the mean: every line passes near it", "circles", {"x": 0.1, "y": 0.0})),
        question="Do the bits distinguish a far point in the same direction from a near one?",
        answer="No: the bits are those of the angle around the mean. In many columns angles are enough; in the plane, candidates lie along a wedge.",
        names=("LSHNeighbors", "NearestNeighbors"), min_points=4,
    ),
)  # fmt: skip
