"""Naive Bayes, centroids, majority: agreement with scikit-learn, missing values, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes as peer
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import NearestCentroid

import kilogram as kg
from kilogram.functions import histograms
from kilogram.functions.bayes import cost_threshold, least_cost, log_posterior

X, Y = (a[:500] for a in load_digits(return_X_y=True))
W = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
CASES = [
    ("GaussianNB", {}),
    ("GaussianNB", {"priors": np.full(10, 0.1), "var_smoothing": 1e-3}),
    ("BernoulliNB", {}),
    ("BernoulliNB", {"binarize": 4.0, "alpha": 0.3, "fit_prior": False}),
    ("MultinomialNB", {}),
    ("MultinomialNB", {"alpha": np.linspace(0.1, 2, 64), "class_prior": np.full(10, 0.1)}),
    ("ComplementNB", {}),
    ("ComplementNB", {"norm": True, "alpha": 0.2}),
    ("CategoricalNB", {}),
    ("CategoricalNB", {"alpha": 0.1, "min_categories": 20}),
]


@pytest.mark.parametrize(("name", "params"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(name, params, weighted):
    w = W if weighted else None
    want = getattr(peer, name)(**params).fit(X, Y, w)
    got = getattr(kg, name)(**params).fit(X, Y, w)
    if name == "GaussianNB" and weighted:  # scikit-learn's epsilon_ ignores the weights
        np.testing.assert_allclose(got.theta_, want.theta_, atol=1e-12)
        np.testing.assert_allclose(got.var_ - got.epsilon_, want.var_ - want.epsilon_, atol=1e-10)
        return
    joint = want.predict_joint_log_proba(X)
    scale = np.abs(joint).max()
    np.testing.assert_allclose(got.predict_joint_log_proba(X) / scale, joint / scale, atol=1e-9)
    assert np.mean(got.predict(X) == want.predict(X)) > 0.99
    if name != "CategoricalNB":
        sparse = getattr(kg, name)(**params).fit(sp.csr_array(X), Y, w)
        np.testing.assert_allclose(
            sparse.predict_proba(sp.csr_array(X)), got.predict_proba(X), atol=1e-6
        )


@pytest.mark.parametrize(
    "name", ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"]
)
def test_weights_repeat_rows(name):
    make = getattr(kg, name)
    params = {"min_categories": 17} if name == "CategoricalNB" else {}
    repeated = make(**params).fit(np.repeat(X, W.astype(int), 0), np.repeat(Y, W.astype(int)))
    weighted = make(**params).fit(X, Y, W)
    a, b = weighted.predict_joint_log_proba(X), repeated.predict_joint_log_proba(X)
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("name", ["GaussianNB", "BernoulliNB", "CategoricalNB", "HistogramNB"])
def test_a_missing_value_is_a_column_left_out(name):
    make = lambda: getattr(kg, name)()  # noqa: E731
    columns = [10, 20, 21, 30]
    Z = X[:, columns]
    if name != "HistogramNB":  # whose bins look at all columns alike, too
        gaps = Z.copy()
        gaps[:, 1] = np.where(np.arange(len(Z)) % 3 == 0, np.nan, Z[:, 1])
        model = make().fit(gaps, Y)
        known = ~np.isnan(gaps[:, 1])
        own = make().fit(Z[known][:, [1]], Y[known])
        attribute = {"GaussianNB": "theta_", "BernoulliNB": "feature_log_prob_"}.get(name)
        if attribute:
            np.testing.assert_allclose(
                getattr(model, attribute)[:, 1], getattr(own, attribute)[:, 0]
            )
        else:
            np.testing.assert_allclose(model.feature_log_prob_[1], own.feature_log_prob_[0])
    full = make().fit(Z, Y)
    hidden = Z[:50].copy()
    hidden[:, 2] = np.nan
    left = make().fit(Z[:, [0, 1, 3]], Y)
    got, want = full.predict_proba(hidden), left.predict_proba(Z[:50][:, [0, 1, 3]])
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_nothing_smoothed_and_nothing_possible():
    model = kg.BernoulliNB(alpha=0).fit([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[1, 0], [1, 1]]), [[1, 0], [0.5, 0.5]])
    words = kg.MultinomialNB(alpha=0).fit([[2, 0], [0, 3]], [0, 1])
    np.testing.assert_allclose(words.predict_proba([[1, 0], [0, 0]]), [[1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(words.predict_proba([[1, 1]]), [[0.5, 0.5]])
    np.testing.assert_allclose(
        np.exp(log_posterior(np.full((1, 2), -np.inf), np.log([0.2, 0.8]))), [[0.2, 0.8]]
    )
    with pytest.warns(UserWarning, match="alpha too small"):
        kg.MultinomialNB(alpha=0, force_alpha=False).fit([[2, 0], [0, 3]], [0, 1])


def test_costs_move_the_decision():
    model = kg.GaussianNB().fit(X, Y > 4)
    p = model.predict_proba(X)
    costs = [[0, 10], [1, 0]]
    decided = model.decide(X, costs)
    log_odds = np.diff(model.predict_joint_log_proba(X), axis=1)[:, 0]
    assert (decided == (log_odds > cost_threshold(10, 1))).mean() == 1
    assert decided.sum() < model.predict(X).sum()
    np.testing.assert_array_equal(model.decide(X, [[0, 1], [1, 0]]), model.predict(X))
    np.testing.assert_array_equal(
        least_cost(p, [[0, 1, 0.1], [1, 0, 0.1]]) == 2, p.min(axis=1) > 0.1
    )
    with pytest.raises(ValueError, match="2 by 2"):
        model.decide(X, np.eye(3))
    with pytest.raises(ValueError, match="not negative"):
        least_cost(p, [[0, -1], [1, 0]])
    with pytest.raises(ValueError, match="positive"):
        cost_threshold(0, 1)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="Negative values"):
        kg.MultinomialNB().fit(-X, Y)
    started = kg.ComplementNB().partial_fit(X, Y, classes=np.arange(10))
    before = started.feature_count_.copy()
    with pytest.raises(ValueError, match="Negative values"):
        started.partial_fit(-X, Y)
    np.testing.assert_array_equal(
        started.partial_fit(X[: 0 + 1], Y[:1]).feature_count_.sum(), before.sum() + X[0].sum()
    )
    with pytest.raises(ValueError, match="whole numbers"):
        kg.CategoricalNB().fit(X + 0.5, Y)
    with pytest.raises(ValueError, match="did not list"):
        kg.GaussianNB().partial_fit(X, Y, classes=np.arange(10)).partial_fit(X[:1], [77])
    with pytest.raises(ValueError, match="is not the same as on the first call"):
        kg.GaussianNB().partial_fit(X, Y, classes=np.arange(10)).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="constant within a class"):
        kg.GaussianNB(var_smoothing=0).fit([[0.0, 1], [0, 2], [1, 3]], [0, 0, 1])
    with pytest.raises(ValueError, match="alpha must be"):
        kg.BernoulliNB(alpha=-1).fit(X, Y)
    with pytest.raises(ValueError, match="must be 10"):
        kg.GaussianNB(priors=[0.5, 0.5]).fit(X, Y)
    nothing = kg.GaussianNB().fit(np.ones((4, 2)), [0, 0, 0, 1])  # nothing varies: the priors
    np.testing.assert_allclose(nothing.predict_proba(np.ones((1, 2))), [[0.75, 0.25]])
    one = kg.GaussianNB().fit(X, np.zeros(len(Y)))
    assert (one.predict(X) == 0).all()


def test_a_class_that_never_comes_is_never_predicted():
    model = kg.GaussianNB().partial_fit(X, Y, classes=[*range(10), 99])
    assert 99 not in model.predict(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, -1], 0, atol=1e-12)


@pytest.mark.parametrize(
    "bins", ["freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out", 12]
)
def test_histograms_in_blocks_and_with_new_rows(bins):
    A, b = load_iris(return_X_y=True)
    model = kg.HistogramNB(bins).fit(A, b)
    assert model.score(A, b) > 0.93
    cuts = np.array_split(np.arange(150), 4)
    blocks = kg.HistogramNB(bins).fit([(A[c], b[c]) for c in cuts])
    np.testing.assert_allclose(blocks.predict_proba(A), model.predict_proba(A))
    more = kg.HistogramNB(bins).fit(A, b).partial_fit(A, b)  # the same bins, twice the counts
    np.testing.assert_allclose(more.bin_counts_[0], 2 * model.bin_counts_[0])
    with pytest.raises(ValueError, match="bins must be"):
        kg.HistogramNB("best").fit(A, b)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"metric": "manhattan"},
        {"shrink_threshold": 0.5},
        {"priors": "empirical"},
        {"shrink_threshold": 0.2, "metric": "manhattan"},
    ],
)
def test_centroids_agree_with_scikit_learn(params):
    A, b = load_iris(return_X_y=True)
    A, b = A[:130], b[:130]
    want, got = NearestCentroid(**params).fit(A, b), kg.NearestCentroid(**params).fit(A, b)
    np.testing.assert_allclose(got.centroids_, want.centroids_)
    np.testing.assert_allclose(got.deviations_, want.deviations_, atol=1e-9)
    np.testing.assert_array_equal(got.predict(A), want.predict(A))
    if "metric" not in params:
        np.testing.assert_allclose(got.decision_function(A), want.decision_function(A), rtol=1e-8)
        np.testing.assert_allclose(got.predict_proba(A), want.predict_proba(A), atol=1e-9)
    w = np.random.default_rng(1).integers(1, 4, 130)
    weighted = kg.NearestCentroid(**params).fit(A, b, w.astype(float))
    repeated = kg.NearestCentroid(**params).fit(np.repeat(A, w, 0), np.repeat(b, w))
    np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, rtol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_centroids_are_linear_rules(metric):
    A, b = load_iris(return_X_y=True)
    A = A + 1e3
    model = kg.NearestCentroid(metric=metric).fit(A, b)
    scores = A @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(A))
    if metric == "mahalanobis":
        even = kg.LinearDiscriminantAnalysis(priors=np.full(3, 1 / 3)).fit(A, b)
        np.testing.assert_array_equal(model.predict(A), even.predict(A))
    np.testing.assert_array_equal(
        kg.NearestCentroid(metric=metric).fit(sp.csr_array(A), b).predict(sp.csr_array(A)),
        model.predict(A),
    )


def test_centroids_refuse_what_they_cannot():
    with pytest.raises(ValueError, match="medians"):
        kg.NearestCentroid(metric="manhattan").fit([(X[:99], Y[:99]), (X[99:], Y[99:])])
    with pytest.raises(ValueError, match="zero variance"):
        kg.NearestCentroid().fit(np.ones((4, 2)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        kg.NearestCentroid().fit(np.where(X > 15, np.nan, X), Y)
    with pytest.raises(ValueError, match="metric must be"):
        kg.NearestCentroid(metric="cosine").fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kg.MajorityClassifier().fit(X, Y)


def test_a_single_normed_column_says_nothing():
    model = kg.ComplementNB(norm=True).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[4.0]]), [[0.5, 0.5]])


def test_weights_reach_the_held_out_rule():
    rng = np.random.default_rng(0)
    x, other = rng.standard_normal(80), rng.standard_normal(90)
    w, v = rng.integers(1, 5, 80), rng.integers(1, 5, 90)
    bins = np.arange(2, 40)
    got = histograms.held_out(x, other, bins, w=w, other_w=v)
    assert got == histograms.held_out(np.repeat(x, w), np.repeat(other, v), bins)
    few = np.r_[np.ones(40), np.full(40, 1e-9)]  # the second cloud hardly counts
    both = np.r_[rng.normal(0, 0.01, 40), rng.normal(5, 2, 40)]
    narrow = histograms.bin_width("held_out", both, few)
    assert narrow < histograms.bin_width("held_out", both, few[::-1])
