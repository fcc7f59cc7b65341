"""Adjusted Rand index on labelled clustering sets: ours beside scikit-learn's same methods.

    KILOGRAM_DATA=... python -m benchmarks.clustering_quality

Each set has one or more reference partitions; label 0 is noise and left out. The true number of
clusters is given; columns are standardised. A figure is the best over the reference partitions.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import cluster, metrics, mixture

import kilogram as kg

Maker = Callable[[int], Any]
PAIRS: dict[str, tuple[Maker, Maker | None]] = {
    "KMeans": (
        lambda k: kg.KMeans(k, n_init=10, random_state=0),
        lambda k: cluster.KMeans(k, n_init=10, random_state=0),
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
        lambda k: kg.GaussianMixture(k, n_init=3, random_state=0),
        lambda k: mixture.GaussianMixture(k, n_init=3, random_state=0),
    ),
    "SpectralClustering": (
        lambda k: kg.SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
        lambda k: cluster.SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    ),
}


def sets(folder: Path) -> dict[str, tuple[np.ndarray, list[np.ndarray]]]:
    """Rows, standardised, and the reference partitions of every set."""
    found = {}
    for path in sorted(folder.glob("*.npz")):
        file = np.load(path, allow_pickle=False)
        X = np.asarray(file["X"], dtype=np.float64)
        labels = [np.asarray(file[name]) for name in file.files if name.startswith("labels")]
        found[path.stem] = ((X - X.mean(axis=0)) / X.std(axis=0), labels)
    return found


def score(make: Maker, X: np.ndarray, partitions: list[np.ndarray]) -> tuple[float, float]:
    """The best index over the partitions, and the seconds of all fits."""
    best, took = -1.0, 0.0
    for k in sorted({len(np.unique(y[y > 0])) for y in partitions}):
        start = time.perf_counter()
        labels = make(k).fit_predict(X)
        took += time.perf_counter() - start
        for y in partitions:
            if len(np.unique(y[y > 0])) == k:
                best = max(best, float(metrics.adjusted_rand_score(y[y > 0], labels[y > 0])))
    return best, took


def main() -> None:
    folder = Path(os.environ.get("KILOGRAM_DATA", "data")) / "clustering"
    data = sets(folder)
    if not data:
        raise SystemExit(f"no sets in {folder}: set KILOGRAM_DATA to the folder above clustering/")
    warnings.simplefilter("ignore")
    methods = {name: makers for name, makers in PAIRS.items() if hasattr(kg, name.split()[0])}
    print("| method | mean index | scikit-learn | better / level / worse | seconds | theirs |")
    print("|---|---|---|---|---|---|")
    for name, (ours, theirs) in methods.items():
        mine = np.array([score(ours, *case) for case in data.values()])
        line = f"| {name} | {mine[:, 0].mean():.3f} |"
        if theirs is None:
            print(f"{line} - | - | {mine[:, 1].sum():.1f} | - |", flush=True)
            continue
        peer = np.array([score(theirs, *case) for case in data.values()])
        gap = mine[:, 0] - peer[:, 0]
        counts = f"{(gap > 0.01).sum()} / {(abs(gap) <= 0.01).sum()} / {(gap < -0.01).sum()}"
        print(
            f"{line} {peer[:, 0].mean():.3f} | {counts} | {mine[:, 1].sum():.1f} | "
            f"{peer[:, 1].sum():.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
