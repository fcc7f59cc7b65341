"""A First Encounter, chapter 7: linear classifiers by gradient descent."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers, numerical_gradient, rings
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import PolynomialFeatures

import kilogram as kg
from kilogram.textbook import logistic, online
from kilogram.textbook.state import run


def clouds(seed: int, n: int = 120, fraction: float = 0.5, gap: float = 1.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < fraction * n, 1.0, -1.0)
    X = np.outer(y, [gap, 0.5]) + rng.standard_normal((n, 2)) + [1.0, -2.0]
    return X, y


def closed_form(X, y):
    Z = np.column_stack([X, -np.ones(len(X))])
    return np.linalg.lstsq(Z, y, rcond=None)[0]


@covers("first_encounter FE7.1", "first_encounter T7.5", "first_encounter E7.5")
def test_T7_5_the_offset_is_a_distance_only_for_a_unit_w():
    X, y = clouds(0)
    fitted = kg.LinearRegression().fit(X, y)
    w, alpha = fitted.coef_, -fitted.intercept_
    assert np.allclose([*w, alpha], closed_form(X, y))
    foot = alpha * w / (w @ w)  # the point of the boundary nearest to the origin
    assert np.isclose(w @ foot, alpha)
    assert np.isclose(np.linalg.norm(foot), abs(alpha) / np.linalg.norm(w))
    assert not np.isclose(np.linalg.norm(foot), abs(alpha))
    along = np.array([-w[1], w[0]])
    assert np.isclose((foot + along) @ w, alpha)  # w is orthogonal to the boundary


@covers("first_encounter FE7.2", "first_encounter FE7.3", "first_encounter T7.2")
@covers("first_encounter FE7.11", "first_encounter D.5", "first_encounter X7.a")
def test_T7_2_gradient_descent_reaches_the_closed_form():
    X, y = clouds(1)
    states = list(online.gradient_descent(X, y, eta=0.15, steps=5000))
    costs = [s.objective for s in states]
    assert np.all(np.diff(costs) <= 1e-12)
    want = closed_form(X, y)
    np.testing.assert_allclose(np.append(states[-1]["w"], states[-1]["alpha"]), want, atol=1e-6)
    newton = run(online.newton_raphson(X, y))
    np.testing.assert_allclose(np.append(newton["w"], newton["alpha"]), want, atol=1e-9)
    assert np.mean(np.sign(X @ want[:-1] - want[-1]) == y) > 0.9


@covers("first_encounter T7.1", "first_encounter FE7.7", "first_encounter FE7.8")
@covers("first_encounter E7.2", "first_encounter E7.3")
@pytest.mark.parametrize("kind", ["squared", "tanh", "log"])
def test_T7_1_gradients_of_all_costs(kind):
    """The printed matrix forms drop 1/N and, for alpha, the sum; (7.2) sums over i, indexes n."""
    X, y = clouds(2, 30)
    v = np.array([0.3, -0.2, 0.1])
    numeric = numerical_gradient(lambda u: online.cost(X, y, u[:2], u[2], kind), v)
    dw, da = online.gradient(X, y, v[:2], v[2], kind)
    np.testing.assert_allclose(np.append(dw, da), numeric, atol=1e-6)
    if kind == "squared":
        r = y - X @ v[:2] + v[2]
        assert not np.allclose(-X.T @ r, numeric[:2], atol=0.1)  # N times too large
        assert np.shape(r) == (30,) != np.shape(da)  # without the sum it is no number


@covers("first_encounter E7.1", "first_encounter FE7.4", "first_encounter E7.4")
def test_E7_1_the_offset_takes_a_step_from_where_it_was():
    X, y = clouds(3)
    X = X + np.array([3.0, 3.0])
    rng, eta = np.random.default_rng(0), 0.02
    w, alpha, w2, alpha2 = np.zeros(2), 0.0, np.zeros(2), 0.0
    for _ in range(4000):
        n = rng.integers(len(y))
        r = y[n] - X[n] @ w + alpha
        w, alpha = w + eta * r * X[n], alpha - eta * r
        r2 = y[n] - X[n] @ w2 + alpha2
        w2, alpha2 = w2 + eta * r2 * X[n], eta * r2  # as printed: alpha forgets itself
    right, printed = online.cost(X, y, w, alpha), online.cost(X, y, w2, alpha2)
    best = online.cost(X, y, *np.split(closed_form(X, y), [2]))
    assert right < best + 0.05
    assert printed > best + 0.1
    each = X[:3]  # a prediction belongs to one test case: an index is needed
    assert np.sign(each @ w - alpha).shape == (3,)


@covers("first_encounter FE7.5", "first_encounter T7.8", "first_encounter X7.c")
def test_T7_8_constant_steps_wander_in_a_cloud_that_shrinks_with_eta():
    X, y = clouds(4)
    best = closed_form(X, y)

    def spread(**pace):
        tail = [np.append(s["w"], s["alpha"]) for s in
                online.stochastic(X, y, np.random.default_rng(0), steps=4000, **pace)][3000:]  # fmt: skip  # noqa: E501
        return float(np.mean(np.sum((np.array(tail) - best) ** 2, axis=1)))

    large, small = spread(eta=0.05), spread(eta=0.01)
    annealed = spread(eta=0.05, tau=100.0)
    assert small < 0.5 * large
    assert annealed < 0.3 * large
    with np.errstate(over="ignore", invalid="ignore"):
        wild = list(online.gradient_descent(X, y, eta=2.0, steps=60))
    assert wild[-1].objective > 1e3 * wild[0].objective  # too large diverges
    slow = run(online.gradient_descent(X, y, eta=1e-4, steps=60))
    good = run(online.gradient_descent(X, y, eta=0.15, steps=60))
    assert slow.objective > good.objective
    # the border is 2 over the largest eigenvalue of the mean of z z', z = (x, -1)
    Z = np.column_stack([X, -np.ones(len(X))])
    limit = 2 / np.linalg.eigvalsh(Z.T @ Z / len(X)).max()
    below, above = (
        run(online.gradient_descent(X, y, eta=f * limit, steps=400)) for f in (0.95, 1.05)
    )
    assert below.objective < wild[0].objective < above.objective


@covers("first_encounter FE7.6", "first_encounter X7.d")
def test_X7_d_many_small_batches_beat_one_full_update():
    X, y = clouds(5, 2000)
    one = run(online.gradient_descent(X, y, eta=0.1, steps=1))
    rng = np.random.default_rng(0)
    batches = run(online.stochastic(X, y, rng, eta=0.1, batch=20, steps=100, tau=50.0))
    assert batches["rows"] == len(y)  # as many rows seen as the one full step sees
    assert batches.objective < 0.8 * one.objective
    grown = run(online.stochastic(X, y, rng, eta=0.1, batch=5, growth=1.05, steps=60))
    assert grown["rows"] > 60 * 5
    fast = kg.OnlineClassifier("squared", batch_size=20, eta0=0.05, random_state=0, alpha=0.0)
    assert fast.fit(X, y).score(X, y) > 0.9


@covers("first_encounter T7.3")
def test_T7_3_least_squares_on_the_labels_is_fishers_direction_also_unbalanced():
    X, y = clouds(6, 200, fraction=0.15)
    w = closed_form(X, y)[:2]
    means = [X[y == s].mean(axis=0) for s in (1, -1)]
    S = sum(np.cov(X[y == s].T, ddof=0) * np.sum(y == s) for s in (1, -1))
    fisher = np.linalg.solve(S, means[0] - means[1])
    assert np.isclose(w @ fisher / np.linalg.norm(w) / np.linalg.norm(fisher), 1)
    ours = kg.LinearDiscriminantAnalysis().fit(X, y).coef_[0]
    assert np.isclose(w @ ours / np.linalg.norm(w) / np.linalg.norm(ours), 1)


@covers("first_encounter T7.4", "first_encounter T7.6", "first_encounter E7.6")
@covers("first_encounter E7.7", "first_encounter E7.8")
def test_T7_4_the_tanh_cost_is_an_expected_error_rate():
    f = np.linspace(-5, 5, 101)
    for y in (-1.0, 1.0):
        np.testing.assert_allclose(0.5 * (1 - y * np.tanh(f)), logistic.sigma(-2 * y * f))
        values = online.COSTS["tanh"][0](np.array(y), f)
        assert -1 <= values.min() <= values.max() <= 1  # never 2; 1 - y tanh f reaches 2
        assert (1 - y * np.tanh(f)).max() > 1.99
    assert online.COSTS["squared"][0](np.array(1.0), np.array(-1e3)) > 1e5
    # log(1 + exp(-2 y f)) is what P(y | x) = (1 + y tanh f) / 2 asks for; it is convex, tanh is not
    np.testing.assert_allclose(
        online.COSTS["log"][0](np.array(1.0), f), -np.log(0.5 * (1 + np.tanh(f))), rtol=1e-6
    )
    bend = [np.diff(online.COSTS[kind][0](np.array(1.0), f), 2) for kind in ("log", "tanh")]
    assert bend[0].min() > -1e-12 > bend[1].min()
    # with +alpha the boundary is not where the model w'x - alpha decides
    X, y = clouds(7)
    w, alpha = closed_form(X, y)[:2], closed_form(X, y)[2]
    assert online.cost(X, y, w, alpha, "tanh") < online.cost(X, y, w, -alpha, "tanh")


@covers("first_encounter X7.e", "first_encounter E7.12")
def test_X7_e_far_points_spoil_the_squared_cost_and_not_the_bounded_one():
    rng = np.random.default_rng(8)
    y = np.where(np.arange(100) % 2, 1.0, -1.0)
    X = np.column_stack([y + 0.2 * rng.standard_normal(100), rng.standard_normal(100)])
    Xo = np.vstack([X, [[200.0, 0.0], [220.0, 0.0], [240.0, 0.0]]])
    yo = np.append(y, np.ones(3))
    squared = run(online.gradient_descent(Xo, yo, "squared", eta=5e-4, steps=20_000))
    w, alpha = squared["w"], squared["alpha"]
    spoilt = np.mean(np.sign(X @ w - alpha) != y)
    tanh = run(online.gradient_descent(Xo, yo, "tanh", eta=0.05, steps=2000))
    fine = np.mean(np.sign(X @ tanh["w"] - tanh["alpha"]) != y)
    assert spoilt > 0.05 > fine
    fast = kg.OnlineClassifier("tanh", eta0=0.05, random_state=0).fit(Xo, yo)
    assert fast.score(X, y) > 0.95
    # too right costs as much as wrong by the same amount
    assert np.isclose(*(online.COSTS["squared"][0](1.0, np.array(f)) for f in (4.0, -2.0)))


@covers("first_encounter FE7.9", "first_encounter X7.b", "first_encounter E7.9")
def test_X7_b_squares_and_products_solve_rings():
    """phi_i(X) = X_i^2, one index: the page writes it for all k with attribute X_k."""
    X, label = rings(9, (1.0, 2.5))
    plain = kg.LogisticRegression().fit(X, label)
    squares = np.column_stack([X, X**2, X[:, :1] * X[:, 1:]])
    assert plain.score(X, label) < 0.7
    assert kg.LogisticRegression().fit(squares, label).score(squares, label) > 0.98


@covers("first_encounter FE7.10", "first_encounter FE7.12", "first_encounter X7.f")
@covers("first_encounter X7.g")
def test_X7_f_many_features_overfit_few_cases_and_a_penalty_helps():
    X, y = clouds(10, 40, gap=0.8)
    new, new_y = clouds(11, 400, gap=0.8)
    wide = PolynomialFeatures(7)
    Z, Z_new = wide.fit_transform(X), wide.transform(new)
    scale = np.abs(Z).max(axis=0)
    Z, Z_new = Z / scale, Z_new / scale
    free, held = kg.LogisticRegression(C=1e6, max_iter=1000), kg.LogisticRegression(C=1.0)
    free.fit(Z, y), held.fit(Z, y)
    assert free.score(Z, y) > held.score(Z, y)
    assert held.score(Z_new, new_y) > free.score(Z_new, new_y)
    assert (
        cross_val_score(held, Z, y, cv=5).mean() > cross_val_score(free, Z, y, cv=5).mean() - 0.05
    )
    noise = np.random.default_rng(0).standard_normal((440, 200))
    masked = kg.LogisticRegression(C=1e3).fit(np.hstack([X, noise[:40]]), y)
    clean = kg.LogisticRegression(C=1e3).fit(X, y)
    assert clean.score(new, new_y) > masked.score(np.hstack([new, noise[40:]]), new_y) + 0.02


@covers("first_encounter T7.7", "first_encounter E7.10", "first_encounter E7.11")
def test_T7_7_the_model_does_not_grow_with_the_data_and_zero_has_a_side():
    sizes = set()
    for n in (40, 400):
        X, y = clouds(12, n)
        model = kg.Perceptron().fit(X, y)
        sizes.add(model.coef_.size + model.intercept_.size)
    assert sizes == {3}  # Newton-Raphson (as it is spelt) and all others keep K + 1 numbers
    # the text takes +1 at exactly 0, scikit-learn and we the first class
    model.coef_, model.intercept_ = np.zeros((1, 2)), np.zeros(1)
    assert model.predict(np.zeros((1, 2)))[0] == model.classes_[0]
