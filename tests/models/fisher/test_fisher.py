"""Fisher's discriminant and its kernel twin: the spec's claims, the rules, the errors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import kilogram as kg

X, Y = load_iris(return_X_y=True)


def scatters(X, y):
    m = X.mean(0)
    within = sum(
        (X[y == c] - X[y == c].mean(0)).T @ (X[y == c] - X[y == c].mean(0)) for c in set(y)
    )
    between = sum(
        (y == c).sum() * np.outer(X[y == c].mean(0) - m, X[y == c].mean(0) - m) for c in set(y)
    )
    return within, between


def test_is_linear_discriminant_analysis():
    ours, peer = kg.FisherDiscriminant().fit(X, Y), LinearDiscriminantAnalysis().fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-10)


def test_eigenvalues_are_the_objective():
    """first_encounter T13.4, cookbook T16.1: J(w_k) = lambda_k, at most K - 1 directions."""
    model = kg.FisherDiscriminant().fit(X, Y)
    S_W, S_B = scatters(X, Y)
    for w, value in zip(model.scalings_.T, model.eigenvalues_, strict=True):
        assert (w @ S_B @ w) / (w @ S_W @ w) == pytest.approx(value)
    assert model.scalings_.shape == (4, 2)


def test_directions_are_scaled_by_the_within_covariance():
    """cookbook E16.5: only then are projected distances Mahalanobis distances."""
    model = kg.FisherDiscriminant().fit(X, Y)
    S_W, _ = scatters(X, Y)
    W = model.scalings_
    np.testing.assert_allclose(W.T @ S_W @ W / len(X), np.eye(2), atol=1e-10)


def test_two_classes():
    """cookbook T16.2: w is proportional to S^-1 (m_1 - m_0)."""
    X2, y2 = X[Y > 0], Y[Y > 0]
    S_W, _ = scatters(X2, y2)
    want = np.linalg.solve(S_W, X2[y2 == 2].mean(0) - X2[y2 == 1].mean(0))
    found = kg.FisherDiscriminant().fit(X2, y2).scalings_[:, 0]
    assert abs(found @ want) / np.linalg.norm(found) / np.linalg.norm(want) == pytest.approx(1)


def test_predictions_do_not_change_under_linear_maps():
    """cookbook T16.4."""
    A = np.random.default_rng(0).standard_normal((4, 4))
    one = kg.FisherDiscriminant().fit(X, Y).predict(X)
    np.testing.assert_array_equal(kg.FisherDiscriminant().fit(X @ A, Y).predict(X @ A), one)


def test_cigars():
    """first_encounter X13.a: the long axis mixes the labels, the discriminant does not."""
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal([0, s], [5, 0.2], (200, 2)) for s in (-1, 1)])
    y = np.repeat([0, 1], 200)
    assert kg.FisherDiscriminant().fit(Z, y).score(Z, y) == 1.0
    first = kg.PCA(1).fit_transform(Z)
    assert kg.FisherDiscriminant().fit(first, y).score(first, y) < 0.65


def test_per_class_rule_when_spreads_differ():
    """first_encounter X13.c: with unequal variances the midpoint is the wrong threshold."""
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(0, 0.3, (2000, 1)), rng.normal(3, 2.0, (2000, 1))])
    y = np.repeat([0, 1], 2000)
    shared = kg.FisherDiscriminant().fit(Z, y).score(Z, y)
    own = kg.FisherDiscriminant(rule="per_class").fit(Z, y).score(Z, y)
    assert own > shared + 0.02


def test_balanced_scatters_ignore_class_sizes():
    keep = np.concatenate([np.arange(0, 100), np.arange(100, 110)])
    again = np.concatenate([keep, np.tile(np.arange(100, 110), 4)])
    one = kg.FisherDiscriminant(balanced=True).fit(X[keep], Y[keep])
    two = kg.FisherDiscriminant(balanced=True).fit(X[again], Y[again])
    np.testing.assert_allclose(np.abs(one.transform(X)), np.abs(two.transform(X)), atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, 1.0, "auto"])
def test_shrinkage(shrinkage):
    model = kg.FisherDiscriminant(shrinkage=shrinkage).fit(X, Y)
    assert model.score(X, Y) > 0.85


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 100))
    y = np.arange(30) % 2
    Z[:, 0] += 3 * y
    assert kg.FisherDiscriminant(shrinkage="auto").fit(Z, y).score(Z, y) > 0.9


def test_kernel_twin():
    linear = kg.FisherDiscriminant(alpha=0.2).fit(X, Y)
    twin = kg.KernelFisherDiscriminant(alpha=0.2).fit(X + 100, Y)
    np.testing.assert_allclose(
        twin.decision_function(X + 100), linear.decision_function(X), atol=1e-6
    )
    np.testing.assert_allclose(twin.eigenvalues_, linear.eigenvalues_)


def test_corrected_kernel_scatter():
    """first_encounter E13.1, T13.6: N kappa kappa' must go; the printed form is another matrix."""
    K = X @ X.T
    kappa, N = K.mean(0), len(X)
    classes = [K[c == Y].mean(0) for c in range(3)]
    total = sum(50 * np.outer(k, k) for k in classes)
    _, S_B = scatters(X, Y)
    np.testing.assert_allclose(total - N * np.outer(kappa, kappa), X @ S_B @ X.T, atol=1e-6)
    printed = total - 3 * np.outer(kappa, kappa)
    assert np.abs(printed - X @ S_B @ X.T).max() > 100


def test_circles_and_their_overfit():
    """first_encounter X13.b: beta towards 0 memorises."""
    Z, y = make_circles(300, noise=0.15, factor=0.5, random_state=0)
    Z_new, y_new = make_circles(300, noise=0.15, factor=0.5, random_state=1)
    assert kg.FisherDiscriminant().fit(Z, y).score(Z_new, y_new) < 0.65
    tuned = kg.KernelFisherDiscriminant(kernel=kg.Gaussian(0.5), alpha=1e-2).fit(Z, y)
    greedy = kg.KernelFisherDiscriminant(kernel=kg.Gaussian(0.03), alpha=1e-9).fit(Z, y)
    assert tuned.score(Z_new, y_new) > 0.9
    assert greedy.score(Z, y) == 1.0
    assert greedy.score(Z_new, y_new) < tuned.score(Z_new, y_new) - 0.05


def test_all_landmarks_equal_the_exact_solver():
    params = {"kernel": kg.Gaussian(2.0), "alpha": 0.01, "random_state": 0}
    exact = kg.KernelFisherDiscriminant(**params).fit(X, Y)
    mapped = kg.KernelFisherDiscriminant(approximation="nystroem", n_features=150, **params)
    got = mapped.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(got, exact.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("name", ["FisherDiscriminant", "KernelFisherDiscriminant"])
def test_priors_move_the_boundary(name):
    make = getattr(kg, name)
    even = make(alpha=0.1, priors=[1 / 3] * 3).fit(X, Y).predict(X)
    tilted = make(alpha=0.1, priors=[0.01, 0.01, 0.98]).fit(X, Y).predict(X)
    assert (tilted == 2).sum() > (even == 2).sum()


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_components": 3}, "n_components"),
        ({"alpha": -1.0}, "alpha"),
        ({"rule": "best"}, "rule"),
        ({"shrinkage": 2.0}, "shrinkage"),
        ({"priors": [0.5, 0.5]}, "priors"),
        ({"priors": [0.5, 0.9, -0.4]}, "priors"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.FisherDiscriminant(**params).fit(X, Y)


def test_bad_kernel_parameters():
    with pytest.raises(ValueError, match="alpha"):
        kg.KernelFisherDiscriminant(alpha=0.0).fit(X, Y)
    with pytest.raises(MemoryError, match="nystroem"):
        kg.KernelFisherDiscriminant(max_memory=1000).fit(X, Y)
    with pytest.raises(ValueError, match="one class"):
        kg.FisherDiscriminant().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("X", [np.eye(2), np.ones((6, 2))])
def test_no_scatter_within_the_classes_is_an_error(X):
    y = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match="vary within their classes"):
        kg.FisherDiscriminant().fit(X, y)
    assert kg.FisherDiscriminant(alpha=1.0).fit(X, y).predict(X).shape == (len(X),)


def test_a_ridge_lost_in_rounding_is_an_error():
    X = 1e9 * np.random.default_rng(0).standard_normal((40, 2))
    with pytest.raises(ValueError, match="scale the columns"):
        kg.KernelFisherDiscriminant(alpha=1e-3).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="scale the columns"):
        kg.KernelCCA(1, alpha=1e-3).fit(X, X)


def test_fewer_directions_than_classes_in_the_strict_standard():
    import array_api_strict as xp

    X = np.linspace(0, 1, 30)[:, None]
    y = np.arange(30) // 10
    model = kg.KernelFisherDiscriminant(kernel="linear", alpha=0.01).fit(xp.asarray(X), y)
    assert model.eigenvalues_.shape == (1,)


def test_kernel_parameters_that_are_no_numbers_are_refused():
    model = kg.KernelFisherDiscriminant(kernel="sigmoid", coef0=None)
    with pytest.raises(ValueError, match="coef0 must be a finite float, got None"):
        model.fit(np.random.default_rng(0).random((20, 2)), np.arange(20) % 2)
