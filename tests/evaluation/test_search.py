"""The search of any estimator: what each strategy tries, solvers along penalties, time."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV as PeerCV
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier

from kilogram import SVC, Gaussian, KernelRidge, LogisticRegression, Ridge
from kilogram.evaluation import (
    Categorical,
    IntegerRange,
    RealRange,
    Search,
    SearchSpace,
    nested_cross_validate,
)
from kilogram.evaluation.grouped_fits import inner_splits
from kilogram.evaluation.regularization_paths import fit_along
from kilogram.evaluation.search_strategies import METHODS

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (120, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=120)
C = (Y > 0).astype(int)
HILL = SearchSpace(
    {"x": RealRange(-1.0, 3.0), "y": RealRange(1e-4, 1e4, log=True), "kind": ["flat", "hill"]}
)


def height(point):
    far = (point["x"] - 1.3) ** 2 + (0.25 * np.log10(point["y"] / 10)) ** 2
    return -far - (point["kind"] == "flat")


def run_strategy(method, count, seed=0):
    """Scores of a search on a function whose maximum is known."""
    search, scores, fractions = (
        METHODS[method](HILL, count, np.random.default_rng(seed), ()),
        [],
        [],
    )
    try:
        trial = next(search)
        while True:
            scores.append(height(trial.params))
            fractions.append(trial.fraction)
            trial = search.send(scores[-1])
    except StopIteration:
        return np.array(scores), np.array(fractions)


@pytest.mark.parametrize("method", ["grid", "random", "coarse", "bayes"])
def test_searches_keep_their_number_of_trials(method):
    scores, fractions = run_strategy(method, 24)
    assert 4 <= len(scores) <= 27
    assert set(fractions) == {1.0}


def test_bayes_climbs_higher_than_random_draws():
    best = {m: np.mean([run_strategy(m, 20, seed)[0].max() for seed in range(4)])
            for m in ("random", "bayes")}  # fmt: skip
    assert best["bayes"] > best["random"]
    assert best["bayes"] > -0.05


def test_coarse_to_fine_gets_finer():
    scores, _ = run_strategy("coarse", 60)
    assert scores[20:].max() > scores[:18].max()


def test_halving_gives_more_rows_to_fewer_points():
    _, fractions = run_strategy("halving", 9)
    assert [int(np.sum(fractions == s)) for s in (1 / 9, 1 / 3, 1.0)] == [9, 3, 1]


def test_space_places_and_lists():
    space = SearchSpace({"n": IntegerRange(1, 9), "a": [0.1, 1.0, 10.0], "k": ["u", "v", None]})
    far = [space.place({"n": 1, "a": 0.1, "k": k}) for k in ("u", "v", None)]
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(np.linalg.norm(far[0] - far[2]))
    assert space.place({"n": 9, "a": 10.0, "k": "u"})[:2] == pytest.approx([1, 1])
    assert space.values("n", 3) == [1, 5, 9]
    assert Categorical((3, 1)).ordered is False
    near = SearchSpace({"n": IntegerRange(1, 100, log=True)}).around({"n": 10}, 0.5)
    assert 1 < near.axes["n"].low < 10 < near.axes["n"].high < 100
    for bad in ({"a": 3}, {"a": []}, {"a": "text"}, {}):
        with pytest.raises(ValueError):
            SearchSpace(bad)
    with pytest.raises(ValueError, match="0 < low"):
        RealRange(0, 1, log=True)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_tunes_an_estimator_of_scikit_learn(method):
    space = {"n_neighbors": IntegerRange(1, 40), "weights": ["uniform", "distance"]}
    search = Search(KNeighborsRegressor(), space, method=method, n_iter=8).fit(X, Y)
    assert search.best_score_ > 0.6
    assert search.score(X, Y) > 0.8
    assert search.predict(X[:3]).shape == (3,)
    again = Search(KNeighborsRegressor(), space, method=method, n_iter=8).fit(X, Y)
    assert again.best_params_ == search.best_params_


def test_penalties_along_a_path_score_as_one_by_one():
    values = [0.1, 1.0, 10.0]
    for model in (SVC(kernel="rbf"), LogisticRegression()):
        search = Search(model, {"C": values}, method="grid", cv=3).fit(X, C)
        splits = inner_splits(model, X, C, 3)
        alone = [cross_val_score(model.set_params(C=v), X, C, cv=splits).mean() for v in values]
        assert [t.score for t in search.trials_] == pytest.approx(alone, abs=0.02)
    pipe = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    models = fit_along(pipe, values, X, C)
    assert models[1].predict(X).tolist() == pipe.fit(X, C).predict(X).tolist()


def test_ridge_is_scored_by_exact_leave_one_out():
    pipe = Pipeline([("more", PolynomialFeatures()), ("model", Ridge())])
    alphas = [0.1, 1.0, 10.0]
    space = {"model__alpha": alphas, "more__degree": [1, 3]}
    search = Search(pipe, space, method="grid", scoring="neg_mean_squared_error").fit(X, Y)
    assert len(search.trials_) == 6
    Z = PolynomialFeatures(search.best_params_["more__degree"]).fit_transform(X)
    peer = PeerCV(alphas).fit(Z, Y)
    assert search.best_params_["model__alpha"] == peer.alpha_
    assert search.best_score_ == pytest.approx(peer.best_score_)
    kernel = Search(KernelRidge(kernel=Gaussian(1.0)),
                    {"alpha": [0.01, 0.1], "kernel__sigma": [0.5, 1.0]}, method="grid")  # fmt: skip
    assert kernel.fit(X, Y).best_score_ > 0.8


def test_an_estimator_that_tunes_itself_is_believed():
    pipe = Pipeline([("more", PolynomialFeatures()), ("model", PeerCV([0.1, 1.0]))])
    search = Search(pipe, {"more__degree": [1, 2, 5]}, method="grid", cv="own").fit(X, Y)
    assert search.best_params_["more__degree"] == 5
    assert search.best_params_["alpha"] == search.best_estimator_[-1].alpha_
    usual = Search(pipe, {"more__degree": [1, 2, 5]}, method="grid", cv="own", margin=10.0,
                   start=({"more__degree": 2},)).fit(X, Y)  # fmt: skip
    assert usual.best_params_["more__degree"] == 2 == usual.best_estimator_[0].degree
    assert usual.best_estimator_[-1].best_score_ == usual.best_score_
    with pytest.raises(ValueError, match="tunes itself"):
        Search(SVR(), {"C": [1.0]}, cv="own").fit(X, Y)
    with pytest.raises(ValueError, match="Ridge and KernelRidge"):
        Search(SVR(), {"C": [1.0]}, cv="loo").fit(X, Y)


def test_inner_folds_keep_groups_together_and_time_in_order():
    groups = np.repeat(np.arange(12), 10)
    tree = DecisionTreeClassifier()
    for train, test in inner_splits(tree, X, C, 3, {"groups": groups}):
        assert not set(groups[train]) & set(groups[test])
    moments = RNG.permutation(120).astype(float)
    for train, test in inner_splits(tree, X, C, 3, {"moments": moments}):
        assert moments[train].max() < moments[test].min()
    # a column that names the group is worth nothing across groups, and much within them
    y = RNG.normal(size=12)[groups] + 0.1 * RNG.normal(size=120)
    name = groups[:, None] / 12.0
    space = {"n_neighbors": [1, 40]}
    torn = Search(KNeighborsRegressor(), space, method="grid").fit(name, y)
    whole = Search(KNeighborsRegressor(), space, method="grid").fit(name, y, groups=groups)
    assert torn.best_params_ == {"n_neighbors": 1}
    assert whole.best_score_ < 0.5 < torn.best_score_
    nested = nested_cross_validate(whole, name, y, groups=groups, cv=[*inner_splits(
        whole, name, y, 3, {"groups": groups})])  # fmt: skip
    assert nested.optimism < 0.8


def test_time_and_bad_settings():
    space = {"max_depth": IntegerRange(1, 30), "min_samples_leaf": IntegerRange(1, 30)}
    quick = Search(DecisionTreeClassifier(random_state=0), space, method="random", max_time=1e-6)
    assert quick.fit(X, C).cut_short_
    assert len(quick.trials_) == 1
    assert quick.predict_proba(X[:2]).shape == (2, 2)
    for change, message in (({"method": "guess"}, "method"), ({"n_iter": 0}, "n_iter")):
        with pytest.raises(ValueError, match=message):
            Search(SVR(), space).set_params(**change).fit(X, Y)


def test_points_that_are_given_count_as_tried():
    """As many starting points as points to try leave none to draw."""
    space = {"C": [0.1, 1.0, 10.0, 100.0]}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    found = Search(SVR(), space, method="random", n_iter=1, cv=2, start=({"C": 1.0},))
    assert [one.params for one in found.fit(X, X[:, 0]).trials_] == [{"C": 1.0}]


@pytest.mark.parametrize("cv", [1, 3])
def test_classes_of_fewer_rows_than_folds_are_searched(cv):
    y = np.r_[0, np.repeat(np.arange(1, 12), 2)]
    X = y[:, None] + 0.01 * np.arange(23)[:, None]
    found = Search(DecisionTreeClassifier(), {"max_depth": [1, 20]}, method="grid", cv=cv)
    assert found.fit(X, y).best_estimator_.score(X, y) > 0.9


def test_folds_inside_learn_from_two_classes_at_least():
    y = np.r_[np.zeros(9, dtype=int), 1]
    model = DecisionTreeClassifier()
    for along in (None, {"groups": np.arange(10) // 5}, {"moments": np.arange(10.0)}):
        splits = inner_splits(model, y[:, None], y, 3, along, 0)
        assert splits
        assert all(len(np.unique(y[train])) == 2 for train, _ in splits)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_was_ended_is_repeated_by_its_trials(method):
    space = {"n_neighbors": list(range(1, 20)), "weights": ["uniform", "distance"]}
    whole = Search(KNeighborsRegressor(), space, method=method, n_iter=9).fit(X, Y)
    cut = Search(KNeighborsRegressor(), space, method=method, n_iter=9, max_trials=4).fit(X, Y)
    assert cut.cut_short_
    assert not whole.cut_short_
    first = [(one.params, one.score) for one in whole.trials_[:4]]
    assert [(one.params, one.score) for one in cut.trials_] == first
    with pytest.raises(ValueError, match="max_trials"):
        Search(KNeighborsRegressor(), space, max_trials=0).fit(X, Y)
