"""GaussianMixture: scikit-learn's answers, weights, holes, priors, online steps, bad input."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Peer

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.statistics.mixture import Components, MixtureSums
from kilogram.statistics.mixture_products import log_joint, standard_sums
from kilogram.textbook import mixture as book
from kilogram.textbook.state import run

KINDS = ["full", "tied", "diag", "spherical"]
X, Y = make_blobs(400, 4, centers=3, cluster_std=2.5, random_state=1)
ATTRIBUTES = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def given(kind, k=3, rows=X):
    """The same start for everyone."""
    d = rows.shape[1]
    precisions = {
        "full": np.stack([np.eye(d)] * k),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }[kind]
    return {
        "covariance_type": kind,
        "weights_init": np.full(k, 1 / k),
        "means_init": rows[:k],
        "precisions_init": precisions,
    }


def elongated(n=600, seed=0):
    """Two long clouds side by side."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % 2
    return np.c_[8 * rng.standard_normal(n), 4.0 * own + 0.5 * rng.standard_normal(n)], own


@quiet
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 7])
def test_equals_scikit_learn_from_the_same_start(kind, k):
    params = given(kind, k) | {"tol": 0, "max_iter": 12}
    ours, peer = kg.GaussianMixture(k, **params).fit(X), Peer(k, **params).fit(X)
    rounding = 1e-9  # of a dozen steps, relative to the largest number of each attribute
    # an inverse is known to cond(C) times that; one of seven full components is nearly flat
    spread = np.linalg.cond(peer.covariances_).max() if kind in ("full", "tied") else 1.0
    inverse = max(rounding, 1e-13 * spread)
    for name in ATTRIBUTES:
        got, want = getattr(ours, name), getattr(peer, name)
        assert got.shape == want.shape
        atol = (inverse if "precisions" in name else rounding) * np.abs(want).max()
        np.testing.assert_allclose(got, want, rtol=0, atol=atol, err_msg=name)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=inverse)
    np.testing.assert_allclose(ours.score_samples(X), peer.score_samples(X), rtol=inverse)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    for measure in ("score", "bic", "aic"):
        assert getattr(ours, measure)(X) == pytest.approx(getattr(peer, measure)(X))
    assert ours.lower_bounds_[-1] == pytest.approx(peer.lower_bound_)
    assert ours.n_iter_ == peer.n_iter_


@pytest.mark.parametrize("kind", KINDS)
def test_stops_where_scikit_learn_stops(kind):
    ours = kg.GaussianMixture(3, **given(kind)).fit(X)
    peer = Peer(3, **given(kind)).fit(X)
    assert (ours.n_iter_, ours.converged_) == (peer.n_iter_, True)
    assert ours.lower_bound_ == pytest.approx(ours.score(X))
    assert ours.objective_ == pytest.approx(ours.objective(X))


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_near_and_stays_float32(kind):
    params = given(kind) | {"tol": 0, "max_iter": 8}
    wide = kg.GaussianMixture(3, **params).fit(X)
    small = kg.GaussianMixture(3, **params).fit(X.astype(np.float32))
    for name in ATTRIBUTES:
        assert getattr(small, name).dtype == np.float32
        np.testing.assert_allclose(getattr(small, name), getattr(wide, name), rtol=2e-3, atol=2e-3)
    assert small.predict_proba(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data", "farthest"])
@pytest.mark.parametrize("form", ["numpy", "dask", "sparse", "blocks"])
def test_every_start_climbs_to_the_same_place(init, form):
    rows, own = make_blobs(300, 3, centers=3, cluster_std=0.5, random_state=4)
    container = {
        "numpy": rows,
        "dask": da.from_array(rows, chunks=(70, 3)),
        "sparse": sp.csr_array(rows),
        "blocks": [rows[:110], rows[110:]],
    }[form]
    model = kg.GaussianMixture(3, init_params=init, n_init=4, random_state=0, max_iter=300)
    model.fit(container)
    if init != "random":  # shares at random lie near the mean, from where few fits climb high
        assert adjusted_rand_score(own, np.asarray(model.predict(rows))) == 1.0
    assert np.isfinite(model.lower_bound_)
    again = kg.GaussianMixture(3, init_params=init, n_init=4, random_state=0, max_iter=300)
    np.testing.assert_array_equal(again.fit(container).means_, model.means_)


@quiet
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(kind, library):
    xp = pytest.importorskip(library)
    params = given(kind) | {"tol": 0, "max_iter": 5}
    want = kg.GaussianMixture(3, **params).fit(X)
    got = kg.GaussianMixture(3, **params).fit(xp.asarray(X))
    for name in ATTRIBUTES:
        assert type(getattr(got, name)) is type(xp.asarray(X))
        np.testing.assert_allclose(np.asarray(getattr(got, name)), getattr(want, name), rtol=1e-7)
    drawn, _ = got.sample(5)
    assert type(drawn) is type(xp.asarray(X))


@pytest.mark.parametrize("kind", KINDS)
def test_fast_and_plain_sums_agree(kind):
    rng = np.random.default_rng(0)
    model = kg.GaussianMixture(5, covariance_type=kind, random_state=0).fit(X)
    parts: Components = model._components()
    w = rng.random(len(X))
    fast = MixtureSums.of(X, w, parts)
    plain = MixtureSums(*standard_sums(X, w, parts, log_joint(X, parts)))
    halves = MixtureSums.of(X[:150], w[:150], parts) + MixtureSums.of(X[150:], w[150:], parts)
    for other in (plain, halves):
        for name in ("weights", "first", "second", "loglik", "total"):
            np.testing.assert_allclose(
                getattr(fast, name), getattr(other, name), rtol=1e-9, atol=1e-8
            )


@quiet
def test_wide_rows_of_one_shape_are_turned_and_agree():
    """Beyond a few columns "tied" sees the rows through its one factor."""
    rows = np.random.default_rng(0).standard_normal((300, 40)) + 2 * (np.arange(300) % 3)[:, None]
    params = given("tied", 3, rows) | {"tol": 0, "max_iter": 5}
    ours, peer = kg.GaussianMixture(3, **params).fit(rows), Peer(3, **params).fit(rows)
    np.testing.assert_allclose(ours.covariances_, peer.covariances_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.means_, peer.means_, rtol=1e-7, atol=1e-9)


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind):
    w = np.random.default_rng(0).integers(1, 4, len(X))
    params = given(kind) | {"tol": 0, "max_iter": 6, "prior": 2.0}
    one = kg.GaussianMixture(3, **params).fit(X, sample_weight=w.astype(float))
    two = kg.GaussianMixture(3, **params).fit(np.repeat(X, w, axis=0))
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-10, atol=1e-12)
    score = one.score(X, sample_weight=w)
    assert score == pytest.approx(one.score(np.repeat(X, w, axis=0)))
    assert one.bic(X, sample_weight=w) == pytest.approx(one.bic(np.repeat(X, w, axis=0)))


# holes in the rows


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_holes_are_integrated_out(kind):
    """The density of a row with NaN is that of the columns it shows."""
    model = kg.GaussianMixture(3, **given(kind), max_iter=5).fit(X)
    rows = X[:6].copy()
    rows[0, 1] = rows[1, [0, 2]] = rows[3, :3] = rows[4] = np.nan
    for x, log_p in zip(rows, model.score_samples(rows), strict=True):
        o = np.flatnonzero(~np.isnan(x))
        p = 0.0
        for c in range(3):
            C = model.covariances_ if kind == "tied" else model.covariances_[c]
            C = C if np.ndim(C) == 2 else np.diag(np.broadcast_to(C, 4))
            seen = (
                multivariate_normal(model.means_[c, o], C[np.ix_(o, o)]).pdf(x[o]) if len(o) else 1
            )
            p += model.weights_[c] * seen
        assert log_p == pytest.approx(np.log(p), abs=1e-9)
    np.testing.assert_allclose(model.predict_proba(rows)[4], model.weights_)
    np.testing.assert_allclose(model.predict_proba(rows)[5], model.predict_proba(X[5:6])[0])


@quiet
def test_em_with_holes_equals_the_textbook_version():
    rows = X[:60, :3].copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.25] = np.nan
    rows[7] = np.nan
    mu, Sigma = np.nan_to_num(rows[:2]), np.stack([9 * np.eye(3)] * 2)
    reference = run(book.em_missing(rows, np.array([0.5, 0.5]), mu, Sigma, 4))
    model = kg.GaussianMixture(
        2,
        weights_init=[0.5, 0.5],
        means_init=mu,
        precisions_init=np.linalg.inv(Sigma),
        max_iter=4,
        tol=0,
        reg_covar=0,
    ).fit(rows)
    np.testing.assert_allclose(model.means_, reference["mu"], rtol=1e-9)
    np.testing.assert_allclose(model.covariances_, reference["Sigma"], rtol=1e-9)
    assert model.lower_bounds_[-1] == pytest.approx(float(reference["L"]) / 60)
    streamed = kg.GaussianMixture(**model.get_params()).fit(da.from_array(rows, chunks=(17, 3)))
    np.testing.assert_allclose(streamed.covariances_, model.covariances_, rtol=1e-9)


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_never_falls(kind):
    rows = X.copy()
    rows[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    for data in (X, rows):
        for prior in (None, 5.0):
            model = kg.GaussianMixture(
                4, covariance_type=kind, reg_covar=0, tol=0, max_iter=15, prior=prior,
                init_params="random_from_data", random_state=0,
            ).fit(data)  # fmt: skip
            assert (np.diff(model.lower_bounds_) > -1e-10).all()
            assert model.lower_bound_ >= model.lower_bounds_[-1] - 1e-10


def test_missing_values_cost_little_where_other_columns_are_informative():
    rows, own = make_blobs(300, 4, centers=3, cluster_std=1.0, random_state=4)
    rows[np.random.default_rng(0).random(rows.shape) < 0.3] = np.nan
    model = kg.GaussianMixture(3, n_init=3, random_state=0).fit(rows)
    seen = ~np.isnan(rows).all(axis=1)
    assert adjusted_rand_score(own[seen], model.predict(rows)[seen]) > 0.9


# priors and collapse


@pytest.mark.parametrize("kind", KINDS)
def test_prior_is_the_mode_of_an_inverse_wishart(kind):
    """One component: (scatter + a rows of the covariance) / (n + a) is the covariance again."""
    model = kg.GaussianMixture(1, covariance_type=kind, prior=50.0, reg_covar=0).fit(X)
    plain = kg.GaussianMixture(1, covariance_type=kind, reg_covar=0).fit(X)
    np.testing.assert_allclose(model.covariances_, plain.covariances_, rtol=1e-9)


def test_prior_keeps_a_component_from_a_single_row():
    rows = np.concatenate([np.random.default_rng(0).standard_normal((40, 2)), [[9.0, 9.0]]])
    start = {"means_init": [[0.0, 0.0], [9.0, 9.0]], "init_params": "farthest"}
    bare = kg.GaussianMixture(2, reg_covar=1e-12, **start).fit(rows)
    held = kg.GaussianMixture(2, reg_covar=1e-12, prior=3.0, **start).fit(rows)
    assert np.linalg.det(bare.covariances_).min() < 1e-20
    assert np.linalg.det(held.covariances_).min() > 1e-2
    assert held.objective_ == pytest.approx(held.objective(rows))


@quiet
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reg", [1e-6, 0.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_awkward_rows_never_give_nan(kind, reg, dtype):
    rng = np.random.default_rng(0)
    cases = {
        "all equal": np.full((20, 3), 2.5),
        "one row": np.array([[1.0, 2.0]]),
        "fewer rows than columns": rng.standard_normal((5, 12)),
        "a constant column": np.c_[rng.standard_normal((30, 2)), np.zeros(30)],
        "duplicates": np.repeat(rng.standard_normal((4, 3)), 5, axis=0),
        "as many components as rows": rng.standard_normal((3, 2)),
        "large": 1e6 * rng.standard_normal((30, 2)) + 1e8,
        "tiny": 1e-9 * rng.standard_normal((30, 2)),
        "a row far out": np.r_[rng.standard_normal((30, 2)), [[1e6, 1e6]]],
    }
    for name, rows in cases.items():
        rows = rows.astype(dtype)
        model = kg.GaussianMixture(
            min(3, len(rows)), covariance_type=kind, reg_covar=reg, random_state=0
        ).fit(rows)
        for attribute in ATTRIBUTES:
            assert np.isfinite(getattr(model, attribute)).all(), (name, attribute)
        assert np.isfinite(model.score_samples(rows)).all(), name
        assert model.weights_.sum() == pytest.approx(1.0, rel=1e-5)
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0, rtol=1e-5)


def test_components_that_lose_their_rows_stay_finite():
    start = {"weights_init": [0.5, 0.5], "means_init": [[0.0] * 4, [1e5] * 4]}
    model = kg.GaussianMixture(2, precisions_init=np.stack([np.eye(4)] * 2), **start).fit(X)
    assert model.weights_[1] == 0
    np.testing.assert_array_equal(model.means_[1], [1e5] * 4)
    assert (model.predict(X) == 0).all()
    assert np.isfinite(model.score(X))


# online


@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_comes_near_the_full_fit(kind):
    rng = np.random.default_rng(0)
    rows, own = make_blobs(4000, 3, centers=3, cluster_std=1.0, random_state=4)
    full = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(rows)
    online = kg.GaussianMixture(3, covariance_type=kind, random_state=0)
    for batch in np.split(rng.permutation(4000), 20):
        online.partial_fit(rows[batch])
    assert online.score(rows) > full.score(rows) - 0.02
    assert adjusted_rand_score(own, online.predict(rows)) > 0.95
    assert online.n_iter_ == 20


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_one_batch_is_one_step_and_decay_one_is_the_mean(kind):
    start = given(kind)
    one = kg.GaussianMixture(3, **start, max_iter=1).fit(X)
    batch = kg.GaussianMixture(3, **start).partial_fit(X)
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(batch, name), getattr(one, name), rtol=1e-9)
    # two batches whose components do not move add up to one: k = 1 has the moments of all rows
    single = kg.GaussianMixture(1, covariance_type=kind, learning_decay=1.0)
    single.partial_fit(X[:200]).partial_fit(X[200:])
    whole = kg.GaussianMixture(1, covariance_type=kind).fit(X)
    np.testing.assert_allclose(single.covariances_, whole.covariances_, rtol=1e-9)
    np.testing.assert_allclose(single.means_, whole.means_, rtol=1e-9)


def test_partial_fit_goes_on_after_fit():
    model = kg.GaussianMixture(3, random_state=0).fit(X)
    before = model.score(X)
    model.partial_fit(X)
    assert model.score(X) == pytest.approx(before, abs=1e-2)


@quiet
def test_warm_start_goes_on():
    model = kg.GaussianMixture(3, **given("full"), max_iter=3, tol=0, warm_start=True).fit(X).fit(X)
    once = kg.GaussianMixture(3, **given("full"), max_iter=6, tol=0).fit(X)
    np.testing.assert_allclose(model.means_, once.means_, rtol=1e-9)


# answers


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_moments_of_the_model(kind):
    model = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    rows, own = model.sample(40_000)
    assert (np.diff(own) >= 0).all()
    np.testing.assert_allclose(np.bincount(own) / 40_000, model.weights_, atol=0.01)
    for c in range(3):
        C = model.covariances_ if kind == "tied" else model.covariances_[c]
        C = C if np.ndim(C) == 2 else np.diag(np.broadcast_to(C, 4))
        np.testing.assert_allclose(rows[own == c].mean(axis=0), model.means_[c], atol=0.15)
        np.testing.assert_allclose(np.cov(rows[own == c].T), C, atol=0.4)
    with pytest.raises(ValueError, match="at least one"):
        model.sample(0)


def test_attributes_set_by_hand_are_used():
    model = kg.GaussianMixture(3, random_state=0).fit(X)
    copy = kg.GaussianMixture(3)
    for name in ATTRIBUTES:
        setattr(copy, name, getattr(model, name))
    copy.n_features_in_ = 4
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_bic_finds_the_number_of_components():
    rows, _ = make_blobs(600, 2, centers=3, cluster_std=0.8, random_state=4)
    scores = [
        kg.GaussianMixture(k, n_init=3, random_state=0).fit(rows).bic(rows) for k in range(1, 6)
    ]
    assert int(np.argmin(scores)) + 1 == 3


def test_digits_are_no_less_likely_than_scikit_learns():
    rows = load_digits().data
    params = {"covariance_type": "diag", "reg_covar": 1e-2}
    ours = [
        kg.GaussianMixture(10, random_state=s, **params).fit(rows).score(rows) for s in range(3)
    ]
    peer = [Peer(10, random_state=s, **params).fit(rows).score(rows) for s in range(3)]
    assert np.median(ours) > np.median(peer) - 1.0


# what is refused


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 401}, "n_samples >= n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1.0}, "tol"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"reg_covar": np.nan}, "reg_covar"),
        ({"prior": -1.0}, "prior"),
        ({"prior": "strong"}, "prior"),
        ({"learning_decay": 0.5}, "learning_decay"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"init_params": "somehow"}, "init_params"),
        ({"n_components": 2, "weights_init": [0.5, 0.6]}, "weights_init"),
        ({"n_components": 2, "weights_init": [1.0]}, "weights_init"),
        ({"n_components": 2, "means_init": X[:3]}, "means_init"),
        ({"n_components": 2, "means_init": np.full((2, 4), np.nan)}, "means_init"),
        ({"precisions_init": -np.eye(4)[None]}, "positive-definite"),
        ({"covariance_type": "diag", "precisions_init": -np.ones((1, 4))}, "positive"),
        ({"max_time": 0}, "max_time"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.GaussianMixture(**params).fit(X)


def test_infinity_is_refused():
    rows = X.copy()
    rows[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        kg.GaussianMixture(2).fit(rows)
    with pytest.raises(ValueError, match="overflow"):
        kg.GaussianMixture(2).fit(da.from_array(rows, chunks=(100, 4)))
    model = kg.GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        model.score_samples(rows)


def test_unfinished_fits_say_so_and_finished_ones_do_not():
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.GaussianMixture(3, max_iter=1, random_state=0).fit(X)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kg.GaussianMixture(3, random_state=0).fit(X).converged_


def test_estimate_grows_with_the_rows():
    small, large = (kg.estimate(kg.GaussianMixture(10), n, 20) for n in (1_000, 1_000_000))
    assert small.seconds < large.seconds
    assert "EM" in large.method


@pytest.mark.filterwarnings("ignore:GaussianMixture stopped")
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_warm_starts_of_one_iteration_converge(kind):
    """A fit that continues compares its bound with the last one, as scikit-learn does."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + 5])
    given = {"covariance_type": kind, "random_state": 0, "tol": 1e-4}
    model = kg.GaussianMixture(2, warm_start=True, max_iter=1, **given)
    calls = 0
    while calls < 100 and not getattr(model, "converged_", False):
        model.fit(rows)
        calls += 1
    at_once = kg.GaussianMixture(2, **given).fit(rows)
    assert model.converged_
    assert calls == at_once.n_iter_ > 1
    np.testing.assert_allclose(model.means_, at_once.means_, rtol=1e-10)
