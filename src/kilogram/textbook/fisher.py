"""Fisher's discriminant (cookbook ch. 16, algorithms 14 and 15; C.1) and its kernel version.

    max_W  tr((W'S W)^-1 W'B W)        generalised eigenvectors  B W = S W Lambda, largest first

    S = sum_k p_k S_k,   S_k the covariance of class k with divisor N_k
    B = sum_k p_k (mu_k - mu)(mu_k - mu)',   p_k = N_k / N, or 1/K for all ("balanced", cookbook)

At most K - 1 directions. They are scaled so that W'S W = I: only then is the distance between
projected points the Mahalanobis distance. Classes of unequal frequency add -2 log p_k to it, and
the difference of two such scores is twice the log-odds of shared Gaussians (C.8).

Kernel (first_encounter ch. 13): w = sum_i a_i phi(x_i), and the scatters times N become

    S_B = sum_c N_c kappa_c kappa_c' - N kappa kappa',    S_W = K^2 - sum_c N_c kappa_c kappa_c'

with kappa_c the mean kernel row of class c. S_W is singular: a ridge is needed, on |w|^2 = a'K a
("norm", so that the linear kernel gives the linear discriminant) or on |a|^2 ("coefficients", as
the book prints). Also in: first_encounter ch. 13, lecture_notes L05 and L06, slides lecture 8.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from kilogram.textbook.state import Array, States, begin


def class_means(X: Array, labels: Array) -> Array:
    """One row per class, in the order of the sorted labels."""
    return np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])


def scatters(X: Array, labels: Array) -> tuple[Array, Array]:
    """S_W and S_B of first_encounter (13.2-13.6): sums over points, no divisor."""
    means, mean = class_means(X, labels), X.mean(axis=0)
    each = np.searchsorted(np.unique(labels), labels)
    within, between = X - means[each], means[each] - mean
    return within.T @ within, between.T @ between


def fisher(
    X: Array, labels: Array, m: int | None = None, *, beta: float = 0.0, balanced: bool = False
) -> States:
    """Algorithm 14: class means mu (K, D), directions W (D, m), their ratios Lambda."""
    classes, counts = np.unique(labels, return_counts=True)
    mu = class_means(X, labels)
    p = np.full(len(classes), 1 / len(classes)) if balanced else counts / len(X)
    yield (s := begin("1 class means", mu=mu, classes=classes, counts=counts))
    centred = [X[labels == k] - mu[c] for c, k in enumerate(classes)]
    S = sum(p[c] * Z.T @ Z / len(Z) for c, Z in enumerate(centred)) + beta * np.eye(X.shape[1])
    yield (s := s.then("2 within", S=S))
    gaps = mu - p @ mu
    B = (gaps.T * p) @ gaps
    yield (s := s.then("3 between", B=B))
    Lambda, W = eigh(B, S)  # scaled to W'S W = I; smallest first
    kept = slice(None, -1 - min(m or len(p) - 1, len(p) - 1, X.shape[1]), -1)
    yield (
        s := s.then("4 directions", float(Lambda[kept].sum()), W=W[:, kept], Lambda=Lambda[kept])
    )
    return s


def classify(X: Array, mu: Array, W: Array, priors: Array | None = None) -> States:
    """Algorithm 15: index of the nearest projected mean; with priors, Bayes' rule."""
    yield (s := begin("1 project", Z=X @ W, M=mu @ W))
    distance = np.sum((s["Z"][:, None, :] - s["M"][None, :, :]) ** 2, axis=2)
    yield (s := s.then("2 squared distances to the means", distance=distance))
    score = distance if priors is None else distance - 2 * np.log(priors)
    yield (s := s.then("3 the nearest", score=score, index=score.argmin(axis=1)))
    return s


def log_odds(
    X: Array, mu_plus: Array, mu_minus: Array, S: Array, n_plus: float, n_minus: float
) -> Array:
    """C.8: log p(+|x) / p(-|x) for Gaussian classes that share the covariance S."""
    w = np.linalg.solve(S, mu_plus - mu_minus)
    return np.asarray(np.log(n_plus / n_minus) - (mu_plus + mu_minus) @ w / 2 + X @ w)


def shared_gaussians(X: Array, labels: Array, X_new: Array) -> States:
    """C.1: two classes, their means and shared covariance, and the log-odds of new points."""
    _, (n_minus, n_plus) = np.unique(labels, return_counts=True)
    minus, plus = class_means(X, labels)
    yield (s := begin("1 means and counts", mu_plus=plus, mu_minus=minus))
    yield (s := s.then("2 shared covariance", S=scatters(X, labels)[0] / len(X)))
    odds = log_odds(X_new, plus, minus, s["S"], n_plus, n_minus)
    yield (s := s.then("3 log-odds", log_odds=odds, p_plus=1 / (1 + np.exp(-odds))))
    return s


def kernel_scatters(K: Array, labels: Array) -> tuple[Array, Array]:
    """S_W and S_B in the coefficients a (13.14, 13.15 corrected)."""
    counts = np.unique(labels, return_counts=True)[1]
    kappas, kappa = class_means(K, labels), K.mean(axis=0)
    means = (kappas.T * counts) @ kappas
    return K @ K - means, means - len(K) * np.outer(kappa, kappa)


def kernel_fisher(
    K: Array, labels: Array, beta: float, m: int | None = None, *, penalty: str = "norm"
) -> States:
    """Coefficients A (N, m); project new points with k(x, X) @ A.

    "norm": beta is a ridge on the within covariance of phi(x). "coefficients": S_W + beta I.
    """
    n, classes = len(K), len(np.unique(labels))
    S_W, S_B = kernel_scatters(K, labels)
    yield (s := begin("1 scatters", S_W=S_W, S_B=S_B))
    ridge = n * beta * K if penalty == "norm" else beta * np.eye(n)
    # K may be singular to rounding; this is far below what the ridge does
    ridge = ridge + 1e-11 * np.trace(S_W + ridge) / n * np.eye(n)
    yield (s := s.then("2 ridge", S=S_W + ridge))
    Lambda, A = eigh(S_B, s["S"])
    kept = slice(None, -1 - min(m or classes - 1, classes - 1), -1)
    A = A[:, kept] * np.sqrt(n)  # a'(S_W + ridge)a = N: unit variance within classes
    yield (s := s.then("3 directions", float(Lambda[kept].sum()), A=A, Lambda=Lambda[kept]))
    return s


def nearest_in_line(z: Array, labels: Array, z_new: Array) -> States:
    """first_encounter 13: the class with the smallest (z - m_c)^2 / s_c^2 on one direction."""
    classes = np.unique(labels)
    m = np.array([z[labels == c].mean() for c in classes])
    sd = np.array([z[labels == c].std() for c in classes])
    yield (s := begin("1 mean and deviation of every class", m=m, sd=sd))
    distance = (z_new[:, None] - m) ** 2 / sd**2
    yield (s := s.then("2 nearest", distance=distance, label=classes[distance.argmin(axis=1)]))
    return s
