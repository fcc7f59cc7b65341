"""Slides, lectures 2, 4 and 5: lengths and angles, scaling, text features, reports."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import classification_report
from sklearn.pipeline import Pipeline

import kilogram as kg
from kilogram.evaluation import class_report
from kilogram.functions.correlation import angle, cosine, norm, pearson
from kilogram.functions.encodings import idf_plain
from kilogram.kitchen.features import ColumnScaler, TermCounts, TermWeights

REVIEWS = ["This is a horrible movie", "a great movie", "a fantastic movie"]
CORPUS = ["This is the first document.", "This document is the second document.",
          "And this is the third one.", "Is this the first document?"]  # fmt: skip
PEANUTS = ["if you pay peanuts , you get monkeys ."]


@covers("slides B2.1", "slides B2.2", "slides B2.3", "slides B2.4")
def test_B2_lengths_angles_and_correlation():
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=(2, 30))
    assert np.isclose(v @ w, np.sum(v * w))
    for p in (1, 2, 3.5):
        assert np.isclose(norm(v, p), np.sum(np.abs(v) ** p) ** (1 / p))
    assert np.isclose(norm(v / norm(v)), 1)
    assert norm(1e200 * v) < np.inf
    assert -1 <= cosine(v, v * 3) <= 1
    assert np.isclose(angle(np.array([1.0, 0]), np.array([1.0, 1])), np.pi / 4)
    assert cosine(v, 0 * v) == 0
    assert np.isclose(pearson(v + 5, w - 3), np.corrcoef(v, w)[0, 1])
    assert not np.isclose(cosine(v + 5, w - 3), pearson(v, w))
    with pytest.raises(ValueError, match="triangle"):
        norm(v, 0.5)


@covers("slides B2.5", "slides B2.6", "slides B2.7", "slides B2.9", "slides B2.10")
def test_B2_matrices_as_maps():
    X = np.array([[1, 3, 4], [2, 4, 2]])
    swap = np.array([[0, 1], [1, 0]])
    assert (swap @ X).tolist() == [[2, 4, 2], [1, 3, 4]]
    assert (swap @ [[3, 2], [-2, 7]]).tolist() == [[-2, 7], [3, 2]]
    product = np.array([[2, 3], [-1, 5]]) @ [[3, 2, 8], [7, 5, 1]]
    assert product.tolist() == [[27, 19, 19], [32, 23, -3]]
    A = np.ones((2, 3))
    assert (A @ np.ones(3)).shape == (2,)  # a U x V matrix takes V numbers to U, not the reverse
    half_turn = np.array([[np.cos(np.pi), -np.sin(np.pi)], [np.sin(np.pi), np.cos(np.pi)]])
    assert np.allclose(half_turn, -np.eye(2))  # -I turns, it does not mirror
    assert np.isclose(np.linalg.det(-np.eye(2)), 1)
    assert np.isclose(np.linalg.det(np.diag([-1, 1])), -1)
    K = kg.Linear()(X.T)  # turned and mirrored points have the same products, halved ones a quarter
    for turn in (half_turn, swap, np.diag([-1, 1])):
        assert np.allclose(kg.Linear()((turn @ X).T), K)
    assert np.allclose(kg.Linear()((np.diag([0.5, 0.5]) @ X).T), K / 4)


@covers("slides B4.1", "slides B4.2", "slides B4.3")
def test_B4_2_three_reviews():
    counts = TermCounts().fit(REVIEWS)
    assert list(counts.get_feature_names_out()) == ["fantastic", "great", "horrible", "is", "movie",
                                                    "this"]  # fmt: skip
    X = counts.transform(REVIEWS)
    assert X.nnz == 8
    assert X.toarray().tolist() == [[0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 0]]
    pipeline = Pipeline([("counts", TermCounts()), ("model", kg.NearestCentroid())])
    pipeline.fit(REVIEWS, [-1, 1, 1])
    assert pipeline.predict(REVIEWS).tolist() == [-1, 1, 1]
    assert pipeline.set_params(counts__n=2).get_params()["counts__n"] == 2
    assert "a" not in counts.get_feature_names_out()  # a term has two letters or more


@covers("slides B4.4", "slides B4.5", "slides B4.6")
def test_B4_4_z_scores_and_min_max():
    X = [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    z = ColumnScaler("standard").fit(X)
    assert np.allclose(z.transform([[0.5, 0.5], [2, 2]]), [[0, 0], [3, 3]])
    assert not np.isclose((2 - 0.5) / np.std([0, 0, 1, 1], ddof=1), 3)
    m = ColumnScaler("minmax").fit([[2.0], [4.0]])
    assert m.transform([[2.0], [3.0], [5.0]]).ravel().tolist() == [0, 0.5, 1.5]
    assert ColumnScaler("standard").fit([[1.0], [1.0]]).transform([[1.0]]).tolist() == [[0]]


@covers("slides B4.7", "slides B4.8")
def test_B4_7_one_hot_in_both_orders():
    from kilogram.functions.encodings import one_hot

    given, by_name = ["red", "green", "blue"], ["blue", "green", "red"]
    assert one_hot(np.array([given.index("red")]), 3).tolist() == [[1, 0, 0]]
    assert one_hot(np.array([by_name.index("red")]), 3).tolist() == [[0, 0, 1]]
    # a set of words is the sum of its one-hot rows
    bag = one_hot(np.array([0, 2]), 3).sum(axis=0)
    assert bag.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="codes must lie"):
        one_hot(np.array([3]), 3)


@covers("slides B4.9", "slides B4.10", "slides B4.11")
def test_B4_10_peanuts():
    words = TermCounts().fit(PEANUTS)
    row = words.transform(PEANUTS).toarray()[0]
    found = dict(zip(words.get_feature_names_out(), row, strict=True))
    assert found == {"get": 1, "if": 1, "monkeys": 1, "pay": 1, "peanuts": 1, "you": 2}
    pairs = set(TermCounts(n=2).fit(PEANUTS).get_feature_names_out())
    assert {"if you", "you pay", "pay peanuts", "you get", "get monkeys"} <= pairs
    letters = TermCounts("char", 2).fit(PEANUTS)
    by_letter = dict(zip(letters.get_feature_names_out(),
                         letters.transform(PEANUTS).toarray()[0], strict=True))  # fmt: skip
    assert (by_letter["e"], by_letter["t"], by_letter["g"]) == (3, 2, 1)  # not 1 and 1
    assert (by_letter["ge"], by_letter["et"]) == (1, 1)


@covers("slides B4.12", "slides B4.13", "slides B4.14")
def test_B4_14_two_formulas_are_printed_as_one():
    counts = TermCounts().fit(CORPUS)
    terms = list(counts.get_feature_names_out())
    assert terms == ["and", "document", "first", "is", "one", "second", "the", "third", "this"]
    X = counts.transform(CORPUS)
    printed = [[0, 1, 1, 1, 0, 0, 1, 0, 1], [0, 2, 0, 1, 0, 1, 1, 0, 1],
               [1, 0, 0, 1, 1, 0, 1, 1, 1], [0, 1, 1, 1, 0, 0, 1, 0, 1]]  # fmt: skip
    assert X.toarray().tolist() == printed
    plain = TermWeights("plain").fit(X)
    idf = dict(zip(terms, plain.idf_, strict=True))
    assert idf["is"] == idf["the"] == idf["this"] == 0
    assert np.isclose(idf["document"], np.log(4 / 3))
    assert np.isclose(idf["first"], np.log(2))
    assert np.allclose([idf[t] for t in ("and", "one", "second", "third")], np.log(4))
    smooth = TermWeights("smooth").fit(X).transform(X).toarray()
    assert np.allclose(smooth, TfidfVectorizer().fit_transform(CORPUS).toarray())
    assert not np.allclose(smooth, plain.transform(X).toarray())
    with pytest.raises(ValueError, match="no document"):
        idf_plain(np.array([0]), 4)


@covers("slides B4.15", "slides B4.16", "slides B4.18")
def test_B4_15_stop_words_and_the_cost_of_triples():
    kept = TermCounts(stop_words=["is", "the", "this"]).fit(CORPUS).get_feature_names_out()
    assert not {"is", "the", "this"} & set(kept)
    words = ["aa", "bb", "cc"]
    triples = {(a, b, c) for a in words for b in words for c in words}
    assert len(triples) == 3**3
    buckets = TermCounts(buckets=8).fit(CORPUS).transform(CORPUS)
    assert buckets.shape[1] == 8  # values 0 .. 7: N values, not N + 1


@covers("slides B5.1", "slides B5.3", "slides B5.5", "slides B5.9")
def test_B5_9_a_report_with_its_arguments_swapped():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 600, p=[0.6, 0.3, 0.1])
    guess = np.where(rng.uniform(size=600) < 0.5, truth, 0)
    right = class_report(truth=truth, prediction=guess)
    swapped = class_report(truth=guess, prediction=truth)
    for k in range(3):
        assert np.isclose(right.classes[k].precision, swapped.classes[k].recall)
        assert np.isclose(right.classes[k].f1, swapped.classes[k].f1)
    assert swapped.support[0] == np.sum(guess == 0) != np.sum(truth == 0)
    assert not np.isclose(right.weighted[2], swapped.weighted[2])
    assert np.isclose(right.accuracy, np.mean(truth == guess))
    theirs = classification_report(truth, guess, output_dict=True, zero_division=0)
    assert np.isclose(right.weighted[2], theirs["weighted avg"]["f1-score"])
    with pytest.raises(TypeError):  # by keyword only, so that the arguments cannot be swapped
        class_report(guess, truth)


@covers("slides B5.10")
def test_B5_10_the_default_of_SGD_is_no_logistic_regression():
    assert SGDClassifier().loss == "hinge"
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    assert not hasattr(SGDClassifier().fit(X, y), "predict_proba")
    assert hasattr(kg.LogisticRegression().fit(X, y), "predict_proba")
