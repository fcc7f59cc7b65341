"""The kernel template (cookbook A, algorithm 25): how a linear method becomes its kernel version.

If the weights of a linear method are a combination of the data, w = X'a, then

    f(x) = x'w = sum_i a_i x'x_i        and every x'x_i may become k(x, x_i).

So: (1) K = k(X, X); (2) weights A = some_algorithm(K, Y); (3) f(x) = k(x, X) A + b. Kernel and
algorithm are chosen apart. A has a row per training point and a column per output. Two algorithms
are worked here: ridge regression and the nearest centroid. Rows are data points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kilogram.textbook.kernels import KernelFunction, linear
from kilogram.textbook.state import Array, States, begin, run

KernelAlgorithm = Callable[[Array, Array], tuple[Array, Array]]


def ridge_algorithm(lam: float) -> KernelAlgorithm:
    """Ridge: w = X'a with a = (K + lambda I)^-1 Y, no offset."""
    return lambda K, Y: (np.linalg.solve(K + lam * np.eye(len(K)), Y), np.zeros(1))


def centroid_algorithm(K: Array, Y: Array) -> tuple[Array, Array]:
    """Nearest centroid on one-hot Y (N, classes): mu_c = X'a_c, a_c = 1/N_c on the class.

    -|x - mu_c|^2 / 2 = x'mu_c - |mu_c|^2 / 2 + (a term no class differs in); |mu_c|^2 = a_c'K a_c.
    """
    A = Y / Y.sum(axis=0)
    return A, -0.5 * np.sum(A * (K @ A), axis=0)


def kernel_template(
    kernel: KernelFunction, algorithm: KernelAlgorithm, X: Array, Y: Array, X_new: Array
) -> States:
    """Algorithm 25: outputs f (rows of X_new, outputs)."""
    yield (s := begin("1 kernel matrix", K=kernel(X, X)))
    A, b = algorithm(s["K"], Y)
    yield (s := s.then("2 weights of the training points", A=A, b=b))
    yield (s := s.then("3 predict from k(x, X)", f=kernel(X_new, X) @ A + b))
    return s


def linear_version(algorithm: KernelAlgorithm, X: Array, Y: Array, X_new: Array) -> States:
    """The same method with the linear kernel, written with w = X'a: equal to the template's f."""
    dual = run(kernel_template(linear, algorithm, X, Y, X_new))
    yield (s := begin("1 weights of the training points", A=dual["A"], b=dual["b"]))
    yield (s := s.then("2 weights of the features: w = X'a", w=X.T @ dual["A"]))
    yield (s := s.then("3 predict from x'w", f=X_new @ s["w"] + dual["b"]))
    return s
