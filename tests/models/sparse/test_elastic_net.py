"""Lasso and elastic net against the textbook version, scikit-learn and optimality conditions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peers
from sklearn.base import clone
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.models.sparse import problem
from kilogram.solvers.coordinate.designs import ShiftedDesign
from kilogram.textbook import sparse_regression
from kilogram.textbook.state import run

SHAPES = [(60, 8), (40, 120), (300, 5), (30, 30), (7, 600)]


def data(n, p, seed=0, correlation=0.5):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    X = Z + correlation * np.roll(Z, 1, axis=1) + 1.0
    b = np.zeros(p)
    b[: min(4, p)] = (2.0, -1.0, 0.5, 3.0)[: min(4, p)]
    return X, X @ b + rng.normal(size=n) + 5.0


def kkt_violation(model, X, y, w=None):
    """How far the (sub)gradient condition is missed, relative to alpha."""
    w = np.ones(len(y)) if w is None else w
    r = y - model.predict(X)
    c = np.asarray(X.T @ (w * r)).ravel() / w.sum()
    alpha, ratio, b = model.alpha, model.l1_ratio, model.coef_
    g = c - alpha * (1 - ratio) * b
    zero = b == 0
    excess = np.where(
        zero, np.maximum(np.abs(g) - alpha * ratio, 0), g - alpha * ratio * np.sign(b)
    )
    return np.abs(excess).max() / alpha


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_optimality_conditions(shape, ratio):
    X, y = data(*shape)
    model = kg.ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-12, max_iter=10**5).fit(X, y)
    assert kkt_violation(model, X, y) < 1e-4
    assert model.dual_gap_ <= 1e-12 * np.var(y) * 1.01


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_textbook_version(shape):
    X, y = data(*shape)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    lam = 0.3
    expected = run(sparse_regression.lasso(Xc, yc, lam * len(y), sweeps=20000))["beta"]
    model = kg.Lasso(alpha=lam, tol=1e-13, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), Xc @ expected + y.mean(), atol=1e-5)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array, np.asfortranarray])
def test_equals_scikit_learn(positive, weighted, container):
    X, y = data(80, 150, seed=1)
    X = X * (X > 1.5)
    w = np.random.default_rng(2).uniform(0.1, 2, len(y)) if weighted else None
    settings = {"alpha": 0.1, "positive": positive, "tol": 1e-10, "max_iter": 10**5}
    ours = kg.Lasso(**settings).fit(container(X), y, w)
    theirs = peers.Lasso(**settings).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)


def test_several_targets_are_fitted_one_by_one():
    X, y = data(50, 90)
    Y = np.column_stack([y, -2 * y + 1])
    both = kg.Lasso(alpha=0.2, tol=1e-10).fit(X, Y)
    assert both.coef_.shape == (2, 90)
    for t in range(2):
        one = kg.Lasso(alpha=0.2, tol=1e-10).fit(X, Y[:, t])
        np.testing.assert_allclose(both.coef_[t], one.coef_, atol=1e-8)
    assert both.predict(X).shape == (50, 2)


def test_streaming_rows_equal_rows_in_memory():
    X, y = data(500, 12)
    blocks = [(X[i : i + 90], y[i : i + 90]) for i in range(0, 500, 90)]
    streamed = kg.Lasso(alpha=0.05, tol=1e-10).fit(blocks)
    whole = kg.Lasso(alpha=0.05, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-9)


def test_float32_reaches_the_same_solution():
    X, y = data(100, 250)
    wide = kg.Lasso(alpha=0.1).fit(X, y)
    narrow = kg.Lasso(alpha=0.1).fit(X.astype(np.float32), y.astype(np.float32))
    assert narrow.coef_.dtype == np.float32
    assert narrow.objective(X, y) <= wide.objective(X, y) + 2e-4 * np.var(y)


def test_a_large_alpha_leaves_the_intercept_only():
    X, y = data(40, 60)
    top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    assert not kg.Lasso(alpha=top * 1.0001).fit(X, y).coef_.any()
    assert np.count_nonzero(kg.Lasso(alpha=top * 0.99, tol=1e-9).fit(X, y).coef_) == 1
    assert kg.Lasso(alpha=2 * top).fit(X, y).intercept_ == pytest.approx(y.mean())


@pytest.mark.parametrize(
    "case", ["constant column", "duplicate columns", "constant target", "one row", "alpha 0"]
)
def test_degenerate_input_has_a_defined_solution(case):
    X, y = data(30, 6)
    alpha = 0.1
    if case == "constant column":
        X[:, 2] = 3.0
    elif case == "duplicate columns":
        X[:, 1] = X[:, 0]
    elif case == "constant target":
        y = np.full(30, 4.0)
    elif case == "one row":
        X, y = X[:1], y[:1]
    else:
        alpha = 0.0
    model = kg.Lasso(alpha=alpha, max_iter=10**5).fit(X, y)
    assert np.isfinite(model.coef_).all()
    if case == "constant column":
        assert model.coef_[2] == 0
    if case in ("constant target", "one row"):
        assert not model.coef_.any()
    if case == "alpha 0":
        residual = y - kg.LinearRegression().fit(X, y).predict(X)
        assert model.objective(X, y) <= 0.5 * np.mean(residual**2) + 1e-4 * np.var(y)


def test_too_few_epochs_are_reported():
    X, y = data(100, 80, correlation=5.0)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        kg.Lasso(alpha=1e-3, max_iter=2, tol=1e-10).fit(X, y)


def test_warm_start_needs_fewer_epochs():
    X, y = data(200, 600)
    model = kg.Lasso(alpha=0.02, warm_start=True, tol=1e-8).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a float of at least 0, got -1.0."),
        ({"tol": -1e-3}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0."),
        ({"selection": "greedy"}, "selection must be one of 'cyclic', 'random', got 'greedy'."),
    ],
)
def test_parameters_are_checked(setting, message):
    with pytest.raises(ValueError, match=message):
        kg.Lasso(**setting).fit(*data(20, 3))


@pytest.mark.parametrize("shape", [(200, 30), (80, 300)])
@pytest.mark.parametrize("weighted", [False, True])
def test_lasso_cv_chooses_as_scikit_learn(shape, weighted):
    X, y = data(*shape, seed=3)
    w = np.random.default_rng(4).uniform(0.1, 2, len(y)) if weighted else None
    ours = kg.LassoCV(tol=1e-7, alphas=30).fit(X, y, w)
    theirs = peers.LassoCV(tol=1e-7, max_iter=10**5, alphas=ours.alphas_).fit(X, y, w)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    # where the path is short of its tolerance, errors of the rows left out differ a little
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=2e-2)


def test_elastic_net_cv_tries_several_mixtures():
    X, y = data(100, 40)
    model = kg.ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=20).fit(X, y)
    assert model.mse_path_.shape == (2, 20, 5)
    assert model.alphas_.shape == (2, 20)
    k, i = np.unravel_index(model.mse_path_.mean(axis=2).argmin(), (2, 20))
    assert (model.l1_ratio_, model.alpha_) == ([0.2, 0.9][k], model.alphas_[k, i])


def test_paths_equal_scikit_learn():
    X, y = data(60, 100)
    alphas, coefs, gaps = kg.lasso_path(X, y, n_alphas=20, eps=1e-2, tol=1e-9)
    _, theirs, _ = peers.lasso_path(X, y, alphas=alphas, tol=1e-9, max_iter=10**5)
    np.testing.assert_allclose(X @ coefs, X @ theirs, atol=1e-3)
    assert gaps.max() <= 1e-9 * np.mean(y**2) * 1.01
    assert not coefs[:, 0].any()
    a, c, g, n = kg.enet_path(X, y, n_alphas=5, l1_ratio=0.5, return_n_iter=True)
    assert c.shape == (100, 5)
    assert len(n) == len(a) == len(g) == 5


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("intercept", [True, False])
def test_designs_without_a_copy_reach_the_same_solution(monkeypatch, order, intercept):
    """Large X is not copied; columns far from 0 are, because products would lose digits."""
    X, y = data(50, 90)
    settings = {"alpha": 0.1, "tol": 1e-12, "max_iter": 10**4, "fit_intercept": intercept}
    copied = kg.Lasso(**settings).fit(X, y)
    monkeypatch.setattr(problem, "SHIFTED_SIZE", 0)
    Z = np.array(X, order=order)
    shared = kg.Lasso(**settings).fit(Z, y)
    np.testing.assert_allclose(shared.coef_, copied.coef_, atol=1e-6)
    assert isinstance(problem.from_rows(Z, y, None, intercept)[0], ShiftedDesign)
    far = problem.from_rows(Z + 1e6, y, None, intercept)[0]
    assert isinstance(far, ShiftedDesign) != intercept
    Y = np.column_stack([y, X[:, 5] - y])
    joint = kg.MultiTaskLasso(0.1, tol=1e-10, max_iter=10**4).fit(Z, Y)
    monkeypatch.undo()
    apart = kg.MultiTaskLasso(0.1, tol=1e-10, max_iter=10**4).fit(Z, Y)
    np.testing.assert_allclose(joint.coef_, apart.coef_, atol=1e-5)


@pytest.mark.parametrize("name", ["LassoCV", "LassoLarsCV", "OrthogonalMatchingPursuitCV"])
def test_splits_of_other_rows_are_refused(name):
    X, y = np.eye(6, 2), np.arange(6.0)
    cv = [(np.arange(5), np.arange(5, 9))]
    with pytest.raises(ValueError, match="cv yields the row 8, but X has 6 rows"):
        getattr(kg, name)(cv=cv).fit(X, y)


def test_rows_left_out_without_weight_count_equally():
    X = np.random.default_rng(0).standard_normal((20, 3))
    w = np.r_[np.ones(15), np.zeros(5)]
    cv = [(np.arange(15), np.arange(15, 20))]
    model = kg.LassoCV(alphas=[0.5, 0.1], cv=cv)
    weighted = model.fit(X, X[:, 0], sample_weight=w).mse_path_
    np.testing.assert_allclose(weighted, model.fit(X, X[:, 0]).mse_path_)


@pytest.mark.parametrize(
    "model", [kg.LassoCV(cv=7), kg.LassoLarsCV(cv=7), kg.OrthogonalMatchingPursuitCV(cv=7)]
)
def test_weights_of_one_choose_what_no_weights_choose(model):
    """Folds of unequal size count the same, with weights and without; empty ones do not count."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((31, 6))
        y = X[:, 0] + 2.0 * rng.standard_normal(31)
        plain = clone(model).fit(X, y).coef_
        ones = clone(model).fit(X, y, sample_weight=np.ones(31)).coef_
        np.testing.assert_allclose(ones, plain, atol=1e-9)
        if isinstance(model, kg.LassoLarsCV):
            continue  # its grid is the knots of all folds, with weight or without
        folds = list(KFold(4).split(X))
        w = np.ones(31)
        w[folds[0][1]] = 0.0
        kept = np.setdiff1d(np.arange(31), folds[0][1])
        place = {int(row): i for i, row in enumerate(kept)}
        rest = [([place[r] for r in a if r in place], [place[r] for r in b]) for a, b in folds[1:]]
        left_out = clone(model).set_params(cv=folds).fit(X, y, sample_weight=w).coef_
        dropped = clone(model).set_params(cv=rest).fit(X[kept], y[kept]).coef_
        np.testing.assert_allclose(left_out, dropped, atol=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize("sparse", [False, True])
def test_paths_of_several_targets_equal_scikit_learn(ratio, sparse):
    X, y = data(40, 30)
    Y = np.column_stack([y, X[:, 3] - y, X[:, 1]])
    given = sp.csr_array(X) if sparse else X
    settings = {"l1_ratio": ratio, "tol": 1e-10, "max_iter": 10**5}
    alphas, coefs, gaps = kg.enet_path(given, Y, n_alphas=8, eps=1e-2, **settings)
    theirs = peers.enet_path(X, Y, alphas=alphas, **settings)
    assert coefs.shape == theirs[1].shape == (3, 30, 8)
    np.testing.assert_allclose(coefs, theirs[1], atol=1e-4)
    assert gaps.max() <= 1e-10 * np.sum(Y**2) / len(Y) * 1.01
    np.testing.assert_allclose(peers.enet_path(X, Y, alphas=8, eps=1e-2, **settings)[0], alphas)
    assert not coefs[:, :, 0].any()
    model = kg.MultiTaskElasticNet(alphas[4], fit_intercept=False, **settings).fit(X, Y)
    np.testing.assert_allclose(model.coef_, coefs[:, :, 4], atol=1e-4)
    with pytest.raises(ValueError, match="one target"):
        kg.enet_path(X, Y, positive=True)


def test_paths_take_the_keywords_of_scikit_learn(capsys):
    X, y = data(40, 30)
    alphas = kg.lasso_path(X, y, alphas=5, eps=1.0)[0]
    assert len(alphas) == 5
    assert np.ptp(alphas) <= 1e-12 * alphas[0]
    target = kg.lasso_path(X, y, alphas=[0.1], tol=1e-10)[1][:, 0]
    _, again, _, n_iter = kg.lasso_path(
        X, y, alphas=[0.1], tol=1e-6, coef_init=target, Xy=X.T @ y, copy_X=False, verbose=True,
        return_n_iter=True,
    )  # fmt: skip
    np.testing.assert_allclose(again[:, 0], target, atol=1e-5)
    cold = kg.lasso_path(X, y, alphas=[0.1], tol=1e-6, return_n_iter=True)[3]
    assert n_iter[0] <= cold[0]
    assert "alpha=0.1: " in capsys.readouterr().err
    assert kg.enet_path(X.astype(np.float32), y, check_input=False)[1].dtype == np.float32
    for wrong in (np.ones(3), np.full(30, np.nan)):
        with pytest.raises(ValueError, match="coef_init"):
            kg.lasso_path(X, y, coef_init=wrong)
    names = set(inspect.signature(peers.enet_path).parameters) - {"params"}
    assert names <= set(inspect.signature(kg.enet_path).parameters)


def test_given_alphas_are_stored_once_and_must_be_numbers():
    X, y = data(60, 8)
    model = kg.ElasticNetCV(alphas=[0.01, 0.05, 0.1], l1_ratio=[0.5, 0.7]).fit(X, y)
    np.testing.assert_array_equal(model.alphas_, [0.1, 0.05, 0.01])
    assert model.mse_path_.shape == (2, 3, 5)
    assert kg.ElasticNetCV(alphas=4, l1_ratio=[0.5, 0.7]).fit(X, y).alphas_.shape == (2, 4)
    with pytest.raises(ValueError, match="alphas must be numbers"):
        kg.LassoCV(alphas=(0.1, 1, "1.0")).fit(X, y)


@pytest.mark.parametrize("shape", [(5000, 200), (600, 450)])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_fit_of_few_needed_columns_equals_that_by_the_gram_matrix(shape, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 2, shape[1]) + 1.0
    y = X[:, :5] @ rng.normal(size=5) + rng.normal(size=len(X)) + 7.0
    w = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    alpha = 0.1 * np.abs((X - X.mean(axis=0)).T @ y).max() / len(y)
    model = kg.Lasso(alpha, tol=1e-10).fit(X, y, w)
    monkeypatch.setattr(problem, "SURE_COLUMNS", 500)
    known = kg.Lasso(alpha, tol=1e-10).fit(X, y, w)
    np.testing.assert_allclose(model.objective_, known.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), known.predict(X), atol=1e-3 * y.std())
