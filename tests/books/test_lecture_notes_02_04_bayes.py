"""Lecture notes, lectures 2 to 4: Bayes' rule, error bounds, neighbours, nearest means."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from scipy.spatial import Delaunay
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.functions import bayes as rules
from kilogram.textbook import bayes, neighbours
from kilogram.textbook.state import run

ZERO, ONE = (lambda x: 2 - 2 * x), (lambda x: 2 * x)
EVEN = np.array([0.5, 0.5])
GRID = np.linspace(0, 1, 20_001)


def nearest(new, X, labels, k=1, seed=0):
    """Textbook votes; the estimator has to agree wherever there is no tie."""
    close = neighbours.closeness(new, X)
    s = run(neighbours.votes(close, labels, k, np.random.default_rng(seed)))
    fast, sure = kg.KNeighborsClassifier(k).fit(X, labels), ~s["tie"]
    # in exact ties of distance the two may round differently
    ranked = -np.sort(-close, axis=1)
    sure &= (ranked[:, k - 1] - ranked[:, min(k, len(X) - 1)] > 1e-12) | (k == len(X))
    assert np.array_equal(fast.predict(new)[sure], s["label"][sure])
    return s["label"]


@covers("lecture_notes L02.M1", "lecture_notes L02.X2")
def test_L02_M1_errors_lie_off_the_diagonal():
    labels, said = np.array([1, 1, 1, 0, 0, 0, 0]), np.array([1, 0, 1, 0, 1, 0, 0])
    s = run(bayes.confusion(labels, said, 2))
    (tn, fp), (fn, tp) = s["table"]
    assert (tn, fp, fn, tp) == (3, 1, 1, 2)  # the false positives are FP, not "FT"
    assert np.isclose(s["error"], (fn + fp) / (tn + fn + fp + tp))
    many = run(bayes.confusion(np.arange(30) % 3, np.arange(30) % 5 % 3, 3))
    assert np.isclose(many["error"], np.mean(np.arange(30) % 3 != np.arange(30) % 5 % 3))


@covers("lecture_notes L02.M2", "lecture_notes L02.X3")
def test_L02_M2_the_majority_is_the_best_rule_that_does_not_look():
    labels = np.repeat([0, 1, 2], [10, 60, 30])
    X = np.zeros((100, 1))
    model = kg.MajorityClassifier().fit(X, labels)
    assert (model.predict(X) == 1).all()
    assert np.isclose(model.error_, 0.4)
    assert np.isclose(rules.majority_error([0.1, 0.6, 0.3]), 0.4)
    guess = np.random.default_rng(0).integers(0, 3, 200_000)
    truth = np.random.default_rng(1).choice(3, p=[0.1, 0.6, 0.3], size=200_000)
    assert np.isclose(np.mean(guess != truth), rules.guessing_error(3), atol=0.01)
    always_wrong = (labels + 1) % 3  # X3: no bound for classifiers at large
    assert np.mean(always_wrong != labels) > model.error_


@covers("lecture_notes L02.M3", "lecture_notes L02.T2", "lecture_notes L02.G2")
def test_L02_M3_the_bayes_error_by_quadrature_and_by_sampling():
    assert np.isclose(rules.bayes_error([ZERO, ONE], EVEN, GRID), 0.25, atol=1e-6)
    rng = np.random.default_rng(0)
    samples = [1 - np.sqrt(1 - rng.random(40_000)), np.sqrt(rng.random(40_000))]
    assert np.isclose(rules.sampled_bayes_error(samples, [ZERO, ONE], EVEN), 0.25, atol=0.005)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    error = rules.bayes_error([ZERO, ONE], EVEN, (nodes + 1) / 2, weights / 2)
    assert np.isclose(error, 0.25, atol=1e-4)
    for seed in range(20):  # T2: never above the majority's
        rng = np.random.default_rng(seed)
        likelihood = rng.dirichlet(np.ones(6), size=3).T
        prior = rng.dirichlet(np.ones(3))
        assert (
            run(bayes.bayes_rule(likelihood, prior))["error"] <= rules.majority_error(prior) + 1e-12
        )
    posterior = rules.posterior(np.stack([ZERO(GRID), ONE(GRID)], axis=1), EVEN)
    change = np.flatnonzero(np.diff(rules.most_probable(posterior)))
    assert len(change) == 1  # G2: two regions, which meet where the posteriors do
    assert np.isclose(GRID[change[0]], 0.5, atol=1e-3)


@covers("lecture_notes L02.M4", "lecture_notes L02.G1", "lecture_notes L02.E1")
def test_L02_E1_the_pens():
    likelihood = np.array([[2, 5], [5, 2]]) / 7  # rows ballpen, fineliner; columns red, black
    s = run(bayes.bayes_rule(likelihood, EVEN))
    assert np.allclose(s["evidence"], 0.5)
    assert np.allclose(s["posterior"][0], [2 / 7, 5 / 7])
    assert np.isclose(s["error"], 2 / 7)
    assert np.allclose(rules.posterior(likelihood, EVEN), s["posterior"])
    assert np.allclose(rules.odds(likelihood, EVEN, 0, 1), likelihood[:, 0] / likelihood[:, 1])
    # generative: the same from counted pens, and new pens can be drawn
    rng = np.random.default_rng(0)
    red = rng.integers(0, 2, 30_000)
    ballpen = (rng.random(30_000) < np.where(red == 1, 2 / 7, 5 / 7)).astype(int)
    model = kg.CategoricalNB().fit(ballpen[:, None], red)
    assert np.isclose(model.predict_proba([[1]])[0, 1], 2 / 7, atol=0.01)


@covers("lecture_notes L02.E2", "lecture_notes L02.T1", "lecture_notes L02.X1")
def test_L02_T1_errors_of_two_threshold_rules():
    t = np.linspace(0, 1, 21)
    s = run(bayes.threshold_errors(t))
    assert np.allclose(s["a"], 0.25 + (t - 0.5) ** 2)
    assert np.allclose(s["b"], 0.75 - (t - 0.5) ** 2)
    assert np.isclose(t[s["a"].argmin()], 0.5)
    # X1: the integrands printed for rule a, (1 - x) below t and x above, are rule b's
    printed = [
        np.trapezoid(np.where(u <= at, 1 - u, u), u) for at in t for u in [np.linspace(0, 1, 4001)]
    ]
    assert np.allclose(printed, s["b"], atol=1e-3)
    x, labels = bayes.toy(200_000, np.random.default_rng(0))
    assert np.isclose(np.mean((x > 0.3) != labels), 0.25 + 0.04, atol=0.005)
    assert np.isclose(np.mean(x[labels == 1]), 2 / 3, atol=0.005)


@covers("lecture_notes L03.M1")
def test_L03_M1_maximum_likelihood_is_bayes_under_equal_priors():
    likelihood = np.stack([ZERO(GRID), ONE(GRID)], axis=1)
    ml = rules.maximum_likelihood(likelihood)
    assert np.array_equal(ml, rules.most_probable(rules.posterior(likelihood, EVEN)))
    uneven = rules.most_probable(rules.posterior(likelihood, [0.9, 0.1]))
    assert np.mean(ml != uneven) > 0.3
    error = 1 - np.trapezoid(likelihood.max(axis=1), GRID) / 2
    assert np.isclose(error, 0.25, atol=1e-6)


@covers("lecture_notes L03.M2", "lecture_notes L03.E2", "lecture_notes L03.T2")
def test_L03_M2_one_neighbour_and_its_cells():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    assert (nearest(X, X, labels) == labels).all()
    twice = np.vstack([X, X[:1]]), np.append(labels, 1 - labels[0])
    assert (nearest(twice[0], *twice) != twice[1]).any()  # without the proviso it is not 0
    i, j = np.flatnonzero(labels == 0)[0], np.flatnonzero(labels == 1)[0]
    pair, names = X[[i, j]], labels[[i, j]]
    middle, along = pair.mean(axis=0), pair[1] - pair[0]
    assert nearest((middle - 0.01 * along)[None], pair, names)[0] == 0
    assert nearest((middle + 0.01 * along)[None], pair, names)[0] == 1


@covers("lecture_notes L03.M3", "lecture_notes L03.M4", "lecture_notes L03.G1")
@covers("lecture_notes L03.G3", "lecture_notes L03.X2")
def test_L03_M4_cross_validation_sees_the_optimism():
    x, labels = bayes.toy(300, np.random.default_rng(1))
    X = x[:, None]
    for K in (2, 5, 10):
        errors = [
            np.mean(nearest(X[b], X[a], labels[a]) != labels[b])
            for a, b in KFold(K, shuffle=True, random_state=0).split(X)
        ]
        assert abs(np.mean(errors) - 1 / 3) < 0.1
        assert np.var(errors) > 0
    training = np.mean(nearest(X, X, labels) != labels)
    assert training == 0  # so all of the error is optimism: OTS error = TS error + omega
    truth = np.sort(labels)  # G3: folds must be drawn, not cut in order
    halves = list(KFold(2).split(X))
    majority = [kg.MajorityClassifier().fit(X[a], truth[a]).predict(X[b]) for a, b in halves]
    cut = [np.mean(said != truth[b]) for said, (_, b) in zip(majority, halves, strict=True)]
    assert np.mean(cut) > 0.9


@covers("lecture_notes L03.E1", "lecture_notes L03.T1")
def test_L03_T1_one_prototype_of_each_class():
    s = run(bayes.one_prototype_each())
    assert np.isclose(s["p_a"] + s["p_b"], 1, atol=1e-4)
    assert np.isclose(s["p_a"], 5 / 6, atol=1e-4)
    assert np.isclose(s["error"], 7 / 20, atol=1e-4)
    rng = np.random.default_rng(0)
    zero, one = 1 - np.sqrt(1 - rng.random(200_000)), np.sqrt(rng.random(200_000))
    t = (zero + one) / 2
    error = np.where(zero < one, 0.25 + (t - 0.5) ** 2, 0.75 - (t - 0.5) ** 2)
    assert np.isclose(error.mean(), 0.35, atol=0.002)
    assert np.isclose(np.mean(zero < one), 5 / 6, atol=0.003)


@covers(
    "lecture_notes L03.T3", "lecture_notes L03.T4", "lecture_notes L03.G2", "lecture_notes L03.X1"
)
def test_L03_T3_the_bound_of_cover_and_hart():
    """As in Duda, Hart and Stork, 4.5."""
    for C in (2, 3, 10):
        assert rules.nearest_neighbour_bounds(0.0, C) == (0.0, 0.0)
        worst = (C - 1) / C
        assert np.isclose(rules.nearest_neighbour_bounds(worst, C)[1], worst)
    assert np.isclose(rules.nearest_neighbour_bounds(1e-6, 4)[1], 2e-6, rtol=1e-5)
    low, high = rules.nearest_neighbour_bounds(0.25, 2)
    assert (low, high) == (0.25, 0.375)
    x, labels = bayes.toy(60_000, np.random.default_rng(0))
    order = np.argsort(x)
    x, labels = x[order], labels[order]
    new, truth = bayes.toy(20_000, np.random.default_rng(1))
    at = np.clip(np.searchsorted(x, new), 1, len(x) - 1)
    at = np.where(new - x[at - 1] < x[at] - new, at - 1, at)
    error = np.mean(labels[at] != truth)
    assert np.isclose(error, 1 / 3, atol=0.01)  # E[2x(1 - x)]: not consistent, but within bounds
    assert low < error < high
    with pytest.raises(ValueError, match=r"between 0 and 0\.5"):
        rules.nearest_neighbour_bounds(0.6, 2)


@covers("lecture_notes L04.M1", "lecture_notes L04.T1")
def test_L04_T1_many_neighbours_reach_the_bayes_error():
    x, labels = bayes.toy(2500, np.random.default_rng(0))
    new, truth = bayes.toy(1000, np.random.default_rng(1))
    k = int(np.sqrt(2500)) | 1
    error = np.mean(nearest(new[:, None], x[:, None], labels, k) != truth)
    one = np.mean(nearest(new[:, None], x[:, None], labels) != truth)
    assert abs(error - 0.25) < 0.03
    assert abs(one - 1 / 3) < 0.03
    logarithm = np.mean(nearest(new[:, None], x[:, None], labels, int(np.log(2500)) | 1) != truth)
    assert error - 0.02 < logarithm < one


@covers("lecture_notes L04.M2", "lecture_notes L04.T3")
def test_L04_M2_condensing_keeps_what_it_got_wrong():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 2))
    labels = (X[:, 0] > 0).astype(int)
    states = list(neighbours.condensed(X, labels))
    active = states[-1]["active"]
    assert 2 <= len(active) < 60
    for i, s in enumerate(states):  # every dropped point was right when visited
        assert bool(s["right"]) == (i not in active)
    new = rng.standard_normal((400, 2))
    full, few = nearest(new, X, labels), nearest(new, X[active], labels[active])
    assert 0 < np.mean(full != few) < 0.2
    other = run(neighbours.condensed(X[::-1], labels[::-1]))["active"]
    assert set(119 - other) != set(active)  # order matters
    # one pass does not suffice; repeated until all rows are right it is Hart's rule
    kept = kg.condensed_neighbors(X, labels, random_state=0)
    assert 2 <= len(kept) < 60
    assert (nearest(X, X[kept], labels[kept]) == labels).all()


@covers("lecture_notes L04.M3")
def test_L04_M3_editing_by_voronoi_neighbours_leaves_the_boundary():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 2))
    labels = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    indptr, indices = Delaunay(X).vertex_neighbor_vertices
    mixed = [
        i for i in range(150) if (labels[indices[indptr[i] : indptr[i + 1]]] != labels[i]).any()
    ]
    assert len(mixed) < 100
    new = 1.5 * rng.standard_normal((800, 2))
    assert (nearest(new, X, labels) == nearest(new, X[mixed], labels[mixed])).all()
    # Wilson's editing removes the other kind: rows that their neighbours outvote
    noisy = labels.copy()
    noisy[::15] = 1 - noisy[::15]
    kept = kg.edited_neighbors(X, noisy, n_neighbors=3)
    assert np.mean(noisy[kept] == labels[kept]) > 0.97 > np.mean(noisy == labels)


@covers("lecture_notes L04.M4", "lecture_notes L04.T2", "lecture_notes L04.X1")
def test_L04_T2_a_tree_finds_what_brute_force_finds():
    rng = np.random.default_rng(4)

    def visits(d, n=400):
        X, new = rng.standard_normal((n, d)), rng.standard_normal((10, d))
        found = [run(neighbours.kd_tree(X, x)) for x in new]
        brute = neighbours.closeness(new, X).argmax(axis=1)
        assert [int(s["at"]) for s in found] == brute.tolist()
        for algorithm in ("kd_tree", "brute"):
            index = kg.NearestNeighbors(n_neighbors=1, algorithm=algorithm).fit(X)
            assert np.array_equal(index.kneighbors(new)[1][:, 0], brute)
        return np.mean([s["visited"] for s in found])

    few, many = visits(2), visits(12)
    assert few < 60  # of 400: 2^d log N
    assert many > 250  # 2^12 log N is beyond N: the cost is d min(N, 2^d log N)
    X = np.zeros((5, 2))
    assert run(neighbours.kd_tree(X, np.zeros(2)))["at"] == 0  # ties by index
    tree = kg.NearestNeighbors(n_neighbors=1, algorithm="kd_tree").fit(X)
    assert tree.kneighbors(np.zeros((1, 2)))[1][0, 0] == 0


@covers("lecture_notes L04.M5", "lecture_notes L04.G1")
def test_L04_M5_a_distance_is_abandoned_early():
    rng = np.random.default_rng(5)
    X, x = rng.standard_normal((200, 30)), rng.standard_normal(30)
    s = run(neighbours.partial_distance(x, X))
    assert s["at"] == neighbours.closeness(x[None], X).argmax()
    assert s["additions"] < 0.8 * X.size  # brute force: d N


@covers("lecture_notes L04.M6", "lecture_notes L04.E1", "lecture_notes L04.G3")
def test_L04_E1_elongated_clusters_fail_the_nearest_mean():
    rng = np.random.default_rng(6)
    labels = np.arange(600) % 2
    long = np.c_[6 * rng.standard_normal(600), 0.4 * rng.standard_normal(600)]
    turned = np.where(labels[:, None] == 1, long[:, ::-1] + [0.0, 2.0], long)
    near = kg.NearestCentroid().fit(turned, labels)
    shaped = kg.QuadraticDiscriminantAnalysis().fit(turned, labels)
    assert near.score(turned, labels) < 0.82
    assert shaped.score(turned, labels) > 0.93
    d = 2  # G3: a sphere has d + 1 numbers, an ellipsoid d + d(d + 1)/2
    assert near.centroids_[0].size + 1 == d + 1
    own = shaped.means_[0].size + len(np.triu_indices(len(shaped.scalings_[0]))[0])
    assert own == d + d * (d + 1) // 2


@covers("lecture_notes L04.E2", "lecture_notes L04.G2")
def test_L04_E2_units_decide_distances():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 2))
    labels = (X[:, 0] > 0).astype(int)
    scaled = X * [1.0, 1000.0]
    a, b = slice(0, 200), slice(200, 300)

    def right(Z):
        return np.mean(nearest(Z[b], Z[a], labels[a], 5) == labels[b])

    assert right(X) > 0.93
    assert right(scaled) < 0.75
    assert np.isclose(right((scaled - scaled.mean(0)) / scaled.std(0)), right(X), atol=0.04)


@covers("lecture_notes L04.G4")
def test_L04_G4_binary_codes_keep_near_points_near():
    """Signs of 64 random projections: XOR and count, in place of d multiplications."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((300, 20))
    x = X[0] + 0.05 * rng.standard_normal(20)
    planes = rng.standard_normal((20, 64))
    codes = np.packbits(X @ planes > 0, axis=1).view(np.uint64)[:, 0]
    code = np.packbits(x @ planes > 0).view(np.uint64)[0]
    far = np.bitwise_count(codes ^ code)
    exact = kg.NearestNeighbors(n_neighbors=1).fit(X).kneighbors(x[None])[1][0, 0]
    assert far.argmin() == exact == 0
    assert np.median(far) > 20
