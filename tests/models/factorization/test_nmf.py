"""NMF: scikit-learn's answers, every container, missing entries, ranks, batches, bad input."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF as Peer

import kilogram as kg
from kilogram.base import ConvergenceWarning

DIGITS = load_digits().data
POISSON = {"beta_loss": "kullback-leibler", "solver": "mu"}


def parts(n=80, d=30, k=4, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    H = np.where(rng.random((k, d)) < 0.5, 0.0, rng.random((k, d)))
    return rng.random((n, k)) @ H + noise * rng.random((n, d))


X = parts()


@pytest.mark.parametrize("params", [{}, {"alpha_W": 0.002, "l1_ratio": 0.5}, POISSON])
def test_no_worse_than_scikit_learn(params):
    peer = Peer(10, init="nndsvda", random_state=0, max_iter=2000, **params)
    ours = kg.NMF(10, init="nndsvda", random_state=0, max_iter=2000, **params)
    a, b = ours.fit_transform(DIGITS), peer.fit_transform(DIGITS)
    assert ours.reconstruction_err_ <= 1.015 * peer.reconstruction_err_
    assert a.shape == b.shape
    assert ours.components_.shape == peer.components_.shape
    W = ours.transform(DIGITS)
    np.testing.assert_array_equal(W, a)
    if not params:
        error = np.linalg.norm(DIGITS - ours.inverse_transform(W))
        assert ours.reconstruction_err_ == pytest.approx(error)
        assert ours.objective_ == pytest.approx(error**2 / 2)


def test_loadings_are_the_non_negative_least_squares():
    from scipy.optimize import nnls

    model = kg.NMF(4, random_state=0, max_iter=1000).fit(X)
    want = np.array([nnls(model.components_.T, x)[0] for x in X[:20]])
    np.testing.assert_allclose(model.transform(X[:20]), want, atol=1e-6)


@pytest.mark.parametrize("params", [{}, {"solver": "mu"}, POISSON])
def test_every_container_gives_the_same_parts(params):
    model = kg.NMF(4, random_state=0, max_iter=10, tol=0, **params)
    torch = pytest.importorskip("torch")
    containers = {
        "F": np.asfortranarray(X),
        "csr": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "torch": torch.asarray(X),
        "dask": da.from_array(X, chunks=(33, 11)),
        "blocks": [X[:7], X[7:50], X[50:]],
    }
    with pytest.warns(ConvergenceWarning, match="usable"):
        want = model.fit(X)
    H, error = want.components_, want.reconstruction_err_
    for name, container in containers.items():
        with pytest.warns(ConvergenceWarning):
            got = kg.NMF(4, random_state=0, max_iter=10, tol=0, **params).fit(container)
        np.testing.assert_allclose(
            np.asarray(got.components_), H, rtol=1e-5, atol=1e-7, err_msg=name
        )
        assert got.reconstruction_err_ == pytest.approx(error, rel=1e-6), name


@pytest.mark.parametrize("params", [{}, POISSON])
def test_weights_are_repetitions(params):
    w = np.random.default_rng(0).integers(0, 4, len(X))
    a = kg.NMF(3, max_iter=2000, **params).fit(X, sample_weight=w.astype(float))
    b = kg.NMF(3, max_iter=2000, **params).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-4, atol=1e-5)
    c = kg.NMF(3, max_iter=2000, **params).fit(sp.csr_array(X), sample_weight=w.astype(float))
    np.testing.assert_allclose(c.components_, b.components_, rtol=1e-4, atol=1e-5)


def test_the_objective_never_rises():
    found = []
    for steps in (1, 2, 4, 8, 16, 32):
        with pytest.warns(ConvergenceWarning):
            found.append(kg.NMF(4, init="random", random_state=1, max_iter=steps, tol=0).fit(X))
    assert (np.diff([model.objective_ for model in found]) <= 1e-9).all()


@pytest.mark.parametrize("params", [{}, {"solver": "mu"}, POISSON])
def test_missing_entries_are_left_out_and_predicted(params):
    rng = np.random.default_rng(3)
    gone = rng.random(X.shape) < 0.2
    Y = np.where(gone, np.nan, X)
    model = kg.NMF(4, missing="em", random_state=0, max_iter=3000, tol=1e-5, **params).fit(Y)
    W = model.transform(Y)
    P = model.inverse_transform(W)
    rough = np.where(gone, np.nan, X)
    rough = np.broadcast_to(np.nanmean(rough, axis=0), X.shape)
    assert np.isfinite(P).all()
    assert ((P - X)[gone] ** 2).mean() < 0.2 * ((rough - X)[gone] ** 2).mean()
    if not params:
        error = np.sqrt(((P - X)[~gone] ** 2).sum())
        assert model.reconstruction_err_ == pytest.approx(error, rel=1e-3)
    with pytest.raises(ValueError, match="NaN"):
        kg.NMF(4).fit(Y)
    with pytest.raises(ValueError, match="sparse"):
        kg.NMF(4, missing="em").fit(sp.csr_array(np.where(gone, np.nan, X)))


def test_rank_by_entries_held_out():
    noise = 0.05 * np.random.default_rng(1).standard_normal((100, 40))
    rows = np.maximum(parts(100, 40, 3, 0.0) + noise, 0.0)
    table = kg.nmf_rank(rows, range(1, 7), random_state=0, n_splits=2)
    assert table.best == 3
    assert table.simplest <= 3
    assert (table.losses >= table.losses[2]).all()
    counts = np.random.default_rng(0).poisson(8 * parts(100, 40, 2, 0.0)).astype(float)
    model = kg.NMF(max_iter=500, tol=1e-3, **POISSON)
    assert kg.nmf_rank(counts, [1, 2, 8], model=model, random_state=0, n_splits=2).best == 2
    with pytest.raises(ValueError, match="ranks"):
        kg.nmf_rank(X, [0, 1])
    with pytest.raises(ValueError, match="holdout"):
        kg.nmf_rank(X, holdout=1.5)


@pytest.mark.parametrize("params", [{}, POISSON])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_batches_come_near_the_whole(params, form):
    model = kg.NMF(4, random_state=0, **params)
    for _ in range(15):
        for i in range(0, 80, 20):
            model.partial_fit(form(X[i : i + 20]))
    whole = kg.NMF(4, random_state=0, max_iter=2000, **params).fit(X)
    nothing = kg.NMF(1, max_iter=2000, **params).fit(X)
    assert model.objective(X) < 0.2 * nothing.objective_
    assert whole.objective_ <= model.objective(X)


def test_penalties_balance_the_factors_and_kill_no_part():
    model = kg.NMF(6, alpha_W=0.01, random_state=0, max_iter=1000)
    W = model.fit_transform(DIGITS)
    H = model.components_
    assert (W.max(axis=0) > 0).all()
    l2 = 0.01 * 64 * (W**2).sum(axis=0), 0.01 * 1797 * (H**2).sum(axis=1)
    np.testing.assert_allclose(*l2, rtol=0.1)
    sparse = kg.NMF(6, alpha_W=0.02, l1_ratio=1.0, random_state=0, max_iter=1000).fit(DIGITS)
    plain = kg.NMF(6, random_state=0, max_iter=1000).fit(DIGITS)
    assert (sparse.transform(DIGITS) == 0).mean() > (plain.transform(DIGITS) == 0).mean()


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar", "acol"])
def test_every_start(init):
    model = kg.NMF(4, init=init, random_state=0, max_iter=2000).fit(X)
    assert model.reconstruction_err_ < 0.2 * np.linalg.norm(X - X.mean(axis=0))
    again = kg.NMF(4, init=init, random_state=0, max_iter=2000).fit(X)
    np.testing.assert_array_equal(model.components_, again.components_)


def test_wide_rows_start_from_a_subspace():
    wide = parts(60, 500, 3, 0.0)
    model = kg.NMF(3, random_state=0, tol=1e-6, max_iter=2000).fit(wide)
    assert model.reconstruction_err_ < 0.01 * np.linalg.norm(wide)


def test_zeros_and_one_row():
    zeros = kg.NMF(2, random_state=0).fit(np.zeros((5, 4)))
    assert np.isfinite(zeros.components_).all()
    assert zeros.reconstruction_err_ == 0.0
    one = kg.NMF(1).fit(X[:1])
    assert one.reconstruction_err_ < 1e-6
    holes = X.copy()
    holes[3], holes[:, 5] = 0.0, 0.0
    for params in ({}, {"solver": "mu"}, POISSON):
        model = kg.NMF(4, random_state=0, max_iter=2000, **params).fit(holes)
        assert np.isfinite(model.transform(holes)).all()
        assert model.transform(holes)[3].max() < 1e-6


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 40, "init": "nndsvd"}, "nndsvd"),
        ({"solver": "newton"}, "solver"),
        ({"beta_loss": "itakura-saito"}, "beta_loss"),
        ({"beta_loss": "kullback-leibler"}, "beta_loss"),
        ({"l1_ratio": 2.0}, "l1_ratio"),
        ({"alpha_W": -1.0}, "alpha_W"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"init": "custom"}, "custom"),
        ({"init": "best"}, "init"),
        ({"missing": "ignore"}, "missing"),
        ({"forget_factor": 0.0}, "forget_factor"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.NMF(**params).fit(X)


def test_bad_rows():
    with pytest.raises(ValueError, match="Negative values"):
        kg.NMF(2).fit(X - 1)
    with pytest.raises(ValueError, match="Negative values"):
        kg.NMF(2).fit(sp.csr_array(X - 1))
    model = kg.NMF(2).fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-X)
    with pytest.raises(ValueError, match="shape"):
        kg.NMF(2, init="custom").fit(X, W=np.ones((3, 2)), H=np.ones((2, 30)))
    with pytest.raises(ValueError, match="parts"):
        model.inverse_transform(np.ones((2, 3)))


@pytest.mark.filterwarnings("ignore::kilogram.base.ConvergenceWarning")
@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar", "acol"])
def test_units_do_not_matter(init):
    """The paper's fill of "nndsvda" is in other units than the factors: 1000 X ended at once."""
    settings = {"init": init, "random_state": 0, "max_iter": 40, "tol": 1e-3}
    errors = [
        kg.NMF(4, **settings).fit(X * size).reconstruction_err_ / size
        for size in (1.0, 2.0**12, 2.0**60, 2.0**-40)
    ]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-6)


@pytest.mark.parametrize(("size", "dtype"), [(1e200, np.float64), (1e30, np.float32)])
def test_squares_that_overflow_are_reported(size, dtype):
    with pytest.raises(ValueError, match="squares overflow"):
        kg.NMF(2).fit((X * size).astype(dtype))
    with pytest.raises(ValueError, match="squares overflow"):
        kg.NMF(2, **POISSON).fit((X * size).astype(dtype))


def test_ranks_of_too_few_entries_to_judge_by():
    with pytest.raises(ValueError, match="holds none back"):
        kg.nmf_rank(X[:1, :2], [1, 2], holdout=1e-6, random_state=0)
    with pytest.raises(ValueError, match="holdout"):
        kg.nmf_rank(X, [1], holdout="a")


@pytest.mark.parametrize("weighted", [False, True])
def test_start_of_sparse_rows_has_the_leading_singular_vectors(weighted):
    """More columns than `starts.SMALL`: Lanczos' vectors are those of the dense matrix."""
    from kilogram.solvers.factorization import nmf_initialization as starts

    rng = np.random.default_rng(0)
    d, k = starts.SMALL + 20, 4
    dense = np.where(rng.random((60, d)) < 0.1, rng.random((60, d)), 0.0)
    dense[:30, :40] += 1.0
    s = rng.random(60) if weighted else None
    U, sigma, V = starts.leading(sp.csr_matrix(dense), s, k, d, np.random.default_rng(1))
    root = dense if s is None else dense * np.sqrt(s)[:, None]
    _, expected, Vt = np.linalg.svd(root)
    np.testing.assert_allclose(sigma, expected[:k], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(V * Vt[:k].T, axis=0)), 1.0, atol=1e-4)
    np.testing.assert_allclose(U * sigma, dense @ V, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["random", "nndsvda", "acol"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_zeros_have_parts_of_zeros(dtype, init, form):
    for params in ({}, {"solver": "mu"}, POISSON):
        model = kg.NMF(2, init=init, random_state=0, **params).fit(form(np.zeros((5, 4), dtype)))
        assert model.reconstruction_err_ == 0.0
        assert np.isfinite(model.transform(form(np.eye(2, 4, dtype=dtype)))).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_part_that_no_row_has_costs_nothing(form):
    """Under a penalty on sums, H of a part whose W is 0 is best 0 as well."""
    dead = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Y = rng.random((15, 8))
        model = kg.NMF(6, alpha_W=0.05, l1_ratio=1.0, init="random", random_state=0, max_iter=1000)
        idle = model.fit_transform(form(Y)).sum(axis=0) == 0
        dead += idle.sum()
        assert model.components_[idle].sum() == 0
    assert dead > 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("params", [{}, {"solver": "mu"}, POISSON])
def test_columns_that_come_with_later_batches(params, form):
    """What is multiplied stays 0 if it is 0: a word not met in the first batch was never learnt."""
    first = X.copy()
    first[:, 20:] = 0.0
    for begin in (first, np.zeros_like(X)):
        model = kg.NMF(4, random_state=0, **params).partial_fit(form(begin))
        for _ in range(40):
            model.partial_fit(form(X))
        error = np.linalg.norm(X - model.inverse_transform(model.transform(X)))
        assert error < 0.1 * np.linalg.norm(X)


def test_given_starts_are_used_or_refused():
    W, H = np.ones((80, 2)), np.ones((2, 30))
    with pytest.raises(ValueError, match="custom"):
        kg.NMF(2).fit(X, W=W, H=H)
    for bad in (np.inf, np.nan, -1.0):
        with pytest.raises(ValueError, match="W or H"):
            kg.NMF(2, init="custom").fit(X, W=bad * W, H=H)


@pytest.mark.parametrize("bad", [{"ranks": [1.5]}, {"ranks": ["a"]}, {"n_splits": 2.5}])
def test_ranks_are_whole_numbers(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        kg.nmf_rank(X, **{"ranks": [1], **bad})
    assert kg.nmf_rank(X, 2, random_state=0).best == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_streams_are_looked_at_in_use(bad):
    model = kg.NMF(3, random_state=0).fit(X)
    wrong = X.copy()
    wrong[70, 3] = bad
    for rows in ([wrong[:40], wrong[40:]], da.from_array(wrong, chunks=(40, 30))):
        with pytest.raises(ValueError, match=r"(?i)nan|infinity|negative"):
            np.asarray(model.transform(rows))
