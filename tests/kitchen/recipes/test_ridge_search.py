"""The twin search: leave-one-out scores that brute force confirms, and a smooth winner."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score, r2_score

from kilogram.kernels import Gaussian
from kilogram.kitchen.recipes.ridge_search import (
    RidgeSearchClassifier,
    RidgeSearchRegressor,
    largest_alpha_within_error,
)
from kilogram.kitchen.recipes.ridge_solvers import RidgeSolver
from kilogram.models.features.landmark_leave_one_out import landmark_path
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.fisher.ridge_rule import class_sums, fisher_rule
from kilogram.models.ridge.ridge import Ridge
from kilogram.solvers.linear import multishift_cg as sparse_path

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=30)
LABELS = np.array(["no", "yes", "maybe"])[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_inner_score_is_that_of_brute_force(kernel):
    search = RidgeSearchRegressor(kernel, alphas=[0.5], widths=[1.0]).fit(X, Y)
    sigma = None if kernel == "linear" else search.model_.kernel.sigma
    left_out = np.empty(30)
    for i in range(30):
        rest = np.arange(30) != i
        model = clone(search.model_)
        if sigma is not None:  # the median distance of 29 rows is another one
            model.set_params(kernel__sigma=sigma)
        left_out[i] = model.fit(X[rest], Y[rest]).predict(X[[i]])[0]
    assert search.best_score_ == pytest.approx(r2_score(Y, left_out), abs=1e-6)


def left_out_rows(model, rows, targets):
    """The values of each row by the model fitted to the others."""
    every = np.arange(len(rows))
    return np.array([clone(model).fit(rows[every != i], targets[every != i]).predict(rows[[i]])[0]
                     for i in every])  # fmt: skip


def test_classes_by_brute_force_and_decisions():
    search = RidgeSearchClassifier("linear", alphas=[1.0]).fit(X, LABELS)
    indicators = (LABELS[:, None] == search.classes_).astype(float)
    left_out = left_out_rows(search.model_, X, indicators)
    largest = search.classes_[left_out.argmax(axis=1)]
    fitted = clone(search.model_).fit(X, indicators).predict(X)
    A, c = fisher_rule(indicators, class_sums(indicators, fitted), left_out, np.arange(30))
    by_rule = search.classes_[(left_out @ A + c).argmax(axis=1)]
    assert search.rule_ == "fisher"
    assert accuracy_score(LABELS, largest) < search.best_score_
    assert search.best_score_ == search.path_[0, 0]
    assert search.best_score_ == pytest.approx(accuracy_score(LABELS, by_rule))
    assert search.decision_function(X) == pytest.approx(fitted @ A + c, abs=1e-9)
    assert search.decision_function(X).shape == (30, 3)
    assert set(search.predict(X)) <= set(LABELS)


def test_every_point_of_the_path_is_scored_by_the_rule_that_predicts():
    """By brute force: the rule of each penalty, on the values of rows that were left out."""
    search = RidgeSearchClassifier("linear").fit(X, LABELS)
    indicators = (LABELS[:, None] == search.classes_).astype(float)
    assert search.rule_ == "fisher"
    for alpha, score in zip(search.alphas_, search.path_[0], strict=True):
        model = Ridge(alpha).fit(X, indicators)
        left_out = left_out_rows(model, X, indicators)
        sums = class_sums(indicators, model.predict(X))
        A, c = fisher_rule(indicators, sums, left_out, np.arange(30))
        by_rule = search.classes_[(left_out @ A + c).argmax(axis=1)]
        assert score == pytest.approx(accuracy_score(LABELS, by_rule))
    grouped = RidgeSearchClassifier("linear").fit(X, LABELS, groups=np.arange(30) // 3)
    assert (grouped.rule_, np.isfinite(grouped.path_).all()) == ("fisher", True)
    two = RidgeSearchClassifier("linear").fit(X, LABELS == "no")
    assert two.rule_ == "largest"


def test_solvers_know_the_class_sums_of_their_fits():
    indicators = (LABELS[:, None] == np.unique(LABELS)).astype(float)
    w, alphas = RNG.uniform(0.5, 2.0, 30), [0.1, 3.0]
    wide = RNG.normal(size=(30, 40))
    for weights in (None, w):
        for solver, rows in [
            (RidgeSolver(None), X),
            (RidgeSolver(None), wide),
            (RidgeSolver(Gaussian(1.0)), X),
            (RidgeSolver(Gaussian(1.0), 12), X),
        ]:
            of_path = solver.path(rows, indicators, alphas, weights).sums
            for j, alpha in enumerate(alphas):
                fitted = solver.model(rows, indicators, alpha, weights).predict(rows)
                want = class_sums(indicators, fitted, weights)
                assert of_path[:, :, j] == pytest.approx(want, abs=1e-5)
            assert solver.sums(rows, indicators, alphas, weights) == pytest.approx(
                of_path, abs=1e-5
            )


@pytest.mark.parametrize(("balanced", "sizes"), [(False, [120] * 3), (True, [150, 150, 60])])
def test_a_class_between_others_is_not_masked(balanced, sizes):
    """Three classes in a row: the middle one is never the largest of the linear values."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], sizes)
    line = np.column_stack([3.0 * y + 0.5 * rng.normal(size=360), rng.normal(size=360)])
    search = RidgeSearchClassifier("linear", balanced=balanced).fit(line, y)
    w = 360 / (3 * np.array(sizes))[y] if balanced else np.ones(360)
    ridge = Ridge(search.best_params_["alpha"]).fit(line, np.eye(3)[y], sample_weight=w)
    largest = ridge.predict(line).argmax(axis=1)
    assert np.average(largest == y, weights=w) < 0.85 < 0.97 < search.best_score_
    assert search.best_score_ <= np.nanmax(search.path_)
    assert np.mean(search.predict(line) == y) > 0.97


def test_without_penalty_the_rule_is_that_of_linear_discriminants():
    """Fitted values alone, no rows left out: least squares and Fisher are the same rule."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 400)
    rows = rng.normal(size=(400, 5)) + 1.5 * rng.normal(size=(4, 5))[y]
    Y = np.eye(4)[y]
    centred = rows - rows.mean(axis=0)
    fitted = Y.mean(axis=0) + centred @ np.linalg.lstsq(centred, Y, rcond=None)[0]
    A, c = fisher_rule(Y, class_sums(Y, fitted), fitted, np.arange(400))
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(rows, y)
    assert np.array_equal((fitted @ A + c).argmax(axis=1), peer.predict(rows))
    scores, theirs = fitted @ A + c, peer.decision_function(rows)
    ours, theirs = (F - F.mean(axis=1, keepdims=True) for F in (scores, theirs))
    assert ours == pytest.approx(theirs * np.std(ours) / np.std(theirs), abs=1e-8)


def test_two_classes_have_one_margin_that_agrees_with_the_prediction():
    y = (X[:, 0] > 0).astype(int)
    search = RidgeSearchClassifier("gaussian").fit(X, y)
    margin = search.decision_function(X)
    assert margin.shape == (30,)
    assert np.array_equal(search.predict(X), (margin > 0).astype(int))
    assert search.score(X, y) > 0.9


def test_the_kernel_twin_bends_where_the_linear_one_cannot():
    linear, kernel = (
        RidgeSearchRegressor(k).fit(X, np.cos(3 * X[:, 0])) for k in ("linear", "gaussian")
    )
    assert kernel.best_score_ > linear.best_score_ + 0.2
    assert set(kernel.best_params_) == {"alpha", "width"}
    assert kernel.path_.shape == (len(kernel.widths), len(kernel.alphas_))


def test_landmarks_for_many_rows_agree_with_the_exact_solver():
    exact = RidgeSearchRegressor("gaussian", widths=[1.0], alphas=[0.1]).fit(X, Y)
    solver = RidgeSearchRegressor(
        "gaussian", widths=[1.0], alphas=[0.1], max_exact=10, n_landmarks=30
    ).fit(X, Y)
    assert solver.predict(X) == pytest.approx(exact.predict(X), abs=1e-4)
    assert solver.best_score_ == pytest.approx(exact.best_score_, abs=1e-4)


def test_balanced_classes_weigh_the_same():
    y = np.array([0] * 27 + [1] * 3)
    shifted = X + 1.0 * y[:, None]
    plain = RidgeSearchClassifier("linear", alphas=[1.0]).fit(shifted, y)
    fair = RidgeSearchClassifier("linear", alphas=[1.0], balanced=True).fit(shifted, y)
    assert fair.predict(shifted).sum() > plain.predict(shifted).sum()
    assert 0 <= fair.best_score_ <= 1


def test_rows_that_belong_together_are_left_out_together():
    groups = np.repeat(np.arange(10), 6)
    name = np.column_stack([groups, RNG.normal(size=60)]).astype(float)
    level = RNG.normal(size=10)[groups]
    for kernel in ("linear", "gaussian"):
        search = RidgeSearchRegressor(kernel, widths=[0.2], alphas=[1e-3, 1.0])
        torn = search.fit(name, level).best_score_
        whole = search.fit(name, level, groups=groups).best_score_
        later = search.fit(name, level, moments=np.arange(60.0)).best_score_
        assert whole < 0.3
        assert later < 0.3
        assert kernel == "linear" or torn > 0.8


def test_one_row_to_learn_from_is_predicted_everywhere():
    """Groups or times may leave a fold inside with one training row."""
    y = np.array([1.0, 2.0, 3.0])
    for kernel in (None, Gaussian(1.0)):
        solver = RidgeSolver(kernel)
        splits = [(np.array([0]), np.array([1, 2]))]
        found = solver.folds(np.eye(3), y[:, None], np.array([0.1, 1.0]), None, splits)
        assert np.array_equal(found, np.ones((2, 1, 2)))


def test_folds_predict_as_fits_do():
    splits = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    w = RNG.uniform(0.5, 2, 30)
    Z = np.column_stack([Y, X[:, 0]])
    for solver in (RidgeSolver(None), RidgeSolver(Gaussian(1.0))):
        found = solver.folds(X, Z, [0.1, 2.0], w, splits)
        assert found.shape == (20, 2, 2)
        train, test = splits[1]
        direct = solver.model(X[train], Z[train], 2.0, w[train]).predict(X[test])
        assert found[10:, :, 1] == pytest.approx(direct, abs=1e-5)
    rows = sp.csr_array(X)
    assert RidgeSolver(None).folds(rows, Z, [0.1], None, splits) == pytest.approx(
        RidgeSolver(None).folds(X, Z, [0.1], None, splits), abs=1e-5
    )


def test_sparse_rows_and_logarithms_of_the_target():
    dense = RidgeSearchClassifier(alphas=[1.0]).fit(X, LABELS)
    sparse = RidgeSearchClassifier(alphas=[1.0]).fit(sp.csr_array(X), LABELS)
    assert (sparse.predict(sp.csr_array(X)) == dense.predict(X)).all()
    steep = np.exp(3 * X[:, 0] + 0.1 * RNG.normal(size=30))
    plain, log = (RidgeSearchRegressor(log_target=t).fit(X, steep) for t in (False, True))
    assert log.best_score_ > plain.best_score_ + 0.2
    assert log.predict(10 * X).max() <= steep.max() * 1.0001
    with pytest.raises(ValueError, match="positive"):
        RidgeSearchRegressor(log_target=True).fit(X, -steep)


def test_smooth_winner():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=200) ** 2
    wobble = 0.001 * rng.normal(size=200)
    losses = np.stack([noise + 0.5, noise + wobble - wobble.mean(), noise + 0.0, noise + 0.4])
    assert largest_alpha_within_error(losses[None]) == (0, 2)  # as good as the least, and smoother
    assert largest_alpha_within_error(losses[None, :1]) == (0, 0)
    wide = np.stack([losses, losses + 0.3])
    assert largest_alpha_within_error(wide) == (0, 2)


def test_bad_input():
    with pytest.raises(ValueError, match="linear"):
        RidgeSearchRegressor("cubic").fit(X, Y)
    with pytest.raises(ValueError, match="positive"):
        RidgeSearchRegressor(alphas=[-1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="two classes"):
        RidgeSearchClassifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="NaN"):
        RidgeSearchRegressor().fit(np.where(X > 0, np.nan, X), Y)


def test_the_landmark_path_is_that_of_ridge_on_nystroem_features():
    rng = np.random.default_rng(5)
    rows, w = rng.normal(size=(60, 3)), rng.uniform(0.5, 2.0, 60)
    Y = np.column_stack([np.sin(rows[:, 0]), rows[:, 1] * rows[:, 2]])
    kernel, alphas = Gaussian(1.5), [0.01, 1.0]
    for weights in (None, w):
        found, fitted = landmark_path(kernel, rows, Y, alphas, weights, 20, 0)
        Z = Nystroem(kernel, 20, random_state=0).fit_transform(rows)
        keep = np.arange(60) != 7
        for j, alpha in enumerate(alphas):
            some = None if weights is None else weights[keep]
            without = Ridge(alpha).fit(Z[keep], Y[keep], sample_weight=some)
            np.testing.assert_allclose(found[7, :, j], without.predict(Z[[7]])[0], rtol=1e-6)
            every = Ridge(alpha).fit(Z, Y, sample_weight=weights)
            np.testing.assert_allclose(fitted[:, :, j], every.predict(Z), atol=1e-6)


def test_with_many_rows_only_widths_beside_the_best_of_a_sample_are_tried():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(300, 2))
    y = np.sin(rows[:, 0]) + 0.1 * rng.normal(size=300)
    search = RidgeSearchRegressor("gaussian", max_exact=100, n_landmarks=60).fit(rows, y)
    every = RidgeSearchRegressor("gaussian").fit(rows, y)
    tried = np.isfinite(search.path_).all(axis=1)
    assert 2 <= tried.sum() <= 3
    assert tried[list(search.widths).index(search.best_params_["width"])]
    assert search.best_params_["width"] == every.best_params_["width"]


def test_all_penalties_of_sparse_rows_come_from_one_path(monkeypatch):
    monkeypatch.setattr(sparse_path, "TOLERANCE", 1e-10)
    monkeypatch.setattr(sparse_path, "MOST_STEPS", 500)
    rng = np.random.default_rng(7)
    rows = sp.random_array((60, 150), density=0.1, rng=rng, format="csr")
    Y, w, alphas = rng.normal(size=(60, 3)), rng.uniform(0.3, 3.0, 60), [0.1, 1.0, 30.0]
    Y[:, 2] = 0.5  # a column with nothing to solve
    for weights in (None, w):
        found = sparse_path.sparse_path(rows[:50], Y[:50], rows[50:], alphas,
                                        None if weights is None else weights[:50])  # fmt: skip
        for k, alpha in enumerate(alphas):
            some = None if weights is None else weights[:50]
            exact = Ridge(alpha).fit(rows[:50].toarray(), Y[:50], sample_weight=some)
            np.testing.assert_allclose(found[:, :, k], exact.predict(rows[50:].toarray()),
                                       atol=1e-7)  # fmt: skip
