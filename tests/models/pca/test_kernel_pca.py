"""Kernel PCA: scikit-learn's answers, the texts' claims, approximations, weights, pre-images."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import ConvergenceWarning, MemoryFallbackWarning
from kilogram.kernels import Gaussian, Linear, Polynomial
from kilogram.solvers.eigen.kernel_components import dual_axes
from kilogram.textbook.kernel_pca import project, train
from kilogram.textbook.state import run


def rows(n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.geomspace(2, 0.5, d) + 1.0


def aligned(Z, want):
    """Z with the signs of `want`."""
    sign = np.sign(np.sum(to_numpy(Z) * want, axis=0))
    return to_numpy(Z) * np.where(sign == 0, 1, sign)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "cosine"])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("n", [60, 350])
def test_equals_scikit_learn(kernel, solver, n):
    X, new = rows(n), rows(20, seed=3)
    params = {"kernel": kernel, "gamma": 0.05, "n_components": 3}
    want = sklearn.decomposition.KernelPCA(eigen_solver="dense", **params).fit(X)
    got = kg.KernelPCA(eigen_solver=solver, random_state=0, iterated_power=25, **params).fit(X)
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-8)
    assert_allclose(
        aligned(got.transform(new), want.transform(new)), want.transform(new), atol=1e-6
    )
    assert got.gamma_ == want.gamma_
    assert got.eigenvectors_.shape == want.eigenvectors_.shape


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_all_components_drop_zeros(kernel):
    X = rows(40, 4)
    want = sklearn.decomposition.KernelPCA(kernel=kernel).fit(X)
    got = kg.KernelPCA(kernel=kernel).fit(X)
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-7)
    few = kg.KernelPCA(6, kernel="linear", eigen_solver="dense").fit(X)
    assert few.eigenvalues_.shape == (6,)
    assert_allclose(few.transform(X)[:, 4:], 0)
    assert kg.KernelPCA(6, kernel="linear", eigen_solver="dense", remove_zero_eig=True).fit(
        X
    ).eigenvalues_.shape == (4,)


def test_precomputed_and_callable():
    X, new = rows(), rows(9, seed=2)
    want = kg.KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)
    given = kg.KernelPCA(3, kernel="precomputed").fit(rbf_kernel(X, gamma=0.2))
    assert_allclose(given.transform(rbf_kernel(new, X, gamma=0.2)), want.transform(new), atol=1e-9)
    assert given.__sklearn_tags__().input_tags.pairwise
    own = kg.KernelPCA(
        3, kernel=lambda x, y, g: np.exp(-g * ((x - y) ** 2).sum()), kernel_params={"g": 0.2}
    ).fit(X)
    assert_allclose(own.transform(new), want.transform(new), atol=1e-9)
    with pytest.raises(ValueError, match="square"):
        kg.KernelPCA(kernel="precomputed").fit(X)


def test_textbook():
    """T8.2, L20.T1: the book's pages, the training rows projected as new rows included."""
    X, new = rows(), rows(9, seed=2)
    k = Gaussian(sigma=1.5)
    page = run(train(k(X), 4))
    model = kg.KernelPCA(4, kernel=k).fit(X)
    assert_allclose(model.eigenvalues_, page["Lambda"])
    Z = run(project(k(new, X), k(X), page["A"]))["X_hat"]
    assert_allclose(aligned(model.transform(new), Z), Z, atol=1e-10)
    assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-10)


def test_scores_have_the_variance_of_their_eigenvalue():
    """T12.1, E8.2: (1/N) Z'Z = Lambda / N."""
    X = rows(200)
    model = kg.KernelPCA(5, kernel="rbf")
    Z = model.fit_transform(X)
    assert_allclose(Z.T @ Z, np.diag(model.eigenvalues_), atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 5), (12, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_twin(shape, weighted):
    """T8.1, A7.9: off centre, on new rows, weighted."""
    X, new = rows(*shape) + 10, rows(7, shape[1], seed=4) + 10
    w = np.random.default_rng(0).integers(0, 4, shape[0]).astype(float) if weighted else None
    one = kg.PCA(3).fit(X, sample_weight=w)
    for kernel in (Linear(), "linear", Polynomial(degree=1, gamma=1.0, coef0=0.0)):
        two = kg.KernelPCA(3, kernel=kernel).fit(X, sample_weight=w)
        assert_allclose(two.eigenvalues_, one.singular_values_**2, rtol=1e-9)
        assert_allclose(aligned(two.transform(new), one.transform(new)), one.transform(new))


def test_polynomial_kernel_is_pca_of_its_features():
    """L20.T2: centring K equals centring the features."""
    X = rows(50, 3)
    k = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    features = kg.PCA(3).fit_transform(k.features(X))
    Z = kg.KernelPCA(3, kernel=k).fit_transform(X)
    assert_allclose(aligned(Z, features), features, atol=1e-9)


def test_circles_come_apart():
    """T8.3: separable by a threshold on one component, where PCA has none."""
    X, y = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    z = kg.KernelPCA(1, kernel=Gaussian(sigma=0.5)).fit_transform(X)[:, 0]
    inside, outside = z[y == 1], z[y == 0]
    assert max(inside.min(), outside.min()) > min(inside.max(), outside.max())
    flat = kg.PCA(1).fit_transform(X)[:, 0]
    assert max(flat[y == 1].min(), flat[y == 0].min()) < min(flat[y == 1].max(), flat[y == 0].max())


def test_translation_and_rotation_do_not_matter():
    X = rows(70)
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((5, 5)))[0]
    want = kg.KernelPCA(3, kernel="rbf", gamma=0.1).fit_transform(X)
    for moved in (X + 1000.0, X @ Q):
        Z = kg.KernelPCA(3, kernel="rbf", gamma=0.1).fit_transform(moved)
        assert_allclose(aligned(Z, want), want, atol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("n", [40, 260])
def test_weights_are_repetitions(solver, n):
    X, new = rows(n), rows(10, seed=6)
    w = np.random.default_rng(1).integers(0, 4, n)
    model = kg.KernelPCA(3, kernel="rbf", eigen_solver=solver, random_state=0, iterated_power=25)
    got = model.fit(X, sample_weight=w)
    Z, values = got.transform(new), got.eigenvalues_
    assert_allclose(got.fit_transform(X, sample_weight=w), got.transform(X), atol=1e-9)
    want = model.fit(np.repeat(X, w, axis=0))
    assert_allclose(values, want.eigenvalues_, rtol=1e-7)
    assert_allclose(Z, want.transform(new), atol=1e-6)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse(form, kernel):
    X = np.where(np.random.default_rng(0).random((60, 6)) < 0.5, 0, rows(60, 6))
    want = kg.KernelPCA(3, kernel=kernel).fit(X)
    got = kg.KernelPCA(3, kernel=kernel).fit(form(X))
    assert_allclose(got.transform(form(X)), want.transform(X), atol=1e-9)
    assert_allclose(got.transform(X), want.transform(X), atol=1e-9)
    assert_allclose(want.transform(form(X)), want.transform(X), atol=1e-9)


@pytest.mark.parametrize("which", ["torch", "array_api_strict"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n", [50, 260])
def test_other_libraries(which, kernel, n):
    xp = pytest.importorskip(which)
    X = rows(n)
    want, got = (kg.KernelPCA(3, kernel=kernel).fit(A) for A in (X, xp.asarray(X)))
    Z = got.transform(xp.asarray(X))
    assert type(Z).__module__.split(".")[0] == which
    assert_allclose(aligned(Z, want.transform(X)), want.transform(X), atol=1e-8)
    fixed = kg.KernelPCA(3, kernel="rbf", preimage="fixed_point")
    here = fixed.fit(X).denoise(X)
    assert_allclose(to_numpy(fixed.fit(xp.asarray(X)).denoise(xp.asarray(X))), here, atol=1e-5)


def test_float32():
    X = rows(300)
    want, got = (kg.KernelPCA(3, kernel="rbf").fit(A) for A in (X, X.astype(np.float32)))
    assert got.eigenvalues_.dtype == got.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-5)


# -- approximations -------------------------------------------------------------------------------


def test_nystroem_with_all_rows_is_exact():
    X, new = rows(60), rows(9, seed=2)
    want = kg.KernelPCA(3, kernel="rbf").fit(X)
    got = kg.KernelPCA(3, kernel="rbf", approximation="nystroem", n_features=60).fit(X)
    assert got.solver_ == "nystroem"
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-6)
    Z = want.transform(new)
    assert_allclose(aligned(got.transform(new), Z), Z, atol=1e-6)


def test_fourier_features_come_near():
    X = rows(300, 3)
    want = kg.KernelPCA(2, kernel="rbf").fit(X)
    got = kg.KernelPCA(
        2, kernel="rbf", approximation="fourier", n_features=3000, random_state=0
    ).fit(X)
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=0.1)
    Z = want.transform(X)
    assert np.corrcoef(aligned(got.transform(X), Z)[:, 0], Z[:, 0])[0, 1] > 0.99


@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_approximations_on_dask_and_blocks(approximation):
    da = pytest.importorskip("dask.array")
    X = rows(90)
    model = kg.KernelPCA(
        3, kernel="rbf", approximation=approximation, n_features=30, random_state=0
    )
    want = model.fit(X).transform(X)
    lazy = da.from_array(X, chunks=(25, 5))
    got = kg.KernelPCA(**model.get_params()).fit(lazy)
    assert_allclose(got.transform(lazy).compute(), want, atol=1e-7)
    blocks = kg.KernelPCA(**model.get_params()).fit([X[:40], X[40:]])
    assert_allclose(np.asarray(blocks.transform([X[:40], X[40:]])), want, atol=1e-7)


def test_exact_refuses_streams_and_takes_them_in_use():
    X = rows(90)
    with pytest.raises(ValueError, match="approximation"):
        kg.KernelPCA(2, kernel="rbf").fit([X[:40], X[40:]])
    model = kg.KernelPCA(2, kernel="rbf").fit(X)
    assert_allclose(np.asarray(model.transform([X[:40], X[40:]])), model.transform(X))


# -- pre-images -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_ridge_pre_images_are_scikit_learns(kernel):
    X, new = rows(50, 3), rows(8, 3, seed=4)
    params = {"kernel": kernel, "gamma": 0.1, "fit_inverse_transform": True, "alpha": 0.1}
    want = sklearn.decomposition.KernelPCA(2, **params).fit(X)
    got = kg.KernelPCA(2, **params).fit(X)
    back = want.inverse_transform(want.transform(new))
    assert_allclose(got.inverse_transform(got.transform(new)), back, atol=1e-8)
    assert_allclose(got.denoise(new), back, atol=1e-8)
    weighted = kg.KernelPCA(2, **params).fit(X, sample_weight=np.ones(50))
    assert_allclose(weighted.denoise(new), back, atol=1e-8)


def test_fixed_point_pre_images_denoise():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    clean = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = clean + 0.15 * rng.standard_normal(clean.shape)
    model = kg.KernelPCA(6, kernel=Gaussian(sigma=0.7), preimage="fixed_point").fit(noisy)
    found = model.denoise(noisy)
    off = {A: np.abs(np.linalg.norm(B, axis=1) - 1).mean() for A, B in (("n", noisy), ("f", found))}
    assert off["f"] < 0.5 * off["n"]
    again = model.inverse_transform(model.transform(noisy))
    assert np.abs(np.linalg.norm(again, axis=1) - 1).mean() < 0.5 * off["n"]


def test_fixed_point_is_the_textbooks():
    from kilogram.textbook.preimage import mixture, preimage

    X = rows(40, 2)
    model = kg.KernelPCA(4, kernel=Gaussian(sigma=1.5), preimage="fixed_point").fit(X)
    Z, A = model.transform(X), dual_axes(model.eigenvalues_, model.eigenvectors_)
    got = model.denoise(X)
    for i in range(5):
        page = run(preimage(X[i], X, mixture(Z[i], A), 1.5))
        assert_allclose(got[i], page["z"], atol=1e-4)


def test_full_rank_gives_the_points_back():
    X = rows(30, 2)
    model = kg.KernelPCA(kernel=Gaussian(sigma=1.0), preimage="fixed_point").fit(X)
    assert_allclose(model.denoise(X), X, atol=1e-4)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)


def test_the_way_back_must_be_asked_for():
    X = rows()
    model = kg.KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        model.inverse_transform(model.transform(X))


# -- budgets, memory, refusals --------------------------------------------------------------------


def test_blocked_solver_is_announced_and_equal():
    X = rows(700, 4)
    want = kg.KernelPCA(3, kernel="rbf").fit(X)
    with pytest.warns(MemoryFallbackWarning, match="does not fit"):
        got = kg.KernelPCA(3, kernel="rbf", max_memory="1MB").fit(X)
    assert_allclose(got.eigenvalues_, want.eigenvalues_, rtol=1e-9)
    assert_allclose(aligned(got.transform(X), want.transform(X)), want.transform(X), atol=1e-7)


def test_a_full_decomposition_that_does_not_fit_is_refused():
    with pytest.raises(MemoryError, match="n_components"):
        kg.KernelPCA(kernel="rbf", max_memory="1MB").fit(rows(2500, 3))


def test_max_time_leaves_a_usable_model():
    X = np.random.default_rng(0).standard_normal((500, 20))
    with pytest.warns(ConvergenceWarning, match="usable"):
        model = kg.KernelPCA(4, kernel="rbf", eigen_solver="arpack", max_time=1e-9).fit(X)
    assert not model.converged_
    assert np.isfinite(model.transform(X)).all()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        kg.KernelPCA(4, kernel="rbf", eigen_solver="arpack", max_iter=2).fit(X)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"kernel": "circle"}, "unknown kernel"),
        ({"eigen_solver": "quick"}, "eigen_solver"),
        ({"approximation": "taylor"}, "approximation"),
        ({"preimage": "guess"}, "preimage"),
        ({"alpha": -1.0}, "alpha"),
        ({"tol": -1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_features": 0}, "n_features"),
        ({"iterated_power": "some"}, "iterated_power"),
        ({"kernel": "precomputed", "fit_inverse_transform": True}, "precomputed"),
        ({"kernel": "poly", "preimage": "fixed_point"}, "Gaussian"),
        ({"approximation": "nystroem", "fit_inverse_transform": True}, "approximation"),
    ],
)
def test_refusals(params, match):
    with pytest.raises(ValueError, match=match):
        kg.KernelPCA(**params).fit(rows())


def test_indefinite_matrix_is_refused():
    K = np.diag([3.0, 1.0, -2.0])
    with pytest.raises(ValueError, match="negative"):
        kg.KernelPCA(kernel="precomputed").fit(K - K.mean())


def test_copies_the_rows_unless_copy_X_is_false():
    X = rows()
    kept, shared = kg.KernelPCA(2, kernel="rbf").fit(X), kg.KernelPCA(2, kernel="rbf", copy_X=False)
    shared.fit(X)
    assert not np.shares_memory(kept.X_fit_, X)
    assert np.shares_memory(shared.X_fit_, X)


def test_threads_and_search():
    X, y = make_circles(60, factor=0.3, noise=0.05, random_state=0)
    want = kg.KernelPCA(2, kernel="rbf").fit(X)
    assert_allclose(kg.KernelPCA(2, kernel="rbf", n_jobs=1).fit(X).eigenvalues_, want.eigenvalues_)
    search = GridSearchCV(
        make_pipeline(kg.KernelPCA(2, kernel=Gaussian(sigma=1.0)), kg.Ridge()),
        {"kernelpca__kernel__sigma": [0.1, 0.5, 100.0]},
    ).fit(X, y)
    assert search.best_params_["kernelpca__kernel__sigma"] == 0.5


def test_estimate():
    assert kg.estimate(kg.KernelPCA(10, kernel="rbf", max_memory="1GB"), 5_000, 20).fits
    assert kg.estimate(kg.KernelPCA(10, max_memory="1GB"), 50_000, 20).method == "blocked"
    assert not kg.estimate(kg.KernelPCA(max_memory="1GB"), 50_000, 20).fits
    cheap = kg.KernelPCA(10, kernel="rbf", approximation="nystroem", max_memory="1GB")
    assert kg.estimate(cheap, 50_000_000, 20).fits


def test_more_components_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_components=51 must be at most n_samples = 50"):
        kg.KernelPCA(51, kernel="rbf").fit(np.random.default_rng(0).standard_normal((50, 3)))


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize("shape", [(24, 5), (12, 40)])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-3), (np.float64, 1e-9)])
def test_linear_kernel_of_rows_far_from_the_origin(solver, shape, dtype, tol):
    """Inner products of such rows are alike in all their leading digits."""
    X = (rows(*shape) + 1000).astype(dtype)
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    want = (U * s)[:, :2]
    model = kg.KernelPCA(2, eigen_solver=solver, random_state=0)
    assert_allclose(aligned(model.fit_transform(X), want), want, atol=tol)
    assert_allclose(aligned(model.transform(X), want), want, atol=tol)
    w = np.random.default_rng(0).integers(1, 4, len(X)).astype(dtype)
    heavy, twice = model.fit(X, sample_weight=w).transform(X), np.repeat(X, w.astype(int), axis=0)
    again = kg.KernelPCA(2, eigen_solver=solver, random_state=0).fit(twice).transform(X)
    assert_allclose(aligned(heavy, again), again, atol=tol)


def test_streams_are_looked_at_in_use():
    X = rows()
    for params in ({}, {"approximation": "nystroem", "n_features": 9}):
        model = kg.KernelPCA(2, kernel="rbf", random_state=0, **params).fit(X)
        with pytest.raises(ValueError, match="NaN"):
            np.asarray(model.transform([X[:7], np.where(X > 1, np.nan, X)]))
