"""The path over C: as good as single fits, cheaper than they are, and honest about its scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, cross_val_score

import kilogram as kg
from kilogram.solvers.smo.compiled_rows import NativeRows

CS = [0.05, 5.0, 0.5]


def data(n=240, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    s = X[:, 0] * X[:, 1] + X[:, 2] + 0.4 * rng.standard_normal(n)
    y = np.searchsorted(np.quantile(s, np.linspace(0, 1, classes + 1)[1:-1]), s)
    return X, y, s


MACHINES = {
    "SVC": (kg.SVC(tol=1e-8, gamma=0.2), True),
    "SVC with squares": (kg.SVC(tol=1e-8, gamma=0.2, slack=2, multi_class="ovr"), True),
    "SVR": (kg.SVR(tol=1e-8, gamma=0.2), False),
    "LinearSVC": (kg.LinearSVC(tol=1e-9), True),
    "LinearSVC in the dual": (kg.LinearSVC(tol=1e-7, loss="hinge", max_iter=20_000), True),
    "LinearSVC through smoothed hinges": (kg.LinearSVC(tol=1e-7, loss="hinge", dual=False), True),
    "LinearSVC, absolute": (kg.LinearSVC(tol=1e-9, penalty="l1"), True),
    "LinearSVR": (kg.LinearSVR(tol=1e-7, epsilon=0.1, max_iter=20_000), False),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MACHINES)
def test_a_path_holds_what_single_fits_find(name, classes):
    model, labels = MACHINES[name]
    X, y, s = data(classes=classes)
    y = y if labels else s
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    path = kg.svm_path(model, X, y, CS, sample_weight=w)
    assert [m.C for m in path.models] == CS
    assert model.C == 1.0
    assert not hasattr(model, "objective_")
    for C, along in zip(CS, path.models, strict=True):
        alone = type(model)(**{**model.get_params(), "C": C}).fit(X, y, w)
        assert along.objective_ == pytest.approx(alone.objective_, rel=1e-5)
        assert along.objective(X, y, w) == pytest.approx(along.objective_, rel=1e-6)
        f, want = along.predict(X), alone.predict(X)
        assert np.mean(f == want) > 0.98 if labels else np.abs(f - want).max() < 1e-2
        assert vars(along).keys() == vars(alone).keys()
    assert (path.dual_gaps <= 1e-3 * path.objectives).all()
    np.testing.assert_array_equal(path.objectives, [m.objective_ for m in path.models])


def test_kernel_rows_are_made_once_for_the_whole_path(monkeypatch):
    for place in ("solvers.smo.row_storage", "solvers.smo.working_set", "models.svm.svc_solver"):
        monkeypatch.setattr(f"kilogram.{place}.WHOLE", 0)
    made = []

    class Counted(NativeRows):
        def add(self, points, delta, g, again=None):
            before = self.slots.filled
            super().add(points, delta, g, again)
            made.append(self.slots.filled - before)

    monkeypatch.setattr("kilogram.solvers.smo.compiled_rows.NativeRows", Counted)
    X, y, _ = data(600)
    path = kg.svm_path(kg.SVC(), X, y, np.logspace(-1, 1, 8))
    assert sum(made) <= 600
    singles = sum(len(m.support_) for m in path.models)
    assert singles > 2 * sum(made)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_penalty_is_chosen_by_held_out_scores(kernel):
    X, y, _ = data(150)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = kg.SVC(gamma=0.2, tol=1e-6)
    path = kg.svm_path(model, X, y, CS, cv=folds)
    want = [cross_val_score(kg.SVC(gamma=0.2, C=C, tol=1e-6), X, y, cv=folds, n_jobs=1) for C in CS]
    np.testing.assert_allclose(path.scores, want)
    assert CS[int(np.argmax(path.scores.mean(1)))] == path.best.C
    if kernel == "precomputed":
        K = kg.Gaussian(gamma=0.2)(X)
        given = kg.svm_path(kg.SVC(kernel="precomputed", tol=1e-6), K, y, CS, cv=folds)
        np.testing.assert_allclose(given.scores, path.scores)
    with pytest.raises(AttributeError, match="cv"):
        _ = kg.svm_path(model, X, y, CS).best


def test_sparse_rows_frames_and_probabilities():
    pd = pytest.importorskip("pandas")
    X, y, _ = data(120)
    want = kg.svm_path(kg.LinearSVC(tol=1e-9), X, y, CS, cv=3)
    for rows in (sp.csr_array(X), pd.DataFrame(X, columns=list("abcd"))):
        got = kg.svm_path(kg.LinearSVC(tol=1e-9), rows, y, CS, cv=3)
        np.testing.assert_allclose(got.objectives, want.objectives, rtol=1e-7)
        np.testing.assert_allclose(got.scores, want.scores)
    path = kg.svm_path(kg.SVC(probability=True, random_state=0), X, y, CS)
    for model in path.models:
        alone = kg.SVC(probability=True, random_state=0, C=model.C).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("Cs", [[], [1.0, -1.0], [0.0], [np.inf], [np.nan]])
def test_values_that_are_no_penalties(Cs):
    X, y, _ = data(20)
    with pytest.raises(ValueError, match="Cs must"):
        kg.svm_path(kg.SVC(), X, y, Cs)


def test_only_machines_with_a_penalty():
    with pytest.raises(TypeError, match="Ridge"):
        kg.svm_path(kg.Ridge(), *data(20)[:2])
