"""The criteria of `choose_k`, each a curve over the numbers of clusters.

    fraction       W_k / W_1, the sum of squares left within the clusters; it always falls
    gap            mean of log W_k over reference sets without clusters, less log W_k of the data
    silhouette     mean over the rows of (b - a) / max(a, b)
    instability    mean distance of clusterings of fresh bootstrap samples, carried over to all rows
    compression    bits of a two-part code: clusters, then rows given their clusters
    bic, aic       of mixtures of k Gaussians

Reference sets are uniform in the box of the principal axes. Gap, silhouette and instability are
compared with theirs at the same k: what such sets show as well is no structure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kilogram.base import ConvergenceWarning
from kilogram.functions.partitions import clustering_distance
from kilogram.solvers.lloyd.pairwise_distances import Distance
from kilogram.solvers.lloyd.silhouette import silhouettes

EUCLIDEAN = Distance("euclidean")
# Standard deviations of the references that a criterion must be away from them: by chance in 2.3 %
# of normal ones.
SPREADS = 2.0
STABLE = 0.5  # fraction of their instability that a stable number of clusters may have: our choice
# Of the mean variance, on the diagonals of mixtures: scikit-learn's reg_covar for unit variance.
RIDGE = 1e-6
# Of the mean variance, under the covariance of the code: rows are known to 1 % of their spread.
FLOOR = 1e-4


@dataclass(frozen=True, eq=False)
class CriterionCurve:
    """Values over ks, those of reference sets (sets, ks) if there are any, and the k chosen."""

    values: np.ndarray
    choice: int
    references: np.ndarray | None = None
    smaller_is_better: bool = True


Fitter = Callable[[np.ndarray, int], Any]


def fitter(estimator: BaseEstimator, rng: np.random.Generator) -> Fitter:
    """fit(X, k): a fresh clone with k clusters and its own seed."""

    def fit(X: np.ndarray, k: int) -> Any:
        model = clone(estimator).set_params(n_clusters=k)
        if "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():  # resamples repeat rows: fewer may be distinct than k
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X)

    return fit


def reference(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows, uniform in the box of the principal axes."""
    centred = X - X.mean(axis=0)
    V = np.linalg.svd(centred, full_matrices=False)[2]
    scores = centred @ V.T
    low, high = scores.min(axis=0), scores.max(axis=0)
    return rng.uniform(low, high, scores.shape) @ V


def within_cluster_squares(X: np.ndarray, labels: np.ndarray) -> float:
    """W: the sum of squared distances from the means of the clusters."""
    names, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes, minlength=len(names))
    means = np.stack([np.bincount(codes, column, len(names)) for column in X.T], axis=1)
    gaps = X - (means / sizes[:, None])[codes]
    return float((gaps * gaps).sum())


def elbow(W: np.ndarray, ks: np.ndarray) -> CriterionCurve:
    """The point of (k, W_k / W_1), both scaled to 0..1, that is nearest to the origin."""
    fraction = W / W[0] if W[0] > 0 else np.zeros(len(W))
    spread = max(1.0, float(ks[-1] - ks[0]))
    away = ((ks - ks[0]) / spread) ** 2 + fraction**2
    return CriterionCurve(fraction, int(ks[np.argmin(away)]))


def gap(W: np.ndarray, ks: np.ndarray, references: np.ndarray) -> CriterionCurve:
    """The first k whose gap is no less than the next one less its error."""
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(references, tiny))
    values = logs.mean(axis=0) - np.log(np.maximum(W, tiny))
    error = logs.std(axis=0) * np.sqrt(1 + 1 / len(logs))
    good = np.flatnonzero(values[:-1] >= values[1:] - error[1:])
    choice = int(ks[good[0]]) if len(good) else int(ks[-1])
    return CriterionCurve(values, choice, logs.mean(axis=0) - logs, smaller_is_better=False)


def silhouette_of(X: np.ndarray, labels: np.ndarray) -> float:
    """The mean silhouette; NaN where there is one cluster, or as many as rows."""
    codes = np.unique(labels, return_inverse=True)[1]
    if not 1 < codes.max() + 1 < len(X):
        return float("nan")
    return float(silhouettes(X, codes, None, EUCLIDEAN).mean())


def silhouette(values: np.ndarray, ks: np.ndarray, references: np.ndarray) -> CriterionCurve:
    """The k of the highest mean, if it stands out from the references there; else 1."""
    if np.isnan(values).all():
        return CriterionCurve(values, 1, references, smaller_is_better=False)
    best = int(np.nanargmax(values))
    usual = references[:, best]
    out = values[best] > np.nanmean(usual) + max(SPREADS * np.nanstd(usual), 0.02)
    return CriterionCurve(values, int(ks[best]) if out else 1, references, smaller_is_better=False)


def instability_of(
    X: np.ndarray, ks: np.ndarray, fit: Fitter, n_resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """For every k the mean distance of pairs of clusterings, each of a resample of its own."""
    found = np.zeros(len(ks))
    for j, k in enumerate(ks):
        if k == 1:
            found[j] = np.nan  # one cluster is always stable
            continue
        labels = [
            np.asarray(fit(X[rng.integers(0, len(X), len(X))], int(k)).predict(X))
            for _ in range(n_resamples)
        ]
        apart = [clustering_distance(a, b) for i, a in enumerate(labels) for b in labels[:i]]
        found[j] = float(np.mean(apart))
    return found


def instability(values: np.ndarray, ks: np.ndarray, references: np.ndarray) -> CriterionCurve:
    """The most stable k (the largest of equals), if it stands out from the references; else 1."""
    if np.isnan(values).all():
        return CriterionCurve(values, 1, references)
    least = float(np.nanmin(values))
    best = int(np.flatnonzero(values <= least + 1e-12)[-1])
    usual = references[:, best]
    out = least <= usual.min() and least < STABLE * usual.mean()
    return CriterionCurve(values, int(ks[best]) if out else 1, references)


def code_length(X: np.ndarray, labels: np.ndarray) -> float:
    """Bits of a two-part code, up to those that are the same for every clustering.

    n H(labels) + n/2 log2 det S + 1/2 (k - 1 + k d) log2 n with S the covariance within clusters:
    which cluster, where in it, and the clusters themselves to a precision of 1 / sqrt(n).
    """
    n, d = X.shape
    names, codes = np.unique(labels, return_inverse=True)
    k = len(names)
    fraction = np.bincount(codes, minlength=k) / n
    means = np.stack([np.bincount(codes, column, k) for column in X.T], axis=1)
    gaps = X - (means / (n * fraction)[:, None])[codes]
    floor = FLOOR * max(float(X.var(axis=0).mean()), np.finfo(float).tiny)
    S = gaps.T @ gaps / n + floor * np.eye(d)
    bits = np.linalg.slogdet(S)[1] / np.log(2)
    which = -n * float((fraction * np.log2(fraction)).sum())
    return which + n / 2 * bits + 0.5 * (k - 1 + k * d) * np.log2(n)


def leading(X: np.ndarray) -> np.ndarray:
    """The scores on so many principal axes that a covariance can be estimated from the rows."""
    n, d = X.shape
    keep = max(1, min(d, n // 10))
    if keep == d:
        return X
    centred = X - X.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:keep].T


def mixture(X: np.ndarray, ks: np.ndarray, seed: int) -> dict[str, CriterionCurve]:
    """BIC and AIC of Gaussian mixtures with full covariances."""
    from kilogram.models.mixture.gaussian_mixture import GaussianMixture

    found: dict[str, list[float]] = {"bic": [], "aic": []}
    ridge = RIDGE * float(X.var(axis=0).mean())  # as the rows are: the choice has no unit
    for k in ks:
        model = GaussianMixture(int(k), n_init=2, reg_covar=ridge, random_state=seed).fit(X)
        found["bic"].append(float(model.bic(X)))
        found["aic"].append(float(model.aic(X)))
    curves = {name: np.asarray(values) for name, values in found.items()}
    return {
        name: CriterionCurve(values, int(ks[np.argmin(values)])) for name, values in curves.items()
    }
