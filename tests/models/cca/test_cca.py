"""CCA and kernel CCA: the spec's claims, the solvers, the errors."""

import numpy as np
import pytest
import scipy.linalg
from sklearn import cross_decomposition

import kilogram as kg


def views(n=300, p=6, q=4, k=2, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.standard_normal((n, k))
    X = s @ rng.standard_normal((k, p)) + noise * rng.standard_normal((n, p)) + 5
    Y = s @ rng.standard_normal((k, q)) + noise * rng.standard_normal((n, q)) - 2
    return X, Y


def plain(X, Y):
    """Singular values of C_x^-1/2 C_xy C_y^-1/2, the ten-line oracle."""
    X, Y = X - X.mean(0), Y - Y.mean(0)
    root = [scipy.linalg.inv(scipy.linalg.sqrtm(Z.T @ Z)).real for Z in (X, Y)]
    return np.linalg.svd(root[0] @ X.T @ Y @ root[1], compute_uv=False)


@pytest.mark.parametrize("solver", ["moments", "svd", "auto"])
def test_all_pairs(solver):
    X, Y = views()
    model = kg.CCA(4, solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, plain(X, Y), atol=1e-10)


def test_scores_are_white_and_paired():
    """cookbook T10.3: each view meets its own constraint; U'V is diagonal."""
    X, Y = views()
    model = kg.CCA(4).fit(X, Y)
    U, V = model.transform(X, Y)
    n = len(X)
    np.testing.assert_allclose(U.T @ U / n, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(V.T @ V / n, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(U.T @ V / n, np.diag(model.correlations_), atol=1e-9)


@pytest.mark.parametrize("scale", [True, False])
def test_weights_are_scikit_learns(scale):
    X, Y = views()
    ours = kg.CCA(3, scale=scale).fit(X, Y)
    theirs = cross_decomposition.CCA(3, scale=scale, tol=1e-15, max_iter=100_000).fit(X, Y)
    for name in ("x_weights_", "y_weights_"):
        W, wanted = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.diag(np.abs(W.T @ wanted)), 1.0, atol=1e-6)
    assert not hasattr(kg.CCA(), "x_weights_")


def test_invariant_to_invertible_maps():
    """cookbook T10.1, first_encounter T14.2."""
    X, Y = views()
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((6, 6)), rng.standard_normal((4, 4))
    one, two = kg.CCA(4).fit(X, Y), kg.CCA(4).fit(X @ A + 7, Y @ B - 1)
    np.testing.assert_allclose(one.correlations_, two.correlations_, atol=1e-8)


def test_principal_angles():
    """cookbook T10.2: correlations are cosines between the column spaces."""
    X, Y = views()
    angles = scipy.linalg.subspace_angles(X - X.mean(0), Y - Y.mean(0))
    found = kg.CCA(4).fit(X, Y).correlations_
    np.testing.assert_allclose(np.sort(np.cos(angles)), np.sort(found), atol=1e-9)


def test_order_of_columns_does_not_matter_when_rows_are_few():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((10, 10)), rng.standard_normal((10, 5))
    order = np.random.default_rng(2).permutation(10)
    one = kg.CCA(2, alpha=0.1).fit(X, Y)
    two = kg.CCA(2, alpha=0.1).fit(X[:, order], Y)
    np.testing.assert_allclose(one.transform(X), two.transform(X[:, order]), atol=1e-9)


def test_ill_conditioned_rows_take_the_svd_solver():
    X, Y = views(200)
    X = np.column_stack([X, X[:, 0] + 1e-9 * np.random.default_rng(3).standard_normal(200)])
    model = kg.CCA(4).fit(X, Y)
    assert model.solver_ == "svd"
    U, V = model.transform(X, Y)
    found = [np.corrcoef(U[:, j], V[:, j])[0, 1] for j in range(4)]
    np.testing.assert_allclose(found, model.correlations_, atol=1e-5)


def test_constant_and_collinear_columns():
    X, Y = views()
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 0] + X[:, 1]])
    np.testing.assert_allclose(kg.CCA(4).fit(X, Y).correlations_, plain(*views()), atol=1e-7)


def test_identical_views():
    """first_encounter T14.3."""
    X, _ = views()
    model = kg.CCA(3).fit(X, X)
    np.testing.assert_allclose(model.correlations_, 1.0)
    np.testing.assert_allclose(model.x_rotations_, model.y_rotations_, atol=1e-6)


def test_prediction_with_all_pairs_is_least_squares():
    X, Y = views()
    want = kg.Ridge(alpha=0.0).fit(X, Y).predict(X)
    np.testing.assert_allclose(kg.CCA(4).fit(X, Y).predict(X), want, atol=1e-8)


def test_reconstruction():
    X, Y = views(p=4, q=4)
    model = kg.CCA(4).fit(X, Y)
    back, back_y = model.inverse_transform(*model.transform(X, Y))
    np.testing.assert_allclose(back, X, atol=1e-8)
    np.testing.assert_allclose(back_y, Y, atol=1e-8)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 5}, "n_components"),
        ({"n_components": 0}, "n_components"),
        ({"alpha": -1.0}, "alpha"),
        ({"solver": "nipals"}, "solver"),
        ({"solver": "svd", "alpha": 1.0}, "svd"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.CCA(**params).fit(*views())


def test_one_column_in_y_has_one_pair():
    """Two pairs by default: refused as by scikit-learn, with the number that there is."""
    X, Y = views()
    y = Y[:, 0]
    with pytest.raises(ValueError, match=r"1 in y.* Set n_components=1\."):
        kg.CCA().fit(X, y)
    assert kg.CCA(1).fit(X, y).transform(X).shape == (len(X), 1)


def test_kernel_twin_off_centre_and_shifted():
    X, Y = views(80)
    linear = kg.CCA(2, scale=False, alpha=0.2).fit(X, Y)
    for shift in (0.0, 3.0, 10.0):
        twin = kg.KernelCCA(2, kernel="linear", alpha=0.2, random_state=0).fit(X + shift, Y)
        np.testing.assert_allclose(twin.correlations_, linear.correlations_, atol=1e-8)
        np.testing.assert_allclose(
            np.abs(twin.transform(X + shift)), np.abs(linear.transform(X)), atol=1e-6
        )


def test_gaussian_shift():
    """A published package loses its training correlation when all data is moved; we do not."""
    X, Y = views(80)
    found = [
        kg.KernelCCA(1, kernel=kg.Gaussian(2.0), random_state=0).fit(X + c, Y + c).correlations_
        for c in (0.0, 3.0, 10.0)
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-7)
    np.testing.assert_allclose(found[2], found[0], atol=1e-7)


def test_circle():
    """cookbook X11.1, T11.1: linear CCA finds nothing, the kernel finds x1^2 + x2^2 = 1."""
    z = np.random.default_rng(0).uniform(0, 2 * np.pi, (400, 1))
    X, Y = np.sin(z), np.cos(z)
    assert kg.CCA(1).fit(X, Y).correlations_[0] < 0.15
    for kernel in (kg.Gaussian(1.0), kg.Polynomial(degree=2, gamma=1.0)):
        model = kg.KernelCCA(1, kernel=kernel, alpha=1e-3, random_state=0).fit(X, Y)
        assert model.correlations_[0] > 0.95
        assert abs(np.corrcoef(model.transform(X)[:, 0], X[:, 0] ** 2)[0, 1]) > 0.95


def test_independent_views_are_recognised():
    """cookbook T11.3: the training score is optimistic, held-out score and permutation are not."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((300, 2)), rng.standard_normal((300, 2))
    model = kg.KernelCCA(1, kernel=kg.Gaussian(1.0), alpha=1e-3, random_state=0)
    model.fit(X[:150], Y[:150])
    assert model.correlations_[0] > 0.4
    assert abs(model.score(X[150:], Y[150:])) < 0.25
    assert model.permutation_test(X[150:], Y[150:], 50) > 0.02


def test_dependent_views_are_significant():
    z = np.random.default_rng(0).uniform(0, 2 * np.pi, (300, 1))
    X, Y = np.sin(z), np.cos(z)
    model = kg.KernelCCA(1, kernel=kg.Gaussian(1.0), alpha=1e-3, random_state=0)
    model.fit(X[:200], Y[:200])
    assert model.score(X[200:], Y[200:]) > 0.9
    assert model.permutation_test(X[200:], Y[200:], 50) < 0.03


def test_regularisation_lowers_the_value():
    """first_encounter T14.7."""
    X, Y = views(60)
    values = [
        kg.KernelCCA(1, kernel=kg.Gaussian(1.0), alpha=a, random_state=0).fit(X, Y).values_[0]
        for a in (1e-4, 1e-2, 1.0)
    ]
    assert values[0] > values[1] > values[2]


def test_all_landmarks_equal_the_exact_solver():
    X, Y = views(70)
    params = {"kernel": kg.Gaussian(2.0), "alpha": 0.05, "random_state": 0}
    exact = kg.KernelCCA(2, **params).fit(X, Y)
    mapped = kg.KernelCCA(2, approximation="nystroem", n_features=70, **params).fit(X, Y)
    np.testing.assert_allclose(mapped.correlations_, exact.correlations_, atol=1e-6)
    np.testing.assert_allclose(np.abs(mapped.transform(X)), np.abs(exact.transform(X)), atol=1e-4)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"n_components": 0}, "n_components"),
        ({"approximation": "magic"}, "approximation"),
        ({"n_components": 80}, "n_components"),
    ],
)
def test_bad_kernel_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.KernelCCA(**params).fit(*views(80))


def test_too_large_for_memory():
    with pytest.raises(MemoryError, match="nystroem"):
        kg.KernelCCA(max_memory="10KiB").fit(*views(80))


@pytest.mark.parametrize("alpha", [0.1, 1e-9])
def test_prediction_through_a_pair_without_variance(alpha):
    """The ridge alone gives such a pair length one: the prediction is that of the others."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    X = np.column_stack([x, np.full(50, 3.0), np.full(50, 1e6)])
    Y = np.column_stack([2 * x + 1, rng.standard_normal(50), -x])
    model = kg.CCA(3, alpha=alpha, scale=False).fit(X, Y)
    U = model.transform(X)
    U = U - U.mean(0)
    U[:, 1:] = 0.0  # rounding of columns that do not vary
    want = Y.mean(0) + U @ np.linalg.lstsq(U, Y, rcond=1e-10)[0]
    np.testing.assert_allclose(model.predict(X), want, atol=1e-6)
    assert np.abs(model.coef_[:, 1:]).max() < 1e-4
    np.testing.assert_allclose(model.correlations_[1:], 0.0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-6)


def penalised(X, Y, a, b):
    """Singular values of (C_x + a I)^-1/2 C_xy (C_y + b I)^-1/2."""
    X, Y = X - X.mean(0), Y - Y.mean(0)
    n = len(X)
    root = [
        scipy.linalg.inv(scipy.linalg.sqrtm(Z.T @ Z / n + c * np.eye(Z.shape[1]))).real
        for Z, c in ((X, a), (Y, b))
    ]
    return np.linalg.svd(root[0] @ (X.T @ Y / n) @ root[1], compute_uv=False)


def test_one_penalty_per_view():
    X, Y = views()
    model = kg.CCA(2, scale=False, alpha=(0.3, 5.0)).fit(X, Y)
    A, B = model.x_rotations_, model.y_rotations_
    C = np.cov(np.hstack([X, Y]).T, ddof=0)
    np.testing.assert_allclose(A.T @ (C[:6, :6] + 0.3 * np.eye(6)) @ A, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(B.T @ (C[6:, 6:] + 5.0 * np.eye(4)) @ B, np.eye(2), atol=1e-9)
    s = np.diag(A.T @ C[:6, 6:] @ B)
    np.testing.assert_allclose(s, penalised(X, Y, 0.3, 5.0)[:2], atol=1e-9)
    kernel = kg.KernelCCA(2, alpha=(0.3, 5.0)).fit(X, Y)
    np.testing.assert_allclose(kernel.values_, s, atol=1e-7)
    one, two = (kg.CCA(2, alpha=alpha).fit(X, Y) for alpha in (0.7, np.array([0.7, 0.7])))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("alpha", [(0.1,), (0.1, -1.0), (0.1, 0.2, 0.3), "ab", [np.nan, 1.0]])
@pytest.mark.parametrize("model", [kg.CCA, kg.KernelCCA])
def test_penalties_that_are_no_pair(model, alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        model(alpha=alpha).fit(*views())


def test_a_streamed_second_view_is_checked():
    X, Y = views()
    model = kg.CCA(2).fit(X, Y)
    blocks = [Y[:100], Y[100:]]
    U, V = model.transform([X[:100], X[100:]], blocks)
    want = model.transform(X, Y)
    np.testing.assert_allclose(np.vstack(list(U)), want[0])
    np.testing.assert_allclose(np.vstack(list(V)), want[1])
    with pytest.raises(ValueError, match="y has 3 features"):
        model.transform(X, [Y[:, :3]])
    with pytest.raises(ValueError, match="NaN"):
        np.vstack(list(model.transform(X, [Y[:9], np.full((2, 4), np.nan)])[1]))


@pytest.mark.parametrize("form", ["blocks", "dask"])
def test_kernel_cca_of_streams_gives_advice(form):
    X, Y = views(60)
    if form == "dask":
        dask_array = pytest.importorskip("dask.array")
        X, Y = (dask_array.from_array(Z, chunks=(20, -1)) for Z in (X, Y))
    else:
        X, Y = [X[:30], X[30:]], [Y[:30], Y[30:]]
    for kernel in (None, "nystroem"):
        with pytest.raises(ValueError, match="needs them in memory"):
            kg.KernelCCA(approximation=kernel).fit(X, Y)


def test_an_array_is_no_solver():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="solver must be one of"):
        kg.CCA(solver=np.array([1.0, 2.0])).fit(X, X)


def test_a_view_of_equal_rows_in_the_strict_standard():
    import array_api_strict as xp

    X, Y = np.zeros((29, 5)), np.random.default_rng(0).random((29, 1))
    with pytest.raises(ValueError, match="the rows of a view are all equal"):
        kg.KernelCCA(1, kernel="rbf", gamma=0.3).fit(xp.asarray(X), xp.asarray(Y))


@pytest.mark.parametrize("value", [0.0, 0.1, 7.3])
@pytest.mark.parametrize("equal", ["X", "y"])
def test_a_kernel_view_of_equal_rows_is_refused(value, equal):
    """What centring leaves of equal rows is rounding, which depends on the memory order."""
    rows, other = np.full((300, 3), value), np.random.default_rng(0).standard_normal((300, 3))
    weights = np.r_[np.ones(299), 0.0]  # the last row, which differs, does not count
    rows[-1] += 1.0
    for kernel in ("linear", "rbf", "poly"):
        model = kg.KernelCCA(1, kernel=kernel, random_state=0)
        with pytest.raises(ValueError, match="the rows of a view are all equal"):
            model.fit(*((rows, other) if equal == "X" else (other, rows)), weights)
