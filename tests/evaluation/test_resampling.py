"""Splits, bootstrap, optimism, chance: equal to the formulas, right on cases with known truth."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from kilogram.evaluation import (
    Bootstrap,
    LearningCurve,
    ReversedFolds,
    bootstrap_error,
    compare_models,
    corrected_cross_validate,
    covariance_penalty,
    fold_map,
    held_out_test,
    learning_curve,
    linear_penalty,
    make_splits,
    mcnemar,
    no_information_error,
    permutation_test,
    r_squared,
    ridge_degrees_of_freedom,
)
from kilogram.evaluation.losses import loss_of, zero_one


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.integers(0, 2, 60)


def line(seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("kind", ["random", "leave_one_out", "reversed", "repeated", "holdout"])
def test_every_split_parts_the_rows(kind):
    y = np.arange(23)
    splits = make_splits(y, kind, repeats=2)
    for train, test in splits:
        assert sorted(np.concatenate([train, test])) == list(range(23))
    counts = {"random": 5, "leave_one_out": 23, "reversed": 5, "repeated": 10, "holdout": 1}
    assert len(splits) == counts[kind]


def test_reversed_groups_and_time():
    small, large = make_splits(np.zeros(20), "reversed")[0]
    assert (len(small), len(large)) == (4, 16)
    assert ReversedFolds(KFold(5)).get_n_splits() == 5
    groups = np.repeat(np.arange(10), 3)
    for train, test in make_splits(np.zeros(30), "grouped", groups=groups):
        assert not set(groups[train]) & set(groups[test])
    moments = np.random.default_rng(0).permutation(30)
    for train, test in make_splits(np.zeros(30), "time", moments=moments):
        assert moments[train].max() < moments[test].min()
    with pytest.raises(ValueError, match="needs the groups"):
        make_splits(np.zeros(9), "grouped")
    with pytest.raises(ValueError, match="kind must be one of"):
        make_splits(np.zeros(9), "odd")


def test_the_fold_map_is_a_picture_of_the_folds():
    lines = fold_map([(np.arange(2, 6), np.arange(2)), ([0, 1], [2, 3])], 6).split("\n")
    assert lines == ["##....", "..##  "]


def test_bootstrap_of_a_memoriser_on_noise():
    X, y = np.random.default_rng(1).normal(size=(100, 3)), np.tile([0, 1], 50)
    found = bootstrap_error(KNeighborsClassifier(1), X, y, draws=40)
    assert found.training == 0
    assert found.out_of_bag == pytest.approx(0.5, abs=0.12)
    assert found.error_632 < 0.4 < found.error_632_plus  # .632 is fooled, .632+ is not
    assert 0.6 < found.in_bag < 0.67
    assert 0 < found.standard_error < 0.1


def test_the_formula_of_632_plus():
    found = Bootstrap(0.1, 0.5, np.array([0.3, 0.3, np.nan]), 0.63, 1)
    R = (0.3 - 0.1) / (0.5 - 0.1)
    w = 0.632 / (1 - 0.368 * R)
    assert found.error_632_plus == pytest.approx((1 - w) * 0.1 + w * 0.3)
    assert Bootstrap(0.1, 0.5, np.array([0.05]), 0.63, 1).overfitting == 0
    y, f = np.array([0, 0, 1]), np.array([0, 1, 1])
    assert no_information_error(y, f, zero_one) == pytest.approx(5 / 9)


def test_corrected_cross_validation_is_its_formula():
    X, y = line(n=30)
    cv = KFold(3)
    found = corrected_cross_validate(LinearRegression(), X, y, cv=cv)
    plain = -cross_val_score(LinearRegression(), X, y, cv=cv, scoring="neg_mean_squared_error")
    assert found.plain == pytest.approx(plain.mean())
    assert found.training < found.corrected < found.plain


def test_the_covariance_penalty_of_linear_fits_is_known():
    X, y = line(n=40, d=4)
    exact = linear_penalty(5, 0.5, 40)  # four slopes and the intercept
    for method in ("bootstrap", "perturbation"):
        found = covariance_penalty(LinearRegression(), X, y, 0.5, method=method, draws=200)
        assert found.penalty == pytest.approx(exact, rel=0.2)
        assert found.degrees_of_freedom == pytest.approx(5, rel=0.2)
        assert found.error == pytest.approx(found.training + found.penalty)
    Z = X - X.mean(axis=0)
    df = ridge_degrees_of_freedom(Z, 20.0)
    S = Z @ np.linalg.solve(Z.T @ Z + 20 * np.eye(4), Z.T)
    assert df == pytest.approx(np.trace(S))
    assert ridge_degrees_of_freedom(Z, 0) == 4
    ridge = covariance_penalty(Ridge(20.0), X, y, 0.5, draws=200)
    assert ridge.degrees_of_freedom == pytest.approx(df + 1, rel=0.2)


def test_chance_explains_noise_and_not_a_line(noise):
    assert permutation_test(DummyClassifier(), *noise, draws=19).p_value == 1
    X, y = line()
    found = permutation_test(LinearRegression(), X, y, draws=39)
    assert found.p_value == 1 / 40
    assert found.chance < 0 < found.score
    parts = [(y[:30], X[:30, 0]), (y[30:], X[30:, 0])]
    assert held_out_test(parts, r_squared, draws=99).p_value == 0.01
    shuffled = [(np.random.default_rng(1).permutation(t), f) for t, f in parts]
    assert held_out_test(shuffled, r_squared, draws=99).p_value > 0.05


def test_p_values_of_noise_are_uniform():
    rng = np.random.default_rng(2)
    p = [
        held_out_test([rng.normal(size=(2, 20))], r_squared, draws=19, seed=k).p_value
        for k in range(200)
    ]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.1
    assert np.mean(p) == pytest.approx(0.525, abs=0.08)


def test_shuffles_within_groups_keep_the_group(noise):
    X, _ = noise
    y = np.repeat([0.0, 10.0], 30)  # only the group matters
    groups = np.repeat([0, 1], 30)
    inside = permutation_test(Ridge(), X, y, cv=KFold(3), within=groups, draws=19)
    assert inside.p_value == 1


def test_a_falling_learning_curve_promises_no_gain():
    scores = np.array([[0.30, 0.31], [0.40, 0.41], [0.38, 0.38]])  # up, then down
    found = LearningCurve(np.array([50.0, 100.0, 200.0]), scores, 50.0).more_rows()
    assert found.expected == 0


def test_no_gain_beyond_the_perfect_score_is_promised():
    scores = np.array([[0.93, 0.95], [0.97, 0.98], [0.998, 1.0]])
    curve = LearningCurve(np.array([50.0, 100.0, 200.0]), scores, 50.0)
    assert curve.more_rows(best=1.0).expected == pytest.approx(0.001)
    assert curve.more_rows(best=1.0).verdict == "would hardly help"
    assert curve.more_rows().expected > 0.01


def test_the_learning_curve_says_whether_rows_help():
    X, y = line(n=240, d=30)
    steep = learning_curve(LinearRegression(), X, y, fractions=(0.25, 0.5, 1), scoring="r2")
    assert steep.sizes.tolist() == [48, 96, 192]
    assert steep.more_rows().verdict == "would help"
    assert "would help" in steep.more_rows().sentence
    flat = learning_curve(LinearRegression(), X[:, :1], y, scoring="r2")
    assert flat.more_rows().verdict == "would hardly help"
    assert flat.more_rows().expected < 0.01
    with pytest.raises(ValueError, match="end with 1"):
        learning_curve(Ridge(), X, y, fractions=(0.5,))


def test_two_models():
    X, y = line(n=80)
    assert compare_models(Ridge(1e4), LinearRegression(), X, y).verdict == "worse"
    assert compare_models(Ridge(0.1), LinearRegression(), X, y).verdict == "tie"
    groups = np.repeat(np.arange(20), 4)
    assert compare_models(Ridge(0.1), Ridge(0.1), X, y, groups=groups).p_value == 1
    truth = np.ones(40)
    worse = np.where(np.arange(40) < 12, 0, 1)
    found = mcnemar(truth=truth, prediction=truth, reference=worse)
    assert (found.only_first, found.verdict) == (12, "better")
    assert mcnemar(truth=truth, prediction=worse, reference=worse).p_value == 1


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: bootstrap_error(Ridge(), *line(), draws=0), "draws"),
        (lambda: covariance_penalty(Ridge(), *line(), 0.0), "sigma"),
        (lambda: covariance_penalty(Ridge(), *line(), 1.0, method="odd"), "method"),
        (lambda: permutation_test(Ridge(), *line(), draws=5), "at least 19"),
        (lambda: loss_of(Ridge(), "odd"), "loss must be"),
        (lambda: mcnemar(truth=[1], prediction=[1, 0], reference=[1]), "same (length|shape)"),
    ],
)
def test_bad_input(call, word):
    with pytest.raises(ValueError, match=word):
        call()
