"""What every textbook version is run on: arguments made of the points on the page.

One line for each entry of `kilogram.textbook`; `example("smo", data)` are the arguments of one.
The points serve both kinds of methods: rows X and classes, or one column x and a target t.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kilogram.book.errors import BookError
from kilogram.book.scene import Points
from kilogram.kernels import Gaussian
from kilogram.textbook import ENTRIES, kernels, robust, run, tomography
from kilogram.textbook.kernel_template import ridge_algorithm
from kilogram.textbook.projection_pursuit import INDICES
from kilogram.textbook.semi_supervised import nearest_mean

Array = NDArray[Any]


class Inputs:
    """The points of the page in the forms that the textbook versions take."""

    def __init__(self, data: Points):
        self.X, self.labels = data.xy, data.labels
        self.x, self.t = data.x, data.y
        self.n = len(data)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    @cached_property
    def y(self) -> Array:
        """Class 0 or 1; where all points have one class, the side of the middle."""
        first = (self.labels > 0).astype(int)
        return first if first.any() else (self.x > np.median(self.x)).astype(int)

    @cached_property
    def classes(self) -> Array:
        """Classes 0, 1, ..., none left out."""
        if len(set(self.labels.tolist())) < 2:
            return self.y
        return np.asarray(np.unique(self.labels, return_inverse=True)[1])

    @property
    def signs(self) -> Array:
        return np.where(self.y > 0, 1.0, -1.0)

    @property
    def X1(self) -> Array:
        return np.column_stack([np.ones(self.n), self.X])

    @property
    def powers(self) -> Array:
        """x, x^2, x^3 in columns of comparable size."""
        return np.stack([self.x, self.x**2 / 3, self.x**3 / 9], axis=1)

    @property
    def powers1(self) -> Array:
        return np.column_stack([np.ones(self.n), self.powers])

    @property
    def waves(self) -> Array:
        """Eight sines and cosines of x, from which few suffice."""
        f = 0.5 * np.arange(1, 5)
        A = np.hstack([np.sin(np.outer(self.x, f)), np.cos(np.outer(self.x, f))])
        return (A - A.mean(axis=0)) / (A.std(axis=0) + 1e-12)

    @property
    def target(self) -> Array:
        return self.t - self.t.mean()

    @cached_property
    def K(self) -> Array:
        return np.asarray(Gaussian(0.8)(self.X, self.X))

    @cached_property
    def Kx(self) -> Array:
        return np.asarray(Gaussian(0.7)(self.x[:, None], self.x[:, None]))

    @property
    def D(self) -> Array:
        return np.asarray(np.sqrt(((self.X[:, None] - self.X[None]) ** 2).sum(axis=2)))

    def starts(self, k: int) -> Array:
        """The k points from which centres begin."""
        if self.n < k:
            raise BookError(f"This algorithm begins from {k} points; there are {self.n}.")
        return self.X[np.sort(self.rng.choice(self.n, k, replace=False))]

    @property
    def two(self) -> tuple[Array, Array, Array]:
        """Weights, means and covariances of two Gaussians."""
        return np.full(2, 0.5), self.starts(2), np.stack([np.eye(2), np.eye(2)])

    @property
    def partial_labels(self) -> Array:
        """The classes, all but two of each hidden as -1."""
        hidden = np.full(self.n, -1)
        for c in (0, 1):
            some = np.flatnonzero(self.y == c)[:2]
            hidden[some] = c
        return hidden

    @property
    def means(self) -> Array:
        return np.stack([self.X[self.classes == c].mean(axis=0) for c in np.unique(self.classes)])

    @property
    def scores(self) -> Array:
        """How much nearer the mean of class 1 is than that of class 0."""
        means = np.stack([self.X[self.y == c].mean(axis=0) for c in (0, 1)])
        d = ((self.X[:, None] - means[None]) ** 2).sum(axis=2)
        return np.asarray(d[:, 0] - d[:, 1])

    @property
    def bits(self) -> Array:
        """Four yes-or-no columns: signs of x, y, x y, and distance from the origin."""
        return np.stack(
            [self.x > 0, self.t > 0, self.x * self.t > 0, self.x**2 + self.t**2 > 2], axis=1
        ).astype(int)

    @property
    def tables(self) -> tuple[Array, Array]:
        """Prior and tables p (K, D, V) of naive Bayes on the bits."""
        state = run(ENTRIES["categorical_naive_bayes"].function(self.bits, self.y, np.full(4, 2)))
        return state["prior"], state["p"]

    @property
    def positive(self) -> Array:
        """A small table of counts in two kinds of rows, for factorisations."""
        rng = self.rng
        mixed = rng.random((12, 2)) @ np.array([[8, 6, 4, 1, 0, 0], [0, 0, 1, 5, 7, 8.0]])
        return np.asarray(mixed + rng.random((12, 6)))

    @property
    def factors(self) -> tuple[Array, Array, Array]:
        rng = self.rng
        return self.positive, rng.random((12, 2)) + 0.1, rng.random((2, 6)) + 0.1

    @property
    def network(self) -> tuple[Array, Array, list[Array]]:
        """Inputs with a constant, targets and first weights of two layers."""
        rng = np.random.default_rng(3)
        weights = [rng.normal(0, 0.8, (5, 3)), rng.normal(0, 0.8, (1, 5))]
        return self.X1[::3], self.signs[::3, None], weights

    @property
    def white(self) -> Array:
        Z = self.X - self.X.mean(axis=0)
        values, vectors = np.linalg.eigh(Z.T @ Z / self.n + 1e-9 * np.eye(2))
        return np.asarray(Z @ vectors / np.sqrt(values))


def _exponential(i: Inputs) -> Callable[[Array], tuple[Array, Array]]:
    """The curve a + exp(b x) with its Jacobian, as `gauss_newton` takes a model."""

    def model(beta: Array) -> tuple[Array, Array]:
        e = np.exp(np.clip(beta[1] * i.x, -20, 20))
        return beta[0] + e, np.stack([np.ones(i.n), i.x * e], axis=1)

    return model


def _gaussian_fit(X: Array, w: Array) -> Array:
    """Mean and variance of a round Gaussian under weights, in one vector."""
    mean = w @ X / w.sum()
    spread = w @ ((X - mean) ** 2).sum(axis=1) / w.sum() / 2
    return np.append(mean, max(spread, 1e-3))


def _gaussian_log(X: Array, theta: Array) -> Array:
    away = ((X - theta[:2]) ** 2).sum(axis=1)
    return np.asarray(-away / (2 * theta[2]) - np.log(2 * np.pi * theta[2]))


def _missing(i: Inputs) -> Array:
    X = np.array(i.X)
    X[::5, 1] = np.nan
    return X


def _picture() -> Array:
    """Eight rows of ten pixels, white on the left and black on the right, with four errors."""
    pixels = np.zeros((8, 10), dtype=int)
    pixels[:, 5:] = 1
    pixels[[1, 3, 6, 7], [2, 7, 8, 0]] ^= 1
    return pixels


def _rays(i: Inputs) -> tuple[Any, ...]:
    """A picture of eight by eight cells and its sums along rays from eight directions."""
    A = tomography.system_matrix(8, np.linspace(0, np.pi, 8, endpoint=False))
    return A, A @ tomography.phantom(8).ravel(order="F"), 12


def _tree(i: Inputs) -> Any:
    return run(ENTRIES["decision_tree"].function(i.X[::2], i.y[::2].astype(float), "gini", 1, 4))


def _density_leaves(i: Inputs) -> Any:
    return run(ENTRIES["density_tree"].function(i.X[::2], least=5))


def _two_boxes() -> tuple[Array, Array]:
    """The unit square cut in two, denser on the left."""
    boxes = np.array([[[0.0, 0.0], [0.5, 1.0]], [[0.5, 0.0], [1.0, 1.0]]])
    return boxes, np.array([1.3, 0.7])


def _dual(i: Inputs) -> dict[str, Any]:
    """The dual of the machine with slack, as P, q, G, h, A, b."""
    s, n = i.signs, i.n
    Q = s[:, None] * (i.K + 1e-6 * np.eye(n)) * s
    return {
        "P": Q, "q": -np.ones(n), "G": np.vstack([-np.eye(n), np.eye(n)]),
        "h": np.append(np.zeros(n), np.ones(n)), "A": s[None], "b": np.zeros(1),
    }  # fmt: skip


Given = tuple[Any, ...] | dict[str, Any]

#: the arguments of every textbook version; a dictionary holds keyword arguments
EXAMPLES: dict[str, Callable[[Inputs], Given]] = {
    # least squares and its relatives
    "lsqr": lambda i: (lambda v: i.powers1 @ v, lambda u: i.powers1.T @ u, i.t, 4),
    "weighted_least_squares": lambda i: (i.powers1, i.t, 0.2 + 0.1 * np.abs(i.x)),
    "generalised_least_squares": lambda i: (i.powers1, i.t, np.exp(-np.abs(i.x[:, None] - i.x))),
    "reweighted_least_squares": lambda i: (i.powers1, i.t, (i.x > 0).astype(int), 8),
    "total_least_squares": lambda i: (i.x[:, None] - i.x.mean(), i.target[:, None]),
    "tomography": _rays,
    "ridge": lambda i: (i.powers, i.t, 1.0),
    "ridge_leave_one_out": lambda i: (i.powers, i.t[:, None], 1.0),
    "ridge_cholesky": lambda i: (i.powers, i.target, 1.0),
    "ridge_streaming": lambda i: (zip(i.powers, i.target, strict=True), 3, 1.0),
    "ridge_qr": lambda i: (i.powers, i.target, 1.0),
    "ridge_svd": lambda i: (i.powers, i.target, 1.0),
    "tikhonov": lambda i: (i.powers, i.target, np.diff(np.eye(3), axis=0)),
    "huber_regression": lambda i: {"X": i.powers1[:, :2], "y": i.t, "steps": 25},
    "absolute_deviations": lambda i: {"X": i.powers1[:, :2], "y": i.t, "steps": 25},
    "absolute_program": lambda i: (i.powers1[:, :2], i.t),
    "robust_location": lambda i: (i.t, robust.biweight_weight, 2.0, 20),
    "ransac": lambda i: (i.X, 0.3, 25, i.rng, robust.line, robust.line_distance, 2),
    "gauss_newton": lambda i: (_exponential(i), i.t, np.array([0.0, 0.1]), 12),
    "levenberg_marquardt": lambda i: (_exponential(i), i.t, np.array([0.0, 0.1]), 30),
    "circle_algebraic": lambda i: (i.X,),
    "circle_geometric": lambda i: (i.X, i.X.mean(axis=0), 1.0, 30),
    "newton_root": lambda i: (lambda x: x**3 - 2 * x - 5, lambda x: 3 * x**2 - 2, 3.0),
    "quadratic_program": _dual,
    # sparse
    "online_lasso": lambda i: (i.waves, i.target, 0.05, 12, i.rng),
    "matching_pursuit": lambda i: (i.waves, i.target, 5),
    "matching_pursuit_qr": lambda i: (i.waves, i.target, 5),
    "lasso_sweeps": lambda i: (i.waves, i.target, 0.1 * i.n, 40),
    "lars": lambda i: (i.waves, i.target),
    "elastic_net": lambda i: (i.waves, i.target, 1.0, 5.0),
    "group_lasso": lambda i: (i.waves, i.target, [[0, 1], [2, 3], [4, 5], [6, 7]], 3.0, 60),
    # kernels of curves
    "kernel_ridge": lambda i: (i.Kx, i.target, 0.1),
    "kernel_ridge_leave_one_out": lambda i: (i.Kx, i.target, np.logspace(-3, 2, 8)),
    "norm_constrained": lambda i: (i.Kx + 1e-6 * np.eye(i.n), i.target, 2.0),
    "kernel_template": lambda i: (
        kernels.gaussian, ridge_algorithm(0.1), i.x[:, None], i.target[:, None], i.x[:, None]),
    "linear_version": lambda i: (ridge_algorithm(0.1), i.powers, i.target[:, None], i.powers),
    "kernel_regression": lambda i: (i.Kx, i.t),
    "gaussian_process": lambda i: (i.Kx, i.Kx, i.Kx, i.target, 0.05),
    "gaussian_process_samples": lambda i: (np.zeros(i.n), i.Kx, 4, i.rng),
    "svr": lambda i: (i.Kx, i.t, 1.0, 0.2),
    "random_kitchen_sinks": lambda i: (
        i.x[:, None], i.t, i.rng.normal(size=(1, 12)), 0.1),
    # classes
    "bayes_rule": lambda i: (np.array([[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]]), np.array([0.7, 0.3])),
    "confusion": lambda i: (i.y, (i.scores > 0).astype(int), 2),
    "threshold_errors": lambda i: (np.linspace(0, 1, 11),),
    "one_prototype_each": lambda i: (40,),
    "online_centroids": lambda i: (i.X, i.classes),
    "nearest_centroid": lambda i: (i.X, i.means),
    "centroids_as_a_linear_rule": lambda i: (i.means[1], i.means[0]),
    "kernel_nearest_mean": lambda i: (i.K, i.y, i.K, np.diag(i.K)),
    "quadratic_discriminant": lambda i: (i.X, i.classes, i.X),
    "linear_discriminant": lambda i: (i.X, i.classes, i.X),
    "discriminant_as_least_squares": lambda i: (i.X, i.y),
    "fisher": lambda i: (i.X, i.classes),
    "fisher_classify": lambda i: (
        i.X, i.means, run(ENTRIES["fisher"].function(i.X, i.classes))["W"]),
    "shared_gaussians": lambda i: (i.X, i.classes, i.X),
    "kernel_fisher": lambda i: (i.K, i.classes, 0.01),
    "nearest_in_line": lambda i: (i.x, i.y, i.x),
    "bernoulli_naive_bayes": lambda i: (i.bits, i.y),
    "bernoulli_posterior": lambda i: (i.bits, np.array([0.5, 0.5]), i.tables[1][:, :, 1]),
    "categorical_naive_bayes": lambda i: (i.bits, i.y, np.full(4, 2)),
    "naive_bayes_scores": lambda i: (i.bits, *i.tables),
    "naive_bayes_threshold": lambda i: (
        np.stack([np.zeros(i.n), i.scores], axis=1), 0.5, i.rng),
    "naive_bayes_generate": lambda i: (*i.tables, 12, i.rng),
    "gaussian_naive_bayes": lambda i: (i.X, i.classes, i.X),
    "roc": lambda i: (i.scores, i.y),
    "nearest_neighbours": lambda i: (-i.D, i.classes, 5, i.rng),
    "neighbour_prototypes": lambda i: (i.X, i.classes, 2, i.rng),
    "condensed_neighbours": lambda i: (i.X, i.classes),
    "partial_distance": lambda i: (np.zeros(2), i.X),
    "kd_tree": lambda i: (i.X, np.zeros(2)),
    "logistic_sgd": lambda i: {"X": i.X1, "y": i.y.astype(float), "rng": i.rng, "epochs": 20},
    "softmax_sgd": lambda i: (i.X1, i.classes, i.rng),
    "logistic_irls": lambda i: (i.X, i.y.astype(float), 0.1),
    "softmax_newton": lambda i: (i.X, i.classes, 0.1),
    "logistic_coordinates": lambda i: {
        "X": i.X, "y": i.y.astype(float), "mu": 1.0, "max_passes": 40},
    "gradient_descent": lambda i: {"X": i.X, "y": i.signs, "steps": 60},
    "stochastic_gradients": lambda i: (i.X, i.signs, i.rng),
    "newton_raphson": lambda i: (i.X, i.signs),
    "perceptron_mistakes": lambda i: {"X": i.X, "y": i.signs, "rng": i.rng, "max_steps": 60},
    "perceptron_draws": lambda i: {"X": i.X, "y": i.signs, "rng": i.rng, "its": 60},
    "perceptron_averaged": lambda i: (i.X, i.signs, i.rng),
    "perceptron_one_versus_rest": lambda i: {
        "X": i.X, "y": i.classes, "rng": i.rng, "max_steps": 60},
    "svm": lambda i: (i.K, i.signs, 1.0),
    "smo": lambda i: (i.K, i.signs, 1.0),
    "coordinate_descent": lambda i: {
        "X": i.X, "y": i.signs, "C": 1.0, "rng": i.rng, "max_passes": 40},
    "perceptron": lambda i: {"X": i.X, "y": i.signs, "rng": i.rng, "max_passes": 40},
    "widest_margin": lambda i: (_parted(i), i.signs),
    "linear_svm": lambda i: (i.X, i.signs, 0.05, 12, i.rng),
    "kernel_svm": lambda i: (i.K, i.signs, 0.05, 12, i.rng),
    "decision_tree": lambda i: (i.X, i.y.astype(float), "gini", 1, 5),
    "tree_pruning": lambda i: (
        *(_tree(i)[key] for key in ("nodes", "values")), i.X[1::2], i.y[1::2].astype(float)),
    "random_forest": lambda i: (i.X, i.y.astype(float), i.X, i.rng, 6),
    "adaboost": lambda i: (i.X, i.signs, 8),
    "gradient_boosting": lambda i: (i.X, i.signs, 8),
    "additive_boosting": lambda i: (i.X, i.signs, 12),
    "cascade": lambda i: (i.X, i.signs, 3, 4, 0.1),
    "backpropagation": lambda i: (i.network[0][0], i.network[1][0], i.network[2]),
    "network_gradient_descent": lambda i: {
        **dict(zip(("X", "Y", "weights"), i.network, strict=True)), "alpha": 0.3, "steps": 25},
    "self_training": lambda i: (i.X, i.partial_labels, nearest_mean, 0.9, 12),
    "label_spreading": lambda i: (
        i.K - np.eye(i.n), (i.partial_labels[:, None] == np.arange(2)).astype(float), 0.8, 25),
    "uncertainty_sampling": lambda i: (
        i.X, i.y, np.flatnonzero(i.partial_labels >= 0), nearest_mean, 10),
    # structure
    "pca": lambda i: (i.X, 2),
    "pca_dual": lambda i: (i.X, 2),
    "pca_reconstruct": lambda i: tuple(
        run(ENTRIES["pca"].function(i.X, 1))[key] for key in ("X_hat", "W", "x_bar")),
    "pca_denoise": lambda i: (i.X, [0]),
    "pca_deflation": lambda i: {"X": i.X, "m": 2, "most": 30},
    "whiten": lambda i: (i.X,),
    "kernel_pca_train": lambda i: (i.K, 2),
    "kernel_pca_project": lambda i: (
        i.K, i.K, run(ENTRIES["kernel_pca_train"].function(i.K, 2))["A"]),
    "preimage": lambda i: (np.array([1.5, 1.5]), i.X, i.K[0] / i.n, 0.8),
    "cca": lambda i: ([i.powers, i.waves[:, :3]], 1),
    "cca_two_views": lambda i: (i.powers, i.waves[:, :3], 1),
    "kernel_cca": lambda i: ([i.Kx, i.K], 0.1),
    "kernel_cca_project": lambda i: (
        i.Kx, i.Kx, run(ENTRIES["kernel_cca"].function([i.Kx, i.K], 0.1))["A0"]),
    "ica_objective": lambda i: (i.X, np.eye(2)),
    "ica_whitening": lambda i: (i.X,),
    "ica_deflation": lambda i: {"Z": i.white, "W": np.eye(2) + 0.1, "m": 30},
    "ica_symmetric": lambda i: {"Z": i.white, "W": np.eye(2) + 0.1, "m": 30},
    "projection_histogram": lambda i: (i.X, np.ones(2)),
    "projection_pursuit": lambda i: {
        "X": i.X, "index": INDICES["bimodality"], "rng": i.rng, "starts": 2},
    "nmf": lambda i: (*i.factors, 40),
    "nmf_additive": lambda i: (*i.factors, 1e-4, 1e-4),
    "nmf_poisson": lambda i: (*i.factors, 40),
    "nmf_columns": lambda i: (*i.factors, 40),
    "nmf_loadings": lambda i: (i.positive, i.factors[2], 0.0, 40),
    "plsa": lambda i: (*i.factors, 40),
    "nmf_starts": lambda i: (i.positive, 2, i.rng),
    "robust_pca": lambda i: {"X": i.positive, "m": 60},
    "k_means": lambda i: (i.X, i.starts(3)),
    "k_means_online": lambda i: (i.X, i.starts(3), i.rng.permutation(i.n)),
    "k_means_plus_plus": lambda i: (i.X, 3, i.rng),
    "kernel_k_means": lambda i: (i.K, np.arange(i.n) % 3, 40),
    "k_medoids": lambda i: (i.D, np.arange(3)),
    "k_lines": lambda i: (i.X, np.arange(i.n) % 2, 40),
    "instability": lambda i: (i.X, 4, 4, i.rng, 2),
    "elbow": lambda i: (i.X, 5, i.rng, 2),
    "held_out_within": lambda i: (i.X, 4, 3, i.rng, 2),
    "clusters_by_code": lambda i: (i.X, i.classes),
    "mixture_em": lambda i: (i.X, i.starts(2), 40),
    "mixture_em_as_printed": lambda i: (i.X, i.starts(2), 20),
    "mixture_missing": lambda i: (_missing(i), *i.two, 6),
    "mixture_of_any_family": lambda i: (
        i.X, np.eye(2)[i.rng.integers(0, 2, i.n)] * 0.8 + 0.1, _gaussian_fit, _gaussian_log, 40),
    "mixture_gradient": lambda i: (i.X, *i.two),
    "hierarchical": lambda i: (i.D, "single"),
    "spanning_tree": lambda i: (i.D,),
    "spectral_relaxation": lambda i: (i.K, 2),
    "spectral_clustering": lambda i: (i.K, 2),
    "spectral_threshold": lambda i: (i.K, 2),
    "normalised_cut": lambda i: (i.K, 2),
    "locally_linear_embedding": lambda i: (i.X, 6, 1),
    "locally_linear_embedding_new": lambda i: (
        np.zeros(2), i.X, run(ENTRIES["locally_linear_embedding"].function(i.X, 6, 1))["Z"], 6),
    "laplacian_eigenmaps": lambda i: (i.K - np.eye(i.n), 2),
    "multidimensional_scaling": lambda i: (i.D, 2),
    "isomap": lambda i: (i.X, 8, 2),
    # densities
    "rank_order": lambda i: (i.X,),
    "copula": lambda i: (i.X, i.X, 6, *_two_boxes()),
    "copula_sampling": lambda i: (*_two_boxes(), i.rng.random((20, 3))),
    "kernel_density": lambda i: (i.X, i.X, 0.5),
    "kernel_density_width": lambda i: (i.X, np.geomspace(0.1, 2, 8)),
    "density_bayes": lambda i: (
        np.exp(-np.stack([np.zeros(i.n), i.scores], 1) / 9), np.full(2, 0.5)),
    "density_tree": lambda i: (i.X, 8),
    "density_tree_pruning": lambda i: (
        i.X[::2], i.X[1::2], *(_density_leaves(i)[key] for key in ("boxes", "p")), (0, 1)),
    "density_forest": lambda i: (i.X, i.X, i.rng, 5, 8),
    "histogram": lambda i: (i.x, -3.0, 0.5, 12),
    "histogram_widths": lambda i: (i.x[::2], i.x[1::2], np.arange(2, 14)),
    # compression
    "two_part_picture": lambda i: (_picture(), [[], [1], [1, 3]]),
    "two_part_code": lambda i: (
        np.array([0.0, 64.0, 200.0]), np.array([80.0, 40.0, 25.0]), np.arange(1, 12)),
    "pixel_guessing": lambda i: (_picture(),),
    "two_part_contexts": lambda i: ((i.rng.random(60).cumsum() % 2 > 1).astype(int), [0, 1, 2, 3]),
}  # fmt: skip


def _parted(i: Inputs) -> Array:
    """The points with the classes drawn apart, so that a plane parts them."""
    means = np.stack([i.X[i.y == c].mean(axis=0) for c in (0, 1)])
    apart = means[1] - means[0]
    apart = apart / (np.linalg.norm(apart) or 1.0)
    across = i.signs * (i.X @ apart - means.mean(axis=0) @ apart)
    return np.asarray(i.X + np.outer(i.signs * np.maximum(0.3 - across, 0), apart))


def example(key: str, data: Points) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments and keyword arguments of the textbook version `key`, made of the points."""
    given = EXAMPLES[key](Inputs(data))
    return ((), given) if isinstance(given, dict) else (given, {})


def read_points(file: str) -> Points:
    """The points that the page's save button wrote."""
    table = np.loadtxt(file, delimiter=",", ndmin=2)
    return Points(table[:, :2], table[:, 2].astype(int))
