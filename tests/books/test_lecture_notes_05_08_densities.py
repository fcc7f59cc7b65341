"""Lecture notes: the quadratic discriminant (5), histograms (7), naive Bayes (8), ranks (9)."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import cloud, covers
from scipy.stats import norm

import kilogram as kg
from kilogram.functions import histograms as bins
from kilogram.functions.encodings import rank_order
from kilogram.textbook import copula, discriminants, histograms, naive_bayes
from kilogram.textbook.fisher import class_means, scatters
from kilogram.textbook.state import run


def two_shapes(seed, n=400):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    X = rng.standard_normal((n, 2)) * np.where(labels[:, None] == 1, [0.5, 0.5], [2.0, 1.0])
    return X + 0.5 * labels[:, None], labels


@covers("lecture_notes L05.M2")
def test_L05_M2_distances_with_the_offset_of_their_class():
    X, labels = two_shapes(0)
    new = 2 * cloud(1, 200, 2)
    ref = run(discriminants.quadratic(X, labels, new))
    fast = kg.QuadraticDiscriminantAnalysis().fit(X, labels)
    assert (fast.predict(new) == ref["label"]).all()
    odds = ref["score"][:, 0] - ref["score"][:, 1]
    assert np.allclose(fast.decision_function(new), odds)
    with pytest.raises(np.linalg.LinAlgError, match="not full rank"):  # needs N_k > d
        kg.QuadraticDiscriminantAnalysis().fit(cloud(2, 8, 6), np.arange(8) % 2)
    kg.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(cloud(2, 8, 6), np.arange(8) % 2)


@covers("lecture_notes L05.E1")
def test_L05_E1_a_line_and_a_conic():
    X, labels = two_shapes(3, 2000)
    new = 2 * cloud(4, 500, 2)
    linear = kg.LinearDiscriminantAnalysis().fit(X, labels)
    quadratic = kg.QuadraticDiscriminantAnalysis().fit(X, labels)
    assert quadratic.score(X, labels) > linear.score(X, labels) + 0.1
    P = np.c_[np.ones(500), new]
    Q = np.c_[P, new**2, new[:, 0] * new[:, 1]]
    for model, basis, exact in ((linear, P, True), (quadratic, P, False), (quadratic, Q, True)):
        f = model.decision_function(new)
        left = f - basis @ np.linalg.lstsq(basis, f, rcond=None)[0]
        assert (np.abs(left).max() < 1e-8 * np.abs(f).max()) == exact


@covers("lecture_notes L05.T1", "lecture_notes L05.X1", "lecture_notes L05.X2")
def test_L05_T1_equal_round_classes_are_the_nearest_mean():
    X, labels = cloud(5, 300, 3), np.arange(300) % 3
    X = X + 2 * labels[:, None]
    m = class_means(X, labels)
    new = m.mean(axis=0) + 3 * np.random.default_rng(6).standard_normal((400, 3))
    near = ((new[:, None] - m) ** 2).sum(axis=2)
    sigma2 = 1.7
    b = 3 / 2 * np.log(2 * np.pi * sigma2) - np.log(1 / 3)
    assert (near.argmin(axis=1) == (near / (2 * sigma2) + b).argmin(axis=1)).all()
    # X1: with unequal priors the printed form needs b' = 2 sigma^2 b, not b
    uneven = -np.log(np.array([0.9, 0.05, 0.05]))
    right = (near / (2 * sigma2) + uneven).argmin(axis=1)
    assert (right == (near + 2 * sigma2 * uneven).argmin(axis=1)).all()
    assert (right != (near + uneven).argmin(axis=1)).any()
    assert (kg.NearestCentroid().fit(X, labels).predict(new) == near.argmin(axis=1)).all()
    # LDA is QDA with S_k forced to S_w
    S_w = scatters(X, labels)[0] / len(X)
    d2 = np.einsum("nkd,de,nke->nk", new[:, None] - m, np.linalg.inv(S_w), new[:, None] - m)
    ref = run(discriminants.linear(X, labels, new))
    fast = kg.LinearDiscriminantAnalysis().fit(X, labels)
    assert (ref["label"] == d2.argmin(axis=1)).all()
    assert (fast.predict(new) == ref["label"]).all()
    # X2: the nearest mean in Mahalanobis distance lacks the log-determinant
    Y, which = two_shapes(7)
    s = run(discriminants.quadratic(Y, which, Y))
    mahalanobis = (s["score"] - s["b"]).argmin(axis=1)
    assert np.mean(mahalanobis == s["label"]) < 0.95
    assert np.mean(s["label"] == which) > np.mean(mahalanobis == which)


def test_least_squares_and_fisher_give_the_direction_of_lda():
    """Any two targets and any sizes, with an offset; the printed equation by its own targets."""
    X, labels = cloud(8, 240, 3) + 1, (np.arange(240) % 4 == 0).astype(int)
    X = X + 1.2 * labels[:, None] * [1.0, 0.5, -1.0] + 3
    w = kg.LinearDiscriminantAnalysis().fit(X, labels).coef_[0]
    fisher = kg.FisherDiscriminant().fit(X, labels).scalings_[:, 0]

    def cosine(a, b):
        return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)

    assert np.isclose(cosine(w, fisher), 1)
    for targets in (None, (-1, 1), (0, 5)):
        assert np.isclose(
            cosine(w, run(discriminants.least_squares_view(X, labels, targets))["w"]), 1
        )
    bare = run(discriminants.least_squares_view(X, labels, (-1, 1), offset=False))["w"]
    assert cosine(w, bare) < 0.99
    s = run(discriminants.least_squares_view(X, labels))
    N, N_1, (m0, m1) = 240, 60, class_means(X, labels)
    S_w, gap = scatters(X, labels)[0] / N, m1 - m0
    left = (N * S_w + (N - N_1) * N_1 / N * np.outer(gap, gap)) @ s["w"]
    assert np.allclose(left, N * gap)


@covers("lecture_notes L07.M2", "lecture_notes L07.T1")
def test_L07_T1_heights_are_fractions_over_width():
    x = np.random.default_rng(0).standard_normal(500)
    start, width, L = -4.0, 0.5, 16
    p = bins.heights(x, start, width, L)
    s = run(histograms.histogram(x, start, width, L))
    assert np.allclose(p, s["p"])
    assert np.isclose(p.sum() * width, 1)
    N = bins.counts(x, start, width, L)
    best = bins.squared_error(p, N, width)
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert bins.squared_error(p + 0.05 * rng.standard_normal(L), N, width) > best
    assert np.array_equal(
        bins.counts([0.0, 0.5, 1.0], 0.0, 0.5, 2), [1, 2]
    )  # half open, but the end


@covers("lecture_notes L07.M3", "lecture_notes L07.E1", "lecture_notes L07.G4")
def test_L07_M3_four_rules_on_a_gaussian():
    rng = np.random.default_rng(2)
    x, held = rng.standard_normal(1000), rng.standard_normal(1000)
    ref = run(histograms.width_rules(x, held, np.arange(2, 200)))
    assert np.isclose(bins.scott(x), ref["scott"])
    assert np.isclose(bins.freedman_diaconis(x), ref["freedman"])
    assert np.isclose(bins.held_out(x, held, np.arange(2, 200)), ref["held_out"])
    for width in (
        ref["scott"],
        ref["freedman"],
        ref["shimazaki"],
        ref["held_out"],
    ):
        assert 0.1 < width < 0.6  # near the best for normal data, 0.35
    # of two narrow humps Scott's rule, made for one Gaussian, takes bins far too wide
    humps = np.where(rng.random(1000) < 0.5, -5.0, 5.0) + 0.3 * rng.standard_normal(1000)
    others = np.where(rng.random(1000) < 0.5, -5.0, 5.0) + 0.3 * rng.standard_normal(1000)
    rules = run(histograms.width_rules(humps, others, np.arange(2, 200)))
    assert min(rules["scott"], rules["freedman"]) > 1.5 > 0.4 > rules["held_out"]
    truth = (norm.pdf(others, -5, 0.3) + norm.pdf(others, 5, 0.3)) / 2
    off = {}
    for rule in bins.RULES:  # the estimator, on the same points
        model = kg.HistogramDensity(rule, random_state=0).fit(humps[:, None])
        edges = model.bin_edges_[0]
        assert np.allclose(np.diff(edges), edges[1] - edges[0])
        p = np.exp(model.score_samples(others[:, None]))
        off[rule] = np.mean((p - truth) ** 2)
    assert 3 * max(off["shimazaki_shinomoto"], off["held_out"]) < off["scott"]
    assert off["freedman_diaconis"] > off["held_out"]
    w = rng.integers(0, 4, 1000).astype(float)
    for rule in (bins.scott, bins.freedman_diaconis):
        assert np.isclose(rule(x, w), rule(np.repeat(x, w.astype(int))))
    # G4: known to be normal, a normal is nearer to the truth than any of these
    grid = np.linspace(-3, 3, 601)
    truth = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    normal = np.exp(-((grid - x.mean()) ** 2) / 2 / x.var()) / np.sqrt(2 * np.pi * x.var())
    p = bins.heights(x, -4, 0.35, 23)[np.floor((grid + 4) / 0.35).astype(int)]
    assert np.mean((normal - truth) ** 2) < np.mean((p - truth) ** 2) / 5


@covers("lecture_notes L07.X3")
def test_L07_X3_half_open_bins_and_fractions_of_points():
    x = np.array([0.0, 0.5, 0.5, 1.0, 1.5, 2.0])
    N = bins.counts(x, 0.0, 0.5, 4)
    assert N.sum() == 6  # [x_l, x_l + Delta): no point is in two of them, the right end is kept
    closed = sum(((x >= a) & (x <= a + 0.5)).sum() for a in (0.0, 0.5, 1.0, 1.5))
    assert closed > 6
    held = np.random.default_rng(15).standard_normal(50_000)
    fraction = bins.counts(held, 0.0, 0.5, 1)[0] / 50_000  # P(0 <= x < 1/2), not 1/2 times it
    assert fraction == pytest.approx(norm.cdf(0.5) - 0.5, abs=0.01)


@covers("lecture_notes L07.X1")
def test_L07_X1_the_printed_score_is_nothing_and_its_square_takes_one_bin():
    rng = np.random.default_rng(3)
    chosen = []
    for _ in range(10):
        x, held = rng.standard_normal((2, 1000))
        squares, right = [], []
        for L in range(1, 120):
            N = bins.counts(x, -6, 12 / L, L) / 1000
            M = bins.counts(held, -6, 12 / L, L) / 1000
            assert abs(np.sum(N - M) * L / 12) < 1e-9  # as printed
            squares.append(np.sum((N - M) ** 2) * L / 12)
            right.append(bins.held_out_score(x, held, -6, 12 / L, L))
        assert np.argmin(squares) == 0
        chosen.append(1 + np.argmin(right))
    assert 20 < np.median(chosen) < 70


@covers("lecture_notes L07.X2")
def test_L07_X2_the_rule_wants_counts_not_heights():
    x = np.random.default_rng(4).standard_normal(1000)
    low, span = x.min(), np.ptp(x)
    tried = np.arange(2, 200)
    heights = []
    for L in tried:
        p = bins.heights(x, low, span / L, L)
        heights.append((2 * p.mean() - p.var()) / (span / L) ** 2)
    assert tried[np.argmin(heights)] == 2
    assert 10 < span / bins.shimazaki_shinomoto(x) < 40


@covers("lecture_notes L07.M4", "lecture_notes L07.E2", "lecture_notes L08.G1")
def test_L07_E2_bins_of_many_dimensions_are_empty():
    rng = np.random.default_rng(5)
    empty = []
    for d in (1, 2, 3, 5):
        rows = rng.random((1000, d))
        model = kg.HistogramDensity(8).fit(rows)
        N, edges = np.histogramdd(rows, bins=[np.asarray(e) for e in model.bin_edges_])
        assert N.size == 8**d
        assert np.array_equal(np.flatnonzero(N), np.sort(model.cells_))  # only full ones are kept
        assert model.counts_.sum() == 1000
        volume = np.prod([e[1] - e[0] for e in edges])
        at = tuple(np.minimum((rows[0] - [e[0] for e in edges]) // np.diff(edges)[:, 0], 7))
        height = N[tuple(int(i) for i in at)] / (1000 * volume)
        assert np.exp(model.score_samples(rows[:1]))[0] == pytest.approx(height)
        empty.append(1 - len(model.cells_) / 8**d)
    assert (np.diff(empty) >= 0).all()
    assert empty[0] == 0
    assert empty[-1] > 0.9  # from d = 5 on there is nothing to see


@covers("lecture_notes L08.M1", "lecture_notes L08.T3")
def test_L08_T3_gaussian_naive_bayes_is_qda_without_correlations():
    X, labels = two_shapes(6)
    new = 2 * cloud(7, 100, 2)
    ref = run(naive_bayes.gaussian(X, labels, new))
    fast = kg.GaussianNB(var_smoothing=0).fit(X, labels)
    assert np.allclose(fast.predict_joint_log_proba(new), ref["S"])
    m, v = ref["m"], ref["v"]
    S = np.array([np.diag(row) for row in v])
    gap = new[:, None] - m
    d2 = np.einsum("nkd,kde,nke->nk", gap, np.linalg.inv(S), gap)
    joint = np.log(ref["prior"]) - d2 / 2 - np.linalg.slogdet(2 * np.pi * S)[1] / 2
    assert np.allclose(joint, ref["S"])
    p = np.exp(ref["S"] - np.logaddexp.reduce(ref["S"], axis=1, keepdims=True))
    assert np.allclose(fast.predict_proba(new), p)
    # the product is proportional to the posterior, not equal to it (L08.X3)
    assert not np.allclose(np.exp(ref["S"]).sum(axis=1), 1, atol=0.1)


@covers("lecture_notes L08.M2", "lecture_notes L08.G2", "lecture_notes L07.G3")
@pytest.mark.parametrize("rule", bins.RULES)
def test_L08_M2_a_histogram_for_every_feature_and_class(rule):
    rng = np.random.default_rng(8)
    labels = np.arange(800) % 2
    X = rng.standard_normal((800, 3))
    X[labels == 1, 0] = np.sign(rng.standard_normal(400)) * 3 + 0.5 * rng.standard_normal(400)
    model = kg.HistogramNB(rule).fit(X, labels)
    assert model.score(X, labels) > 0.92
    assert kg.GaussianNB().fit(X, labels).score(X, labels) < model.score(X, labels)
    for j in range(3):  # densities integrate to one, outer bins included
        area = np.exp(model.feature_log_density_[j]).sum(axis=1) * model.bins_.widths[j]
        assert np.allclose(area, 1)
    far = np.array([[1e6, -1e6, np.nan]])  # beyond every bin, and missing
    assert np.isfinite(model.predict_log_proba(far)).all()
    places = model.bins_.places(X[:50]).astype(int)
    by_hand = np.log(model.class_prior_) + sum(
        model.feature_log_density_[j][:, places[:, j]].T for j in range(3)
    )
    assert np.allclose(model.predict_joint_log_proba(X[:50]), by_hand)


@covers("lecture_notes L09.M2", "lecture_notes L09.E1", "lecture_notes L09.X1")
def test_L09_E1_ranks_of_the_printed_table():
    u = rank_order(np.array([[2.0, 6.0], [5.0, 1.0], [3.0, 7.0]]))
    assert np.array_equal(4 * u, [[1, 2], [3, 1], [2, 3]])
    printed = u.copy()
    printed[0, 0] = 3 / 4  # twice the same place for values that differ
    assert len(set(u[:, 0])) == 3
    assert len(set(printed[:, 0])) == 2
    assert np.array_equal(rank_order(np.array([[7.0], [7.0], [9.0]]))[:, 0], [0.375, 0.375, 0.75])
    table = np.array([[2.0, 6.0], [5.0, 1.0], [3.0, 7.0]])
    model = kg.RankTransform().fit(table)
    assert np.array_equal(model.transform(table), u)
    assert np.array_equal(run(copula.ranks(table))["u"], u)
    assert np.allclose(model.inverse_transform(u), table)


@covers("lecture_notes L09.T3")
def test_L09_T3_ranks_keep_the_order_under_increasing_maps():
    X = cloud(90, 200, 3)
    u = rank_order(X)
    assert (np.argsort(u, axis=0) == np.argsort(X, axis=0)).all()
    assert u.min() == 1 / 201
    assert u.max() == 200 / 201
    bent = np.c_[np.exp(X[:, 0]), X[:, 1] ** 3, np.arctan(5 * X[:, 2])]
    assert np.array_equal(rank_order(bent), u)
    assert np.allclose(kg.RankTransform().fit_transform(bent), u)


@covers("lecture_notes L09.M1", "lecture_notes L09.T4", "lecture_notes L09.X2")
def test_L09_M1_densities_of_scaled_columns():
    X, labels = cloud(91, 400, 2) * [0.1, 30.0], np.arange(400) % 2
    sigma = X.std(axis=0)
    raw = kg.HistogramNB(bins=12).fit(X, labels)
    unit = kg.HistogramNB(bins=12).fit(X / sigma, labels)
    for j in range(2):
        p, p_unit = (np.exp(m.feature_log_density_[j])[:, 1:-1] for m in (raw, unit))
        assert np.allclose(p, p_unit / sigma[j])  # p(x) = p~(x / sigma) (1 / sigma)
        inside = raw.bin_counts_[j][:, 1:-1].sum(axis=1) / raw.class_count_
        assert np.allclose(inside, 1.0)
        area = p.sum(axis=1) * raw.bins_.widths[j]
        assert (area <= 1 + 1e-12).all()
        assert (area > 0.98).all()
        assert not np.allclose(p, p_unit)  # without the derivative, as printed
    assert np.allclose(raw.predict_proba(X), unit.predict_proba(X / sigma))
