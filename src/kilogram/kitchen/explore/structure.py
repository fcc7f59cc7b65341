"""The rows as points: principal components, a kernel map, clusters, and outliers.

features    numbers clipped at 4 deviations, categories as indicators, parts of dates; all
            features of a column together have the variance 1
components  those whose variance exceeds that of columns shuffled independently
clusters    `choose_k` on these components, against uniform rows of the same extent, and again
            against rows of shuffled columns: groups that single columns make are no structure
outliers    local outlier factors above those of Gaussian rows with the same covariance
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kilogram.base.budget import Budget
from kilogram.evaluation.choose_k import KChoice, choose_k
from kilogram.evaluation.silhouette import silhouette_score
from kilogram.kernels import Gaussian
from kilogram.kitchen.features import FeatureSettings, featurise
from kilogram.kitchen.features.columns import AS_NUMBER, Layout
from kilogram.kitchen.formatting import percent
from kilogram.kitchen.report.overview import ColumnSummary
from kilogram.models.kmeans.kmeans import KMeans
from kilogram.models.neighbors.outliers import LocalOutlierFactor
from kilogram.models.pca.kernel_pca import KernelPCA
from kilogram.models.pca.pca import PCA
from kilogram.models.robust.location_scale import robust_location, robust_scale

# Standard deviations, once in 16 000 normal cells: a few far rows must not be a component.
CLIP = 4.0
SHUFFLES = 9  # the largest of nine is exceeded by chance once in ten times
MAX_COMPONENTS, FEWEST_COMPONENTS = 10, 2
MAP_ROWS, CLUSTER_ROWS = 1000, 600
# What a silhouette must exceed those of shuffled columns by, beside two standard deviations: our
# choice; silhouettes lie between -1 and 1.
LEAST_GAIN = 0.02
# Gaussian samples, and how far beyond the largest factor of theirs an outlying row is.
SAMPLES, BEYOND = 5, 1.1
# Larger numbers would overflow when squared and summed: 1e308 is the end of float64.
LARGEST = 1e100
MAX_K = 8  # groups that one can still describe: our choice
NEIGHBOURS = 20  # scikit-learn's number for the local outlier factor
CRITERIA = ("gap", "silhouette", "instability", "compression")


@dataclass(frozen=True, eq=False)
class TableFeatures:
    """(n, p) features of the rows with names, and the column each comes from."""

    Z: np.ndarray
    names: tuple[str, ...]
    owner: np.ndarray


@dataclass(frozen=True, eq=False)
class FoundComponents:
    """Principal components: (n, c) scores, fractions of variance, (c, p) loadings.

    `beyond` of them have more variance than shuffled columns; `usual` are the fractions of those.
    """

    scores: np.ndarray
    fractions: np.ndarray
    usual: np.ndarray
    loadings: np.ndarray
    beyond: int


@dataclass(frozen=True, eq=False)
class ClusterProfile:
    """A cluster: its rows and what distinguishes it, strongest first."""

    rows: int
    marks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """The choice of k, labels of all rows, and the silhouette beside that of shuffled columns.

    `of_single_columns` is True where shuffled columns have clusters as distinct.
    """

    choice: KChoice
    labels: np.ndarray
    silhouette: float | None
    shuffled: tuple[float, ...]
    profiles: tuple[ClusterProfile, ...]

    @property
    def found(self) -> bool:
        return self.choice.structure

    @property
    def of_single_columns(self) -> bool:
        if self.silhouette is None or not self.shuffled:
            return False
        usual = float(np.mean(self.shuffled)) + 2 * float(np.std(self.shuffled))
        return self.silhouette <= usual + LEAST_GAIN


@dataclass(frozen=True, eq=False)
class Outliers:
    """Local outlier factors of all rows, the limit, and the rows above it, the furthest first."""

    factors: np.ndarray
    limit: float
    rows: np.ndarray


def row_features(layout: Layout, X: np.ndarray) -> TableFeatures | None:
    """The features of (n, d) cells; None where there is nothing to compare rows by."""
    if not layout.used:
        return None
    if X.dtype != object:
        X = np.clip(X, -LARGEST, LARGEST)
    made = featurise(layout, len(X), FeatureSettings(components=30, indicators=False))
    Z = made.fit_transform(X)
    Z = np.asarray(Z.toarray() if sparse.issparse(Z) else Z, dtype=float)
    owner, names = [], []
    for name, step, places in made.transformers_:
        columns = [int(k) for k in np.atleast_1d(places)]
        width = made.output_indices_[name]
        count = width.stop - width.start
        if name == "remainder" or not count:
            continue
        mine = _owners(name, step, columns, count)
        owner += mine
        names += [layout.used[k].name if k >= 0 else "missing" for k in mine]
    varied = Z.std(axis=0) > 1e-12
    if not varied.any():
        return None
    Z, owners = Z[:, varied], np.array(owner)[varied]
    Z = np.clip((Z - Z.mean(axis=0)) / Z.std(axis=0), -CLIP, CLIP) * Z.std(axis=0)
    for k in np.unique(owners):
        mine = owners == k
        Z[:, mine] /= np.sqrt(Z[:, mine].var(axis=0).sum())
    kept = tuple(name for name, v in zip(names, varied, strict=True) if v)
    return TableFeatures(Z - Z.mean(axis=0), kept, owners)


def _owners(name: str, step: Any, columns: list[int], count: int) -> list[int]:
    """The column of each feature of a step; -1 for indicators of missing cells."""
    if name == "words":
        encoder = step[-1]
        sizes = [len(group) for group in encoder.categories_]
        infrequent = getattr(encoder, "infrequent_categories_", [None] * len(sizes))
        sizes = [s - len(rare) + 1 if rare is not None else s
                 for s, rare in zip(sizes, infrequent, strict=True)]  # fmt: skip
        if sum(sizes) == count:
            return [k for k, size in zip(columns, sizes, strict=True) for _ in range(size)]
    if len(columns) == 1:
        return columns * count
    return columns if count == len(columns) else [-1] * count


def components(features: TableFeatures, seed: int) -> FoundComponents:
    """Principal components, and how many exceed those of shuffled columns."""
    Z = features.Z
    count = min(*Z.shape, 20)
    model = PCA(n_components=count).fit(Z)
    fractions = np.asarray(model.explained_variance_ratio_)
    rng = np.random.default_rng(seed)
    usual = np.stack([_fractions(_shuffled(features, rng), count) for _ in range(SHUFFLES)])
    over = fractions > usual.max(axis=0)
    beyond = int(np.argmin(over)) if not over.all() else count
    return FoundComponents(np.asarray(model.transform(Z)), fractions, usual.mean(axis=0),
                      np.asarray(model.components_), beyond)  # fmt: skip


def _fractions(Z: np.ndarray, count: int) -> np.ndarray:
    return np.asarray(PCA(n_components=count).fit(Z).explained_variance_ratio_)


def _shuffled(features: TableFeatures, rng: np.random.Generator) -> np.ndarray:
    """The features with the rows of every column in an order of its own."""
    out = np.empty_like(features.Z)
    orders: dict[int, np.ndarray] = {}
    for k, owner in enumerate(features.owner):
        order = orders.setdefault(int(owner), rng.permutation(len(out)))
        out[:, k] = features.Z[order, k]
    return out


def kernel_map(features: TableFeatures, rows: np.ndarray) -> np.ndarray:
    """(rows, 2) leading components of Gaussian kernel PCA."""
    model = KernelPCA(n_components=2, kernel=Gaussian("median"))
    return np.asarray(model.fit_transform(features.Z[rows]))


def clusters(
    features: TableFeatures, found: FoundComponents, layout: Layout, X: np.ndarray, seed: int,
    budget: Budget,
) -> FoundClusters:  # fmt: skip
    """How many clusters the rows have, if any, and what distinguishes them."""
    count = min(max(found.beyond, FEWEST_COMPONENTS), MAX_COMPONENTS, found.scores.shape[1])
    S = found.scores[:, :count]
    most = min(MAX_K, max(2, len(S) // 10))
    choice = choose_k(S, most, criteria=CRITERIA, estimator=KMeans(n_init=3), n_references=5,
                      n_resamples=5, max_rows=CLUSTER_ROWS, random_state=seed)  # fmt: skip
    if not choice.structure:
        return FoundClusters(choice, np.zeros(len(S), dtype=int), None, (), ())
    labels = _labels(S, choice.k, seed)
    rng = np.random.default_rng(seed)
    part = np.sort(rng.permutation(len(S))[:CLUSTER_ROWS])
    value = _silhouette(S[part], labels[part])
    usual = []
    for _ in range(SHUFFLES):
        if budget.expired:
            break
        shuffled = (_shuffled(features, rng) @ found.loadings[:count].T)[part]
        usual.append(_silhouette(shuffled, _labels(shuffled, choice.k, seed)))
    return FoundClusters(choice, labels, value, tuple(usual), profiles(layout, X, labels))


def _labels(S: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Cluster labels, the largest cluster first."""
    labels = np.asarray(KMeans(n_clusters=k, n_init=5, random_state=seed).fit(S).labels_)
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    return np.argsort(order)[labels]


def _silhouette(S: np.ndarray, labels: np.ndarray) -> float:
    if len(np.unique(labels)) < 2:
        return -1.0
    return float(silhouette_score(S, labels))


def profiles(layout: Layout, X: np.ndarray, labels: np.ndarray) -> tuple[ClusterProfile, ...]:
    """For every cluster the columns in which it differs most from the other rows."""
    found = []
    for k in range(labels.max() + 1):
        inside = labels == k
        marks = []
        for place, column in enumerate(layout.used):
            if column.kind in ("text", "image"):
                continue
            x = X[:, place].astype(float)
            mark = (_level_mark if column.kind == "categorical" else _mean_mark)(
                column, x, inside)  # fmt: skip
            if mark is not None:
                marks.append(mark)
        marks.sort(key=lambda one: -one[0])
        found.append(ClusterProfile(int(inside.sum()), tuple(text for _, text in marks[:4])))
    return tuple(found)


def _mean_mark(column: Any, x: np.ndarray, inside: np.ndarray) -> tuple[float, str] | None:
    """Difference of the means in standard deviations, in words."""
    known = np.isfinite(x)
    a, b = x[known & inside], x[known & ~inside]
    spread = float(x[known].std()) if known.any() else 0.0
    if not len(a) or not len(b) or spread == 0:
        return None
    away = float(a.mean() - b.mean()) / spread
    if abs(away) < 0.5:
        return None
    dates = column.kind in ("date", "time") and column.form != AS_NUMBER
    show = ColumnSummary(column.name, column.kind, "", used=True, rows=0, missing=0, distinct=0,
                         dates=dates)  # fmt: skip
    how = ("much " if abs(away) > 1.5 else "") + ("higher" if away > 0 else "lower")
    if column.kind == "ordinal":
        return abs(away), f"{column.name} {how}"
    return abs(away), (f"{column.name} {how} (mean {show.written(float(a.mean()))}, others "
                       f"{show.written(float(b.mean()))})")  # fmt: skip


def _level_mark(column: Any, x: np.ndarray, inside: np.ndarray) -> tuple[float, str] | None:
    """The level whose frequency differs most."""
    if not 0 < inside.sum() < len(x):
        return None
    best: tuple[float, str] | None = None
    for code, level in enumerate(column.levels):
        here, there = float(np.mean(x[inside] == code)), float(np.mean(x[~inside] == code))
        away = 2 * (here - there)  # 1 for half of the rows more
        if away > 0.5 and (best is None or away > best[0]):
            best = away, f"{column.name} {level!r} ({percent(here)}, others {percent(there)})"
    return best


def outliers(features: TableFeatures, found: FoundComponents, seed: int) -> Outliers | None:
    """Rows far from their neighbours, compared with Gaussian rows of the same covariance."""
    n = len(found.scores)
    near = min(NEIGHBOURS, n // 3)
    if near < 3:
        return None
    S = found.scores[:, : max(found.beyond, min(MAX_COMPONENTS, found.scores.shape[1]))]
    rng = np.random.default_rng(seed)
    scale = S.std(axis=0)
    usual = [_factors(rng.normal(size=S.shape) * scale, near).max() for _ in range(SAMPLES)]
    factors = _factors(S, near)
    limit = BEYOND * float(np.max(usual))
    rows = np.flatnonzero(factors > limit)
    return Outliers(factors, limit, rows[np.argsort(-factors[rows], kind="stable")])


def _factors(S: np.ndarray, near: int) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):  # many equal rows: distances of 0
        model = LocalOutlierFactor(n_neighbors=near).fit(S)
        return np.nan_to_num(-np.asarray(model.negative_outlier_factor_), nan=1.0, posinf=1.0)


def far_cells(layout: Layout, X: np.ndarray) -> np.ndarray:
    """(n, d) robust deviations of the numbers from their column; 0 elsewhere."""
    out = np.zeros(X.shape)
    for k, column in enumerate(layout.used):
        if column.kind not in ("numeric", "date", "time"):
            continue
        x = X[:, k].astype(float)
        known = np.isfinite(x)
        if known.sum() < 10 or len(np.unique(x[known])) < 5:
            continue
        scale = float(robust_scale(x[known]))
        if scale > 0:
            out[known, k] = (x[known] - float(robust_location(x[known]))) / scale
    return out
