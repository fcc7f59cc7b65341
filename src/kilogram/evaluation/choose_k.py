"""How many clusters? Several criteria side by side, and whether there are any at all.

No criterion is right for all data, so each has its say, in one table and one picture (see
`choose_k_criteria` for what they are). Every method finds k clusters in data without any, and the
elbow always bends somewhere; so gap, silhouette and instability are compared with uniform
reference sets of the same extent, and the two-part code pays for every cluster it names. Only if
most of these four find more than one cluster is there structure, and k is what most criteria name.

Instability: the resample is drawn anew for every fit (drawn once, only the starts would differ, and
all would look stable), the clusterings are carried over to all rows, and compared under the best
pairing of their clusters. References: Tibshirani, Walther and Hastie 2001 (gap); Rousseeuw 1987
(silhouette); von Luxburg 2010 (instability); Rissanen 1978 (code length); Schwarz 1978 (BIC).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed, row_count, sample_rows
from kilogram.base.constraints import Integer, check_parameter
from kilogram.base.random_state import as_generator
from kilogram.base.validation.values import plain
from kilogram.evaluation import choose_k_criteria as of
from kilogram.evaluation.choose_k_criteria import CriterionCurve

CRITERIA = ("elbow", "gap", "silhouette", "instability", "compression", "bic", "aic")
SCEPTICAL = ("gap", "silhouette", "instability", "compression")  # they can say: one cluster
NEED_REFERENCES = ("gap", "silhouette", "instability")


@dataclass(frozen=True, eq=False, repr=False)
class KChoice:
    """What the criteria say: `k`, `verdict`, `choices` by criterion, and the curves.

    `table` holds one row for every number of clusters; `plot()` draws the curves.
    """

    k: int
    structure: bool
    verdict: str
    ks: np.ndarray
    curves: dict[str, CriterionCurve]

    @property
    def choices(self) -> dict[str, int]:
        """The number of clusters each criterion names; 1 is none."""
        return {name: curve.choice for name, curve in self.curves.items()}

    @property
    def table(self) -> dict[str, np.ndarray]:
        """Columns: k, and the value of each criterion (NaN where it has none)."""
        return {"k": self.ks, **{name: curve.values for name, curve in self.curves.items()}}

    def __str__(self) -> str:
        names = list(self.curves)
        lines = ["".join(f"{name:>13}" for name in ["k", *names])]
        for i, k in enumerate(self.ks):
            cells = [f"{k:>13d}"]
            for name in names:
                mark = "*" if self.curves[name].choice == k else " "
                value = self.curves[name].values[i]
                cells.append(f"{'-':>12}{mark}" if np.isnan(value) else f"{value:>12.4g}{mark}")
            lines.append("".join(cells))
        return "\n".join([*lines, "", self.verdict])

    def __repr__(self) -> str:
        return str(self)

    def plot(self, axes: Any = None) -> Any:
        """Every criterion as a curve over k, its choice marked; returns the figure."""
        from kilogram.evaluation.choose_k_plot import draw

        return draw(self, axes)


def choose_k(
    X: Any,
    k_max: int = 10,
    *,
    criteria: Any = CRITERIA,
    estimator: BaseEstimator | None = None,
    n_references: int = 8,
    n_resamples: int = 10,
    max_rows: int = 2000,
    random_state: Any = None,
) -> KChoice:
    """How many clusters the rows X have, by several criteria, and whether they have any.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Standardise columns of different units first.
    k_max : int, default=10
        Largest number of clusters tried.
    criteria : sequence of str
        Of "elbow", "gap", "silhouette", "instability", "compression", "bic", "aic".
    estimator : clusterer or None, default=None
        With a parameter `n_clusters` and a method `predict`; None is `KMeans(n_init=5)`.
    n_references : int, default=8
        Reference sets for gap, silhouette and instability.
    n_resamples : int, default=10
        Bootstrap samples for instability, for every k.
    max_rows : int, default=2000
        Of more rows, so many are drawn: criteria compare clusterings, and settle early.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    KChoice
        `k`, `structure`, `verdict`, `choices`, `table`, `plot()`; printed, the whole table.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(150, centers=[[0, 0], [6, 0], [3, 5]], cluster_std=0.6, random_state=0)
    >>> found = kg.choose_k(X, 5, criteria=["gap", "silhouette", "compression"], random_state=0)
    >>> found.k, found.structure
    (3, True)
    >>> found.choices
    {'gap': 3, 'silhouette': 3, 'compression': 3}
    """
    _check(criteria, {"k_max": k_max, "n_references": n_references, "n_resamples": n_resamples,
                      "max_rows": max_rows})  # fmt: skip
    rng = as_generator(random_state)
    rows = _rows(X, int(max_rows), rng)
    distinct = len(np.unique(rows, axis=0))
    ks = np.arange(1, min(int(k_max), distinct) + 1)
    if len(ks) < 2:
        return KChoice(1, False, "All rows are equal: one cluster.", ks, {})
    search = CriterionCurves(rows, ks, of.fitter(_estimator(estimator), rng), rng)
    curves = search.curves(tuple(criteria), int(n_references), int(n_resamples))
    k, structure, verdict = _verdict({name: curve.choice for name, curve in curves.items()})
    return KChoice(k, structure, verdict, ks, curves)


def _check(criteria: Any, counts: dict[str, Any]) -> None:
    named = isinstance(criteria, Iterable) and not isinstance(criteria, str)
    if not named or not list(criteria) or any(name not in CRITERIA for name in criteria):
        raise ValueError(f"criteria must be a list of names in {CRITERIA}, got {criteria!r}.")
    for name, value in counts.items():
        check_parameter(name, value, Integer(2))


def _estimator(estimator: BaseEstimator) -> Any:
    if estimator is None:
        from kilogram.models.kmeans.kmeans import KMeans

        return KMeans(n_init=5)
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        raise TypeError(
            f"estimator must be a clusterer such as KMeans(n_init=5), or None, got {estimator!r}."
        )
    if "n_clusters" not in estimator.get_params() or not hasattr(estimator, "predict"):
        raise ValueError(
            f"{type(estimator).__name__} has no parameter n_clusters or no predict: choose_k needs "
            "both."
        )
    return estimator


def _rows(X: Any, most: int, rng: np.random.Generator) -> np.ndarray:
    if not (is_streamed(X) or hasattr(X, "shape")):  # lists of rows
        X = check_array(plain(X, "X"), dtype=np.float64, ensure_min_samples=2)
    if is_streamed(X) or row_count(X) > most:
        X = sample_rows(X, most, rng)
    X = X.toarray() if is_sparse(X) else to_numpy(plain(X, "X"))
    rows: np.ndarray = check_array(X, dtype=np.float64, ensure_min_samples=2)
    return rows


class CriterionCurves:
    """The curves of the criteria over the same rows and the same fits."""

    def __init__(self, X: np.ndarray, ks: np.ndarray, fit: of.Fitter, rng: np.random.Generator):
        self.X, self.ks, self.fit, self.rng = X, ks, fit, rng
        self.labels = self._labels(X)

    def _labels(self, X: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(to_numpy(self.fit(X, int(k)).labels_)) for k in self.ks]

    def curves(self, criteria: tuple[str, ...], n_references: int, n_resamples: int) -> dict:
        X, ks, found = self.X, self.ks, {}
        W = np.asarray([of.within_cluster_squares(X, labels) for labels in self.labels])
        sets: dict[str, np.ndarray] = {}
        if any(name in NEED_REFERENCES for name in criteria):
            sets = self._references(criteria, n_references, n_resamples)
        mixtures = [name for name in criteria if name in ("bic", "aic")]
        of_mixtures = of.mixture(X, ks, int(self.rng.integers(2**31))) if mixtures else {}
        for name in criteria:
            if name == "elbow":
                found[name] = of.elbow(W, ks)
            elif name == "gap":
                found[name] = of.gap(W, ks, sets[name])
            elif name == "silhouette":
                values = np.asarray([of.silhouette_of(X, labels) for labels in self.labels])
                found[name] = of.silhouette(values, ks, sets[name])
            elif name == "instability":
                values = of.instability_of(X, ks, self.fit, n_resamples, self.rng)
                found[name] = of.instability(values, ks, sets[name])
            elif name == "compression":
                scores = of.leading(X)
                bits = np.asarray([of.code_length(scores, labels) for labels in self.labels])
                found[name] = CriterionCurve(bits - bits[0], int(ks[np.argmin(bits)]))
            else:
                found[name] = of_mixtures[name]
        return found

    def _references(self, criteria: tuple[str, ...], sets: int, n_resamples: int) -> dict:
        """Criteria of uniform reference sets, (sets, ks) for each criterion that needs them."""
        rows: dict[str, list] = {name: [] for name in NEED_REFERENCES if name in criteria}
        for _ in range(sets):
            R = of.reference(self.X, self.rng)
            labels = self._labels(R)
            if "gap" in rows:
                rows["gap"].append([of.within_cluster_squares(R, c) for c in labels])
            if "silhouette" in rows:
                rows["silhouette"].append([of.silhouette_of(R, c) for c in labels])
            if "instability" in rows:
                fewer = max(3, n_resamples // 2)
                rows["instability"].append(of.instability_of(R, self.ks, self.fit, fewer, self.rng))
        return {name: np.asarray(values) for name, values in rows.items()}


def _verdict(choices: dict[str, int]) -> tuple[int, bool, str]:
    """k, whether there is structure, and both in words."""
    asked = [name for name in SCEPTICAL if name in choices]
    for_it = [name for name in asked if choices[name] > 1]
    named = Counter(k for k in choices.values() if k > 1)
    if asked and 2 * len(for_it) <= len(asked):
        found = f"{len(for_it)} of {len(asked)} criteria that test for structure"
        return 1, False, f"No structure found: {found} find more than one cluster."
    if not named:
        return 1, False, "No structure found: every criterion names one cluster."
    most = max(named.values())
    tied = [k for k, times in named.items() if times == most]
    trusted = [choices[name] for name in ("instability", "gap", "silhouette") if name in choices]
    k = next((k for k in trusted if k in tied), min(tied))
    words = f"{k} clusters: named by {named[k]} of {len(choices)} criteria"
    if not asked:
        return k, True, f"{words}, none of which can say that there are no clusters."
    return k, True, f"{words}; {len(for_it)} of {len(asked)} find structure."
