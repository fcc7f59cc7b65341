"""Sparse models of any loss: optimality conditions, duality gap, scikit-learn, special cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import kilogram as kg
from kilogram.functions.penalties import penalty_slope, penalty_value
from kilogram.functions.row_losses import (
    Gamma,
    Huber,
    Logistic,
    Poisson,
    SquaredError,
    SquaredHinge,
)

LOSSES = {
    "squared_error": SquaredError(), "huber": Huber(1.35), "poisson": Poisson(),
    "gamma": Gamma(), "logistic": Logistic(), "squared_hinge": SquaredHinge(),
}  # fmt: skip
SIGNED = ("logistic", "squared_hinge")


def rows(loss, n=120, p=200, seed=0):
    """Correlated features, five of which decide, and targets that suit the loss."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    z = X[:, (np.arange(5) * p) // 5] @ np.array([1.0, -1.0, 0.5, 0.7, -0.4])
    if loss in SIGNED:
        return X, np.where(z + rng.logistic(size=n) > 0, 1.0, -1.0)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.4 * z)).astype(float)
    if loss == "gamma":
        return X, np.exp(0.4 * z) * rng.gamma(2.0, size=n)
    return X, z + rng.standard_t(2, size=n)


def model_of(loss, **params):
    make = kg.PenalizedClassifier if loss in SIGNED else kg.PenalizedRegressor
    return make(loss, **params)


def by_differences(loss, y, z):
    step = 1e-6
    return (loss.value(y, z + step) - loss.value(y, z - step)) / (2 * step)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_derivatives_and_duals_agree(name):
    loss = LOSSES[name]
    _, y = rows(name)
    z = np.random.default_rng(1).normal(size=len(y))
    terms = loss.terms(y, z)
    np.testing.assert_allclose(terms.loss, loss.value(y, z), rtol=1e-12)
    np.testing.assert_allclose(terms.gradient, by_differences(loss, y, z), rtol=1e-5, atol=1e-6)
    # Fenchel: loss(z) = dual(t) - t z at t = -loss'(z), and at most that for any other t
    t = -terms.gradient
    np.testing.assert_allclose(terms.loss, loss.dual(y, t) - t * z, rtol=1e-9, atol=1e-12)
    assert (loss.dual(y, 0.7 * t) - 0.7 * t * z <= terms.loss + 1e-12).all()


@pytest.mark.parametrize("kind", ["l1", "mcp", "scad"])
def test_penalty_value_is_the_integral_of_its_slope(kind):
    t = np.linspace(0, 3, 100_001)
    slope = penalty_slope(t, 0.5, 3.5, kind)
    integral = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(t))])
    np.testing.assert_allclose(penalty_value(t, 0.5, 3.5, kind), integral, atol=1e-8)


@pytest.mark.parametrize("penalty", ["l1", "elasticnet", "mcp", "scad"])
@pytest.mark.parametrize("loss", LOSSES)
def test_optimality_conditions(loss, penalty):
    X, y = rows(loss)
    alpha, ratio = 0.08 if loss == "logistic" else 0.25, 0.7 if penalty == "elasticnet" else 1.0
    model = model_of(loss, penalty=penalty, alpha=alpha, l1_ratio=0.7, gamma=3.7, tol=1e-9).fit(
        X, y
    )
    b = np.ravel(model.coef_)
    z = X @ b + float(np.ravel(model.intercept_)[0])
    slopes = by_differences(LOSSES[loss], y, z) / len(y)
    assert abs(slopes.sum()) < 1e-6
    g = X.T @ slopes + alpha * (1 - ratio) * b
    slope = penalty_slope(np.abs(b), alpha * ratio, 3.7, penalty)
    distance = np.where(b != 0, np.abs(g + slope * np.sign(b)), np.maximum(np.abs(g) - slope, 0))
    assert distance.max() < 2e-5
    assert 0 < np.count_nonzero(b) < 120
    assert model.violation_ < 2e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, np.float32])
def test_the_gap_bounds_the_distance_to_the_optimum(loss, container):
    X, y = rows(loss)
    X = X.astype(np.float32).astype(np.float64)
    w = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    best = model_of(loss, penalty="elasticnet", alpha=0.1, tol=1e-10).fit(X, y, w)
    rough = model_of(loss, penalty="elasticnet", alpha=0.1, tol=1e-2)
    rough.fit(container(X), y, sample_weight=w)
    assert best.dual_gap_ < 1e-7
    # weights are multiplicities, sparse equals dense, float32 has its own rounding
    slack = 1e-4 if container is np.float32 else 1e-9
    assert -slack <= rough.objective_ - best.objective_ <= rough.dual_gap_ + slack


def test_logistic_and_squared_hinge_equal_scikit_learn():
    X, y = rows("logistic", n=80, p=30)
    alpha, n = 0.03, 80
    ours = kg.PenalizedClassifier(alpha=alpha, tol=1e-10).fit(X, y)
    peer = LogisticRegression(
        C=1 / (n * alpha), l1_ratio=1, solver="saga", tol=1e-10, max_iter=100_000
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    # without an intercept LIBLINEAR minimises |b|_1 + C sum of squared hinges
    ours = kg.PenalizedClassifier("squared_hinge", alpha=alpha, fit_intercept=False, tol=1e-10)
    peer = LinearSVC(
        penalty="l1", dual=False, C=1 / (n * alpha), fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(X, y)
    assert ours.fit(X, y).objective_ <= ours.objective(X, y) * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


def test_squares_are_the_lasso_the_group_lasso_and_the_concave_regressor():
    X, y = rows("squared_error")
    for ours, other in [
        (kg.PenalizedRegressor(alpha=0.2, tol=1e-11), kg.Lasso(alpha=0.2, tol=1e-11)),
        (kg.PenalizedRegressor(alpha=0.2, groups=4, tol=1e-11),
         kg.GroupLasso(4, alpha=0.2, tol=1e-11)),
    ]:  # fmt: skip
        np.testing.assert_allclose(ours.fit(X, y).coef_, other.fit(X, y).coef_, atol=1e-4)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = kg.PenalizedRegressor(penalty="mcp", alpha=0.4, tol=1e-9).fit(Z, y)
    other = kg.ConcaveRegressor(alpha=0.4, tol=1e-9).fit(Z, y)
    assert np.count_nonzero(ours.coef_) == np.count_nonzero(other.coef_) > 0
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
def test_groups_are_zero_as_a_whole(loss):
    X, y = rows(loss)
    groups = [list(range(j, 200, 20)) for j in range(20)]
    model = model_of(loss, alpha=0.05, groups=groups, tol=1e-10).fit(X, y)
    b = np.ravel(model.coef_)
    chosen = [np.any(b[g] != 0) for g in groups]
    assert 0 < sum(chosen) < 20
    z = X @ b + float(np.ravel(model.intercept_)[0])
    g = X.T @ by_differences(LOSSES[loss], y, z) / len(y)
    factor = np.sqrt(10)
    for group, used in zip(groups, chosen, strict=True):
        norm = np.linalg.norm(b[group])
        pull = factor * 0.05 * b[group] / norm if used else 0.0
        distance = np.linalg.norm(g[group] + pull)
        assert distance <= (1e-5 if used else 0.05 * factor * (1 + 1e-6))


def test_features_of_weight_zero_are_not_penalised():
    X, y = rows("poisson", p=30)
    weights = np.ones(30)
    weights[7] = 0.0
    free = kg.PenalizedRegressor("poisson", alpha=1e3, weights=weights, tol=1e-10).fit(X, y)
    alone = kg.PoissonRegressor(alpha=0, tol=1e-10).fit(X[:, [7]], y)
    assert np.flatnonzero(free.coef_).tolist() == [7]
    np.testing.assert_allclose(free.coef_[7], alone.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(free.predict(X), alone.predict(X[:, [7]]), rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_paths_equal_single_fits(loss):
    X, y = rows(loss)
    path = kg.penalized_path(X, y, loss=loss, n_alphas=6, eps=0.3, tol=1e-9)
    assert not path.coefs[:, 0].any()
    assert path.coefs[:, 1:].any(axis=0).all()
    single = model_of(loss, alpha=float(path.alphas[-1]), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(path.coefs[:, -1], np.ravel(single.coef_), atol=2e-4)
    assert path.dual_gaps.max() < 1e-6


def test_several_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 12)), rng.integers(0, 3, 150)
    X[np.arange(150), y] += 2.0
    model = kg.PenalizedClassifier(alpha=0.02, tol=1e-8).fit(X, y)
    one = kg.PenalizedClassifier(alpha=0.02, tol=1e-8).fit(X, y == 1)
    np.testing.assert_allclose(model.coef_[1], one.coef_[0], atol=1e-5)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.7
    with pytest.raises(AttributeError, match="predict_proba"):
        kg.PenalizedClassifier("squared_hinge").fit(X, y).predict_proba(X)


def test_degenerate_input():
    X, y = rows("poisson", n=40, p=10)
    X[:, 3], X[:, 4] = 2.0, X[:, 5]
    model = kg.PenalizedRegressor("poisson", alpha=0.05).fit(X, y)
    assert model.coef_[3] == 0
    constant = kg.PenalizedRegressor("huber", alpha=0.05).fit(X, np.full(40, 3.0))
    assert not constant.coef_.any()
    np.testing.assert_allclose(constant.intercept_, 3.0)
    plain = kg.PenalizedRegressor("poisson", alpha=0.0, tol=1e-9).fit(X[:, 5:], y)
    peer = kg.PoissonRegressor(alpha=0.0, tol=1e-10).fit(X[:, 5:], y)
    np.testing.assert_allclose(plain.coef_, peer.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "target", "message"),
    [
        ({"loss": "poisson"}, -1.0, "out of the valid range"),
        ({"loss": "gamma"}, 0.0, "out of the valid range"),
        ({"loss": "poisson"}, 0.0, "positive mean"),
        ({"penalty": "scad", "gamma": 1.5}, 1.0, "greater than 2"),
        ({"groups": 3}, 1.0, "must divide"),
        ({"alpha": -1.0}, 1.0, "alpha"),
    ],
)
def test_bad_input(params, target, message):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match=message):
        kg.PenalizedRegressor(**params).fit(X, np.full(20, target))


def test_too_few_iterations_are_reported_and_warm_starts_help():
    X, y = rows("logistic")
    with pytest.warns(ConvergenceWarning, match="gap"):
        kg.PenalizedClassifier(alpha=0.02, tol=1e-9, max_iter=1).fit(X, y)
    model = kg.PenalizedClassifier(alpha=0.02, tol=1e-7, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    with pytest.raises(ValueError, match="two classes"):
        kg.penalized_path(X, np.arange(len(y)) % 3, loss="logistic")
