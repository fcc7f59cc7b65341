"""Lecture notes L15-L17: robust location, RANSAC, Huber regression, least absolute deviations."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import robust
from kilogram.textbook.state import run


def dirty(seed: int, n: int = 200, far: float = 0.15, size: float = 40.0):
    """A line with normal errors of 1 whose last rows are shifted up; X has its constant."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    y = 2 * x + 1 + rng.standard_normal(n)
    y[int((1 - far) * n) :] += size
    return np.c_[x, np.ones(n)], y


def plain(X, y):
    return np.linalg.lstsq(X, y, rcond=None)[0]


@covers("lecture_notes L15.G3")
def test_L15_G3_down_weighting_is_safer_than_removal():
    """Far residuals of a least-squares fit need not be the bad rows: the bad ones bend the fit."""
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(0, 1, 30), [5.0, 5.1, 5.2])
    y = x + 0.05 * rng.standard_normal(33)
    y[30:] += 3.0  # heavy tails, and far out: leverage
    r = y - np.polyval(np.polyfit(x, y, 1), x)
    removed = np.abs(r) > 2 * r.std()
    assert not removed[30:].any()  # detect and remove finds none of the three
    X, y = dirty(0)
    huber = kg.HuberRegressor(alpha=0).fit(X[:, :1], y)
    assert abs(huber.coef_[0] - 2) < 0.1
    assert huber.outliers_[170:].all()
    assert huber.outliers_[:170].mean() < 0.35  # most good rows keep their whole weight
    # two instances in one table: a single robust line serves the larger one
    two = np.r_[2 * X[:120, 0], -2 * X[120:, 0]]
    lad = kg.QuantileRegressor(alpha=0).fit(X[:, :1], two)
    assert lad.coef_[0] == pytest.approx(2.0)


@covers("lecture_notes L17.M1")
def test_L17_M1_huber_by_reweighting_and_by_newton():
    X, y = dirty(1)
    states = list(robust.huber(X, y, kappa=1.37, steps=200))
    J = [s.objective for s in states[1:]]
    assert (np.diff(J) <= 1e-9 * J[0]).all()
    fast = kg.HuberRegressor(epsilon=1.37, scale=1.0, alpha=0, tol=1e-7).fit(X[:, :1], y)
    want = states[-1]["beta"]
    assert np.allclose([fast.coef_[0], fast.intercept_], want, atol=1e-6)
    assert fast.n_iter_ < 15
    # sigma, which the notes leave out, from the median absolute deviation
    reference = run(robust.huber(X, y))
    assert abs(float(reference["kappa"]) / 1.37 - 1) < 0.5
    mad = kg.HuberRegressor(epsilon=1.37, scale="mad", alpha=0).fit(X[:, :1], y)
    assert abs(mad.scale_ - 1) < 0.5
    assert abs(mad.coef_[0] - 2) < 0.15


@covers("lecture_notes L17.M2", "lecture_notes L17.T5")
def test_L17_M2_T5_absolute_deviations_by_weights_and_by_the_program():
    X, y = dirty(2, 41)
    program = run(robust.absolute_program(X, y))
    weights = run(robust.absolute(X, y, eps=1e-3, steps=60))
    best = float(np.abs(y - X @ program["beta"]).sum())
    assert best < weights.objective < 1.001 * best  # close to, not equal to
    assert np.abs(weights["beta"] - program["beta"]).max() > 1e-7
    fast = kg.QuantileRegressor(alpha=0).fit(X[:, :1], y)
    assert 2 * fast.objective_ == pytest.approx(best, rel=1e-9)
    assert np.allclose([fast.coef_[0], fast.intercept_], program["beta"], atol=1e-6)


@covers("lecture_notes L17.E2")
def test_L17_E2_outliers_move_least_squares_only():
    X, y = dirty(3)
    clean = y.copy()
    clean[170:] -= 40.0
    errors = {
        "ols": plain(X, y),
        "huber": run(robust.huber(X, y))["beta"],
        "lad": run(robust.absolute_program(X, y))["beta"],
    }
    far = {name: abs(beta[1] - plain(X, clean)[1]) for name, beta in errors.items()}
    assert far["ols"] > 5
    assert far["huber"] < 0.6
    assert far["lad"] < 0.6


@covers("lecture_notes L17.T3")
def test_L17_T3_the_program_at_its_optimum():
    X, y = dirty(4, 30)
    s = run(robust.absolute_program(X, y))
    assert np.allclose(next(robust.absolute_program(X, y))["u"], np.abs(y - X @ s["beta"]))
    for beta in (s["beta"], _fast_line(X, y)):
        assert (np.abs(y - X @ beta) < 1e-8).sum() >= 2  # d rows are on the line
    # an even number of points on one x: any line between the middle two is best
    one, t = np.ones((4, 1)), np.array([0.0, 1.0, 3.0, 7.0])
    cost = [np.abs(t - b).sum() for b in (1.0, 2.0, 3.0)]
    assert np.allclose(cost, cost[0])
    chosen = run(robust.absolute_program(one, t))["beta"][0]
    assert chosen == pytest.approx(2.75, abs=1e-6)  # of all between 1 and 3 nearest to the mean


def _fast_line(X, y):
    fast = kg.QuantileRegressor(alpha=0).fit(X[:, :1], y)
    return np.array([fast.coef_[0], fast.intercept_])


@covers("lecture_notes L17.T4")
def test_L17_T4_from_least_squares_to_absolute_deviations():
    X, y = dirty(5, 61)

    def fit(kappa):
        model = kg.HuberRegressor(epsilon=1.0, scale=kappa, alpha=0, tol=1e-7).fit(X[:, :1], y)
        return np.array([model.coef_[0], model.intercept_])

    assert np.allclose(fit(1e6), plain(X, y), atol=1e-8)
    assert np.allclose(fit(0.01), _fast_line(X, y), atol=0.02)
    assert np.abs(fit(1.0) - plain(X, y)).max() > 1


@covers("lecture_notes L17.X1")
def test_L17_X1_the_weight_is_psi_over_r():
    r, kappa = 3.0, 1.37
    printed = float(robust.huber_loss(np.array(r), kappa)) / r**2
    right = float(robust.huber_weight(np.array(r), kappa))
    assert printed == pytest.approx(0.70, abs=0.005)
    assert right == pytest.approx(kappa / r)
    assert right == pytest.approx(0.46, abs=0.005)
    X, y = dirty(6)
    fast = kg.HuberRegressor(epsilon=kappa, scale=1.0, alpha=0, tol=1e-7).fit(X[:, :1], y)
    beta = plain(X, y)
    for _ in range(300):
        r = y - X @ beta
        root = np.sqrt(robust.huber_loss(r, kappa) / np.maximum(r**2, 1e-12))
        beta = plain(root[:, None] * X, root * y)
    assert np.abs(beta - [fast.coef_[0], fast.intercept_]).max() > 0.1  # another fixed point


@covers("lecture_notes L16.M1", "lecture_notes L16.E2", "lecture_notes L16.G1")
def test_L16_M1_lines_and_circles_among_many_outliers():
    rng = np.random.default_rng(7)
    t = rng.uniform(-5, 5, 60)
    first = np.c_[t, 0.5 * t + 1] + 0.03 * rng.standard_normal((60, 2))
    second = np.c_[t[:40], -t[:40] - 2] + 0.03 * rng.standard_normal((40, 2))
    P = np.r_[first, second, rng.uniform(-6, 6, (60, 2))]  # less than half on either line
    found = []
    for _ in range(2):  # take the inliers away and look again
        s = run(robust.ransac(P, 0.1, 200, rng, robust.line, robust.line_distance, 2))
        n = s["model"][:2]
        found.append(-n[0] / n[1])
        P = P[~s["inliers"]]
    assert np.allclose(found, [0.5, -1.0], atol=0.03)
    angle = rng.uniform(0, 2 * np.pi, 30)
    ring = np.c_[3 * np.cos(angle), 3 * np.sin(angle)] + [1, -2]
    P = np.r_[ring + 0.02 * rng.standard_normal((30, 2)), rng.uniform(-9, 9, (90, 2))]
    s = run(robust.ransac(P, 0.1, 600, rng, robust.circle, robust.circle_distance, 3))
    assert np.allclose(s["model"], [1, -2, 3], atol=0.1)
    assert np.abs(robust.circle(P) - [1, -2, 3]).max() > 1  # the fit of all points


@covers("lecture_notes L16.M2", "lecture_notes L16.T1", "lecture_notes L16.X1")
def test_L16_T1_the_table_of_draws():
    table = {2: (3, 17, 49), 3: (4, 35, 169), 8: (9, 1177, 70188)}
    for D, row in table.items():
        assert tuple(robust.draws(0.99, gamma, D) for gamma in (0.9, 0.5, 0.3)) == row
    for printed, gamma in ((1172, 0.5), (70128, 0.3)):  # too few for 99 %
        assert 1 - (1 - gamma**8) ** printed < 0.99
        assert 1 - (1 - gamma**8) ** robust.draws(0.99, gamma, 8) >= 0.99


@covers("lecture_notes L16.M1", "lecture_notes L16.M2")
def test_L16_M2_all_inliers_none_and_impossible_wishes():
    assert robust.draws(0.99, 1.0, 2) == 1  # every draw is clean, and one is needed
    assert robust.draws(0.0, 0.5, 2) == 1
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\)"):
        robust.draws(1.0, 0.5, 2)
    for gamma in (0.0, -0.1, 1.1):
        with pytest.raises(ValueError, match=r"gamma must be in \(0, 1\]"):
            robust.draws(0.99, gamma, 2)
    rng = np.random.default_rng(0)
    P = rng.standard_normal((20, 2))
    setting = (robust.line, robust.line_distance)
    with pytest.raises(ValueError, match="Raise kappa or T"):
        run(robust.ransac(P, -1.0, 10, rng, *setting, 2))
    for T, D in ((0, 2), (10, 21), (10, 0)):
        with pytest.raises(ValueError, match="must be in"):
            run(robust.ransac(P, 0.1, T, rng, *setting, D))


@covers("lecture_notes L16.M3", "lecture_notes L16.M6", "lecture_notes L16.T4")
def test_L16_T4_squared_loss_gives_the_mean_absolute_the_median():
    x = np.random.default_rng(8).standard_exponential(101)
    t = np.linspace(0, 3, 30_001)
    squared = t[np.argmin(((x[:, None] - t) ** 2).sum(axis=0))]
    absolute = t[np.argmin(np.abs(x[:, None] - t).sum(axis=0))]
    assert squared == pytest.approx(x.mean(), abs=1e-4)
    assert absolute == pytest.approx(np.median(x), abs=1e-4)
    # they are the likelihoods of normal and of Laplace errors
    gauss = [-(((x - c) ** 2) / 2).sum() for c in (x.mean(), np.median(x))]
    laplace = [-np.abs(x - c).sum() for c in (x.mean(), np.median(x))]
    assert gauss[0] > gauss[1]
    assert laplace[1] > laplace[0]
    assert np.median([1.0, 2.0, 4.0, 9.0]) == 3.0  # the mid-value of an even number
    fast = kg.QuantileRegressor(alpha=0).fit(np.zeros((101, 1)), x)
    assert fast.intercept_ == pytest.approx(np.median(x))


@covers("lecture_notes L16.M4", "lecture_notes L16.M5", "lecture_notes L16.E3",
        "lecture_notes L16.X3", "lecture_notes L16.X4")  # fmt: skip
def test_L16_M4_M5_losses_and_their_pulls():
    r, kappa, h = np.linspace(-4, 4, 401), 1.37, 1e-6
    huber = lambda v: robust.huber_loss(v, kappa)  # noqa: E731
    slope = (huber(r + h) - huber(r - h)) / (2 * h)
    assert np.allclose(slope, 2 * np.clip(r, -kappa, kappa), atol=1e-5)  # psi is half of it
    assert np.allclose(r * robust.huber_weight(r, kappa), np.clip(r, -kappa, kappa))
    tukey = lambda v: robust.biweight_loss(v, kappa)  # noqa: E731
    slope = (tukey(r + h) - tukey(r - h)) / (2 * h)
    assert np.allclose(slope, 6 / kappa**2 * r * robust.biweight_weight(r, kappa), atol=1e-5)
    assert np.allclose(tukey(r[np.abs(r) > kappa]), 1.0)
    assert (tukey(np.array([0.0, 0.5, 1.3])) < 1).all()
    # print: 1 - [1 - (x - t)/kappa]^3, no square: not even, and above 1 on one side
    printed = 1 - (1 - r / kappa) ** 3
    inside = np.abs(r) < kappa
    assert not np.allclose(printed[inside], printed[inside][::-1])
    assert printed[inside].min() < 0


@covers("lecture_notes L16.E1", "lecture_notes L16.T2", "lecture_notes L16.T3",
        "lecture_notes L16.X2")  # fmt: skip
def test_L16_T2_T3_variances_under_contamination():
    rng = np.random.default_rng(9)
    N, draws = 100, 3000
    want = {(0.0, 1.0): (np.pi / 2, 1.05), (0.05, 10.0): (0.29, 0.206), (0.1, 10.0): (0.17, 0.132)}
    for (eps, tau), (median, huber) in want.items():
        bad = rng.random((draws, N)) < eps  # a fraction eps, not sigma as printed
        x = np.where(bad, tau, 1.0) * rng.standard_normal((draws, N))
        mean = x.mean(axis=1).var()
        assert mean == pytest.approx((1 - eps + eps * tau**2) / N, rel=0.15)
        assert np.median(x, axis=1).var() / mean == pytest.approx(median, rel=0.15)
        t = np.median(x, axis=1)
        for _ in range(30):
            w = robust.huber_weight(x - t[:, None], 1.37)
            t = (w * x).sum(axis=1) / w.sum(axis=1)
        assert t.var() / mean == pytest.approx(huber, rel=0.15)
        last = run(robust.location(x[0], robust.huber_weight, 1.37))["t"]
        assert float(last) == pytest.approx(t[0], abs=1e-6)
    formula = lambda e, c: np.pi / 2 / (1 - e + e / c) ** 2 / (1 - e + e * c**2)  # noqa: E731
    assert formula(0.05, 4) == pytest.approx(1, abs=0.06)
    assert formula(0.1, 3) == pytest.approx(1, abs=0.06)
    # with sigma = 1 for eps, as printed, all rows would be bad: the mean's variance is tau^2 / N
    assert (1 - 1 + 1 * 10.0**2) / N > 9 * (1 - 0.1 + 0.1 * 10.0**2) / N


@covers("lecture_notes L16.M1", "lecture_notes L16.M2", "lecture_notes L16.T1")
def test_L16_the_estimator_draws_as_often_as_the_table_says():
    from kilogram.models.robust.ransac import required_trials

    for gamma, D in [(0.9, 2), (0.5, 3), (0.3, 8)]:
        assert required_trials(round(1000 * gamma), 1000, D, 0.99) == robust.draws(0.99, gamma, D)
    X, y = dirty(8, far=0.3)
    model = kg.RANSACRegressor(residual_threshold=3.0, random_state=0).fit(X[:, :1], y)
    assert model.estimator_.coef_[0] == pytest.approx(2.0, abs=0.15)
    assert not model.inlier_mask_[140:].any()
    assert model.n_trials_ <= robust.draws(0.99, 0.5, 2)


@covers("lecture_notes L16.M3", "lecture_notes L16.M4", "lecture_notes L16.M5")
def test_L16_location_by_the_public_function():
    x = np.append(np.random.default_rng(9).standard_normal(99), [50.0, 60.0])
    sigma = robust.scale(x - np.median(x))
    for name, weight in (("huber", robust.huber_weight), ("biweight", robust.biweight_weight)):
        want = run(robust.location(x, weight, 4.0 * sigma, 300))["t"]
        got = kg.robust_location(x, name, tuning=4.0 * robust.MAD / 1.482602218505602)
        assert got == pytest.approx(want, abs=1e-5)
    assert kg.robust_location(x, "median") == np.median(x)


@covers("lecture_notes L17.M1")
def test_L17_M1_with_the_scale_of_the_median_deviation():
    X, y = dirty(10)
    model = kg.RobustRegressor("m", loss="huber").fit(X[:, :1], y)
    want = run(robust.huber(X, y, kappa=model.tuning_ * model.scale_, steps=300))["beta"]
    np.testing.assert_allclose([model.coef_[0], model.intercept_], want, atol=1e-6)


def test_draws_of_no_row_are_refused():
    with pytest.raises(ValueError, match="D must be at least 1"):
        robust.draws(0.99, 0.5, 0)
