"""A First Encounter, chapter 5: nearest neighbours, the textbook version and the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.textbook import neighbours
from kilogram.textbook.state import run


def two(seed, n=200, noise=0, sd=3.0):
    """Classes about (-2, -2) and (2, 2), and columns of noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    X = rng.standard_normal((n, 2)) + 2 * (2 * labels - 1)[:, None]
    return np.hstack([X, sd * rng.standard_normal((n, noise))]), labels


def prediction(X_new, X, labels, k, seed=0, **how):
    close = neighbours.closeness(X_new, X)
    return run(neighbours.votes(close, labels, k, np.random.default_rng(seed), **how))


@covers("first_encounter FE5.1", "first_encounter D.3", "first_encounter X5.e")
def test_FE5_1_the_majority_of_the_nearest():
    X, labels = two(0, 60)
    labels = labels.copy()
    odd = int(np.argmin(np.abs(X - 2.0).sum(axis=1)))  # the odd one out in the middle of class 1
    labels[odd] = 0
    at = X[[odd]] + 1e-6
    assert prediction(at, X, labels, 1)["label"][0] == 0
    assert prediction(at, X, labels, 5)["label"][0] == 1
    assert kg.KNeighborsClassifier(1).fit(X, labels).predict(at)[0] == 0
    assert kg.KNeighborsClassifier(5).fit(X, labels).predict(at)[0] == 1
    s = prediction(two(1, 20)[0], X, labels, 3)
    fast = kg.KNeighborsClassifier(3).fit(X, labels)
    assert np.array_equal(fast.predict(two(1, 20)[0]), s["label"])
    for row, near in zip(s["gamma"], s["nearest"], strict=True):
        assert np.array_equal(row, np.bincount(labels[near], minlength=2))


@covers("first_encounter FE5.2", "first_encounter E5.1", "first_encounter E5.4")
def test_FE5_2_votes_by_similarity_must_not_be_negative():
    X, labels = two(2, 80)
    new = two(3, 40)[0]
    K = np.exp(neighbours.closeness(new, X) / 2)
    rng = np.random.default_rng(0)
    s = run(neighbours.votes(K, labels, 7, rng, weighted=True))
    score = np.take_along_axis(K * (2 * labels - 1), s["nearest"], axis=1).sum(axis=1)
    assert (s["label"] == (score > 0)).all()
    with pytest.raises(ValueError, match="negative"):
        run(neighbours.votes(neighbours.closeness(new, X), labels, 7, rng, weighted=True))
    # printed with -distance as similarity the votes are turned round
    d = neighbours.closeness(new, X)
    printed = np.take_along_axis(d * (2 * labels - 1), s["nearest"], axis=1).sum(axis=1)
    assert np.mean((printed > 0) == s["label"]) < 0.5
    three = np.arange(80) % 3  # more than two classes: sums by class, and the largest
    many = run(neighbours.votes(K, three, 9, rng, weighted=True))
    assert many["gamma"].shape == (40, 3)
    # the estimator takes the similarity as a function of the distance
    fast = kg.KNeighborsClassifier(7, weights=lambda d: np.exp(-(d**2) / 2)).fit(X, labels)
    assert np.array_equal(fast.predict(new), s["label"])
    assert np.allclose(fast.predict_proba(new), s["gamma"] / s["gamma"].sum(axis=1, keepdims=True))


@covers("first_encounter FE5.3", "first_encounter X5.a")
def test_X5_a_k_by_cross_validation():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((240, 2))
    labels = (X[:, 0] + X[:, 1] + 0.8 * rng.standard_normal(240) > 0).astype(int)

    def error(k):
        folds = KFold(6, shuffle=True, random_state=0).split(X)
        wrong = [
            np.mean(prediction(X[b], X[a], labels[a], k)["label"] != labels[b]) for a, b in folds
        ]
        return np.mean(wrong)

    errors = {k: error(k) for k in (1, 15, 45, 199)}
    best = min(errors, key=errors.get)
    assert best in (15, 45)  # too few neighbours are noisy, too many are everybody
    assert errors[1] > errors[best] + 0.02
    assert errors[199] > errors[best] + 0.02
    left_out = 1 - kg.KNeighborsClassifier().fit(X, labels).leave_one_out_scores(239)
    assert left_out[best - 1] < min(left_out[0], left_out[-1]) - 0.02


@covers("first_encounter X5.b", "first_encounter X5.c", "first_encounter FE5.4")
def test_X5_b_useless_features_drown_the_useful_ones():
    def accuracy(noise, keep=None):
        right = []
        for seed in range(3):
            X, labels = two(seed, noise=noise)
            new, truth = two(seed + 50, 100, noise)
            if keep is not None:  # univariate ranking: the gap of the means in deviations
                gap = np.abs(X[labels == 1].mean(0) - X[labels == 0].mean(0)) / X.std(0)
                kept = np.argsort(-gap)[:keep]
                X, new = X[:, kept], new[:, kept]
            own = prediction(new, X, labels, 5)["label"]
            assert np.array_equal(kg.KNeighborsClassifier(5).fit(X, labels).predict(new), own)
            right.append(np.mean(own == truth))
        return np.mean(right)

    assert accuracy(0) > 0.98
    assert 0.72 < accuracy(28) < 0.92
    assert accuracy(98) < 0.77
    assert accuracy(98, keep=2) > 0.97


@covers("first_encounter FE5.5", "first_encounter X5.d", "first_encounter T5.6")
def test_FE5_5_an_index_finds_the_same_neighbours():
    X, labels = two(5, 300, noise=1)
    new = two(6, 20, noise=1)[0]
    brute = prediction(new, X, labels, 10)["nearest"]  # "suggest 10 others"
    for algorithm in ("kd_tree", "brute"):
        index = kg.NearestNeighbors(n_neighbors=10, algorithm=algorithm).fit(X)
        assert np.array_equal(index.kneighbors(new)[1], brute)
    own = [run(neighbours.kd_tree(X, x))["at"] for x in new]
    assert np.array_equal(own, brute[:, 0])
    rng = np.random.default_rng(0)
    close = neighbours.closeness(new, X)
    other = run(neighbours.votes(np.exp(close / 50), labels, 10, rng))["nearest"]
    assert np.array_equal(np.sort(other), np.sort(brute))


@covers("first_encounter X5.f", "first_encounter E5.5")
def test_X5_f_it_keeps_the_data_where_a_parametric_rule_keeps_numbers():
    """k is a parameter, yet the rule is not parametric: it needs every row to answer."""
    sizes, work = [], []
    for n in (100, 400):
        X, labels = two(7, n)
        sizes.append(kg.NearestCentroid().fit(X, labels).centroids_.size)
        work.append(neighbours.closeness(X[:1], X).size)
        assert kg.KNeighborsClassifier().fit(X, labels).n_samples_fit_ == n
    assert sizes[0] == sizes[1]
    assert work[1] == 4 * work[0]


@covers("first_encounter T5.1", "first_encounter T5.2", "first_encounter T5.3")
@covers("first_encounter T5.4", "first_encounter T5.5")
def test_T5_1_claims_of_the_vote():
    X, labels = two(8, 61, noise=1)
    assert (prediction(X, X, labels, 1)["label"] == labels).all()
    assert kg.KNeighborsClassifier(1).fit(X, labels).score(X, labels) == 1
    conflicting = np.vstack([X, X[:1]]), np.append(labels, 1 - labels[0])
    assert (prediction(*conflicting[:1], *conflicting, 1)["label"] != conflicting[1]).any()
    most = np.bincount(labels).argmax()
    new = two(9, 30, noise=1)[0]
    assert (prediction(new, X, labels, len(X))["label"] == most).all()
    assert (kg.KNeighborsClassifier(len(X)).fit(X, labels).predict(new) == most).all()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    for k in (1, 3, 5):
        s = prediction(new, X, labels, k)
        assert not s["tie"].any()
        assert (prediction(new, X[order], labels[order], k)["label"] == s["label"]).all()
        fast = kg.KNeighborsClassifier(k).fit(X[order], labels[order])
        assert (fast.predict(new) == s["label"]).all()
    constant = np.full((4, len(X)), 0.3)
    weighted = run(neighbours.votes(constant, labels, 9, rng, weighted=True))
    assert (weighted["label"] == run(neighbours.votes(constant, labels, 9, rng))["label"]).all()
    midway = (X[labels == 0][:1] + X[labels == 1][:1]) / 2
    pair = np.vstack([X[labels == 0][:1], X[labels == 1][:1]])
    assert prediction(midway, pair, np.array([0, 1]), 2)["tie"].all()  # even k can tie


@covers("first_encounter E5.2", "first_encounter E5.3")
def test_E5_2_equal_similarities_at_rank_k_take_the_earlier_point():
    close = np.array([[1.0, 0.5, 0.5, 0.5]])
    s = run(neighbours.votes(close, np.array([0, 1, 0, 1]), 2, np.random.default_rng(0)))
    assert s["nearest"].tolist() == [[0, 1]]
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # three at distance 1
    for algorithm in ("kd_tree", "brute"):
        index = kg.NearestNeighbors(n_neighbors=2, algorithm=algorithm).fit(square)
        assert index.kneighbors([[0.0, 0.0]])[1].tolist() == [[0, 1]]
    rngs = [np.random.default_rng(i) for i in range(20)]
    coins = [run(neighbours.votes(close, np.array([0, 1, 0, 1]), 2, rng))["label"] for rng in rngs]
    answers = {int(label[0]) for label in coins}
    assert answers == {0, 1}  # the tie of the vote is a coin, the same for the same seed
