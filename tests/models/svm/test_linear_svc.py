"""LinearSVC: beside scikit-learn, in blocks, and along paths."""

import dask.array as da
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_digits, make_blobs

from kilogram.base import ConvergenceWarning
from kilogram.functions.hinge_losses import Hinge, Tube
from kilogram.models.svm.linear_svc import LinearSVC
from kilogram.models.svm.svc import SVC


def rows(n=300, d=6, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    return X, (X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.7).astype(int)


def objective(model, X, y, loss, C=1.0):
    s = np.where(y == model.classes_[1], 1.0, -1.0)
    h = np.maximum(0.0, 1.0 - s * (X @ model.coef_[0] + model.intercept_[0]))
    w = np.append(model.coef_[0], model.intercept_[0] / model.intercept_scaling)
    return 0.5 * w @ w + C * np.sum(h if loss == "hinge" else h**2)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("scaling", [1.0, 4.0])
def test_reaches_scikit_learns_optimum(loss, C, scaling):
    X, y = rows()
    params = {"loss": loss, "C": C, "intercept_scaling": scaling, "tol": 1e-6}
    ours = LinearSVC(**params).fit(X, y)
    theirs = sklearn.svm.LinearSVC(**params, max_iter=200_000, dual=loss == "hinge").fit(X, y)
    best = objective(theirs, X, y, loss, C)
    assert ours.objective_ <= best * (1 + 1e-6)
    assert ours.objective_ == pytest.approx(objective(ours, X, y, loss, C), rel=1e-9)
    assert ours.objective_ - ours.dual_gap_ <= best
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-2 * np.abs(theirs.coef_).max())


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_primal_and_dual_solvers_meet(loss):
    X, y = rows()
    primal = LinearSVC(loss=loss, dual=False, tol=1e-7).fit(X, y)
    for table in (X, sp.csr_array(X), X.astype(np.float32)):
        dual = LinearSVC(loss=loss, dual=True, tol=1e-5, max_iter=100_000).fit(table, y)
        assert dual.objective_ == pytest.approx(primal.objective_, rel=2e-5)
        assert dual.dual_gap_ <= 1.1e-5 * dual.objective_


def test_many_columns_take_products(monkeypatch):
    X, y = rows(200, 12)
    want = LinearSVC(tol=1e-9).fit(X, y)
    monkeypatch.setattr("kilogram.solvers.newton.newton.DIRECT", 5)
    for table in (X, sp.csr_array(X)):
        got = LinearSVC(tol=1e-9).fit(table, y)
        np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-4)


def test_many_classes():
    X, y = load_digits(return_X_y=True)
    ours = LinearSVC(tol=1e-7).fit(X / 16, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-7, max_iter=10_000).fit(X / 16, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X / 16), theirs.predict(X / 16))
    assert ours.decision_function(X / 16).shape == (len(X), 10)


def test_absolute_penalty():
    X, y = rows(200, 20)
    ours = LinearSVC(penalty="l1", C=0.05, tol=1e-8).fit(X, y)
    theirs = sklearn.svm.LinearSVC(penalty="l1", C=0.05, tol=1e-8, max_iter=100_000, dual=False)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert (ours.coef_ == 0).any()
    assert ours.objective(X, y) == pytest.approx(ours.objective_)
    with pytest.raises(ValueError, match="l1"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)


@pytest.mark.parametrize(("loss", "slack"), [("squared_hinge", 2), ("hinge", 1)])
def test_with_a_free_intercept_it_is_the_kernel_machine(loss, slack):
    X, y = rows(150)
    kernel = SVC(kernel="linear", slack=slack, tol=1e-9).fit(X, y)
    linear = LinearSVC(loss=loss, penalize_intercept=False, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=2e-3)
    assert linear.objective_ == pytest.approx(kernel.objective_, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_weights_are_penalties(loss):
    X, y = rows()
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    params = {"loss": loss, "class_weight": {0: 1.0, 1: 3.0}, "tol": 1e-8}
    ours = LinearSVC(**params).fit(X, y, w)
    again = LinearSVC(**params).fit(np.repeat(X, w.astype(int), 0), np.repeat(y, w.astype(int)))
    np.testing.assert_allclose(ours.coef_, again.coef_, atol=1e-3)
    assert ours.objective(X, y, w) == pytest.approx(ours.objective_)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_blocks_and_dask_and_balanced_classes(loss):
    X, y = rows(500)
    params = {"loss": loss, "class_weight": "balanced", "tol": 1e-5}
    want = LinearSVC(**params).fit(X, y)
    lazy = LinearSVC(**params).fit(da.from_array(X, chunks=(130, 6)), da.from_array(y, chunks=130))
    assert lazy.objective_ == pytest.approx(want.objective_, rel=2e-5)
    np.testing.assert_allclose(lazy.class_weight_, want.class_weight_)


@pytest.mark.parametrize("seed", range(5))
def test_single_precision_ends_where_rounding_ends(seed):
    """A gap that float32 cannot show is not asked for: no warning, and few passes over the rows."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((60, 5))
    labels = (rows[:, 0] + rng.standard_normal(60) > 0) + (rows[:, 1] > 1)
    exact = LinearSVC(tol=1e-12).fit(rows, labels)
    blocks = LinearSVC(tol=1e-14).fit(strict.asarray(rows.astype(np.float32)), labels)
    assert blocks.n_iter_ < 100
    assert abs(blocks.dual_gap_) < 1e-5 * blocks.objective_
    np.testing.assert_allclose(np.asarray(blocks.coef_), exact.coef_, atol=1e-4)


def test_large_data_start_from_a_sample(monkeypatch):
    X, y = rows(3000)
    want = LinearSVC(tol=1e-9).fit(X, y)
    monkeypatch.setattr("kilogram.solvers.newton.newton.SMALL", 500)
    got = LinearSVC(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(got.coef_, want.coef_, atol=1e-8)


def test_warm_start_along_a_path():
    X, y = rows()
    warm = LinearSVC(warm_start=True, tol=1e-9)
    for C in (0.1, 1.0, 10.0):
        warm.set_params(C=C).fit(X, y)
        cold = LinearSVC(C=C, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-6)


def test_without_intercept():
    X, y = rows()
    ours = LinearSVC(fit_intercept=False, tol=1e-9).fit(X, y)
    theirs = sklearn.svm.LinearSVC(fit_intercept=False, tol=1e-9, dual=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == 0.0


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"C": 0}, "C must"),
        ({"loss": "logistic"}, "loss must"),
        ({"penalty": "l3"}, "penalty must"),
        ({"dual": "maybe"}, "dual must"),
        ({"multi_class": "crammer_singer"}, "ovr"),
        ({"intercept_scaling": 0}, "intercept_scaling"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(params, match):
    X, y = rows(30)
    with pytest.raises(ValueError, match=match):
        LinearSVC(**params).fit(X, y)


def test_stopping_early_says_how_far():
    X, y = rows(400)
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* usable"):
        LinearSVC(loss="hinge", dual=True, tol=1e-9, max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* usable"):
        LinearSVC(loss="hinge", tol=1e-9, max_iter=2).fit(X, y)


@pytest.mark.parametrize("loss", [Hinge(), Hinge().smoothed(0.3), Tube(epsilon=0.2).smoothed(0.1)])
def test_losses_are_their_own_derivatives(loss):
    rng = np.random.default_rng(0)
    y, f, h = np.sign(rng.standard_normal(200)), 2 * rng.standard_normal(200), 1e-6
    slope = (loss.value(y, f - h) - loss.value(y, f + h)) / (2 * h)
    np.testing.assert_allclose(slope, loss.sign(y, f) * loss.pull(y, f), atol=1e-5)
    bent = loss.is_quadratic(y, f)
    pull = loss.kappa * (loss.target_on(y, loss.sign(y, f)) - f)
    np.testing.assert_allclose((loss.sign(y, f) * loss.pull(y, f))[bent], pull[bent], atol=1e-12)
    assert (loss.limit(y, f) >= loss.value(y, f) - 1e-12).all()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_separable_rows_with_a_weak_penalty(container, scale):
    """Newton's steps stall there: the objective was twelve times the minimum and more."""
    X, y = make_blobs(250, 100, centers=10, cluster_std=15.0, random_state=0)
    X, y = scale * X, (y == 0).astype(int)
    model = LinearSVC().fit(container(X), y)
    # the dual is a non-negative least-squares problem: an exact solution by active sets
    signed = np.append(X, np.ones((250, 1)), axis=1) * np.where(y, 1.0, -1.0)[:, None]
    L = np.linalg.cholesky(signed @ signed.T + 0.5 * np.eye(250))
    alpha, _ = scipy.optimize.nnls(L.T, np.linalg.solve(L, np.ones(250)))
    best = alpha.sum() - 0.5 * np.sum((L.T @ alpha) ** 2)
    assert best * (1 - 1e-6) <= model.objective_ <= 1.01 * best
    assert model.objective_ == pytest.approx(objective(model, X, y, "squared_hinge"), rel=1e-6)
