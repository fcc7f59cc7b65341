"""Adjusted Rand index on labelled clustering sets: ours, scikit-learn's, and published figures.

    KILOGRAM_DATA=... python -m benchmarks.clustering_quality [--ours] [part of a method's name ...]

Each set has one or more reference partitions; label 0 is noise and left out. The true number of
clusters is given; a set is centred and scaled as a whole, as for the published figures
(`published_clusters`). A figure is the best over the reference partitions, at least 0. `--ours`
leaves scikit-learn out. Sets that differ from the published figure by more than 0.015 are named.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import cluster, metrics, mixture

import kilogram as kg
from benchmarks.published_clusters import FAMILIES, PUBLISHED

Maker = Callable[[int], Any]
PAIRS: dict[str, tuple[Maker, Maker | None]] = {
    "KMeans": (
        lambda k: kg.KMeans(k, n_init=50, random_state=0),
        lambda k: cluster.KMeans(k, n_init=50, random_state=0),
    ),
    "KMedoids": (lambda k: kg.KMedoids(k, random_state=0), None),
    **{
        f"Agglomerative {name}": (
            lambda k, name=name: kg.AgglomerativeClustering(k, linkage=name),
            lambda k, name=name: cluster.AgglomerativeClustering(k, linkage=name),
        )
        for name in ("ward", "average", "complete", "single")
    },
    "GaussianMixture": (
        lambda k: kg.GaussianMixture(k, n_init=10, random_state=0),
        lambda k: mixture.GaussianMixture(k, n_init=10, random_state=0),
    ),
    "SpectralClustering": (
        lambda k: kg.SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
        lambda k: cluster.SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    ),
}


def sets(folder: Path) -> dict[str, tuple[np.ndarray, list[np.ndarray]]]:
    """Rows, centred and of total variance 1, and the reference partitions of every set."""
    found = {}
    for path in sorted(folder.glob("*.npz")):
        file = np.load(path, allow_pickle=False)
        X = np.asarray(file["X"], dtype=np.float64)
        labels = [np.asarray(file[name]) for name in file.files if name.startswith("labels")]
        X = X - X.mean(axis=0)
        found[path.stem] = (X / np.sqrt((X * X).sum(axis=1).mean()), labels)
    return found


def score(make: Maker, X: np.ndarray, partitions: list[np.ndarray]) -> tuple[float, float]:
    """The best index over the partitions, and the seconds of all fits."""
    best, took = 0.0, 0.0
    for k in sorted({len(np.unique(y[y > 0])) for y in partitions}):
        start = time.perf_counter()
        labels = make(k).fit_predict(X)
        took += time.perf_counter() - start
        for y in partitions:
            if len(np.unique(y[y > 0])) == k:
                best = max(best, float(metrics.adjusted_rand_score(y[y > 0], labels[y > 0])))
    return best, took


def published(name: str, cases: list[str]) -> np.ndarray | None:
    """The published figures of a method's family, one for each set."""
    family = name if name in FAMILIES else name.split()[0]
    if family not in FAMILIES or not all(case in PUBLISHED for case in cases):
        return None
    return np.array([PUBLISHED[case][FAMILIES.index(family)] for case in cases])


def counts(mine: np.ndarray, peer: np.ndarray, least: float) -> str:
    """On how many sets mine is better, level or worse."""
    gap = mine - peer
    return f"{(gap > least).sum()} / {(abs(gap) <= least).sum()} / {(gap < -least).sum()}"


def main() -> None:
    folder = Path(os.environ.get("KILOGRAM_DATA", "data")) / "clustering"
    data = sets(folder)
    if not data:
        raise SystemExit(f"no sets in {folder}: set KILOGRAM_DATA to the folder above clustering/")
    warnings.simplefilter("ignore")
    parts = [word for word in sys.argv[1:] if not word.startswith("--")]
    print("| method | index | scikit-learn | published | seconds, ours and theirs | by set |")
    print("|---|---|---|---|---|---|")
    for name, (ours, theirs) in PAIRS.items():
        if parts and not any(part in name for part in parts):
            continue
        mine = np.array([score(ours, *case) for case in data.values()])
        line, took = f"| {name} | {mine[:, 0].mean():.3f} |", f"{mine[:, 1].sum():.1f}"
        if theirs is None or "--ours" in sys.argv:
            line += " - |"
        else:
            peer = np.array([score(theirs, *case) for case in data.values()])
            line += f" {peer[:, 0].mean():.3f} ({counts(mine[:, 0], peer[:, 0], 0.01)}) |"
            took += f", {peer[:, 1].sum():.1f}"
        printed, notes = published(name, list(data)), ""
        if printed is None:
            line += " - |"
        else:
            line += f" {printed.mean():.3f} ({counts(mine[:, 0], printed, 0.015)}) |"
            each = zip(data, mine[:, 0], printed, strict=True)
            notes = ", ".join(f"{s} {a:.2f} for {b:.2f}" for s, a, b in each if abs(a - b) > 0.015)
        print(f"{line} {took} | {notes} |", flush=True)


if __name__ == "__main__":
    main()
