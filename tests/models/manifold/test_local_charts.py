"""The methods of locally linear embedding: what their matrices annihilate, and what not."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding as Reference

import kilogram as kg
from kilogram.models.manifold import local_charts
from kilogram.solvers.neighbors.nearest import nearest


@pytest.fixture(scope="module")
def sheet():
    """Coordinates on a flat sheet, and its rows in five dimensions."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (200, 2))
    return Z, Z @ np.linalg.qr(rng.standard_normal((5, 2)))[0].T


def matrices(X, k=10, d=2):
    at = nearest(X, k).indices
    yield "modified", local_charts.modified_weights(X, at, d, 1e-12)
    yield "hessian", local_charts.hessian(X, at, d)
    yield "ltsa", local_charts.ltsa(X, at, d)
    yield "standard", local_charts.standard(X, at, 1e-9)


def test_coordinates_on_a_flat_sheet_cost_nothing(sheet):
    Z, X = sheet
    for name, B in matrices(X):
        assert np.abs(B @ np.ones(200)).max() < 1e-10, name
        # "modified" regularises its weights by a thousandth of the variance
        assert np.abs(B @ Z).max() < (1e-2 if name == "modified" else 1e-5), name


def test_a_bend_costs_second_derivatives(sheet):
    """z^2 has a constant second derivative: each row pays for it; z does not."""
    Z, X = sheet
    for name, B in matrices(X):
        if name != "standard":
            bent, straight = ((np.abs(B @ z) ** 2).sum() for z in (Z[:, 0] ** 2, Z[:, 0]))
            assert bent > 1e3 * straight, name


def test_hessian_has_an_orthonormal_row_for_each_second_derivative():
    """d (d + 1) / 2 of them, where "ltsa" has all directions that are not affine."""
    rng = np.random.default_rng(1)
    Z = rng.uniform(-1, 1, (300, 2))
    at = nearest(Z, 12).indices
    H, T = local_charts.hessian(Z, at, 2), local_charts.ltsa(Z, at, 2)
    assert H.shape == (900, 300)
    assert (H.multiply(H)).sum() == pytest.approx(300 * 3)
    assert (T.multiply(T)).sum() == pytest.approx(300 * (12 - 3))
    gap = np.linalg.eigvalsh((T.T @ T - H.T @ H).toarray()).min()
    assert gap > -1e-9  # its objective is part of that of "ltsa"


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize(("n", "k"), [(300, 12), (150, 10)])
def test_agrees_with_scikit_learn(method, n, k):
    X, _ = make_swiss_roll(n, noise=0.05, random_state=0)
    ours = kg.LocallyLinearEmbedding(n_neighbors=k, method=method).fit(X)
    reference = Reference(n_neighbors=k, method=method, eigen_solver="dense").fit(X)
    M = reference.embedding_
    assert ours.reconstruction_error_ == pytest.approx(
        reference.reconstruction_error_, rel=1e-4, abs=1e-9
    )
    angles = np.linalg.svd(np.linalg.qr(M)[0].T @ ours.embedding_)[1]
    np.testing.assert_allclose(angles, 1.0, atol=1e-6)


@pytest.mark.parametrize("method", ["modified", "hessian", "ltsa"])
def test_rows_are_placed_near_their_neighbours(method, sheet):
    _, X = sheet
    model = kg.LocallyLinearEmbedding(n_neighbors=10, method=method).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    moved = model.transform(X + 1e-6)
    assert np.abs(moved - model.embedding_).max() < 1e-3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "hessian", "n_neighbors": 5}, "at least 6 = n_components"),
        ({"method": "ltsa", "n_neighbors": 2}, "at least 3"),
        ({"method": "ltsa", "n_neighbors": 9, "n_components": 6}, "number of features, 5"),
    ],
)
def test_too_few_neighbours_or_features(parameters, message, sheet):
    with pytest.raises(ValueError, match=message):
        kg.LocallyLinearEmbedding(**parameters).fit(sheet[1])


def test_equal_rows_do_not_break_the_methods():
    X = np.repeat(np.random.default_rng(2).standard_normal((20, 3)), 6, axis=0)
    for method in ("modified", "hessian", "ltsa"):
        model = kg.LocallyLinearEmbedding(n_neighbors=8, method=method, eigen_solver="dense")
        assert np.isfinite(model.fit(X).embedding_).all()
