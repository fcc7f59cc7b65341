"""Huber and quantile regression beside scikit-learn's, at awkward sizes, and with bad input."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model

import kilogram as kg


def rows(n, d, seed=0, far=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 3.0
    y = X @ np.arange(1.0, d + 1) + 2.0 + rng.standard_normal(n)
    k = int(far * n)
    y[:k] += 30.0 + 50.0 * rng.standard_normal(k)
    return X, y


@pytest.mark.parametrize(("n", "d"), [(60, 5), (2000, 7), (7, 1)])
@pytest.mark.parametrize("intercept", [True, False])
def test_huber_reaches_the_optimum_of_the_peer(n, d, intercept):
    X, y = rows(n, d)
    fast = kg.HuberRegressor(fit_intercept=intercept, tol=1e-7).fit(X, y)
    peer = linear_model.HuberRegressor(fit_intercept=intercept, max_iter=5000, tol=1e-9).fit(X, y)
    peer.n_features_in_ = d
    theirs = kg.HuberRegressor(fit_intercept=intercept).fit(X, y)
    theirs.coef_, theirs.intercept_, theirs.scale_ = peer.coef_, peer.intercept_, peer.scale_
    assert fast.objective_ <= theirs.objective(X, y) * (1 + 1e-9)
    np.testing.assert_allclose(fast.coef_, peer.coef_, atol=2e-3)
    np.testing.assert_allclose(fast.scale_, peer.scale_, rtol=2e-3)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize(("n", "d"), [(200, 4), (40, 20), (9, 1)])
def test_quantiles_are_the_program_s_optimum(quantile, alpha, n, d):
    X, y = rows(n, d, seed=1)
    fast = kg.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    peer = linear_model.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
    r = y - peer.predict(X)
    theirs = np.maximum(quantile * r, (quantile - 1) * r).sum() + alpha * n * abs(peer.coef_).sum()
    assert fast.objective_ == pytest.approx(theirs, rel=1e-8, abs=1e-8)
    below = (y < fast.predict(X) - 1e-9).mean()
    assert below <= quantile + (d + 1) / n


@pytest.mark.parametrize("size", [1e-250, 1e250])
def test_quantiles_scale_with_the_target(size):
    X, y = rows(60, 3)
    want = kg.QuantileRegressor(alpha=0.01).fit(X, y).coef_
    got = kg.QuantileRegressor(alpha=0.01).fit(X, y * size).coef_
    np.testing.assert_allclose(got / size, want, rtol=1e-6, atol=1e-8)


def test_huber_says_that_squares_overflow():
    X, y = rows(60, 3)
    with pytest.raises(ValueError, match="squares overflow"):
        kg.HuberRegressor().fit(X, y * 1e200)


def test_weights_in_quantiles():
    X, y = rows(50, 3, seed=2)
    w = np.random.default_rng(0).integers(0, 4, 50)
    one = kg.QuantileRegressor(alpha=0.01).fit(X, y, w.astype(float))
    two = kg.QuantileRegressor(alpha=0.01).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-8)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-10)


def test_rows_in_blocks_and_sparse_rows():
    X, y = rows(300, 6, seed=3)
    X = np.where(X < 3, 0.0, X)
    want = kg.HuberRegressor(scale="mad", tol=1e-7).fit(X, y)
    lazy = kg.HuberRegressor(scale="mad", tol=1e-7).fit(da.from_array(X, chunks=(70, 4)), y)
    thin = kg.HuberRegressor(scale="mad", tol=1e-7).fit(sp.csr_array(X), y)
    for model in (lazy, thin):
        np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-7, atol=1e-9)
        assert model.scale_ == pytest.approx(want.scale_)
    assert not hasattr(lazy, "outliers_")
    np.testing.assert_array_equal(thin.outliers_, want.outliers_)


def test_warm_start_goes_on_where_it_was():
    X, y = rows(500, 4, seed=4)
    model = kg.HuberRegressor(warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= 2 < first


def test_exact_rows_have_no_scale_to_find():
    X, y = rows(40, 3, seed=5, far=0.0)
    y = X @ np.arange(1.0, 4) + 2.0
    model = kg.HuberRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], rtol=1e-8)
    y[0] += 100.0  # one row off: the others are fitted exactly
    model = kg.HuberRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], rtol=1e-6)
    assert model.outliers_[0]
    np.testing.assert_allclose(kg.QuantileRegressor(alpha=0).fit(X, y).coef_, [1, 2, 3], rtol=1e-8)
    same = kg.HuberRegressor().fit(X, np.full(40, 7.0))
    np.testing.assert_allclose(same.predict(X), 7.0)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"epsilon": 0.5}, "at least 1"),
        ({"epsilon": -1.0, "scale": 1.0}, "epsilon"),
        ({"scale": "median"}, "scale"),
        ({"scale": 0.0}, "scale"),
        ({"alpha": -1.0}, "alpha"),
        ({"tol": "small"}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_of_huber(params, match):
    with pytest.raises(ValueError, match=match):
        kg.HuberRegressor(**params).fit(*rows(20, 2))


@pytest.mark.parametrize(
    ("params", "match"),
    [({"quantile": 0.0}, "quantile"), ({"quantile": "half"}, "quantile"), ({"alpha": -1}, "alpha")],
)
def test_bad_parameters_of_quantiles(params, match):
    with pytest.raises(ValueError, match=match):
        kg.QuantileRegressor(**params).fit(*rows(20, 2))


def test_too_few_iterations_are_reported():
    X, y = rows(200, 5)
    for model in (kg.HuberRegressor(max_iter=2), kg.QuantileRegressor(max_iter=2)):
        with pytest.warns(match="usable"):
            model.fit(X, y)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", ["HuberRegressor", "QuantileRegressor"])
def test_max_memory_is_kept_or_refused(name):
    """The products of the columns were made wherever the machine had room for them."""
    X, y = rows(20, 300)
    model = getattr(kg, name)(max_memory="1MiB")
    assert not kg.estimate(model, *X.shape).fits
    with pytest.raises(
        MemoryError, match=r"300 by 300, need .* limit is 1 MiB.* larger max_memory"
    ):
        model.fit(X, y)
    model.set_params(max_memory="64MiB").fit(X, y)
    assert kg.estimate(model, *X.shape).fits
    with pytest.raises(ValueError, match="memory"):
        model.set_params(max_memory="plenty").fit(X, y)


@pytest.mark.parametrize("epsilon", [1.0001, 1.01, 1.1])
def test_huber_near_absolute_deviations(epsilon):
    """For epsilon near 1 the scale tends to 0 and the objective to 2 sum |r|."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 5))
        y = X @ rng.standard_normal(5) + rng.standard_t(2, 200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kg.HuberRegressor(epsilon=epsilon, alpha=0.0).fit(X, y)
            peer = linear_model.HuberRegressor(
                epsilon=epsilon, alpha=0.0, max_iter=20_000, tol=1e-10
            ).fit(X, y)
        r = np.abs(y - peer.predict(X))
        z = r / peer.scale_
        losses = np.where(z <= epsilon, z**2, 2 * epsilon * z - epsilon**2)
        assert model.objective_ <= (1 + 1e-7) * np.sum(peer.scale_ * (1 + losses))


def test_quantile_of_zeros():
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = kg.QuantileRegressor(alpha=0.1).fit(X, np.zeros(30))
    np.testing.assert_array_equal(model.predict(X), 0.0)


def test_ransac_refuses_to_draw_for_ever():
    X, y = np.arange(10.0)[:, None], np.arange(10.0) ** 2
    with pytest.raises(ValueError, match="max_trials=inf with stop_probability=1 never ends"):
        kg.RANSACRegressor(max_trials=np.inf, stop_probability=1.0).fit(X, y)


def test_quantile_regression_of_huge_targets_under_any_penalty():
    """A penalty above every slope of the loss gives zeros, however large it is."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((31, 3)), 1e99 * rng.standard_normal(31)
    model = kg.QuantileRegressor(alpha=1e300).fit(X, y)
    assert not model.coef_.any()
    assert np.abs(model.intercept_ - np.median(y)) < 1e-3 * np.ptp(y)


def test_ransac_of_a_constant_target_of_equal_rows():
    """The threshold is 0 then, and the rounding of a fit was above it: no set was found."""
    X, y = np.ones((40, 4)), np.full(40, 2.0)
    model = kg.RANSACRegressor(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    assert model.inlier_mask_.all()
