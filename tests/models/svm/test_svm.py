"""SVC: beside scikit-learn, and by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.model_selection import GridSearchCV

import kilogram as kg
from kilogram.models.svm.svc import SVC


def two_classes(n=120, d=4, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + noise * rng.standard_normal(n) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_equals_scikit_learn(kernel, C):
    X, y = two_classes()
    params = {"kernel": kernel, "C": C if kernel != "sigmoid" else 0.5, "tol": 1e-8}
    ours, theirs = SVC(**params).fit(X, y), sklearn.svm.SVC(**params).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-4, rtol=1e-4
    )
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3 * C, rtol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4, rtol=1e-4)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_many_classes_have_scikit_learns_layout(kernel, shape):
    X, y = load_digits(n_class=5, return_X_y=True)
    X, y = X[::3] / 16, np.array(list("vwxyz"))[y[::3]]
    params = {"kernel": kernel, "decision_function_shape": shape, "tol": 1e-8}
    ours, theirs = SVC(**params).fit(X, y), sklearn.svm.SVC(**params).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    broken = clone(ours).set_params(break_ties=True)
    if shape == "ovo":
        with pytest.raises(ValueError, match="break_ties"):
            broken.fit(X, y).predict(X)
    else:
        values = broken.fit(X, y).decision_function(X)
        np.testing.assert_array_equal(broken.predict(X), broken.classes_[values.argmax(1)])


def test_one_against_rest_is_one_machine_per_class():
    X, y = load_iris(return_X_y=True)
    model = SVC(multi_class="ovr", tol=1e-8).fit(X, y)
    values = model.decision_function(X)
    for k in range(3):
        alone = SVC(tol=1e-8, gamma=model.kernel_.gamma).fit(X, y == k)
        np.testing.assert_allclose(values[:, k], alone.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), values.argmax(1))
    assert model.dual_coef_.shape == (3, len(model.support_))


def test_by_hand():
    """x = 1 (-), x = 3 (+): w = 1, b = -2, alpha = 1/2, objective 1/2 (First Encounter, 8)."""
    model = SVC(kernel="linear", C=np.inf, tol=1e-9).fit([[1.0], [3.0]], [-1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0]])
    np.testing.assert_allclose(model.intercept_, [-2.0])
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]])
    assert model.objective_ == pytest.approx(0.5)
    assert model.dual_gap_ == pytest.approx(0.0, abs=1e-9)


def test_quadratic_slack_adds_to_the_diagonal():
    X, y = two_classes(80)
    soft = SVC(C=0.7, slack=2, gamma=0.3, tol=1e-10).fit(X, y)
    K = kg.Gaussian(gamma=0.3)(X) + np.eye(80) / (2 * 0.7)
    hard = sklearn.svm.SVC(C=1e10, kernel="precomputed", tol=1e-10).fit(K, y)
    full = np.zeros(80)
    full[soft.support_] = soft.dual_coef_[0]
    np.testing.assert_allclose(full[hard.support_], hard.dual_coef_[0], atol=1e-6)
    np.testing.assert_allclose(soft.intercept_, hard.intercept_, atol=1e-6)
    assert soft.dual_gap_ < 1e-8 * soft.objective_


def test_soft_margin_tends_to_the_hard_one():
    X, y = two_classes(60, noise=0.0)
    gap = []
    hard = SVC(C=np.inf, gamma=1.0, tol=1e-8).fit(X, y)
    assert hard.score(X, y) == 1.0
    margins = np.where(y == 1, 1, -1) * hard.decision_function(X)
    assert margins.min() >= 1 - 1e-7
    for C in (1.0, 1e2, 1e6):
        soft = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
        gap.append(np.abs(soft.decision_function(X) - hard.decision_function(X)).max())
    assert gap[0] > gap[2]
    assert gap[2] < 1e-5


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_hard_margin_is_refused_without_a_separating_plane(noise):
    X, y = two_classes(200, noise=noise)
    with pytest.raises(ValueError, match="finite C"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    X = np.vstack([X, X[:1]])
    with pytest.raises(ValueError, match="finite C"):
        SVC(C=np.inf).fit(X, np.append(y, 1 - y[0]))


def test_weights_are_penalties():
    X, y = two_classes()
    w = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    params = {"C": 2.0, "gamma": 0.2, "tol": 1e-8, "class_weight": {0: 1.0, 1: 2.5}}
    ours = SVC(**params).fit(X, y, w)
    theirs = sklearn.svm.SVC(**params).fit(X, y, w)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)
    balanced = SVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, len(y) / (2 * np.bincount(y)))


@pytest.mark.parametrize("weighted", [False, True])
def test_precomputed_and_callable_and_kernel_objects(weighted):
    X, y = two_classes()
    w = np.random.default_rng(2).integers(0, 3, len(X)).astype(float) if weighted else None
    new = two_classes(30, seed=9)[0]
    k = kg.Gaussian(gamma=0.3)
    want = SVC(gamma=0.3, tol=1e-9).fit(X, y, w)
    given = SVC(kernel="precomputed", tol=1e-9).fit(k(X), y, w)
    called = SVC(kernel=lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(2)), tol=1e-9)
    np.testing.assert_allclose(
        given.decision_function(k(new, X)), want.decision_function(new), atol=1e-7
    )
    for model in (called, SVC(kernel=k, tol=1e-9)):
        got = model.fit(X, y, w).decision_function(new)
        np.testing.assert_allclose(got, want.decision_function(new), atol=1e-7)
    assert given.objective(k(X), y, w) == pytest.approx(want.objective_, rel=1e-7)
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(k(X)[:, :-1], y)
    with pytest.raises(AttributeError, match="linear"):
        _ = want.coef_


@pytest.mark.parametrize("kernel", ["rbf", "linear", "sigmoid"])
def test_sparse_rows_beyond_the_stored_matrix(kernel, monkeypatch):
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    monkeypatch.setattr("kilogram.models.svm.svc_solver.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.dense_is_cheaper", lambda X, limit: False)
    X, y = two_classes(300)
    X[X < 0.3] = 0.0
    params = {"kernel": kernel, "gamma": 0.2, "C": 0.5}
    params["tol"] = 1e-5  # scikit-learn's needs minutes for a smaller one
    want = sklearn.svm.SVC(**params).fit(X, y).decision_function(X)
    params["tol"] = 1e-8
    for rows in (X, sp.csr_array(X), sp.csc_matrix(X)):
        got = SVC(**params).fit(rows, y)
        np.testing.assert_allclose(got.decision_function(rows), want, atol=1e-4)


def test_float32_rows():
    X, y = two_classes(400)
    small = SVC(tol=1e-6).fit(X.astype(np.float32), y)
    assert small.support_vectors_.dtype == np.float32
    values = small.decision_function(X.astype(np.float32))
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, SVC(tol=1e-6).fit(X, y).decision_function(X), atol=1e-4)


def test_warm_start_along_a_path_equals_cold_fits():
    X, y = two_classes(300)
    warm, steps = SVC(warm_start=True, tol=1e-7, gamma=0.3), []
    for C in (0.1, 0.3, 1.0, 3.0, 1.0):
        warm.set_params(C=C).fit(X, y)
        cold = SVC(C=C, tol=1e-7, gamma=0.3).fit(X, y)
        np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-6)
        np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-4)
        steps.append((warm.n_iter_[0], cold.n_iter_[0]))
    warm.fit(X[:200], y[:200])  # other rows: a fresh start, no error
    assert warm.shape_fit_ == (200, 4)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_agree_with_predictions(classes, multi_class):
    X, y = load_digits(n_class=classes, return_X_y=True)
    X = X / 16 + np.random.default_rng(0).normal(0, 0.6, X.shape)
    model = SVC(probability=True, random_state=0, multi_class=multi_class).fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(1), 1.0)
    assert (p >= 0).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(1)], model.predict(X[1::2]))
    np.testing.assert_allclose(model.predict_log_proba(X[1::2]), np.log(p))
    held = y[1::2]
    ours = -np.log(p[np.arange(len(held)), held]).mean()
    assert ours < 0.6 * np.log(classes)  # far better than knowing nothing
    again = clone(model).fit(X[::2], y[::2]).predict_proba(X[1::2])
    np.testing.assert_array_equal(p, again)
    assert not hasattr(SVC(), "predict_proba")


def test_probabilities_of_precomputed_kernels():
    X, y = two_classes(100)
    K = kg.Gaussian(gamma=0.3)(X)
    w = np.where(np.arange(100) % 7 == 0, 0.0, 1.0)
    one = SVC(kernel="precomputed", probability=True, random_state=0, tol=1e-8).fit(K, y, w)
    two = SVC(gamma=0.3, probability=True, random_state=0, tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(one.predict_proba(K), two.predict_proba(X), atol=1e-5)


def test_kernel_parameters_are_searchable():
    X, y = make_circles(120, noise=0.1, factor=0.4, random_state=0)
    search = GridSearchCV(SVC(kernel=kg.Gaussian(sigma=1.0)), {"kernel__sigma": [0.01, 0.5]}, cv=3)
    assert search.fit(X, y).best_params_ == {"kernel__sigma": 0.5}


def test_small_memory_reaches_the_same_machine():
    X, y = two_classes(2500)
    wide = SVC(tol=1e-5).fit(X, y)
    tight = SVC(tol=1e-5, max_memory="2MiB").fit(X, y)
    np.testing.assert_allclose(
        tight.decision_function(X[:50]), wide.decision_function(X[:50]), atol=1e-3
    )
    assert tight.dual_gap_ < 1e-4 * tight.objective_


def test_estimate():
    cost = kg.estimate(SVC(), n=20_000, d=50)
    assert cost.fits
    assert 0 < cost.seconds < 60
