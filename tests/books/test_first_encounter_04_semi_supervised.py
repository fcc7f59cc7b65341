"""A First Encounter, chapter 4: semi-supervised and active learning, named there, shown here."""

from __future__ import annotations

import numpy as np
from book_checks import covers
from sklearn.semi_supervised import SelfTrainingClassifier

import kilogram as kg
from kilogram.evaluation import learn_actively
from kilogram.textbook import semi_supervised
from kilogram.textbook.state import run


def moons(seed: int, n: int = 200):
    """Two arcs that no line separates, dense along themselves; four labels each."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, np.pi, n)
    truth = np.arange(n) % 2
    X = np.c_[np.cos(t) + truth, np.sin(t) * (1 - 2 * truth) + 0.4 * truth]
    X = X + 0.06 * rng.standard_normal((n, 2))
    y = np.full(n, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(truth == c), 4, replace=False)] = c
    return X, y, truth


def clusters(seed: int, n: int = 200):
    """Two clusters; the labelled points, two each, lie at their far ends."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = np.c_[5 * truth - 2.5 + 0.7 * rng.standard_normal(n), 1.2 * rng.standard_normal(n)]
    y, end = np.full(n, -1), (1 - 2 * truth) * (X[:, 0] + X[:, 1])
    for c in (0, 1):
        own = np.flatnonzero(truth == c)
        y[own[np.argsort(-end[own])[:2]]] = c
    return X, y, truth


@covers("first_encounter T4.1")
def test_T4_1_a_border_that_respects_density_does_not_cut_a_cluster():
    for seed in range(3):
        X, y, truth = clusters(seed)
        known = y >= 0
        alone = kg.LogisticRegression().fit(X[known], y[known]).predict(X)
        assert (alone != truth).mean() > 0.03  # the border of four labels cuts a cluster
        p = run(semi_supervised.self_training(X, y, semi_supervised.nearest_mean))["p"]
        assert ((p > 0.5) != truth).mean() < 0.01
        trained = SelfTrainingClassifier(kg.LogisticRegression(), threshold=0.9).fit(X, y)
        assert (trained.predict(X) != truth).mean() < 0.01
        spread = kg.LabelSpreading("knn", alpha=0.9).fit(X, y)
        assert (spread.transduction_ != truth).mean() < 0.01
        X, y, truth = moons(seed)
        known = y >= 0
        alone = kg.SVC(C=10.0).fit(X[known], y[known]).predict(X)
        fast = kg.LabelSpreading("knn", n_neighbors=7, alpha=0.9).fit(X, y)
        assert (fast.transduction_ != truth).mean() < 0.05
        assert (fast.transduction_ != truth).mean() < (alone != truth).mean()
        A = np.exp(-30 * np.sum((X[:, None] - X) ** 2, axis=2)) * (1 - np.eye(len(X)))
        Y = (y[:, None] == [0, 1]).astype(float)
        states = list(semi_supervised.spreading(A, Y, 0.9, 300))
        J = [s.objective for s in states[1:]]
        assert np.diff(J).max() < 1e-9
        exact = kg.LabelSpreading("rbf", gamma=30, alpha=0.9, tol=1e-10).fit(X, y)
        F = states[-1]["F"]
        assert np.allclose(exact.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-6)
        assert np.array_equal(F.argmax(axis=1), exact.transduction_)


def first_good(scores):
    """Labels after which the score stays above 0.97."""
    bad = np.flatnonzero(scores < 0.97)
    return 0 if len(bad) == 0 else bad[-1] + 1


@covers("first_encounter T4.2")
def test_T4_2_asking_where_unsure_needs_no_more_labels_than_asking_at_random():
    asked, drawn = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (150, 2))
        y = (X @ [1.0, 0.4] > 0.1).astype(int)
        start = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
        for measure, found in (("margin", asked), (None, drawn)):
            learnt = learn_actively(
                kg.LogisticRegression(C=100.0), X, lambda i, y=y: y[i], start=start, n_queries=25,
                measure=measure, random_state=seed, score=lambda m, X=X, y=y: m.score(X, y),
            )  # fmt: skip
            found.append(first_good(learnt.scores))
            assert len(np.unique(learnt.asked)) == 27
    assert np.mean(asked) < 0.75 * np.mean(drawn)  # on average, on a separable toy set
    ref = run(
        semi_supervised.uncertainty_sampling(
            X, y, np.array(start), semi_supervised.nearest_mean, 10
        )
    )
    assert len(ref["known"]) == 12
    assert ((ref["p"] > 0.5) == y).mean() > 0.85
