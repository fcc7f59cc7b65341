"""Lecture notes L14 and L26: regression trees and forests, decision trees and random forests."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import trees
from kilogram.textbook.state import run


def steps(seed: int, n: int, noise: float = 0.3):
    """A step function of one column with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, n)
    return x[:, None], np.sin(x) + (x > 3) + noise * rng.standard_normal(n)


def xor(seed: int, n: int, noise: float = 0.3):
    rng = np.random.default_rng(seed)
    corner = rng.choice([-1.0, 1.0], (n, 2))
    return corner + noise * rng.standard_normal((n, 2)), (corner.prod(axis=1) > 0).astype(int)


@covers("lecture_notes L14.M5")
def test_L14_M5_the_stack_grows_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
    states = list(trees.tree(X, y, least=5))
    assert (np.diff([s.objective for s in states]) <= 1e-9).all()  # every split lowers the SSE
    fast = kg.DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    reference = trees.tree_values(states[-1]["nodes"], states[-1]["values"], X)
    assert np.allclose(fast.predict(X), reference)
    assert fast.get_n_leaves() == (states[-1]["nodes"][:, 0] < 0).sum()
    assert np.isclose(np.sum((y - reference) ** 2), states[-1].objective)
    # pruning by what held-out points gain
    held = rng.standard_normal((200, 3))
    target = np.sin(2 * held[:, 0]) + held[:, 1] + 0.1 * rng.standard_normal(200)
    full = run(trees.tree(X, y))
    cut = list(trees.prune(full["nodes"], full["values"], held, target))
    assert cut[-1].objective <= cut[0].objective
    noisy = y + 2.0 * rng.standard_normal(80)
    for prune in ("held_out", "cv"):
        small = kg.DecisionTreeRegressor(prune=prune, random_state=0).fit(X, noisy)
        assert small.get_n_leaves() < 40 < kg.DecisionTreeRegressor().fit(X, noisy).get_n_leaves()


@covers("lecture_notes L14.M6", "lecture_notes L14.E3", "lecture_notes L14.T3")
def test_L14_T3_leaf_means_and_the_average_of_trees():
    X, y = steps(1, 120)
    new, _ = steps(2, 400)
    truth = np.sin(new[:, 0]) + (new[:, 0] > 3)
    tree = kg.DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    leaf, value = tree.apply(X), tree.predict(X)
    for one in np.unique(leaf):
        mine = y[leaf == one]
        assert value[leaf == one][0] == pytest.approx(mine.mean())
        for shift in (-0.1, 0.1):  # any other value has a larger sum of squares
            assert np.sum((mine - mine.mean()) ** 2) < np.sum((mine - mine.mean() - shift) ** 2)
    reference = run(trees.forest(X, y, new, np.random.default_rng(0), T=25))
    single = np.mean((reference["single"] - truth) ** 2)
    assert np.mean((reference["mean"] - truth) ** 2) < 0.6 * single
    forest = kg.RandomForestRegressor(random_state=0).fit(X, y)
    grown = kg.DecisionTreeRegressor().fit(X, y)
    fast = np.mean((forest.predict(new) - truth) ** 2)
    assert fast < 0.6 * np.mean((grown.predict(new) - truth) ** 2)
    assert fast == pytest.approx(np.mean((reference["mean"] - truth) ** 2), rel=0.35)


@covers("lecture_notes L26.M2")
@pytest.mark.parametrize("kind", ["gini", "entropy"])
def test_L26_M2_decision_trees(kind):
    X, y = xor(3, 90)
    reference = run(trees.tree(X, np.eye(2)[y], kind, least=3))
    fast = kg.DecisionTreeClassifier(criterion=kind, min_samples_leaf=3).fit(X, y)
    soft = trees.tree_values(reference["nodes"], reference["values"], X)
    assert np.allclose(fast.predict_proba(X), soft)
    assert np.array_equal(fast.predict(X), soft.argmax(axis=1))  # hard: the majority
    assert kg.DecisionTreeClassifier(criterion=kind).fit(X, y).score(X, y) == 1.0  # until pure
    assert kg.DecisionTreeClassifier(criterion=kind, max_depth=2).fit(X, y).get_depth() == 2
    # without the weights of the children a cut would peel off single points
    x = np.r_[np.zeros(10), np.ones(8), 2.0][:, None]
    Y = np.eye(2)[np.r_[np.zeros(10), np.ones(5), np.zeros(3), 1].astype(int)]
    assert trees.best_split(x, Y, kind)[2] == 0.5

    def unweighted(t):
        return sum(trees.impurity(Y[part], kind) for part in (x[:, 0] <= t, x[:, 0] > t))

    assert unweighted(1.5) < unweighted(0.5)
    X, y = xor(4, 400, 0.5)
    new, z = xor(5, 2000, 0.5)
    assert kg.DecisionTreeClassifier(criterion=kind, max_depth=4).fit(X, y).score(new, z) > 0.85


@covers("lecture_notes L26.M3", "lecture_notes L26.T5")
def test_L26_M3_T5_random_forests():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 9))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(300) > 0).astype(int)
    new = rng.standard_normal((1500, 9))
    z = (new[:, 0] * new[:, 1] + 0.5 * new[:, 2] + 0.3 * rng.standard_normal(1500) > 0).astype(int)
    forest = kg.RandomForestClassifier(200, oob_score=True, random_state=0).fit(X, y)
    tree = kg.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert forest.score(new, z) > tree.score(new, z) + 0.03
    assert forest.oob_score_ == pytest.approx(forest.score(new, z), abs=0.06)  # honest, for free
    assert forest.score(X, y) > 0.99 > forest.oob_score_  # what it has seen it knows
    from kilogram.models.trees.forest import bootstrap_counts

    fraction = np.mean([(bootstrap_counts(s, 300, 300) == 0).mean() for s in range(200)])
    assert fraction == pytest.approx(np.exp(-1), abs=0.01)
    reference = run(trees.forest(X[:80], np.eye(2)[y[:80]], new[:300], rng, 12, "gini", d_try=3))
    voted = (reference["mean"].argmax(axis=1) == z[:300]).mean()
    assert voted > (reference["single"].argmax(axis=1) == z[:300]).mean()
    assert trees.useful_size(0.05) == pytest.approx(190)
    assert forest.feature_importances_[:3].min() > forest.feature_importances_[3:].max()


@covers("lecture_notes L26.M4")
def test_L26_M4_pruning():
    X, y = xor(7, 300, 0.9)
    new, z = xor(8, 4000, 0.9)
    grown = kg.DecisionTreeClassifier(random_state=0).fit(X, y)
    sizes, scores = [], []
    for alpha in (0.0, 0.003, 0.01, 0.05, 1.0):
        tree = kg.DecisionTreeClassifier(ccp_alpha=alpha, random_state=0).fit(X, y)
        sizes.append(tree.get_n_leaves())
        scores.append(tree.score(new, z))
    assert (np.diff(sizes) <= 0).all()
    assert sizes[0] == grown.get_n_leaves()
    assert sizes[-1] == 1
    assert max(scores[1:-1]) > scores[0]  # grown out it has learnt the noise
    chosen = kg.DecisionTreeClassifier(prune="cv", random_state=0).fit(X, y)
    assert chosen.get_n_leaves() < 0.5 * sizes[0]
    assert chosen.score(new, z) > scores[0]


@covers("lecture_notes L26.G1", "lecture_notes L26.E2", "lecture_notes L26.X1")
def test_L26_X1_variance_of_correlated_voters():
    rng = np.random.default_rng(9)
    T, rho, sigma2, draws = 7, 0.3, 1.0, 200_000
    common, own = rng.standard_normal(draws), rng.standard_normal((draws, T))
    voters = np.sqrt(rho) * common[:, None] + np.sqrt(1 - rho) * own
    right, printed = trees.variance_of_mean(sigma2, rho, T), (1 - rho) / T + (T - 1) / T * rho
    assert right == pytest.approx(0.400)
    assert printed == pytest.approx(0.357, abs=1e-3)
    assert voters.mean(axis=1).var() == pytest.approx(right, rel=0.02)
    assert trees.variance_of_mean(sigma2, rho, 1) == sigma2  # print: (1 - rho) sigma^2
    assert trees.variance_of_mean(sigma2, rho, 10**9) == pytest.approx(rho * sigma2)
    for T in (1, 3, 30):
        means = (np.sqrt(rho) * common + np.sqrt((1 - rho) / T) * own[:, 0]).var()
        assert means == pytest.approx(trees.variance_of_mean(sigma2, rho, T), rel=0.02)
    T = trees.useful_size(0.05)  # more trees than that gain less than a tenth
    assert trees.variance_of_mean(1, 0.05, T) == pytest.approx(1.1 * 0.05)
    # independence raises individual error: with one random column a node trees agree less
    X, y = xor(10, 300, 0.6)
    X = np.c_[X, rng.standard_normal((300, 4))]
    new, z = xor(11, 1000, 0.6)
    new = np.c_[new, rng.standard_normal((1000, 4))]
    agree, single = [], []
    for tried in (1, None):
        forest = kg.RandomForestClassifier(30, max_features=tried, random_state=0).fit(X, y)
        said = np.stack([forest.trees_.one(t).mean(new)[:, 1] > 0.5 for t in range(30)])
        agree.append(np.corrcoef(said ^ z.astype(bool))[np.triu_indices(30, 1)].mean())
        single.append((said == z).mean())
    assert agree[0] < agree[1]
    assert single[0] < single[1]


@covers("lecture_notes L26.T3", "lecture_notes L26.X2")
def test_L26_T3_independent_voters():
    q, T = 1 / 3, 100
    std = np.sqrt(q * (1 - q) / T)
    assert std == pytest.approx(0.047, abs=5e-4)
    assert 1 - q - 3 * std == pytest.approx(0.52, abs=0.01)
    exact = trees.majority_error(q, T)
    assert exact == pytest.approx(0.00042, abs=1e-5)  # print: 0.15 %, the normal tail beyond 3 std
    from scipy.stats import norm

    assert norm.sf(3) == pytest.approx(0.00135, abs=1e-5)
    votes = np.random.default_rng(0).random((200_000, T)) < 1 - q
    assert (votes.sum(axis=1) <= 50).mean() == pytest.approx(exact, rel=0.3)


@covers("lecture_notes L26.T4")
def test_L26_T4_impurities():
    for C in (2, 3, 7):
        even, pure = np.full(C, 1 / C), np.eye(C)[0]
        assert trees.gini(pure) == trees.entropy(pure) == 0
        assert trees.gini(even) == pytest.approx((C - 1) / C)
        assert trees.entropy(even) == pytest.approx(np.log(C))
        p = np.random.default_rng(C).dirichlet(np.ones(C), 200)
        assert all(trees.gini(v) <= (C - 1) / C for v in p)
        assert all(trees.entropy(v) <= np.log(C) for v in p)
    y = np.arange(6) % 3
    for kind, most in (("gini", 2 / 3), ("entropy", np.log2(3))):  # in bits
        root = kg.DecisionTreeClassifier(criterion=kind).fit(np.arange(6.0)[:, None], y).trees_
        assert root.impurity[0] == pytest.approx(most)
        assert np.allclose(root.impurity[root.leaves], 0)


@covers("lecture_notes L26.X3")
def test_L26_X3_impurity_not_the_gain_of_a_density():
    """Density trees cut where points are dense; a classifier must cut where classes change."""
    rng = np.random.default_rng(12)
    x = np.r_[rng.uniform(0, 1, 300), rng.uniform(4, 5, 300)]
    y = (x % 1 > 0.5).astype(int)  # both clusters hold both classes
    density = kg.DensityTree(max_depth=1).fit(x[:, None])
    decision = kg.DecisionTreeClassifier(max_depth=1).fit(x[:, None], y)
    gap = density.leaf_boxes_[0, 1, 0]
    assert 0.9 < gap < 4.1  # between the clusters
    place = decision.trees_.threshold[0]
    assert min(abs(place - 0.5), abs(place - 4.5)) < 0.05  # where the class changes
