"""Cookbook 6: hold-out, cross-validation, nested cross-validation and the search for parameters."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import kilogram as kg
from kilogram.evaluation import (
    RealRange,
    Search,
    SearchSpace,
    expected_improvement,
    fold_map,
    make_splits,
    nested_cross_validate,
)


def line(seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.5 * rng.normal(size=n)


@covers("cookbook M6.1", "cookbook M6.2", "cookbook T6.6")
def test_T6_6_enough_random_draws_are_the_grid():
    X, y = line()
    space = {"alpha": [0.1, 1.0, 10.0], "fit_intercept": [True, False]}
    expected = {tuple(sorted(p.items())) for p in ParameterGrid(space)}
    assert len(expected) == 6

    def tried(method, n_iter):
        found = Search(kg.Ridge(), space, method=method, n_iter=n_iter, cv=5).fit(X, y)
        return {tuple(sorted(one.params.items())) for one in found.trials_}, found

    grid, by_grid = tried("grid", 6)
    draws, by_draws = tried("random", 6)
    assert grid == draws == expected
    assert by_grid.best_params_ == by_draws.best_params_
    assert len(tried("random", 3)[0]) == 3


@covers("cookbook M6.3")
def test_M6_3_a_surrogate_predicts_the_next_setting():
    """A Gaussian process of the scores: it looks where it expects most, not where it has been."""
    space = SearchSpace({"x": RealRange(0.0, 1.0)})
    points = [{"x": v} for v in (0.0, 0.3, 0.5, 0.7, 1.0)]
    fresh = [{"x": v} for v in np.linspace(0, 1, 101)]
    worth = expected_improvement(space, points, [-((p["x"] - 0.6) ** 2) for p in points], fresh)
    assert (worth >= 0).all()
    assert fresh[int(np.argmax(worth))]["x"] == pytest.approx(0.6, abs=0.06)
    assert worth[50] < worth.max() / 2  # a point that has been tried has little to add
    X, y = line()
    found = Search(KNeighborsClassifier(), {"n_neighbors": list(range(1, 30))}, n_iter=8)
    assert found.fit(X, (y > 0).astype(int)).best_score_ > 0.7


@covers("cookbook M6.4")
def test_M6_4_train_validation_test():
    """Choose on the validation part, learn again from both parts, test once."""
    X, y = line(n=100)
    (rest, test) = make_splits(y, "holdout", test_size=0.2)[0]
    (inner, valid) = make_splits(y[rest], "holdout", test_size=0.25, seed=1)[0]
    train, valid = rest[inner], rest[valid]
    assert (len(train), len(valid), len(test)) == (60, 20, 20)  # validation as large as test
    alphas = (0.1, 10.0, 1000.0)
    scores = [Ridge(a).fit(X[train], y[train]).score(X[valid], y[valid]) for a in alphas]
    best = alphas[int(np.argmax(scores))]
    assert best < 1000
    final = Ridge(best).fit(X[rest], y[rest])
    assert final.score(X[test], y[test]) > 0.5


@covers("cookbook M6.5", "cookbook M6.6", "cookbook T6.1", "cookbook T6.2", "cookbook X6.2",
        "cookbook E6.1")  # fmt: skip
def test_T6_1_folds_part_the_rows():
    splits = make_splits(np.zeros(23), "random", folds=4)
    tests = [test for _, test in splits]
    assert len(splits) == 4  # the figure's k is 4, in as many iterations as subsets
    assert sorted(np.concatenate(tests)) == list(range(23))
    assert {len(test) for test in tests} == {5, 6}
    for train, test in splits:
        assert not set(train) & set(test)
    picture = fold_map(splits, 23).split("\n")
    assert all("".join(column).count("#") == 1 for column in zip(*picture, strict=True))
    one_out = make_splits(np.zeros(7), "leave_one_out")
    all_folds = make_splits(np.zeros(7), "random", folds=7)
    assert {int(t[0]) for _, t in one_out} == {int(t[0]) for _, t in all_folds} == set(range(7))


SEEN: list[tuple[str, frozenset]] = []


class Spy(TransformerMixin, BaseEstimator):
    """An extractor that remembers which rows it was fitted on; column 0 names the row."""

    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y=None):
        SEEN.append(("fit", frozenset(X[:, 0])))
        return self

    def transform(self, X):
        return X[:, 1:]


@covers("cookbook M6.7", "cookbook M6.8", "cookbook T6.3")
def test_T6_3_the_outer_test_rows_reach_nothing():
    """k = 4 outside, k - 1 = 3 inside, the extractor searched with the model."""
    X, y = line(n=40)
    X = np.column_stack([np.arange(40.0), X])
    pipe = Pipeline([("extract", Spy()), ("scale", StandardScaler()), ("model", Ridge())])
    space = {"model__alpha": [0.1, 1.0], "extract__width": [1, 2]}
    SEEN.clear()
    nested = nested_cross_validate(GridSearchCV(pipe, space, cv=KFold(3)), X, y, cv=KFold(4))
    per_fold = 4 * 3 + 1  # every candidate in every inner fold, then once on all k - 1 folds
    assert len(SEEN) == 4 * per_fold
    for k, fold in enumerate(nested.folds):
        fitted = [rows for _, rows in SEEN[k * per_fold : (k + 1) * per_fold]]
        held_out = set(map(float, fold.test))
        assert not any(held_out & rows for rows in fitted)
        assert fitted[-1] == frozenset(map(float, fold.train))
    assert set(nested.winners[0]) == {"model__alpha", "extract__width"}


class Guess(ClassifierMixin, BaseEstimator):
    """Answers by a coin of its own: the more of them are tried, the better the best looks."""

    def __init__(self, coin=0):
        self.coin = coin

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        place = (np.abs(X[:, 0]) * 1e6).astype(np.int64) + 7919 * self.coin
        return self.classes_[(place * 2654435761 >> 7) % 2]


@covers("cookbook T6.4", "summary C5")
def test_T6_4_the_best_of_a_grid_on_noise_is_optimistic_and_nested_is_not():
    gaps, outer = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 1)), np.tile([0, 1], 30)
        search = GridSearchCV(Guess(), {"coin": list(range(15))}, cv=3)
        nested = nested_cross_validate(search, X, y, cv=4)
        outer.append(nested.scores.mean())
        gaps.append(nested.optimism)
    assert np.mean(outer) == pytest.approx(0.5, abs=0.05)
    assert np.mean(gaps) > 0.08


@covers("cookbook T6.5")
def test_T6_5_parallel_is_serial():
    X, y = line(n=40)
    found = []
    for jobs in (1, 2):
        search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=3, n_jobs=jobs)
        with parallel_config("threading"):
            found.append(nested_cross_validate(search, X, y, cv=3).scores)
    assert np.array_equal(*found)


@covers("cookbook M6.9")
def test_M6_9_a_penalty_controls_complexity():
    """Fifteen noisy points of a sine and a polynomial of degree 12: the penalty tames it."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 15))[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=15)
    grid = np.linspace(0.2, 5.8, 200)[:, None]
    errors = {}
    for alpha in (1e-10, 1e-2):
        model = Pipeline([
            ("powers", PolynomialFeatures(12, include_bias=False)), ("scale", StandardScaler()),
            ("ridge", kg.Ridge(alpha)),
        ]).fit(x, y)  # fmt: skip
        errors[alpha] = (
            np.mean((model.predict(x) - y) ** 2),
            np.mean((model.predict(grid) - np.sin(grid[:, 0])) ** 2),
        )
    assert errors[1e-10][0] < errors[1e-2][0]
    assert errors[1e-10][1] > 3 * errors[1e-2][1]


@covers("slides B5.4", "slides B5.6")
def test_B5_4_a_single_cut_is_a_hold_out_and_folds_rotate():
    X, y = line(n=60)
    y = (y > 0).astype(int)
    assert len(make_splits(y, "holdout", classes=True)) == 1
    three = make_splits(y, "random", folds=3, classes=True)
    assert sorted(np.concatenate([test for _, test in three])) == list(range(60))
    pipe = Pipeline([("scale", StandardScaler()), ("knn", KNeighborsClassifier())])
    search = GridSearchCV(
        pipe, {"knn__n_neighbors": [1, 5], "scale__with_std": [True, False]}, cv=3
    )
    assert set(search.fit(X, y).best_params_) == {"knn__n_neighbors", "scale__with_std"}
    # one cut swings more from draw to draw than the mean over the folds
    model, spread = LogisticRegression(), {"holdout": [], "random": []}
    for kind, found in spread.items():
        for seed in range(15):
            splits = make_splits(y, kind, classes=True, seed=seed)
            found.append(nested_cross_validate(model, X, y, cv=splits).scores.mean())
    assert np.std(spread["holdout"]) > np.std(spread["random"])
