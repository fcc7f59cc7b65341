"""Fourier and Nystroem features: right, in every container, with the error they say."""

from __future__ import annotations

import array_api_strict
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import kilogram as kg
from kilogram.models.features.nystroem import inverse_root, spread_landmarks
from tests.optional import torch

X = np.random.default_rng(0).standard_normal((120, 4))
STATIONARY = [
    kg.Gaussian(1.5),
    kg.Laplacian(gamma=0.2),
    kg.Matern(0.5, 2.0),
    kg.Matern(1.5, 2.0),
    kg.Matern(2.5, 2.0),
    kg.RationalQuadratic(2.0),
    2.0 * kg.Gaussian(2.0) + kg.Laplacian(5.0),
]


def fourier(D=50, kernel=None, **params):
    return kg.FourierFeatures(kernel or kg.Gaussian(1.5), D, random_state=0, **params)


def test_fourier_formula():
    phi = fourier().fit(X)
    want = np.sqrt(2 / 50) * np.cos(X @ phi.random_weights_ + phi.random_offset_)
    assert_allclose(phi.transform(X), want, atol=1e-13)
    assert phi.random_offset_.min() >= 0
    assert phi.random_offset_.max() <= 2 * np.pi


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_error_falls_like_one_over_root_of_components(kernel):
    errors = []
    for D in (200, 3200):
        Z = fourier(D, kernel).fit_transform(X)
        errors.append(np.sqrt(np.mean((Z @ Z.T - kernel(X)) ** 2)))
    assert 2.0 < errors[0] / errors[1] < 8.0  # 4 in expectation


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_error_estimate_is_near_the_true_error(kernel):
    found = fourier(500, kernel).fit(X).approximation_error(X)
    assert found.n_pairs == 120 * 119 // 2
    assert found.rms <= found.largest <= found.bound
    assert 0.5 < found.rms / found.expected < 2.0
    half = fourier(2000, kernel).fit(X).approximation_error(X)
    assert half.bound == pytest.approx(found.bound / 2)


def test_error_estimate_reads_every_container():
    phi = fourier(500).fit(X)
    want = phi.approximation_error(X)
    for rows in (scipy.sparse.csr_array(X), torch.asarray(X), da.from_array(X, chunks=(50, 4))):
        assert phi.approximation_error(rows).rms == pytest.approx(want.rms, rel=1e-9)
    assert phi.approximation_error(X, n_rows=10).n_pairs == 45


def test_orthogonal_features_err_less_on_average():
    kernel, errors = kg.Gaussian(3.0), {False: [], True: []}
    for seed in range(20):
        for how, found in errors.items():
            phi = kg.FourierFeatures(kernel, 32, orthogonal=how, random_state=seed)
            Z = phi.fit_transform(X)
            found.append(np.mean((Z @ Z.T - kernel(X)) ** 2))
    assert np.mean(errors[True]) < np.mean(errors[False])


@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", [fourier(), kg.Nystroem(n_components=30, random_state=0)])
def test_every_library_agrees_with_numpy(library, dtype, model):
    A = X.astype(dtype)
    want = model.fit(A).transform(A)
    assert want.dtype == A.dtype
    got = model.fit(library.asarray(A)).transform(library.asarray(A))
    assert got.dtype == library.asarray(A).dtype
    assert_allclose(np.asarray(got), want, atol=1e-9 if dtype == "float64" else 2e-3)


@pytest.mark.parametrize("model", [fourier(), kg.Nystroem(n_components=30, random_state=0)])
def test_containers(model):
    want = model.fit(X).transform(X)
    lazy = model.fit(da.from_array(X, chunks=(50, 4))).transform(da.from_array(X, chunks=(50, 4)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == want.shape
    assert_allclose(lazy.compute(), want, atol=1e-9)
    sparse = scipy.sparse.csr_array(X)
    assert_allclose(model.fit(sparse).transform(sparse), want, atol=1e-9)
    assert_allclose(model.transform(X), want, atol=1e-9)
    blocks = [X[:70], X[70:]]
    assert_allclose(np.asarray(model.fit(blocks).transform(blocks)), want, atol=1e-9)
    assert_allclose(model.fit(X).transform(scipy.sparse.csc_matrix(X)), want, atol=1e-9)


@pytest.mark.parametrize("model", [fourier(3), kg.Nystroem(n_components=3, random_state=0)])
def test_names_and_frames(model):
    frame = pd.DataFrame(X, columns=list("abcd"))
    out = model.set_output(transform="pandas").fit_transform(frame)
    prefix = type(model).__name__.lower()
    assert list(out.columns) == [f"{prefix}{i}" for i in range(3)]
    assert list(model.feature_names_in_) == list("abcd")


def test_seeds():
    assert_allclose(fourier().fit_transform(X), fourier().fit_transform(X))
    other = kg.FourierFeatures(kg.Gaussian(1.5), 50, random_state=np.random.RandomState(1))
    assert not np.allclose(other.fit_transform(X), fourier().fit_transform(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (kg.FourierFeatures(kg.Linear()), "stationary"),
        (kg.FourierFeatures("poly"), "stationary"),
        (kg.FourierFeatures(kg.Laplacian(), orthogonal=True), "rotation-invariant"),
        (kg.FourierFeatures(n_components=0), "n_components must be an integer of at least 1"),
        (kg.FourierFeatures(n_components=2.5), "n_components must be an integer of at least 1"),
        (kg.FourierFeatures(kg.Gaussian(1.0), gamma=2.0), "on the kernel itself"),
        (kg.FourierFeatures(gamma=-1.0), "gamma must be"),
        (kg.Nystroem(n_components=-3), "n_components must be an integer of at least 1"),
        (kg.Nystroem(landmarks="best"), "landmarks must be"),
        (kg.Nystroem("precomputed"), "landmarks from the rows"),
        (kg.Nystroem("no such"), "unknown kernel"),
    ],
)
def test_wrong_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


KERNELS = [
    kg.Gaussian(1.5),
    kg.Laplacian(2.0),
    kg.Polynomial(2),
    kg.Matern(1.5),
    kg.Gaussian(1.0) + kg.Linear(),
]


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_landmarks_are_exact(kernel, landmarks):
    Z = kg.Nystroem(kernel, 120, landmarks=landmarks, random_state=0).fit_transform(X)
    assert_allclose(Z @ Z.T, kernel(X), rtol=1e-6, atol=1e-6)


def test_nystroem_never_exceeds_the_diagonal_and_improves():
    kernel, errors = kg.Gaussian(1.5), []
    for m in (10, 40, 100):
        Z = kg.Nystroem(kernel, m, random_state=0).fit_transform(X)
        assert (np.sum(Z**2, axis=1) <= 1 + 1e-9).all()
        errors.append(np.abs(Z @ Z.T - kernel(X)).mean())
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1},
        {"kernel": "laplacian", "gamma": 0.1},
        {"kernel": "cosine"},
        {"kernel": lambda x, y, c=1.0: float(x @ y) + c, "kernel_params": {"c": 2.0}},
    ],
    ids=["default", "gamma", "poly", "laplacian", "cosine", "callable"],
)
def test_scikit_learns_parameters_mean_the_same(params):
    ours = kg.Nystroem(n_components=120, **params).fit_transform(X)
    theirs = SklearnNystroem(n_components=120, **params).fit_transform(X)
    assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)


def test_repeated_rows_do_not_blow_up():
    twice = np.vstack([X[:20]] * 3)
    for dtype in (np.float64, np.float32):
        Z = kg.Nystroem(kg.Gaussian(1.5), 60).fit_transform(twice.astype(dtype))
        assert_allclose(Z @ Z.T, kg.Gaussian(1.5)(twice), atol=1e-4)
    Z = kg.Nystroem(kg.Gaussian(1.5), 5).fit_transform(np.ones((9, 2)))
    assert_allclose(Z @ Z.T, np.ones((9, 9)), atol=1e-9)


def test_spread_landmarks_find_every_cluster():
    rng = np.random.default_rng(0)
    sizes = [500, 5, 5, 5]
    centres = 20.0 * np.eye(4)
    rows = np.vstack(
        [c + 0.05 * rng.standard_normal((n, 4)) for c, n in zip(centres, sizes, strict=True)]
    )
    kernel = kg.Gaussian(3.0)
    chosen = spread_landmarks(kernel, rows, 4, np.random.default_rng(0))
    assert set(np.repeat(np.arange(4), sizes)[chosen]) == {0, 1, 2, 3}
    errors = {}
    for how in ("uniform", "kmeans++"):
        phi = kg.Nystroem(kernel, 12, landmarks=how, random_state=0).fit(rows)
        assert len(set(phi.component_indices_)) == 12
        Z = phi.transform(rows)
        errors[how] = np.abs(Z @ Z.T - kernel(rows)).max()
    assert errors["kmeans++"] < errors["uniform"]


def test_spread_landmarks_of_equal_rows():
    chosen = spread_landmarks(kg.Gaussian(1.0), np.ones((8, 2)), 5, np.random.default_rng(0))
    assert len(set(chosen)) == 5


def test_more_landmarks_than_rows():
    with pytest.warns(UserWarning, match="all of them become landmarks"):
        phi = kg.Nystroem(n_components=500).fit(X)
    assert phi.components_.shape == (120, 4)
    assert phi.transform(X).shape == (120, 120)
    assert phi.get_feature_names_out().shape == (120,)


def test_inverse_root_of_a_singular_matrix():
    A = np.random.default_rng(0).standard_normal((6, 3))
    C = A @ A.T
    R = inverse_root(C, np.finfo(float).eps)
    assert_allclose(C @ R @ R @ C, C, atol=1e-8)


@pytest.mark.parametrize(
    "phi", [fourier(200), kg.Nystroem("rbf", 60, random_state=0)], ids=["fourier", "nystroem"]
)
def test_a_linear_method_on_features_bends(phi):
    y = np.sum(X**2, axis=1) > 3.5
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    assert make_pipeline(phi, LogisticRegression(C=1e3)).fit(X, y).score(X, y) > 0.95


def test_cost_is_foretold():
    for model in (fourier(), kg.Nystroem(), kg.KitchenSinksRegressor()):
        cost = kg.estimate(model, 10_000, 20)
        assert cost.fits
        assert cost.seconds > 0
    assert not kg.estimate(kg.FourierFeatures(n_components=10_000), 10**8, 20).fits


@pytest.mark.parametrize("model", [fourier(), kg.Nystroem(n_components=30, random_state=0)])
def test_features_stay_on_the_device(model):
    device = array_api_strict.Device("device1")
    A = array_api_strict.asarray(X, device=device)
    assert model.fit(A).transform(A).device == device
