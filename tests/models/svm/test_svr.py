"""SVR: beside scikit-learn, by hand, and as the limit of other methods."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.models.svm.svr import SVR


def curve(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sinc(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_equals_scikit_learn(kernel, epsilon):
    X, y = curve()
    params = {"kernel": kernel, "epsilon": epsilon, "C": 2.0, "tol": 1e-7, "coef0": 1.0}
    ours, theirs = SVR(**params).fit(X, y), sklearn.svm.SVR(**params).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape or epsilon == 0.0
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_by_hand():
    """x = +-1, y = +-1 (First Encounter, 9): beta = (1 - eps) / (2 + 1/C), or min(C, .)"""
    X, y = [[-1.0], [1.0]], [-1.0, 1.0]
    quadratic = SVR(kernel="linear", slack=2, C=1.0, epsilon=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(quadratic.dual_coef_, [[-0.3, 0.3]])
    np.testing.assert_allclose(quadratic.coef_, [[0.6]])
    for C, w in ((1.0, 0.9), (0.2, 0.4), (np.inf, 0.9)):
        model = SVR(kernel="linear", C=C, epsilon=0.1, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(model.coef_, [[w]])
        assert model.dual_gap_ == pytest.approx(0.0, abs=1e-9)


def test_quadratic_slack_is_the_size_of_beta():
    """|residual| - eps = |beta| / C for support vectors; inside the tube beta = 0."""
    X, y = curve()
    model = SVR(slack=2, C=3.0, epsilon=0.1, tol=1e-10).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    residual = y - model.predict(X)
    np.testing.assert_allclose(
        np.maximum(np.abs(residual) - 0.1, 0.0), np.abs(beta) / 3.0, atol=1e-8
    )
    assert (np.sign(residual[beta != 0]) == np.sign(beta[beta != 0])).all()
    assert model.dual_gap_ < 1e-8


def test_without_a_tube_quadratic_slack_is_kernel_ridge():
    X, y = curve()
    machine = SVR(slack=2, C=4.0, epsilon=0.0, gamma=0.5, tol=1e-11).fit(X, y)
    ridge = kg.KernelRidge(alpha=0.25, kernel="rbf", gamma=0.5, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), ridge.predict(X), atol=1e-7)


def test_shifting_the_targets_shifts_the_bias_only():
    X, y = curve()
    one, two = SVR(tol=1e-9).fit(X, y), SVR(tol=1e-9).fit(X, y + 100.0)
    np.testing.assert_allclose(two.dual_coef_, one.dual_coef_, atol=1e-6)
    np.testing.assert_allclose(two.intercept_, one.intercept_ + 100.0)


def test_weights_and_precomputed_and_sparse():
    X, y = curve(80)
    w = np.random.default_rng(1).integers(0, 3, 80).astype(float)
    k = kg.Gaussian(gamma=0.5)
    want = sklearn.svm.SVR(gamma=0.5, tol=1e-9).fit(X, y, w).predict(X)
    for model, rows in (
        (SVR(gamma=0.5, tol=1e-9), X),
        (SVR(gamma=0.5, tol=1e-9), sp.csr_array(X)),
        (SVR(kernel="precomputed", tol=1e-9), k(X)),
        (SVR(kernel=k, tol=1e-9), X),
    ):
        model.fit(rows, y, w)
        np.testing.assert_allclose(model.predict(rows), want, atol=1e-6)
        assert model.objective(rows, y, w) == pytest.approx(model.objective_)
    assert not np.isin(np.flatnonzero(w == 0), model.support_).any()


def test_blocks_beyond_the_stored_matrix(monkeypatch):
    X, y = curve(400)
    want = SVR(tol=1e-7).fit(X, y)
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.working_set.BLOCK", 64)
    got = SVR(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(got.predict(X), want.predict(X), atol=1e-5)
    assert got.objective_ == pytest.approx(want.objective_)


def test_hard_tube_that_does_not_exist():
    X, y = curve()
    with pytest.raises(ValueError, match="larger epsilon"):
        SVR(kernel="linear", C=np.inf, epsilon=0.01).fit(X, y)


@pytest.mark.parametrize(
    ("params", "match"),
    [({"C": 0}, "C must"), ({"epsilon": -0.1}, "epsilon must"), ({"slack": 0}, "slack must")],
)
def test_bad_parameters(params, match):
    X, y = curve(20)
    with pytest.raises(ValueError, match=match):
        SVR(**params).fit(X, y)


def test_warm_start_equals_cold_fits():
    X, y = curve()
    warm = SVR(warm_start=True, tol=1e-8)
    for C in (0.1, 1.0, 10.0, 1.0):
        warm.set_params(C=C).fit(X, y)
        cold = SVR(C=C, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-5)


def test_stopping_early_says_how_far():
    X, y = curve(300)
    with pytest.warns(ConvergenceWarning, match=r"KKT violation is .* usable"):
        model = SVR(C=100.0, epsilon=0.0, max_iter=30).fit(X, y)
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()


def test_targets_of_huge_size_end_at_their_rounding():
    """A violation below the rounding error of the targets is not searched for."""
    X = np.random.default_rng(0).standard_normal((100, 3))
    with pytest.warns(ConvergenceWarning, match="rounding errors leave no further progress"):
        model = kg.SVR(kernel="rbf", slack=2, epsilon=0.0).fit(X, 1e100 * X[:, 0])
    assert model.n_iter_ < 10**6  # fifty rounds of idle steps are many more
    same = kg.SVR(kernel="rbf", slack=2, epsilon=0.0, tol=1e-9).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), 1e100 * same.predict(X), rtol=0, atol=1e93)


def test_a_kernel_function_may_return_a_sparse_matrix():
    X = np.random.default_rng(0).standard_normal((30, 4))
    Z = sp.csr_array(X)
    model = kg.SVR(kernel=lambda a, b: a @ b.T).fit(Z, X[:, 0])
    want = kg.SVR(kernel="linear").fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(model.predict(Z), want, atol=1e-2)
