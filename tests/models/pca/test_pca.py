"""PCA: scikit-learn's answers by every solver, the texts' claims, and what scikit-learn lacks."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import ConvergenceWarning
from kilogram.textbook.pca import pca as reference
from kilogram.textbook.pca import pca_dual as reference_dual
from kilogram.textbook.state import run
from tests.fuzz.cases import put

SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "randomized"]


def rows(n=120, d=7, seed=0, mean=2.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(3, 0.3, d)
    return (X @ np.linalg.qr(rng.standard_normal((d, d)))[0] + mean).astype(dtype)


def assert_same(got, want, k=None, **tol):
    """Equal in everything scikit-learn reports."""
    k = k or want.n_components_
    tol = {"rtol": 1e-7, "atol": 1e-9} | tol
    assert got.n_components_ == want.n_components_
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(to_numpy(getattr(got, name))[:k], getattr(want, name)[:k], **tol)
    assert_allclose(to_numpy(got.components_)[:k], want.components_[:k], **tol)
    assert_allclose(to_numpy(got.mean_), want.mean_, **tol)
    assert_allclose(got.noise_variance_, want.noise_variance_, **tol)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "d", "k"), [(120, 7, 3), (120, 7, 7), (9, 30, 4), (40, 40, 5)])
def test_equals_scikit_learn(solver, n, d, k):
    X, new = rows(n, d), rows(11, d, seed=5)
    want = sklearn.decomposition.PCA(k, svd_solver="full").fit(X)
    got = kg.PCA(k, svd_solver=solver, random_state=0, iterated_power=30).fit(X)
    tol = {"rtol": 1e-5, "atol": 1e-6} if solver == "randomized" else {}
    assert_same(got, want, **tol)
    assert got.n_samples_ == n
    atol = 1e-5 if solver == "randomized" else 1e-9
    assert_allclose(got.transform(new), want.transform(new), atol=atol)
    Z = want.transform(new)
    assert_allclose(got.inverse_transform(Z), want.inverse_transform(Z), atol=atol)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
@pytest.mark.parametrize("k", [None, 0.5, 0.9, 0.9999, "mle", 0])
def test_numbers_of_components(solver, k):
    X = rows()
    assert_same(
        kg.PCA(k, svd_solver=solver).fit(X),
        sklearn.decomposition.PCA(k, svd_solver="full").fit(X),
    )


def test_fewer_rows_than_columns_keeps_all():
    X = rows(6, 20)
    model = kg.PCA().fit(X)
    assert model.solver_ == "dual"
    assert model.components_.shape == (6, 20)
    assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)
    assert model.explained_variance_[-1] == 0  # centring takes one dimension
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)


def test_density_is_scikit_learns():
    X, new = rows(), rows(13, seed=3)
    want, got = sklearn.decomposition.PCA(3).fit(X), kg.PCA(3).fit(X)
    assert_allclose(got.get_covariance(), want.get_covariance(), atol=1e-10)
    assert_allclose(got.get_precision(), want.get_precision(), atol=1e-9)
    assert_allclose(got.score_samples(new), want.score_samples(new), rtol=1e-9)
    assert got.score(new) == pytest.approx(want.score(new))
    all_of_them = kg.PCA().fit(X)
    assert_allclose(all_of_them.get_covariance(), np.cov(X.T), atol=1e-10)
    assert_allclose(all_of_them.get_precision(), np.linalg.inv(np.cov(X.T)), rtol=1e-7)


def test_whitening_leaves_the_density_alone():
    X = rows()
    plain, white = kg.PCA(3).fit(X), kg.PCA(3, whiten=True).fit(X)
    assert_allclose(np.cov(white.transform(X).T), np.eye(3), atol=1e-10)
    assert_allclose(white.inverse_transform(white.transform(X)), plain.denoise(X), atol=1e-10)
    assert white.score(X) == pytest.approx(plain.score(X))


# -- the texts ------------------------------------------------------------------------------------


def test_textbook():
    X = rows()
    page, model = run(reference(X, 3)), kg.PCA(3).fit(X)
    assert_allclose(np.abs(model.transform(X)), np.abs(page["X_hat"]), atol=1e-10)
    assert_allclose(model.explained_variance_ * (len(X) - 1) / len(X), page["Lambda"][:3])
    wide = rows(8, 30)
    page, model = run(reference_dual(wide, 3)), kg.PCA(3).fit(wide)
    assert_allclose(model.components_, page["W"].T, atol=1e-10)


def test_reconstruction_error_is_what_was_left_out():
    """T7.2, T12.8: summed over the rows it is the rest of the eigenvalues; it falls with k."""
    X = rows()
    values = kg.PCA().fit(X).singular_values_ ** 2
    errors = [kg.PCA(k).fit(X).reconstruction_error(X).sum() for k in range(1, 8)]
    assert_allclose(errors, [values[k:].sum() for k in range(1, 8)], atol=1e-9)


def test_hand_solvable():
    X = np.array([[2.0, 0], [-2, 0], [0, 1], [0, -1]])
    model = kg.PCA(1).fit(X)
    assert_allclose(model.explained_variance_ * 3 / 4, [2.0])  # the text divides by N
    assert model.reconstruction_error(X).sum() == pytest.approx(2.0)


def test_any_components_can_be_kept_or_removed():
    X = rows()
    model = kg.PCA().fit(X)
    V, Xc = model.components_, X - model.mean_
    assert_allclose(model.denoise(X, keep=[1, 3]), model.mean_ + Xc @ V[[1, 3]].T @ V[[1, 3]])
    assert_allclose(model.denoise(X, remove=[0]), X - Xc @ V[:1].T @ V[:1])
    assert_allclose(model.denoise(X, keep=slice(0, 2)), kg.PCA(2).fit(X).denoise(X))
    both = model.denoise(X, keep=[-1]) + model.denoise(X, remove=[-1]) - model.mean_
    assert_allclose(both, X)
    with pytest.raises(ValueError, match="component 9 does not exist"):
        model.denoise(X, keep=[9])
    with pytest.raises(ValueError, match="cannot be given together"):
        model.denoise(X, keep=[0], remove=[1])


# -- solvers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "d", "k", "solver"),
    [(900, 20, 3, "primal"), (20, 900, 3, "dual"), (1200, 1100, 3, "krylov"), (700, 600, None, 0)],
)
def test_choice_of_solver(n, d, k, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) * 5
    X += 0.1 * rng.standard_normal((n, d))
    model = kg.PCA(k, random_state=0).fit(X)
    assert model.solver_ == (solver or "primal")
    want = sklearn.decomposition.PCA(k, svd_solver="full").fit(X)
    assert_same(model, want, k=3, atol=1e-6)


def test_memory_limit_leads_to_products():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 20)) @ rng.standard_normal((20, 1000))
    X += 0.01 * rng.standard_normal(X.shape)
    assert kg.estimate(kg.PCA(20), *X.shape).method == "primal"
    model = kg.PCA(20, max_memory="10MB").fit(X)
    assert model.solver_ == "krylov"
    assert_allclose(np.var(model.transform(X), axis=0, ddof=1), model.explained_variance_)


def test_small_variances_keep_their_digits_in_the_svd():
    X = rows(300, 4, mean=0.0)
    X = (X - X.mean(axis=0)) @ np.diag([1, 1e-3, 1e-6, 1e-9])
    want = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert_allclose(kg.PCA(svd_solver="full").fit(X).singular_values_, want, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_large_mean(solver, dtype):
    offset = 1e8 if dtype is np.float64 else 1e4
    X = rows(200, 5, mean=offset, dtype=dtype)
    exact = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    model = kg.PCA(2, svd_solver=solver, random_state=0).fit(X)
    want = np.linalg.svd(exact, compute_uv=False)[:2]
    assert_allclose(model.singular_values_, want, rtol=1e-6 if dtype is np.float64 else 1e-3)
    Z = model.transform(X)
    assert Z.dtype == dtype
    assert_allclose(Z.astype(float).mean(axis=0), 0, atol=1e-6 if dtype is np.float64 else 1e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32(solver):
    X = rows(300, 6)
    want = kg.PCA(3, svd_solver=solver, random_state=0, iterated_power=20).fit(X)
    got = kg.PCA(3, svd_solver=solver, random_state=0, iterated_power=20).fit(X.astype("f4"))
    assert got.components_.dtype == got.explained_variance_.dtype == np.float32
    assert_allclose(got.explained_variance_, want.explained_variance_, rtol=1e-5)
    assert_allclose(got.components_, want.components_, atol=1e-4)


def test_constant_data():
    model = kg.PCA(2).fit(np.full((10, 4), 3.0))
    assert_allclose(model.explained_variance_ratio_, 0)
    assert_allclose(model.transform(np.full((2, 4), 3.0)), 0)
    assert_allclose(kg.PCA(2, whiten=True).fit_transform(np.full((10, 4), 3.0)), 0)


# -- containers, weights, streams -----------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(150, 12), (12, 150)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_equals_dense_and_stays_sparse(solver, shape, weighted, monkeypatch):
    X = sp.random_array(shape, density=0.3, format="csr", random_state=np.random.default_rng(0))
    w = np.random.default_rng(1).integers(0, 3, shape[0]).astype(float) if weighted else None
    want = kg.PCA(3, svd_solver="full").fit(X.toarray(), sample_weight=w)
    if solver in ("arpack", "randomized"):  # the others write out square matrices or panels
        monkeypatch.setattr(sp.csr_array, "toarray", None)
        monkeypatch.setattr(sp.csc_array, "toarray", None)
    model = kg.PCA(3, svd_solver=solver, random_state=0, iterated_power=40)
    got = model.fit(X, sample_weight=w)
    monkeypatch.undo()
    assert_allclose(got.explained_variance_, want.explained_variance_, rtol=1e-5)
    assert_allclose(got.transform(X), want.transform(X.toarray()), atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(40, 5), (12, 30)])
def test_weights_are_repetitions(solver, shape):
    X, w = rows(*shape), np.random.default_rng(1).integers(0, 4, shape[0])
    params = {"svd_solver": solver, "random_state": 0, "iterated_power": 40}
    got = kg.PCA(3, **params).fit(X, sample_weight=w)
    want = kg.PCA(3, **params).fit(np.repeat(X, w, axis=0))
    assert_allclose(got.explained_variance_, want.explained_variance_, rtol=1e-7)
    assert_allclose(got.components_, want.components_, atol=1e-5)
    assert got.noise_variance_ == pytest.approx(want.noise_variance_)
    assert got.n_samples_ == want.n_samples_


def test_weights_that_sum_to_one_are_refused_with_advice():
    X = rows()
    with pytest.raises(ValueError, match="by n"):
        kg.PCA(2).fit(X, sample_weight=np.full(len(X), 1 / len(X)))


@pytest.mark.parametrize("size", [1, 7, 50, 120])
def test_partial_fit_is_fit(size):
    X, w = rows(), np.random.default_rng(0).integers(1, 3, 120).astype(float)
    want, got = kg.PCA(3).fit(X, sample_weight=w), kg.PCA(3)
    for i in range(0, len(X), size):
        got.partial_fit(X[i : i + size], sample_weight=w[i : i + size])
        assert got.components_.shape[0] <= 3
    assert_same(got, want)
    with pytest.warns(UserWarning, match="starts again"):
        want.partial_fit(X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_dask(solver):
    da = pytest.importorskip("dask.array")
    X = rows(200, 12)
    params = {"svd_solver": solver, "random_state": 0, "iterated_power": 30}
    want = kg.PCA(3, **params).fit(X)
    lazy = da.from_array(X, chunks=(37, 5))
    got = kg.PCA(3, **params).fit(lazy)
    assert_same(got, want, rtol=1e-5, atol=1e-6)
    Z = got.transform(lazy)
    assert isinstance(Z, da.Array)
    assert_allclose(Z.compute(scheduler="threads"), want.transform(X), atol=1e-5)
    assert_allclose(got.denoise(lazy).compute(), want.denoise(X), atol=1e-5)
    assert_allclose(got.reconstruction_error(lazy).compute(), want.reconstruction_error(X))
    assert got.score(lazy) == pytest.approx(want.score(X))


def test_dask_frame_keeps_names_out():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X = rows(50, 3)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    model = kg.PCA(2).fit(frame)
    assert_same(model, kg.PCA(2).fit(X))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("which", ["torch", "array_api_strict"])
@pytest.mark.parametrize("shape", [(60, 6), (9, 25)])
def test_other_libraries(solver, which, shape):
    xp = pytest.importorskip(which)
    X = rows(*shape)
    params = {"svd_solver": solver, "random_state": 0, "iterated_power": 30, "whiten": True}
    want, got = kg.PCA(3, **params).fit(X), kg.PCA(3, **params).fit(xp.asarray(X))
    assert_same(got, want, atol=1e-6)
    Z = got.transform(xp.asarray(X))
    assert type(Z).__module__.split(".")[0] == which
    assert_allclose(to_numpy(Z), want.transform(X), atol=1e-6)
    assert_allclose(to_numpy(got.inverse_transform(Z)), want.inverse_transform(to_numpy(Z)))
    assert_allclose(to_numpy(got.denoise(xp.asarray(X), remove=[0])), want.denoise(X, remove=[0]))
    assert_allclose(to_numpy(got.score_samples(xp.asarray(X))), want.score_samples(X))


def test_streams_say_what_is_wrong():
    X = rows()
    X[70, 2] = np.nan
    model = kg.PCA(2).fit(X[:50])
    with pytest.raises(ValueError, match="NaN"):
        kg.PCA(2).fit([X[:60], X[60:]])
    with pytest.raises(ValueError, match="NaN"):
        np.asarray(model.transform([X[:60], X[60:]]))
    with pytest.raises(ValueError, match="NaN"):
        np.asarray(model.score_samples([X[:60], X[60:]]))
    with pytest.raises(ValueError, match="NaN"):
        model.score([X[:60], X[60:]])


# -- missing values -------------------------------------------------------------------------------


def with_missing(X, fraction=0.2, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < fraction] = np.nan
    return X


def low_rank(n=150, d=8, k=2, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 3 + 5
    return clean + noise * rng.standard_normal((n, d))


def test_em_recovers_a_low_rank_table():
    X = low_rank()
    model = kg.PCA(2, missing="em").fit(with_missing(X))
    assert model.solver_ == "em"
    assert model.converged_
    assert_allclose(model.denoise(with_missing(X)), X, atol=1e-3)
    want = kg.PCA(2).fit(X)
    span = np.linalg.svd(model.components_ @ want.components_.T, compute_uv=False)
    assert_allclose(span, 1, atol=1e-6)


def test_em_finds_the_axes_under_noise():
    X = low_rank(noise=0.3, n=600)
    got, want = kg.PCA(2, missing="em").fit(with_missing(X)), kg.PCA(2).fit(X)
    assert_allclose(got.explained_variance_, want.explained_variance_, rtol=0.1)
    assert got.noise_variance_ == pytest.approx(0.09, rel=0.1)
    assert np.abs(got.components_ @ want.components_.T).diagonal().min() > 0.99
    mean_filled = np.where(np.isnan(with_missing(X)), np.nanmean(with_missing(X), axis=0), X)
    crude = kg.PCA(2).fit(mean_filled)
    gap = {m: np.abs(m.explained_variance_ - want.explained_variance_).sum() for m in (got, crude)}
    assert gap[got] < 0.3 * gap[crude]


def test_em_without_holes_is_pca():
    X = low_rank(noise=0.5)
    one, two = kg.PCA(2, missing="em").fit(X), kg.PCA(2).fit(X)
    assert_same(one, two)
    assert_allclose(one.score_samples(X), two.score_samples(X))
    # a single hole changes next to nothing: the EM optimum is PCA's own
    X[3, 4] = np.nan
    assert_allclose(kg.PCA(2, missing="em").fit(X).components_, two.components_, atol=0.05)


def test_em_likelihood_never_falls_and_ends_at_a_stationary_point():
    from kilogram.models.pca.missing_values import first_guess, sums, update_model

    X = with_missing(low_rank(noise=0.5, n=80))
    model, seen = first_guess(X, None, 2, None), []
    for _ in range(60):
        found = sums(model, X)
        seen.append(found.likelihood)
        model = update_model(model, found, 1e-12)
    assert (np.diff(seen) > -1e-9).all()
    assert seen[-1] - seen[-2] < 1e-4


def test_em_weights_blocks_and_libraries():
    X = with_missing(low_rank(noise=0.4, n=60))
    w = np.random.default_rng(2).integers(0, 3, len(X))
    want = kg.PCA(2, missing="em").fit(np.repeat(X, w, axis=0))
    got = kg.PCA(2, missing="em").fit(X, sample_weight=w)
    assert_allclose(got.explained_variance_, want.explained_variance_, rtol=1e-5)
    whole = kg.PCA(2, missing="em").fit(X)
    blocks = kg.PCA(2, missing="em").fit([X[:23], X[23:]])
    assert_allclose(blocks.components_, whole.components_, atol=1e-7)
    torch = pytest.importorskip("torch")
    there = kg.PCA(2, missing="em").fit(torch.asarray(X))
    assert_allclose(to_numpy(there.transform(torch.asarray(X))), whole.transform(X), atol=1e-7)


def test_em_in_use():
    X = low_rank(noise=0.1)
    model = kg.PCA(2, missing="em").fit(with_missing(X))
    Z = model.transform(with_missing(X, seed=9))
    assert np.isfinite(Z).all()
    assert_allclose(Z, model.transform(X), atol=2.0)
    assert_allclose(model.transform(np.full((1, 8), np.nan)), 0, atol=1e-12)  # nothing known
    assert np.isfinite(model.score_samples(with_missing(X))).all()
    with pytest.raises(ValueError, match="infinity"):
        model.transform(np.full((1, 8), np.inf))


@pytest.mark.parametrize("k", [8, 0.9, "mle"])
def test_em_needs_a_number_of_components(k):
    with pytest.raises(ValueError, match="whole number"):
        kg.PCA(k, missing="em").fit(with_missing(low_rank()))


def test_em_names_an_empty_column():
    X = low_rank()
    X[:, 3] = np.nan
    with pytest.raises(ValueError, match=r"\[3\]"):
        kg.PCA(2, missing="em").fit(X)


# -- budgets and refusals -------------------------------------------------------------------------


def test_max_time_leaves_a_usable_model():
    X = np.random.default_rng(0).standard_normal((900, 700))
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.PCA(5, svd_solver="arpack", max_time=1e-9).fit(X)
    assert not model.converged_
    assert model.transform(X).shape == (900, 5)
    assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-10)
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.PCA(2, missing="em", max_time=1e-9).fit(with_missing(low_rank()))
    assert np.isfinite(model.transform(low_rank())).all()
    with pytest.warns(ConvergenceWarning, match="power iterations"):
        kg.PCA(5, svd_solver="randomized", max_time=1e-9).fit(X)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 8}, r"n_components=8 must be between 0 and .*=7"),
        ({"n_components": -1}, "n_components"),
        ({"n_components": 1.5}, "n_components must be"),
        ({"n_components": "all"}, "n_components"),
        ({"n_components": True}, "n_components must be an integer"),
        ({"whiten": "text"}, "whiten must be True or False, got 'text'"),
        ({"whiten": 1}, "whiten"),
        ({"iterated_power": True}, "iterated_power"),
        ({"n_oversamples": True}, "n_oversamples"),
        ({"n_components": 0, "svd_solver": "arpack"}, "between 1 and"),
        ({"n_components": 0.5, "svd_solver": "arpack"}, "between 1 and"),
        ({"n_components": "mle", "svd_solver": "randomized"}, "string"),
        ({"svd_solver": "quick"}, "svd_solver"),
        ({"missing": "drop"}, "missing"),
        ({"tol": -1.0}, "tol"),
        ({"iterated_power": -1}, "iterated_power"),
        ({"n_oversamples": 0}, "n_oversamples"),
        ({"power_iteration_normalizer": "SVD"}, "power_iteration_normalizer"),
    ],
)
def test_refusals(params, match):
    with pytest.raises(ValueError, match=match):
        kg.PCA(**params).fit(rows())


def test_more_components_than_rows():
    with pytest.raises(ValueError, match=r"min\(n_samples, n_features\)=5"):
        kg.PCA(6).fit(rows(5, 9))
    with pytest.raises(ValueError, match=r"min\(n_samples, n_features\)=5"):
        kg.PCA(6).fit([rows(5, 9)])
    with pytest.raises(ValueError, match="mle"):
        kg.PCA("mle").fit(rows(5, 9))


def test_one_row():
    with pytest.raises(ValueError, match="1 sample"):
        kg.PCA().fit(np.ones((1, 3)))


def test_estimate():
    cost = kg.estimate(kg.PCA(5), 100_000, 50)
    assert cost.fits
    assert cost.method == "primal"
    assert kg.estimate(kg.PCA(5), 100, 50_000).method == "dual"
    assert kg.estimate(kg.PCA(5), 100_000, 50_000).method == "krylov"


def test_digits():
    X = load_digits().data
    assert_same(
        kg.PCA(10).fit(X), sklearn.decomposition.PCA(10, svd_solver="full").fit(X), atol=1e-7
    )


def test_many_float32_rows_keep_their_small_components():
    """Rounding grows with the order of S, not with the number of rows: nothing real is zeroed."""
    rng = np.random.default_rng(0)
    scales = np.array([30.0, 10.0, 3.0, 1.0, 0.5]).astype(np.float32)
    X = rng.standard_normal((100_000, 5)).astype(np.float32) * scales + 2
    found = kg.PCA().fit(X).explained_variance_
    np.testing.assert_allclose(found, scales**2, rtol=0.02)


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float32, 1e-12), (np.float32, 1e12), (float, 1e-90), (float, 1e90)]
)
def test_units_do_not_matter_to_the_density(dtype, size):
    """Products of two variances leave the range of floats where the variances do not."""
    X = rows()
    want = kg.PCA(3).fit(X).score_samples(X) - 7 * np.log(size)
    small = (size * X).astype(dtype)
    got = kg.PCA(3).fit(small).score_samples(small)
    assert_allclose(got, want, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1.0, 1e12])
def test_units_do_not_matter_to_the_most_probable_number(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 8))
    X += 0.1 * rng.standard_normal(X.shape)
    assert kg.PCA("mle").fit(size * X).n_components_ == kg.PCA("mle").fit(X).n_components_ == 3


def test_em_likelihood_where_little_noise_is_left():
    """Of rows with few entries: against the Gaussian of what is there."""
    rng = np.random.default_rng(0)
    X = 1e4 * rng.standard_normal((40, 3)) @ rng.standard_normal((3, 5))
    X += rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:10, 1:] = np.nan
    model = kg.PCA(3, missing="em").fit(X)
    C = model.get_covariance()
    got = model.score_samples(X)
    for x, value in zip(X, got, strict=True):
        o = ~np.isnan(x)
        want = multivariate_normal.logpdf(x[o], model.mean_[o], C[np.ix_(o, o)]) if o.any() else 0.0
        assert value == pytest.approx(want, abs=1e-5)


def test_huge_values_beside_missing_ones_are_named():
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[3, 1], X[5, 2] = np.nan, 1e308
    with pytest.raises(ValueError, match=r"overflow|large"):
        kg.PCA(2, missing="em").fit(X)


def test_numpy_scalars_are_numbers():
    X = np.random.default_rng(0).standard_normal((30, 4))
    kg.PCA(np.int64(2), tol=np.float32(0.5), whiten=np.bool_(True)).fit(X)
    assert kg.PCA(np.float32(0.5)).fit(X).n_components_ >= 1


def test_a_density_of_variances_below_the_normal_floats_is_refused():
    X = 1e-160 * np.random.default_rng(0).standard_normal((37, 2))
    model = kg.PCA().fit(put(X, "blocks"))
    with pytest.raises(np.linalg.LinAlgError, match="density of this PCA is flat"):
        model.score_samples(X)
