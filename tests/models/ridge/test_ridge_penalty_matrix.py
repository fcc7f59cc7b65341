"""Ridge with a penalty matrix (Tikhonov): the stacked least-squares problem, every solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import kilogram as kg
from kilogram.textbook import ridge_solvers
from kilogram.textbook.state import run


def data(n=60, d=8, t=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.0
    y = X @ rng.standard_normal((d, t or 1)) + rng.standard_normal((n, t or 1)) + 3.0
    return X, y if t else y[:, 0], rng.integers(0, 4, n).astype(float)


def stacked(X, y, alpha, G, w, intercept):
    """Coefficients and offset by NumPy's least squares on rows and penalty."""
    root = np.sqrt(np.ones(len(X)) if w is None else w)
    A = np.column_stack([X, np.full(len(X), float(intercept))]) * root[:, None]
    below = np.sqrt(alpha) * np.column_stack([G, np.zeros(len(G))])
    known = np.append(y * root, np.zeros(len(G)))
    found = np.linalg.lstsq(np.vstack([A, below]), known, rcond=None)[0]
    return found[:-1], found[-1]


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "saga"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n", [60, 6])  # also fewer rows than columns
def test_equals_stacked_least_squares(solver, intercept, weighted, n):
    X, y, w = data(n)
    w = w if weighted and n > 20 else None
    G = np.diff(np.eye(8), axis=0)
    model = kg.Ridge(2.5, penalty_matrix=G, solver=solver, fit_intercept=intercept).fit(X, y, w)
    W, b = stacked(X, y, 2.5, G, w, intercept)
    np.testing.assert_allclose(model.coef_, W, rtol=1e-7, atol=1e-9)
    assert model.intercept_ == pytest.approx(b, rel=1e-7, abs=1e-9)
    assert model.objective(X, y, w) == pytest.approx(model.objective_, rel=1e-9)


def test_equals_textbook_and_identity_is_plain():
    X, y, w = data()
    G = np.random.default_rng(1).standard_normal((3, 8))
    book = run(ridge_solvers.by_tikhonov(X, y, np.sqrt(2.0) * G))["beta"]
    model = kg.Ridge(2.0, penalty_matrix=G, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, book, rtol=1e-9)
    plain = kg.Ridge(2.0).fit(X, y, w)
    for eye in (np.eye(8), np.eye(8).tolist(), sp.eye_array(8, format="csr")):
        same = kg.Ridge(2.0, penalty_matrix=eye).fit(X, y, w)
        np.testing.assert_allclose(same.coef_, plain.coef_, rtol=1e-9)
        assert same.objective_ == pytest.approx(plain.objective_, rel=1e-9)


@pytest.mark.parametrize("alpha", [3.0, [0.1, 50.0, 0.1]])
def test_targets_float32_and_sparse_rows(alpha):
    X, Y, w = data(t=3)
    G = np.diff(np.eye(8), n=2, axis=0)
    want = np.array(
        [stacked(X, Y[:, j], a, G, w, True)[0] for j, a in enumerate(np.full(3, alpha))]
    )
    model = kg.Ridge(alpha, penalty_matrix=G)
    np.testing.assert_allclose(model.fit(X, Y, w).coef_, want, rtol=1e-8)
    np.testing.assert_allclose(model.fit(sp.csr_array(X), Y, w).coef_, want, rtol=1e-8)
    single = model.fit(X.astype(np.float32), Y.astype(np.float32), w)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, want, rtol=1e-3, atol=1e-4)


def test_partial_fit_and_blocks():
    X, y, _ = data()
    model = kg.Ridge(4.0, penalty_matrix=np.diff(np.eye(8), axis=0))
    want = clone(model).fit(X, y).coef_
    for part in np.array_split(np.arange(60), 4):
        model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(model.coef_, want, rtol=1e-8)
    blocks = [(X[:25], y[:25]), (X[25:], y[25:])]
    np.testing.assert_allclose(model.fit(iter(blocks)).coef_, want, rtol=1e-8)


def test_positive_coefficients_meet_the_optimality_conditions():
    X, y, _ = data(seed=3)
    G = np.diff(np.eye(8), axis=0)
    model = kg.Ridge(5.0, penalty_matrix=G, positive=True, tol=1e-10).fit(X, y)
    W = model.coef_
    slope = -(X - X.mean(axis=0)).T @ (y - model.predict(X)) + 5.0 * G.T @ G @ W
    assert (W >= 0).all()
    assert (W == 0).any()
    assert np.abs(slope[W > 0]).max() < 1e-6
    assert slope[W == 0].min() > -1e-6


def test_singular_problems_have_the_smallest_solution():
    X, y, _ = data()
    X[:, 5] = X[:, 4]
    G = np.diag([1.0] * 4 + [0.0] * 4)  # says nothing about the two equal columns
    model = kg.Ridge(1.0, penalty_matrix=G).fit(X, y)
    assert model.solver_ == "svd"
    assert model.coef_[4] == pytest.approx(model.coef_[5], rel=1e-7)
    large = kg.Ridge(1e12, penalty_matrix=np.diff(np.eye(8), axis=0)).fit(X, y)
    np.testing.assert_allclose(large.coef_, large.coef_[0], rtol=1e-4)  # one number for all


@pytest.mark.parametrize(
    ("G", "words"),
    [
        (np.eye(7), "shape .m, n_features. with n_features = 8, got .7, 7."),
        (np.ones(8), "shape"),
        (np.zeros((0, 8)), "shape"),
        (np.full((1, 8), np.nan), "finite"),
        ([["a"] * 8], "numbers"),
        ("first", "penalty_matrix must be"),
    ],
)
def test_bad_matrices(G, words):
    X, y, _ = data()
    model = kg.Ridge(penalty_matrix=G)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("solver", ["sparse_cg", "lsqr"])
def test_iterative_solvers_refuse(solver):
    X, y, _ = data()
    with pytest.raises(ValueError, match="does not support penalty_matrix"):
        kg.Ridge(penalty_matrix=np.eye(8), solver=solver).fit(X, y)
