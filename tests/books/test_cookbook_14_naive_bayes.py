"""Cookbook, chapter 14: naive Bayes with binary features."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import SIDES, covers

import kilogram as kg
from kilogram.textbook import naive_bayes
from kilogram.textbook.state import run

# Figure 14.1: Dinner, Cinema, Buy, Viagra; three spam mails, two others
MAILS = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])
SPAM = np.array([1, 1, 1, 0, 0])
QUERY = np.array([[1, 0, 0, 0]])


class Textbook:
    def __init__(self, X, labels, a=1.0):
        s = run(naive_bayes.bernoulli(X, labels, a))
        self.prior, self.p = s["prior"], s["p"]

    def posterior(self, X):
        return run(naive_bayes.bernoulli_posterior(X, self.prior, self.p))["posterior"]


class Fast:
    """scikit-learn's class does not smooth the priors: the smoothed ones are given."""

    def __init__(self, X, labels, a=1.0):
        counts = np.bincount(labels)
        self.prior = (counts + a) / (counts.sum() + len(counts) * a)
        self.model = kg.BernoulliNB(alpha=a, class_prior=self.prior).fit(X, labels)
        self.p = np.exp(self.model.feature_log_prob_)

    def posterior(self, X):
        return self.model.predict_proba(X)


sides = pytest.mark.parametrize("side", [Textbook, Fast], ids=SIDES)


@covers("cookbook M14.1", "cookbook M14.2", "cookbook X14.1", "cookbook H14.1")
@sides
def test_X14_1_the_spam_mails(side):
    plain = side(MAILS, SPAM, 0.0)
    assert np.allclose(plain.p, [[0.5, 0.5, 0.5, 0], [0, 0, 2 / 3, 2 / 3]])
    assert np.allclose(plain.prior, [0.4, 0.6])
    assert np.allclose(plain.posterior(QUERY), [[1, 0]])
    smooth = side(MAILS, SPAM)
    assert np.allclose(smooth.p, [[0.5, 0.5, 0.5, 0.25], [0.2, 0.2, 0.6, 0.6]])
    assert np.allclose(smooth.prior, [3 / 7, 4 / 7])
    assert np.allclose(smooth.posterior(QUERY), [[0.7331, 0.2669]], atol=5e-5)


@covers("cookbook E14.1")
@sides
def test_E14_1_a_word_counts_only_where_it_stands(side):
    printed = np.array([[2.0] * 4, [3.0] * 4])  # N_dk += 1 for every d
    assert np.allclose(printed / printed[:, :1], 1)  # every word certain in every class
    right = side(MAILS, SPAM, 0.0).p * np.array([[2], [3]])
    assert np.allclose(right, [[1, 1, 1, 0], [0, 0, 2, 2]])


@covers("cookbook E14.2", "cookbook T14.1")
@sides
def test_E14_2_smoothed_frequencies_sum_to_one(side):
    N = np.array([2, 3])
    assert np.isclose(((N + 1) / (5 + 1)).sum(), 7 / 6)  # as printed: 1.167
    fitted = side(MAILS, SPAM)
    assert np.isclose(fitted.prior.sum(), 1)
    yes = fitted.p
    no = (N[:, None] - np.array([[1, 1, 1, 0], [0, 0, 2, 2]]) + 1) / (N + 2)[:, None]
    assert np.allclose(yes + no, 1)
    printed = (np.array([[1, 1, 1, 0], [0, 0, 2, 2]]) + 1) / (N + 1)[:, None]
    assert not np.allclose(printed + no, 1)


@covers("cookbook E14.3")
@sides
def test_E14_3_two_mails_that_are_no_spam_give_halves(side):
    assert np.allclose(side(MAILS, SPAM, 0.0).p[0], [0.5, 0.5, 0.5, 0])  # not 1/3, 1/3, 1/3, 0


@covers("cookbook E14.4")
@sides
def test_E14_4_absent_words_count_too(side):
    fitted = side(MAILS, SPAM, 0.0)
    present = fitted.prior * fitted.p[:, 0]
    assert np.allclose(present, [0.2, 0.0])  # the book's: the words present only
    absent = np.prod(1 - fitted.p[:, 1:], axis=1)
    assert np.allclose(present * absent, [0.05, 0.0])
    smooth = side(MAILS, SPAM)
    joint = smooth.prior * smooth.p[:, 0] * np.prod(1 - smooth.p[:, 1:], axis=1)
    assert np.allclose(smooth.posterior(QUERY)[0], joint / joint.sum())
    only = smooth.prior * smooth.p[:, 0]
    assert not np.allclose(smooth.posterior(QUERY)[0], only / only.sum(), atol=0.01)


@covers("cookbook E14.5", "cookbook T14.4")
def test_T14_4_how_many_numbers_a_class_needs():
    """K D + K - 1 numbers against 2^D - 1 for each class: D of a class, not 2 D."""
    model = kg.BernoulliNB().fit(MAILS, SPAM)
    K, D = 2, 4
    assert model.feature_log_prob_.size + K - 1 == K * D + K - 1
    assert model.feature_log_prob_.size < K * (2**D - 1)
    # log(1 - p) is no further parameter: it follows from p
    assert np.allclose(np.log1p(-np.exp(model.feature_log_prob_)), model._log_absent)


@covers("cookbook E14.6", "cookbook T14.5")
def test_T14_5_best_where_features_are_independent_given_the_class():
    """Rain and thunder are dependent, but not given lightning: then the model is the truth."""
    rng = np.random.default_rng(0)
    lightning = (rng.random(20_000) < 0.3).astype(int)
    p = np.array([[0.3, 0.05], [0.8, 0.95]])[lightning]
    X = (rng.random((20_000, 2)) < p).astype(int)
    assert abs(np.corrcoef(X.T)[0, 1]) > 0.2
    for k in (0, 1):
        assert abs(np.corrcoef(X[lightning == k].T)[0, 1]) < 0.03
    model = kg.BernoulliNB().fit(X, lightning)
    grid = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    rates = np.array([[0.3, 0.05], [0.8, 0.95]])
    joint = np.stack(
        [
            np.array([0.7, 0.3])[k] * np.prod(np.where(grid, rates[k], 1 - rates[k]), 1)
            for k in (0, 1)
        ],
        axis=1,
    )
    assert np.allclose(model.predict_proba(grid), joint / joint.sum(1, keepdims=True), atol=0.03)
    assert (model.predict(grid) == joint.argmax(axis=1)).all()


@covers("cookbook T14.2")
def test_T14_2_point_by_point_is_all_at_once():
    whole = kg.BernoulliNB().fit(MAILS, SPAM)
    stream = kg.BernoulliNB()
    for x, y in zip(MAILS, SPAM, strict=True):
        stream.partial_fit(x[None], [y], classes=[0, 1])
    assert np.allclose(stream.feature_log_prob_, whole.feature_log_prob_)
    order = np.array([3, 0, 4, 2, 1])
    reference = run(naive_bayes.bernoulli(MAILS[order], SPAM[order]))
    assert np.allclose(reference["p"], np.exp(whole.feature_log_prob_))


@covers("cookbook T14.3")
@sides
def test_T14_3_smoothing_leaves_no_class_impossible(side):
    grid = np.array([[a >> i & 1 for i in range(4)] for a in range(16)])
    assert (side(MAILS, SPAM).posterior(grid) > 0).all()
    assert (side(MAILS, SPAM, 0.0).posterior(QUERY) == 0).any()
