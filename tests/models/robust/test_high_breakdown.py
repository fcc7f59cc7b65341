"""M-, S-, MM-estimates, trimmed squares, Theil-Sen, RANSAC, MCD: oracles and published figures.

stackloss: Brownlee 1965, operation of a plant; starsCYG: Rousseeuw and Leroy 1987, the star cluster
CYG OB1. The published coefficients are those of R's MASS::rlm and robustbase::lmrob.
"""

import itertools

import numpy as np
import pytest
from sklearn.covariance import MinCovDet as PeerMCD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression as PeerLS
from sklearn.linear_model import TheilSenRegressor as PeerTheilSen

import kilogram as kg
from kilogram.functions.m_losses import (
    LOSSES,
    constant_of_breakdown,
    constant_of_efficiency,
    efficiency,
)
from kilogram.models.robust.ransac import required_trials
from kilogram.textbook import robust as textbook
from kilogram.textbook.state import run
from tests.models.robust.classics import stackloss, stars


@pytest.mark.parametrize(
    ("name", "c"),
    [("huber", 1.345), ("biweight", 4.6851), ("cauchy", 2.3849), ("welsch", 2.9846),
     ("andrews", 1.3387)],
)  # fmt: skip
def test_constants_of_the_literature(name, c):
    assert constant_of_efficiency(name, 0.95) == pytest.approx(c, abs=1e-4)
    assert efficiency(name, constant_of_efficiency(name, 0.9)) == pytest.approx(0.9)


def test_breakdown_constant_of_the_biweight():
    assert constant_of_breakdown("biweight", 0.5) == pytest.approx(1.54764, abs=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_weights_and_slopes_agree(name):
    loss, c, e = LOSSES[name], 1.3, 1e-6
    z = np.linspace(0.013, 14.0, 997)
    psi = z * loss.weight(z, c)
    np.testing.assert_allclose((loss.rho(z + e, c) - loss.rho(z - e, c)) / (2 * e), psi, atol=1e-6)
    slope = ((z + e) * loss.weight(z + e, c) - (z - e) * loss.weight(z - e, c)) / (2 * e)
    assert np.median(np.abs(slope - loss.slope(z, c))) < 1e-8
    if loss.bounded:
        assert loss.relative(np.array([1e6]), c)[0] == pytest.approx(1.0)


def test_m_estimates_of_stackloss_as_published():
    X, y = stackloss()
    huber = kg.RobustRegressor("m", loss="huber", tuning=1.345).fit(X, y)
    np.testing.assert_allclose(huber.coef_, [0.8294, 0.9261, -0.1278], atol=6e-5)
    assert huber.intercept_ == pytest.approx(-41.0265, abs=6e-5)
    assert huber.scale_ == pytest.approx(2.4405, abs=6e-5)
    np.testing.assert_allclose(huber.summary().error, [9.807, 0.1112, 0.3034, 0.1288], rtol=5e-4)
    tukey = kg.RobustRegressor("m", tuning=4.685).fit(X, y)
    np.testing.assert_allclose(tukey.coef_, [0.9276, 0.6507, -0.1123], atol=6e-5)


def test_mm_estimate_of_stackloss_as_published():
    X, y = stackloss()
    model = kg.RobustRegressor(n_starts=6000).fit(X, y)  # all 5985 subsets
    np.testing.assert_allclose(model.coef_, [0.93885, 0.57955, -0.11292], atol=6e-6)
    assert model.intercept_ == pytest.approx(-41.52462, abs=6e-5)
    assert model.scale_ == pytest.approx(1.912, abs=5e-4)
    table = model.summary()
    np.testing.assert_allclose(table.error, [5.29780, 0.11743, 0.26296, 0.06989], atol=6e-6)
    assert "intercept" in repr(table)
    assert set(np.flatnonzero(model.outliers_)) >= {3, 20}
    assert model.breakdown_point_ == pytest.approx(0.5 * (1 - 4 / 21))


def test_mm_estimate_of_stars_as_published():
    X, y = stars()
    model = kg.RobustRegressor(n_starts=2000).fit(X, y)
    assert model.intercept_ == pytest.approx(-4.9694, abs=6e-5)
    assert model.coef_[0] == pytest.approx(2.2532, abs=6e-5)
    assert model.scale_ == pytest.approx(0.4715, abs=6e-5)
    np.testing.assert_allclose(model.summary().error, [3.4100, 0.7691], atol=6e-5)
    assert PeerLS().fit(X, y).coef_[0] < 0  # the four giants turn least squares around
    assert (model.weights_[[10, 19, 29, 33]] == 0).all()


def test_m_estimate_agrees_with_the_textbook_at_its_scale():
    X, y = stackloss()
    model = kg.RobustRegressor("m", loss="huber").fit(X, y)
    A = np.c_[X, np.ones(len(y))]
    want = run(textbook.huber(A, y, kappa=model.tuning_ * model.scale_, steps=400))["beta"]
    np.testing.assert_allclose([*model.coef_, model.intercept_], want, atol=1e-6)


def test_s_estimate_has_the_smallest_scale():
    X, y = stackloss()
    s = kg.RobustRegressor("s", n_starts=6000).fit(X, y)
    c = s.tuning_
    r = (y - s.predict(X)) / s.scale_
    level = LOSSES["biweight"].relative(r, c).sum() / (21 - 4)
    assert level == pytest.approx(0.5, abs=1e-9)
    assert s.scale_ == pytest.approx(s.objective_)


@pytest.mark.parametrize("loss", ["biweight", "hampel", "andrews", "welsch"])
def test_mm_resists_bad_leverage(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X @ [1.0, -2.0, 3.0] + 0.5 + 0.1 * rng.standard_normal(200)
    X[:80] += 30.0
    y[:80] = -100.0
    model = kg.RobustRegressor(loss=loss, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 3.0], atol=0.05)
    assert model.outliers_[:80].all()
    assert (model.weights_[:80] == 0).all() or loss == "welsch"


def test_weights_are_multiplicities():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, 2.0] + rng.standard_t(2, 40)
    w = rng.integers(1, 4, 40)
    for method in ("m", "mm"):
        one = kg.RobustRegressor(method, random_state=0, n_starts=3000).fit(X, y, w)
        two = kg.RobustRegressor(method, random_state=0, n_starts=3000).fit(
            np.repeat(X, w, axis=0), np.repeat(y, w)
        )
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)
        np.testing.assert_allclose(one.covariance_, two.covariance_, rtol=1e-5)


def test_exact_fit_and_constant_target():
    x = np.arange(30.0)[:, None]
    y = 3 * x[:, 0] - 1
    y[:9] = 1000.0
    for model in (kg.RobustRegressor(random_state=0), kg.LeastTrimmedSquares(random_state=0)):
        model.fit(x, y)
        np.testing.assert_allclose([model.coef_[0], model.intercept_], [3.0, -1.0], atol=1e-9)
        assert model.outliers_.sum() == 9
        flat = model.fit(x, np.full(30, 7.0))
        np.testing.assert_allclose(flat.predict(x), 7.0)
        assert flat.scale_ == 0.0
    with pytest.raises(ValueError, match="no standard errors"):
        kg.RobustRegressor(random_state=0).fit(x, y).summary()


def test_unbounded_losses_have_no_breakdown():
    with pytest.raises(ValueError, match="loss must be bounded"):
        kg.RobustRegressor("mm", loss="huber").fit(*stackloss())


def test_trimmed_squares_against_all_subsets():
    """The sum of the h smallest squares over every subset of 13 of 21 rows, from all starts."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 1))
    y = 2 * X[:, 0] + rng.standard_t(1, 12)
    model = kg.LeastTrimmedSquares().fit(X, y)
    h = (12 + 2 + 1) // 2
    best = np.inf
    for rows in itertools.combinations(range(12), h):
        A = np.c_[np.ones(h), X[list(rows)]]
        r = y[list(rows)] - A @ np.linalg.lstsq(A, y[list(rows)], rcond=None)[0]
        best = min(best, r @ r)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    assert model.support_.sum() == h


def test_trimmed_squares_of_stackloss_as_published():
    """Reweighted: least squares without rows 1, 3, 4 and 21."""
    X, y = stackloss()
    model = kg.LeastTrimmedSquares(n_starts=6000).fit(X, y)
    assert set(np.flatnonzero(model.outliers_)) >= {0, 2, 3, 20}
    good = ~model.outliers_
    np.testing.assert_allclose(model.coef_, PeerLS().fit(X[good], y[good]).coef_, rtol=1e-8)
    assert model.summary().names == ("intercept", "x0", "x1", "x2")


def test_trimmed_squares_of_many_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.standard_normal(5000)
    y[:2000] += 50 + 10 * rng.standard_normal(2000)
    model = kg.LeastTrimmedSquares(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0, 4.0], atol=0.1)
    assert model.scale_ == pytest.approx(1.0, abs=0.1)


def test_theil_sen_of_one_feature_is_the_spatial_median_of_all_pairs():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (40, 1))  # without ties, whose pairs have no slope
    y = 2 * X[:, 0] + rng.standard_t(1, 40)
    ours = kg.TheilSenRegressor(tol=1e-10, max_iter=10_000).fit(X, y)
    peer = PeerTheilSen(tol=1e-10, max_iter=10_000).fit(X, y)
    assert ours.coef_[0] == pytest.approx(peer.coef_[0], rel=1e-4)
    assert ours.breakdown_ == pytest.approx(peer.breakdown_)
    slope = kg.TheilSenRegressor(fit_intercept=False).fit(X, y).coef_[0]
    assert slope == pytest.approx(np.median(y / X[:, 0]))


def test_theil_sen_refuses_impossible_subsets():
    X, y = stackloss()
    with pytest.raises(ValueError, match="n_subsamples > n_samples"):
        kg.TheilSenRegressor(n_subsamples=22).fit(X, y)
    with pytest.raises(ValueError, match="> n_subsamples"):
        kg.TheilSenRegressor(n_subsamples=3).fit(X, y)


def test_draws_of_the_lectures():
    for g, D, T in [(0.9, 2, 3), (0.5, 2, 17), (0.3, 2, 49), (0.5, 8, 1177), (0.3, 8, 70188)]:
        assert required_trials(round(1000 * g), 1000, D, 0.99) == T
    assert required_trials(10, 10, 2, 0.99) == 1
    assert required_trials(0, 10, 2, 0.99) == np.inf


@pytest.mark.parametrize("local", [True, False])
def test_ransac_with_more_outliers_than_inliers(local):
    rng = np.random.default_rng(0)
    X = rng.uniform(-5, 5, (500, 2))
    y = X @ [2.0, -1.0] + 1 + 0.05 * rng.standard_normal(500)
    y[:350] = rng.uniform(-20, 20, 350)
    model = kg.RANSACRegressor(
        residual_threshold=0.2, max_trials=2000, local_optimization=local, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.estimator_.coef_, [2.0, -1.0], atol=0.02)
    assert model.inlier_mask_[350:].mean() > 0.95
    assert model.n_trials_ < 600


def test_ransac_with_another_estimator_and_many_targets():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (100, 1))
    Y = np.c_[X[:, 0] > 0.5, X[:, 0]].astype(float)
    Y[:20] += 50.0
    tree = kg.RANSACRegressor(
        DecisionTreeRegressor(), min_samples=30, residual_threshold=0.5, random_state=0
    ).fit(X, Y)
    assert tree.predict(X).shape == (100, 2)
    assert tree.inlier_mask_.sum() >= 60
    with pytest.raises(ValueError, match="min_samples"):
        kg.RANSACRegressor(DecisionTreeRegressor()).fit(X, Y)


def test_ransac_without_inliers_is_an_error():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 1)), rng.standard_normal(30)
    with pytest.raises(ValueError, match="valid consensus set"):
        kg.RANSACRegressor(is_data_valid=lambda X, y: False).fit(X, y)
    with pytest.raises(ValueError, match="max_skips"):
        kg.RANSACRegressor(is_model_valid=lambda m, X, y: False, max_skips=3).fit(X, y)
    with pytest.raises(ValueError, match="larger than number of samples"):
        kg.RANSACRegressor(min_samples=31).fit(X, y)


def test_mcd_is_at_least_as_small_as_the_peer():
    rng = np.random.default_rng(0)
    for n, d in [(47, 2), (120, 4), (2000, 3)]:
        X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
        X[: n // 4] += 15.0
        ours, peer = kg.MinCovDet(random_state=0).fit(X), PeerMCD(random_state=0).fit(X)
        assert ours.raw_support_.sum() == peer.raw_support_.sum()
        det = np.linalg.slogdet(ours.raw_covariance_)[1]
        assert det <= np.linalg.slogdet(peer.raw_covariance_)[1] + 1e-9
        np.testing.assert_allclose(ours.location_, peer.location_, atol=0.1)
        np.testing.assert_allclose(ours.covariance_, peer.covariance_, rtol=0.2, atol=0.1)
        assert not ours.support_[: n // 4].any()
        np.testing.assert_allclose(ours.mahalanobis(X), ours.dist_)


def test_mcd_of_one_column_is_exact():
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(25)
    model = kg.MinCovDet(support_fraction=0.6).fit(x[:, None])
    windows = [np.var(np.sort(x)[a : a + 15]) for a in range(11)]
    assert model.raw_covariance_[0, 0] == pytest.approx(min(windows))


def test_mcd_of_equal_rows_is_an_error():
    with (
        pytest.raises(ValueError, match="equal to 0"),
        pytest.warns(UserWarning, match="full rank"),
    ):
        kg.MinCovDet(random_state=0).fit(np.ones((20, 2)))
    half = np.array([0.5, 0.1, 0.1, 0.1, 0.957, 0.1, 0.1, 0.1, 0.4285, 0.1])
    with pytest.raises(ValueError, match="equal to 0"):  # the mean of 0.1 is not 0.1
        kg.MinCovDet(random_state=0).fit(half[:, None])


@pytest.mark.parametrize("n", [2, 3, 5, 9, 12, 13, 40, 201])
@pytest.mark.parametrize("ties", [False, True])
def test_sn_and_qn_against_all_pairs(n, ties):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 5, n).astype(float) if ties else rng.standard_cauchy(n)
    D, h = np.abs(x[:, None] - x[None, :]), n // 2 + 1
    qn = np.sort(D[np.triu_indices(n, 1)])[h * (h - 1) // 2 - 1]
    sn = np.sort(np.sort(D, axis=1)[:, n // 2])[(n + 1) // 2 - 1]
    assert kg.robust_scale(x, "qn", finite_sample=False) == pytest.approx(2.2191445 * qn)
    assert kg.robust_scale(x, "sn", finite_sample=False) == pytest.approx(1.1926 * sn)


@pytest.mark.parametrize("method", ["qn", "sn", "mad", "biweight"])
def test_scales_are_consistent_at_normal_values(method):
    x = 3.0 * np.random.default_rng(0).standard_normal(20_001) + 100.0
    assert kg.robust_scale(x, method) == pytest.approx(3.0, rel=0.03)
    assert kg.robust_scale(np.ones(7), method) == 0.0


def test_locations():
    x = np.append(np.random.default_rng(0).standard_normal(200), np.full(60, 1e6))
    assert abs(kg.robust_location(x, "biweight")) < 0.2
    assert abs(kg.robust_location(x, "huber")) < 1.0
    states = list(textbook.location(x, textbook.huber_weight, 1.5 * 1.4826 * _mad(x), 500))
    assert kg.robust_location(x, "huber") == pytest.approx(states[-1]["t"], abs=1e-4)
    with pytest.raises(ValueError, match="one-dimensional"):
        kg.robust_location(np.ones((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        kg.robust_scale([1.0, np.nan])


def _mad(x):
    return np.median(np.abs(x - np.median(x)))


def test_outlier_report_of_stars():
    X, y = stars()
    model = kg.RobustRegressor(random_state=0).fit(X, y)
    report = kg.outlier_report(model, X, y)
    assert (report.kinds[[10, 19, 29, 33]] == "bad leverage").all()
    assert "bad leverage" in repr(report)
    pytest.importorskip("matplotlib")
    assert report.plot().get_ylabel() == "residual / scale"
    with pytest.raises(TypeError, match="scale_"):
        kg.outlier_report(kg.LinearRegression().fit(X, y), X, y)


def test_theil_sen_of_zero_rows_without_an_intercept_is_zero():
    model = kg.TheilSenRegressor(fit_intercept=False, random_state=0)
    assert not model.fit(np.zeros((20, 3)), np.arange(20.0)).coef_.any()


def test_ransac_counts_its_draws_also_when_it_fails():
    """The counts stay after a fit that found no set; coefficients of an earlier fit stay too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    failing = {
        "invalid_data": {"is_data_valid": lambda X, y: False},
        "invalid_model": {"is_model_valid": lambda m, X, y: False},
        "no_inliers": {"loss": lambda y, f: np.full(len(y), np.inf)},
    }
    for name, settings in failing.items():
        model = kg.RANSACRegressor(max_trials=7, random_state=0, **settings)
        with pytest.raises(ValueError, match="consensus set"):
            model.fit(X, y)
        assert model.n_trials_ == 7
        skips = {kind: getattr(model, f"n_skips_{kind}_") for kind in failing}
        assert skips == {kind: 7 * (kind == name) for kind in failing}
        with pytest.raises(NotFittedError):
            model.predict(X)
    model = kg.RANSACRegressor(random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="consensus set"):
        model.set_params(max_trials=7, is_data_valid=lambda X, y: False).fit(X, y)
    assert model.n_skips_invalid_data_ == 7
    np.testing.assert_array_equal(model.predict(X), before)


def test_numbers_of_outliers_stand_beside_their_points():
    pytest.importorskip("matplotlib").use("Agg")
    x = np.arange(20.0)[:, None]
    y = 2 * x[:, 0] + 0.1 * (-1) ** np.arange(20)
    y[7] = 50.0
    report = kg.outlier_report(kg.LeastTrimmedSquares(random_state=0).fit(x, y), x, y)
    (label,) = [t for t in report.plot().texts if t.get_text() == "7"]
    assert label.xy == (report.distances[7], report.residuals[7])
    assert label.xyann[0] > 0
