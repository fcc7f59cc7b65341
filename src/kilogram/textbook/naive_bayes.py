"""Naive Bayes as in cookbook ch. 14 (algorithm 11), first_encounter ch. 6, lecture_notes L08.

    p(y | x)  ~  p(y) prod_d p(x_d | y)          attributes independent within a class

Bernoulli     p_dk = (N_dk + a) / (N_k + 2 a),  N_dk += x_d (not 1);  absent words count too
categorical   p_k(x_i = j) = (N_ijk + a) / (N_k + V_i a),  V_i the number of values
Gaussian      a mean and a variance for every attribute and class: QDA with diagonal covariances
histogram     a histogram for every attribute and class

Priors, where smoothed, are (N_k + a) / (N + K a). Scores are sums of logarithms; S_1 > S_0 + theta
decides for class 1.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def bernoulli(X: Array, labels: Array, a: float = 1.0, *, smooth_priors: bool = True) -> States:
    """Algorithm 11, point by point: counts N (K,) and N_d (K, D), then probabilities."""
    classes = np.unique(labels)
    N, N_d = np.zeros(len(classes)), np.zeros((len(classes), X.shape[1]))
    yield (s := begin("1 empty counts", classes=classes, N=N.copy(), N_d=N_d.copy()))
    for x, y in zip(X, labels, strict=True):
        k = int(np.searchsorted(classes, y))
        N[k] += 1
        N_d[k] += x
        yield (s := s.then("2 count", N=N.copy(), N_d=N_d.copy()))
    extra = a if smooth_priors else 0.0
    prior = (N + extra) / (N.sum() + len(N) * extra)
    yield (s := s.then("3 smooth", prior=prior, p=(N_d + a) / (N + 2 * a)[:, None]))
    return s


def bernoulli_posterior(X: Array, prior: Array, p: Array) -> States:
    """The prediction that the cookbook leaves out: what is absent counts by 1 - p."""
    with np.errstate(divide="ignore"):
        yes, no = np.log(p), np.log(1 - p)
    score = np.where(X[:, None, :] > 0, yes, no).sum(axis=2) + np.log(prior)
    yield (s := begin("1 log scores", score=score))
    top = score.max(axis=1, keepdims=True)
    likelihood = np.exp(score - top)
    yield (s := s.then("2 posterior", posterior=likelihood / likelihood.sum(axis=1, keepdims=True)))
    return s


def categorical(X: Array, labels: Array, values: Array, a: float = 1.0) -> States:
    """first_encounter (6.1-6.6, 6.12): tables p (K, D, V), V the most values; priors unsmoothed."""
    classes = np.unique(labels)
    counts = np.zeros((len(classes), X.shape[1], int(max(values))))
    for k, c in enumerate(classes):
        for i, V in enumerate(values):
            counts[k, i, :V] = np.bincount(X[labels == c, i], minlength=V)
    yield (s := begin("1 counts", classes=classes, counts=counts))
    prior = np.array([np.mean(labels == c) for c in classes])
    inside = np.arange(counts.shape[2]) < np.asarray(values)[:, None]
    divisor = counts.sum(axis=2) + a * np.asarray(values)
    p = np.where(inside, (counts + a) / divisor[:, :, None], 0.0)
    yield (s := s.then("2 fractions", prior=prior, p=p))
    return s


def log_scores(X: Array, prior: Array, p: Array) -> States:
    """(6.7): S_c = sum_i log P_c(x_i) + log P(c), (n, K)."""
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    S = np.log(prior) + sum(logs[:, i, X[:, i]].T for i in range(X.shape[1]))
    yield (s := begin("1 log scores", S=S))
    return s


def threshold_decision(S: Array, theta: float, rng: np.random.Generator) -> States:
    """(6.9): class 1 if S_1 > S_0 + theta, a coin where they are equal."""
    gap = S[:, 1] - S[:, 0]
    coin = rng.integers(0, 2, len(S))
    predicted = np.where(gap > theta, 1, np.where(gap < theta, 0, coin))
    yield (s := begin("1 compare", gap=gap, predicted=predicted))
    return s


def roc(gap: Array, labels: Array) -> States:
    """first_encounter 6 and D.17: theta from -inf to inf, (FPR, TPR) from (1, 1) to (0, 0)."""
    thetas = np.concatenate([[-np.inf], np.unique(gap), [np.inf]])
    predicted = gap[None, :] > thetas[:, None]
    predicted[0] = True
    tpr, fpr = predicted[:, labels == 1].mean(axis=1), predicted[:, labels == 0].mean(axis=1)
    yield (s := begin("1 sweep", thetas=thetas, fpr=fpr, tpr=tpr))
    return s


def gaussian(X: Array, labels: Array, X_new: Array) -> States:
    """lecture_notes L08: means, variances, and log p(x, c) of new points."""
    classes = np.unique(labels)
    m = np.array([X[labels == c].mean(axis=0) for c in classes])
    v = np.array([X[labels == c].var(axis=0) for c in classes])
    prior = np.array([np.mean(labels == c) for c in classes])
    yield (s := begin("1 a normal for every attribute", m=m, v=v, prior=prior))
    terms = np.log(2 * np.pi * v) + (X_new[:, None, :] - m) ** 2 / v
    yield (s := s.then("2 log scores", S=np.log(prior) - terms.sum(axis=2) / 2))
    return s


def generate(prior: Array, p: Array, n: int, rng: np.random.Generator) -> States:
    """first_encounter 6: draw a class, then every attribute from its own table."""
    labels = rng.choice(len(prior), size=n, p=prior)
    yield (s := begin("1 classes", labels=labels))
    edges = np.cumsum(p, axis=2)[labels]
    X = (rng.random((n, p.shape[1], 1)) > edges).sum(axis=2)
    yield (s := s.then("2 attributes", X=np.minimum(X, p.shape[2] - 1)))
    return s
