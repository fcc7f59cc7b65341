"""FastICA: scikit-learn's sources, contrasts, containers, weights, bad input."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import FastICA as Peer

import kilogram as kg
from kilogram.base import ConvergenceWarning


def mixed(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    S = np.c_[
        rng.uniform(-1, 1, n),
        rng.laplace(size=n),
        np.sign(np.sin(np.arange(n) / 7)),
        rng.exponential(size=n),
    ]
    return S, S @ rng.standard_normal((4, 4)) + 3.0


S, X = mixed()


def agreement(A, B):
    k = A.shape[1]
    return np.abs(np.corrcoef(A.T, B.T)[:k, k:]).max(axis=1).min()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_the_sources_of_scikit_learn(fun, algorithm, dtype):
    x = X.astype(dtype)
    tol = 1e-8 if dtype == np.float64 else 1e-5
    ours = kg.FastICA(fun=fun, algorithm=algorithm, random_state=0, tol=tol, max_iter=500).fit(x)
    peer = Peer(fun=fun, algorithm=algorithm, random_state=0, tol=1e-6, max_iter=500).fit(X)
    got = ours.transform(x)
    assert got.dtype == dtype
    assert agreement(S, got) > 0.98
    assert agreement(peer.transform(X), got) > (0.999 if algorithm == "parallel" else 0.98)
    np.testing.assert_allclose(ours.inverse_transform(got), x, rtol=1e-3, atol=1e-3)
    assert ours.components_.shape == ours.whitening_.shape == (4, 4)
    assert ours.mixing_.shape == peer.mixing_.shape
    np.testing.assert_allclose(ours.mean_, peer.mean_, rtol=1e-4)


def test_variances_follow_whiten():
    unit = kg.FastICA(random_state=0).fit(X)
    np.testing.assert_allclose(unit.transform(X).var(axis=0), 1.0, rtol=1e-9)
    small = kg.FastICA(random_state=0, whiten="arbitrary-variance").fit(X)
    np.testing.assert_allclose(small.transform(X).var(axis=0), 1 / len(X), rtol=1e-9)
    peer = Peer(random_state=0, whiten="arbitrary-variance").fit(X)
    np.testing.assert_allclose(peer.transform(X).var(axis=0), 1 / len(X), rtol=1e-6)
    white = kg.PCA(whiten=True).fit_transform(X)
    plain = kg.FastICA(random_state=0, whiten=False).fit(white)
    assert agreement(S, plain.transform(white)) > 0.98
    np.testing.assert_allclose(plain.inverse_transform(plain.transform(white)), white, atol=1e-9)


def test_a_function_of_ones_own():
    def cube(u):
        return u**3, (3 * u**2).mean(axis=-1)

    own = kg.FastICA(fun=cube, random_state=0, tol=1e-10).fit(X)
    named = kg.FastICA(fun="cube", random_state=0, tol=1e-10).fit(X)
    np.testing.assert_allclose(own.components_, named.components_, atol=1e-6)
    assert not hasattr(own, "negentropy_")
    with pytest.raises(ValueError, match="two arrays"):
        kg.FastICA(fun=lambda u: u).fit(X)


def test_containers_and_weights():
    torch = pytest.importorskip("torch")
    model = kg.FastICA(random_state=0, tol=1e-10)
    want = model.fit(X).components_
    for container in (
        torch.asarray(X),
        da.from_array(X, chunks=(700, 4)),
        [X[:900], X[900:]],
        sp.csr_array(X),
    ):
        got = kg.FastICA(random_state=0, tol=1e-10).fit(container)
        np.testing.assert_allclose(np.asarray(got.components_), want, atol=1e-6)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    a = kg.FastICA(random_state=0, tol=1e-10).fit(X, sample_weight=w.astype(float))
    b = kg.FastICA(random_state=0, tol=1e-10).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-6)


def test_fewer_directions_than_asked_for():
    flat = np.c_[X, X[:, 0] - X[:, 1], np.full(len(X), 2.0)]
    with pytest.warns(UserWarning, match="4 directions"):
        model = kg.FastICA(random_state=0).fit(flat)
    assert model.components_.shape == (4, 6)
    assert agreement(S, model.transform(flat)) > 0.98
    assert np.isfinite(model.mixing_).all()
    few = kg.FastICA(2, random_state=0).fit(X)
    assert few.transform(X).shape == (len(X), 2)


def test_negentropy_knows_the_gaussian():
    rng = np.random.default_rng(1)
    one = np.c_[rng.standard_normal(20_000), rng.uniform(-1, 1, 20_000)]
    found = kg.FastICA(random_state=0).fit(one)
    assert found.negentropy_.min() < 1e-5 < 100 * 1e-5 < found.negentropy_.max() * 10


def test_stopped_early_is_usable():
    for algorithm in ("parallel", "deflation"):
        model = kg.FastICA(algorithm=algorithm, max_time=1e-9, random_state=0)
        with pytest.warns(ConvergenceWarning, match="usable"):
            model.fit(X)
        W = model.transform(X)
        np.testing.assert_allclose(np.cov(W.T, bias=True), np.eye(4), atol=1e-8)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"algorithm": "serial"}, "algorithm"),
        ({"whiten": "yes"}, "whiten"),
        ({"fun": "tanh"}, "fun"),
        ({"fun_args": {"alpha": 3.0}}, "alpha"),
        ({"w_init": np.eye(3)}, "w_init"),
        ({"w_init": np.ones((4, 4))}, "rank"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"whiten_solver": "qr"}, "whiten_solver"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.FastICA(**params).fit(X)


def test_bad_rows():
    with pytest.raises(ValueError, match=r"1 sample|minimum of 2"):
        kg.FastICA().fit(X[:1])
    with pytest.raises(ValueError, match="equal"):
        kg.FastICA().fit(np.ones((10, 3)))
    with pytest.raises(ValueError, match="sources"):
        kg.FastICA(random_state=0).fit(X).inverse_transform(np.ones((2, 7)))


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_neither_wandering_nor_oscillation_keeps_the_steps_from_an_end(algorithm):
    """Digits turn far before they settle; Gaussian rows make whole Newton steps swing for ever."""
    rows = np.random.default_rng(0).standard_normal((2000, 6))
    for table, k in ((load_digits().data, 10), (rows, 6)):
        for seed in range(3):
            model = kg.FastICA(k, algorithm=algorithm, max_iter=400, random_state=seed).fit(table)
            assert model.n_iter_ < 400


def test_streams_are_looked_at_in_use():
    X = np.random.default_rng(0).laplace(size=(90, 3))
    model = kg.FastICA(random_state=0).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        np.asarray(model.transform([X, np.full((2, 3), np.nan)]))


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"fun_args": {"beta": 1.5}}, "fun_args"),
        ({"fun": lambda u: (u.T, u.T)}, "shape"),
        ({"fun": lambda u: (u**3, 3.0)}, "shape"),
    ],
)
def test_functions_and_arguments_that_do_not_fit(params, match):
    with pytest.raises(ValueError, match=match):
        kg.FastICA(**params).fit(np.random.default_rng(0).laplace(size=(90, 3)))
