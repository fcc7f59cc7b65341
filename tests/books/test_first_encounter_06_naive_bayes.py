"""A First Encounter, chapter 6: naive Bayes for attributes with values, smoothing, thresholds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from book_checks import SIDES, covers
from sklearn.metrics import roc_auc_score

import kilogram as kg
from kilogram.functions.bayes import cost_threshold, least_cost
from kilogram.kitchen.features import TermCounts
from kilogram.textbook import naive_bayes
from kilogram.textbook.state import run

VALUES = (3, 2, 4)


class Textbook:
    def __init__(self, X, labels, values=VALUES, a=1.0):
        s = run(naive_bayes.categorical(X, labels, values, a))
        self.prior, self.p = s["prior"], s["p"]

    def scores(self, X):
        return run(naive_bayes.log_scores(X, self.prior, self.p))["S"]

    def table(self, c, i):
        return self.p[c, i]


class Fast:
    def __init__(self, X, labels, values=VALUES, a=1.0):
        self.model = kg.CategoricalNB(alpha=a, min_categories=list(values)).fit(X, labels)
        self.prior = np.exp(self.model.class_log_prior_)

    def scores(self, X):
        return self.model.predict_joint_log_proba(X)

    def table(self, c, i):
        return np.exp(self.model.feature_log_prob_[i][c])


sides = pytest.mark.parametrize("side", [Textbook, Fast], ids=SIDES)


def mails(seed, n=300):
    """Attributes drawn from tables of their own, 40 % spam."""
    rng = np.random.default_rng(seed)
    p = np.zeros((2, 3, 4))
    p[0, 0, :3], p[1, 0, :3] = (0.7, 0.2, 0.1), (0.3, 0.3, 0.4)
    p[0, 1, :2], p[1, 1, :2] = (0.9, 0.1), (0.5, 0.5)
    p[0, 2], p[1, 2] = (0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)
    s = run(naive_bayes.generate(np.array([0.6, 0.4]), p, n, rng))
    return s["X"], s["labels"], p


@covers("first_encounter FE6.1", "first_encounter FE6.2", "first_encounter FE6.3")
@covers("first_encounter FE6.4", "first_encounter D.4", "first_encounter T6.1")
@sides
def test_FE6_3_frequencies_of_values_and_scores_by_logarithms(side):
    X, labels, _ = mails(0)
    for a in (0.0, 0.5, 1.0):
        fitted = side(X, labels, a=a)
        assert np.isclose(fitted.prior[1], labels.mean())
        assert np.isclose(fitted.prior.sum(), 1)
        for c in (0, 1):
            for i, V in enumerate(VALUES):
                own = np.bincount(X[labels == c, i], minlength=V)
                want = (own + a) / (own.sum() + V * a)
                assert np.allclose(fitted.table(c, i)[:V], want)
                assert np.isclose(fitted.table(c, i).sum(), 1)
    S = fitted.scores(X[:5])
    by_hand = np.log(fitted.prior[1]) + sum(np.log(fitted.table(1, i)[X[0, i]]) for i in range(3))
    assert np.isclose(S[0, 1], by_hand)


@covers("first_encounter FE6.5", "first_encounter FE6.12", "first_encounter T6.8")
def test_FE6_5_a_threshold_is_a_ratio_of_costs():
    X, labels, _ = mails(1)
    model = kg.CategoricalNB(min_categories=list(VALUES)).fit(X, labels)
    S = model.predict_joint_log_proba(X)
    rng = np.random.default_rng(0)

    def answers(theta):
        return run(naive_bayes.threshold_decision(S, theta, rng))["predicted"]

    assert (answers(-np.inf) == 1).all()
    assert (answers(np.inf) == 0).all()
    shares = [answers(t).mean() for t in (-2, -1, 0, 1, 2)]
    assert (np.diff(shares) <= 0).all()
    assert shares[0] > shares[-1]
    # a false alarm costs 5, a miss 1: sigma(S_1 - S_0) against 5/6
    costs = np.array([[0.0, 5.0], [1.0, 0.0]])
    theta = cost_threshold(5, 1)
    assert np.isclose(theta, np.log(5))
    assert np.array_equal(model.decide(X, costs), answers(theta))
    p = model.predict_proba(X)
    assert np.allclose(p[:, 1], 1 / (1 + np.exp(S[:, 0] - S[:, 1])))
    assert np.array_equal(least_cost(p, costs), model.decide(X, costs))
    assert np.mean(answers(0) != labels) <= min(np.mean(answers(t) != labels) for t in (-2, 2))


@covers("first_encounter FE6.6", "first_encounter T6.2", "first_encounter T6.3")
@covers("first_encounter T6.9")
@sides
def test_FE6_6_smoothing_adds_pseudo_observations(side):
    X = np.array([[0], [0], [0], [0], [1]])
    labels = np.array([1, 1, 1, 1, 0])
    assert np.isclose(side(X, labels, (2,), 1.0).table(1, 0)[1], 1 / 6)
    assert side(X, labels, (2,), 0.0).table(1, 0)[1] == 0
    uniform = side(*mails(2)[:2], a=1e9)
    assert np.allclose(uniform.table(0, 2), 0.25, atol=1e-6)
    # one case of each value in each class, by hand
    more, which = np.vstack([X, [[0], [1], [0], [1]]]), np.append(labels, [0, 0, 1, 1])
    assert np.allclose(side(more, which, (2,), 0.0).table(1, 0), side(X, labels, (2,)).table(1, 0))


@covers("first_encounter FE6.7", "first_encounter X6.d")
def test_FE6_7_alpha_by_repeated_splits():
    X, labels, _ = mails(3, 60)
    alphas = [1e-6, 0.3, 3.0, 1e4]
    held, own = np.zeros(4), np.zeros(4)
    for seed in range(8):
        half = np.random.default_rng(seed).permutation(60) < 30
        for i, a in enumerate(alphas):
            model = kg.CategoricalNB(alpha=a, min_categories=list(VALUES)).fit(
                X[half], labels[half]
            )
            for part, out in ((half, own), (~half, held)):
                p = model.predict_log_proba(X[part])
                out[i] += p[np.arange(part.sum()), labels[part]].mean() / 8
    assert np.argmax(held) in (1, 2)  # too small fits too closely, too large says nothing
    assert np.argmax(own) == 0  # the training data always want none


@covers("first_encounter FE6.8", "first_encounter FE6.9", "first_encounter E6.5")
def test_FE6_8_words_and_phrases_as_values():
    """none, one, more; a phrase holds its words, so the two attributes are dependent."""
    from sklearn.feature_extraction.text import CountVectorizer

    spam = ["buy now cheap", "buy now buy now", "cheap via gra loan", "buy now"]
    ham = ["meet me now", "dinner now or never", "buy milk", "a loan of books"]
    words = CountVectorizer(ngram_range=(1, 2), vocabulary=["buy", "buy now", "loan", "via gra"])
    X = np.minimum(words.fit_transform(spam + ham).toarray(), 2)
    assert X.max() == 2
    labels = np.array([1] * 4 + [0] * 4)
    model = kg.CategoricalNB(min_categories=3).fit(X, labels)
    new = np.minimum(words.transform(["buy now now", "dinner with me"]).toarray(), 2)
    assert model.predict(new).tolist() == [1, 0]
    assert np.all(X[:, 0] >= X[:, 1])  # "buy now" cannot stand without "buy"
    assert np.corrcoef(X[:, 0], X[:, 1])[0, 1] > 0.8


@covers("first_encounter X6.g")
def test_X6_g_spam_among_real_messages():
    path = Path(os.environ.get("KILOGRAM_DATA", "")) / "sms_spam.csv.gz"
    if not path.is_file():
        pytest.skip("KILOGRAM_DATA has no sms_spam.csv.gz")
    table = pd.read_csv(path)
    spam, train = np.array(table["label"] == "spam"), np.arange(len(table)) % 4 > 0
    words = TermCounts().fit(table["text"][train])
    model = kg.MultinomialNB().fit(words.transform(table["text"][train]), spam[train])
    assert model.score(words.transform(table["text"][~train]), spam[~train]) > 0.97
    assert np.mean(~spam[~train]) < 0.9  # what "never spam" would reach
    weight = model.feature_log_prob_[1] - model.feature_log_prob_[0]
    names = words.get_feature_names_out()
    assert weight[names == "claim"] > 2 > -2 > weight[names == "lol"]


@covers("first_encounter FE6.10", "first_encounter X6.a", "first_encounter X6.g")
def test_X6_a_what_generated_the_mails_is_found_again():
    X, labels, p = mails(4, 20_000)
    assert np.isclose(labels.mean(), 0.4, atol=0.02)
    fitted = Fast(X, labels)
    for c in (0, 1):
        for i, V in enumerate(VALUES):
            assert np.allclose(fitted.table(c, i), p[c, i, :V], atol=0.02)
    # "viagra" of the text: 0 with 0.96, 1 with 0.01, 2 with 0.009, more with the rest
    rare = np.zeros((2, 1, 4))
    rare[1, 0], rare[0, 0] = (0.96, 0.01, 0.009, 0.021), (0.998, 0.001, 0.0005, 0.0005)
    s = run(naive_bayes.generate(np.array([0.6, 0.4]), rare, 40_000, np.random.default_rng(1)))
    model = kg.CategoricalNB().fit(s["X"], s["labels"])
    assert np.allclose(np.exp(model.feature_log_prob_[0][1]), rare[1, 0], atol=0.003)
    assert model.predict([[3]])[0] == 1


@covers("first_encounter FE6.11", "first_encounter X6.c", "first_encounter T6.7")
@covers("first_encounter D.17")
def test_FE6_11_the_roc_curve():
    X, labels, _ = mails(5, 600)
    S = Fast(X, labels).scores(X)
    gap = S[:, 1] - S[:, 0]
    s = run(naive_bayes.roc(gap, labels))
    assert (s["fpr"][0], s["tpr"][0]) == (1, 1)
    assert (s["fpr"][-1], s["tpr"][-1]) == (0, 0)
    assert (np.diff(s["fpr"]) <= 0).all()
    assert (np.diff(s["tpr"]) <= 0).all()
    area = -np.trapezoid(s["tpr"], s["fpr"])
    assert np.isclose(area, roc_auc_score(labels, gap))
    assert area > 0.75
    chance = run(naive_bayes.roc(np.random.default_rng(0).random(600), labels))
    assert abs(-np.trapezoid(chance["tpr"], chance["fpr"]) - 0.5) < 0.06


@covers("first_encounter X6.b", "first_encounter E6.6")
@sides
def test_X6_b_one_word_seen_in_ham_only(side):
    """ "Nigeria" outweighs any number of spam words without smoothing, and only then."""
    X = np.zeros((40, 6), dtype=int)
    labels = np.arange(40) % 2
    X[labels == 1, :5] = 1
    X[1, :5], X[0, :5] = 0, 1  # so that only the last word is exclusive
    X[2, 5] = 1  # a ham mail
    bad = np.array([[1, 1, 1, 1, 1, 1]])
    plain = side(X, labels, (2,) * 6, 0.0).scores(bad)
    assert plain[0, 1] == -np.inf
    assert np.isfinite(plain[0, 0])
    smooth = side(X, labels, (2,) * 6, 1.0).scores(bad)
    assert smooth[0, 1] > smooth[0, 0]


@covers("first_encounter X6.e", "first_encounter T6.6")
@sides
def test_X6_e_a_word_written_twice_is_believed_twice(side):
    X, labels, _ = mails(6)
    home = X[:, [2]]
    once, twice = side(home, labels, (4,)), side(np.hstack([home, home]), labels, (4, 4))

    def odds(S, prior):
        return S[:, 1] - S[:, 0] - np.log(prior[1] / prior[0])

    one = odds(once.scores(home), once.prior)
    two = odds(twice.scores(np.hstack([home, home])), twice.prior)
    assert np.allclose(two, 2 * one)
    joint = home * 4 + home  # one attribute of both words: the dependency modelled
    both = side(joint, labels, (16,), 0.0).scores(joint)
    assert np.allclose(
        odds(both, once.prior), odds(side(home, labels, (4,), 0.0).scores(home), once.prior)
    )


@covers("first_encounter X6.f", "first_encounter T6.4", "first_encounter T6.5")
def test_X6_f_products_underflow_where_sums_of_logs_do_not():
    rng = np.random.default_rng(7)
    X, labels = rng.integers(0, 4, (60, 1000)), np.arange(60) % 2
    X[labels == 1] = np.minimum(X[labels == 1] + (rng.random((30, 1000)) < 0.2), 3)
    model = kg.CategoricalNB().fit(X, labels)
    p = np.stack(
        [
            np.prod([np.exp(t[c, v]) for t, v in zip(model.feature_log_prob_, X[0], strict=True)])
            for c in (0, 1)
        ]
    )
    assert (p == 0).all()
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    few = kg.CategoricalNB().fit(X[:, :5], labels)
    product = np.exp(few.predict_joint_log_proba(X[:, :5]))
    assert (few.predict(X[:, :5]) == product.argmax(axis=1)).all()
    swapped = kg.CategoricalNB().fit(X[:, :5], 1 - labels)
    assert (swapped.predict(X[:, :5]) == 1 - few.predict(X[:, :5])).all()


@covers("first_encounter E6.1")
@sides
def test_E6_1_V_is_the_number_of_values(side):
    X, labels, _ = mails(8, 100)
    counts = np.bincount(X[labels == 0, 2], minlength=5)  # values 0..V as printed: one too many
    printed = (counts + 1) / (counts.sum() + 4)
    assert printed.sum() > 1.005
    assert np.isclose(side(X, labels).table(0, 2).sum(), 1)


@covers("first_encounter E6.2")
def test_E6_2_what_is_filtered_does_not_reach_you():
    X, labels, _ = mails(9, 800)
    filtered = Fast(X, labels).scores(X).argmax(axis=1) == 1
    reaches = ~filtered
    assert np.mean(labels[reaches]) < np.mean(labels) < np.mean(labels[filtered])


@covers("first_encounter E6.3", "first_encounter E6.4")
def test_E6_3_values_that_no_class_has_seen():
    X, labels = np.array([[0], [1], [0], [1]]), np.array([0, 0, 1, 1])
    unseen = kg.CategoricalNB(alpha=0.0, min_categories=3, class_prior=[0.3, 0.7]).fit(X, labels)
    ref = run(naive_bayes.log_scores(np.array([[2]]), np.array([0.5, 0.5]), np.zeros((2, 1, 3))))
    with np.errstate(invalid="ignore"):
        assert np.isnan(ref["S"][0, 1] - ref["S"][0, 0])  # -inf - (-inf)
    assert np.allclose(unseen.predict_proba([[2]]), [[0.3, 0.7]])  # ours: the priors decide
    strict = kg.CategoricalNB().fit(X, labels)
    with pytest.raises(ValueError, match="has the value 7"):
        strict.predict([[7]])
    lenient = kg.CategoricalNB(handle_unknown="ignore").fit(X, labels)
    assert np.allclose(lenient.predict_proba([[7]]), [[0.5, 0.5]])
