"""Values of parameters that no constraint describes in full: kernels, metrics, arrays, limits.

A value is drawn for rows of a given width; arrays sometimes have a wrong length. Whether it suits
the estimator is not known here: what does not must be refused with a clear error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kilogram as kg

Draw = Callable[[np.random.Generator, int], Any]

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "precomputed", "none")
METRICS = (
    *("euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "correlation", "hamming"),
    *("canberra", "braycurtis", "jaccard", "seuclidean", "mahalanobis", "sqeuclidean", "unknown"),
)


def _kernel(rng: np.random.Generator, d: int) -> Any:
    drawn = int(rng.integers(8))
    if drawn < 4:
        return str(rng.choice(KERNELS))
    objects = (kg.Gaussian(1.0), kg.Matern(1.0), kg.Gaussian(1.0) + kg.White(0.1), kg.Polynomial(2))
    return objects[drawn - 4]


def _numbers(low: float, high: float) -> Draw:
    """An array as long as the rows are wide, sometimes of a wrong length or kind."""

    def draw(rng: np.random.Generator, d: int) -> Any:
        values = rng.uniform(low, high, d + int(rng.random() < 0.2))
        return [values, values.tolist(), values.astype("float32")][int(rng.integers(3))]

    return draw


def _one_of(*values: Any) -> Draw:
    return lambda rng, d: values[int(rng.integers(len(values)))]


def _priors(rng: np.random.Generator, d: int) -> Any:
    p = rng.random(int(rng.integers(2, 4)))
    return p if rng.random() < 0.2 else p / p.sum()


def _columns(rng: np.random.Generator, d: int) -> Any:
    mask = rng.random(d) < 0.5
    return [mask, np.flatnonzero(mask), [d], np.flatnonzero(mask).tolist()][int(rng.integers(4))]


def _signs(rng: np.random.Generator, d: int) -> Any:
    return rng.integers(-1, 2, d + int(rng.random() < 0.2))


def _rows(rng: np.random.Generator, d: int) -> Any:
    return rng.standard_normal((int(rng.integers(1, 5)), d))


_METRIC = _one_of(*METRICS)
_KERNEL_PARAMETERS = _one_of({}, {"gamma": 0.5}, {"degree": 2}, {"unknown": 1}, None)
_ALPHAS = _one_of([0.1, 1.0], np.array([1.0]), (1e-10, 1e10), [], [0.0], 5, [np.nan], [[0.1, 1.0]])

VALUES: dict[str, Draw] = {
    "kernel": _kernel,
    "kernel_y": _kernel,
    "kernels": _one_of(["rbf"], [kg.Gaussian(1.0), kg.Linear()], [], ["unknown"]),
    "affinity": _one_of("rbf", "nearest_neighbors", "precomputed", "linear", "poly", "unknown"),
    "metric": _METRIC,
    "metric_params": _one_of({"p": 3}, {}, {"V": [1.0]}, {"unknown": 1}, None),
    "kernel_params": _KERNEL_PARAMETERS,
    "fun_args": _one_of({"alpha": 1.5}, {}, {"alpha": -1}, {"unknown": 1}),
    "gamma": _one_of("scale", "auto", 0.1, 1e-300, 1e300, np.float32(2), None, 0.0),
    "sigma": _one_of("median", "scale", 0.1, 1e-200, 1e200, None),
    "degree": _one_of(1, 2, 3, 2.5, 9, [0, 2]),
    "coef0": _one_of(0, 1, -1.0, 1e300),
    "max_time": _one_of(1e-9, 1e-3, 5.0, np.float32(1), None),
    "max_memory": _one_of(1, 10**4, 10**6, 10**9, "1 MB", None),
    "cv": _one_of(2, 3, 5, 100, 1, [(np.arange(5), np.arange(5, 9))], None),
    "scoring": _one_of("r2", "accuracy", "neg_log_loss", "neg_mean_squared_error", "unknown", None),
    "alphas": _ALPHAS,
    "Cs": _one_of([0.1, 1.0], [], 3, [0.0], np.array([1.0])),
    "l1_ratios": _one_of([0.0, 0.5], [1.0], [], [2.0], None),
    "l1_ratio": _one_of(0.0, 0.5, 1.0, [0.1, 0.9], []),
    "alpha": lambda rng, d: [0.0, 1e-300, 1e300, rng.random(d), rng.random(2)][rng.integers(5)],
    "priors": _priors,
    "class_prior": _priors,
    "weights_init": _priors,
    "class_weight": _one_of("balanced", {0: 2.0, 1: 0.5}, {0: 0.0}, {"south": 3}, {9: 1.0}, None),
    "categorical_features": _columns,
    "monotonic_cst": _signs,
    "interaction_cst": _one_of("pairwise", "no_interactions", [{0}], [[0, 1]], [{99}], None),
    "means_init": _rows,
    "init": lambda rng, d: ["random", "k-means++", "k-means||", _rows(rng, d), 3][rng.integers(5)],
    "precisions_init": lambda rng, d: [np.eye(d), np.ones(3), np.ones((3, d))][rng.integers(3)],
    "w_init": lambda rng, d: [np.eye(d), np.zeros((d, d)), np.ones(3)][rng.integers(3)],
    "penalty_matrix": lambda rng, d: [np.eye(d), np.zeros((d, d)), -np.eye(d)][rng.integers(3)],
    "x_error": _numbers(0, 2),
    "y_error": _numbers(0, 2),
    "box": lambda rng, d: [np.c_[np.full(d, -9), np.full(d, 9)], np.zeros((d, 2))][rng.integers(2)],
    "groups": lambda rng, d: [1, 2, rng.integers(0, 2, d), rng.integers(0, 2, d + 1)][
        rng.integers(4)
    ],
    "views": lambda rng, d: [2, 3, [1, d - 1], [d, 1], [0, d]][rng.integers(5)],
    "min_categories": _one_of(1, 20, [3], None),
    "bins": _one_of("auto", 3, [0.0, 1.0, 2.0], [1.0, 0.0], "unknown"),
    "bandwidth": lambda rng, d: ["scott", 1e-200, 1e200, rng.random(d), -1][rng.integers(5)],
    "bounds": _one_of("fixed", (1e-2, 1e2), (1.0, 1.0), (2.0, 1.0), {"unknown": (1, 2)}, None),
    "hidden_layer_sizes": _one_of(3, (4, 3), [], (0,), (2, -1), np.array([3])),
    "centers": lambda rng, d: [3, 10**6, _rows(rng, d), None][rng.integers(4)],
    "precompute": _one_of(True, False, "auto", np.eye(3)),
    "weights": _one_of("uniform", "distance", lambda distances: 1 / (1 + distances), None),
    "outlier_label": _one_of("most_frequent", 7, "other", None),
    "unlabelled": _one_of(-1, 0, "south", None),
    "connectivity": _one_of(None, np.eye(3), "unknown"),
    "oob_score": _one_of(True, False),
    "max_features": _one_of(1, 2, 0.5, 1.0, "sqrt", "log2", 99, None),
    "max_samples": _one_of(1, 0.5, 10**6, None),
    "min_samples_leaf": _one_of(1, 5, 0.2, 0.5),
    "min_samples_split": _one_of(2, 5, 0.3, 1.0),
    "shape": lambda rng, d: [(1, d), (d, 1), (2, 2), (d,), ()][rng.integers(5)],
    "verbose": _one_of(0, 1, 2, True),
    "copy_X": _one_of(True, False),
    "copy_x": _one_of(True, False),
    "verbose_interval": _one_of(1, 10),
    "compute_distances": _one_of(True, False),
    "compute_full_tree": _one_of("auto", True, False),
    "breadth_first": _one_of(True, False),
    "leaf_size": _one_of(1, 30),
    "n_jobs": _one_of(1, 2, -1, np.int64(1), 0, None),
}
