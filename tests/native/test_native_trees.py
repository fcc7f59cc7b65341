"""Growth of trees against plain NumPy, at awkward sizes; leaves of rows in many trees."""

import numpy as np
import pytest

from kilogram.native import _core
from kilogram.native.trees import (
    NO_CATEGORIES,
    CodedColumns,
    GrowthLimits,
    SplitRules,
    Target,
    grow_tree,
    prepare_trees,
)
from kilogram.solvers.trees.nodes import InfiniteRows, Trees

FREE = GrowthLimits(2**31 - 1, 2, 1, 10**6, 0.0, 0.0)


def impurity(y, w, classes, kind):
    if not classes:
        return float(w @ (y - w @ y / w.sum()) ** 2)
    p = np.bincount(y, w, classes) / w.sum()
    held = 1 - p @ p if kind == "gini" else -np.sum(p[p > 0] * np.log2(p[p > 0]))
    return float(w.sum() * held)


def oracle(X, y, w, classes, kind, limits):
    """Leaves as lists of rows: every column, every gap, children's impurity least."""
    leaves, stack = [], [(np.arange(len(X)), 0)]
    while stack:
        rows, depth = stack.pop()
        own, best = impurity(y[rows], w[rows], classes, kind), (np.inf, None)
        stop = depth >= limits.max_depth or len(rows) < limits.min_split
        if not stop and len(np.unique(y[rows])) > 1:
            for k in range(X.shape[1]):
                for t in np.unique(X[rows, k])[:-1]:
                    low = X[rows, k] <= t
                    if min(low.sum(), (~low).sum()) < limits.min_leaf:
                        continue
                    if min(w[rows][low].sum(), w[rows][~low].sum()) < limits.min_weight:
                        continue
                    parts = rows[low], rows[~low]
                    cost = sum(impurity(y[p], w[p], classes, kind) for p in parts)
                    if cost < best[0] - 1e-11 * own:
                        best = (cost, parts)
        if best[1] is None or (own - best[0]) / w.sum() < limits.min_decrease:
            leaves.append(np.sort(rows))
        else:
            stack += [(part, depth + 1) for part in best[1]]
    return sorted(tuple(leaf) for leaf in leaves)


def grown_leaves(grown, X):
    leaf = Trees.of([grown]).apply(X)[:, 0]
    return sorted(tuple(np.flatnonzero(leaf == one)) for one in np.unique(leaf))


@pytest.mark.parametrize("kind", ["squared_error", "gini", "entropy"])
@pytest.mark.parametrize(("n", "d", "values"), [(1, 1, 3), (2, 3, 9), (60, 4, 5), (97, 3, 10_000)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "limits",
    [FREE, FREE._replace(max_depth=3), FREE._replace(min_leaf=4, min_split=11),
     FREE._replace(min_weight=6.0, min_decrease=0.01)],
)  # fmt: skip
def test_growth(kind, n, d, values, weighted, limits):
    rng = np.random.default_rng(n + d)
    X = rng.integers(0, values, (n, d)) / 7.0
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    if kind == "squared_error":
        y, classes = rng.standard_normal(n) + 5.0, 0
        target = Target.numbers(y)
    else:
        y, classes = rng.integers(0, 3, n), 3
        target = Target.labels(y, 3)
    grown = grow_tree(CodedColumns.of(X), target, w, np.arange(n), SplitRules(kind), limits, 1)
    assert grown_leaves(grown, X) == oracle(X, y, w, classes, kind, limits)
    leaf = Trees.of([grown]).apply(X)[:, 0]
    for one in np.unique(leaf):
        mine = leaf == one
        Y = y[:, None] if not classes else np.eye(3)[y]
        np.testing.assert_allclose(grown.value[one], w[mine] @ Y[mine] / w[mine].sum())
        assert grown.weight[one] == pytest.approx(w[mine].sum())
        held = impurity(y[mine], w[mine], classes, kind) / w[mine].sum()
        assert grown.impurity[one] == pytest.approx(held, abs=1e-12)


@pytest.mark.parametrize("classes", [0, 4])
def test_digits_and_comparisons_sort_alike(classes):
    """1 000 rows of many values take the digits; the first cut is the best of all gaps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2)) * [1.0, 1e-3]
    y = rng.standard_normal(1000) + (X[:, 1] > 5e-4)
    labels = np.digitize(y, [-0.5, 0.2, 1.0])
    target = Target.labels(labels, 4) if classes else Target.numbers(y)
    kind = "gini" if classes else "squared_error"
    limits = FREE._replace(max_depth=1)
    rules = SplitRules(kind)
    w, rows = np.ones(1000), np.arange(1000)
    grown = grow_tree(CodedColumns.of(X), target, w, rows, rules, limits, 1)
    own = labels if classes else y
    assert grown_leaves(grown, X) == oracle(X, own, np.ones(1000), classes, kind, limits)


def best_decrease(x, y, w, min_leaf):
    """The largest fall of the weighted squares by a cut of one column."""
    order = np.argsort(x, kind="stable")
    x, w, s = x[order], w[order], (w * (y - w @ y / w.sum()))[order]
    left, total = np.cumsum(w), w.sum()
    cut = np.flatnonzero(x[1:] > x[:-1])
    cut = cut[(cut + 1 >= min_leaf) & (len(x) - cut - 1 >= min_leaf)]
    score = np.cumsum(s)[cut] ** 2 * total / (left[cut] * (total - left[cut]))
    return score.max(initial=0.0)


@pytest.mark.parametrize("kind", ["squared_error", "gini"])
@pytest.mark.parametrize("distinct", [10**6, 700])
@pytest.mark.parametrize(("n", "depth", "min_leaf"), [(9000, 4, 1), (9000, 3, 40), (500, 30, 1)])
def test_every_cut_of_many_rows_is_the_best(level, kind, distinct, n, depth, min_leaf):
    """Sums of bins, rows of bins that can hold the best cut, and rows copied into local ranks."""
    rng = np.random.default_rng(n + min_leaf)
    X = np.floor(rng.standard_normal((n, 4)) * distinct / 7) / 3
    signal = np.sin(X[:, 1] / X[:, 1].std()) + 0.05 * X[:, 2] / X[:, 2].std()
    y, w = signal + rng.standard_normal(n), rng.integers(1, 4, n).astype(float)
    y = (y > 0).astype(int) if kind == "gini" else y
    target = Target.labels(y, 2) if kind == "gini" else Target.numbers(y)
    limits = FREE._replace(max_depth=depth, min_leaf=min_leaf)
    grown = grow_tree(CodedColumns.of(X), target, w, np.arange(n), SplitRules(kind), limits, 1)
    stack, seen = [(0, np.arange(n))], 0
    while stack:
        node, rows = stack.pop()
        k, left, right = grown.links[:, node]
        if k < 0:
            continue
        seen += 1
        found = [best_decrease(X[rows, j], y[rows], w[rows], min_leaf) for j in range(4)]
        low = X[rows, k] <= grown.threshold[node]
        parts = rows[low], rows[~low]
        held = sum(impurity(y[p], w[p], 0, "squared_error") for p in parts)
        fall = impurity(y[rows], w[rows], 0, "squared_error") - held
        scale = impurity(y[rows], w[rows], 0, "squared_error")
        assert fall == pytest.approx(max(found), abs=1e-10 * scale)
        assert min(low.sum(), (~low).sum()) >= min_leaf
        stack += [(left, parts[0]), (right, parts[1])]
    assert seen > 5


@pytest.mark.parametrize("kind", ["squared_error", "gini", "entropy"])
def test_local_ranks_take_missing_values_and_categories(kind):
    """Nodes of best-first growth are in X, those of depth-first growth are copied: equal trees."""
    rng = np.random.default_rng(2)
    n = 5000
    X = rng.standard_normal((n, 4))
    X[:, 1] = rng.integers(0, 20, n)
    X[:, 2][rng.random(n) < 0.3] = np.nan
    X[:, 1][rng.random(n) < 0.1] = np.nan
    y = X[:, 0] + (X[:, 1] % 3 == 1) + np.isnan(X[:, 2]) + rng.standard_normal(n)
    target = Target.numbers(y)
    if kind != "squared_error":
        target = Target.labels(np.digitize(y, [0.0, 1.5]), 3)
    rules = SplitRules(kind, categorical=np.array([0, 1, 0, 0], np.uint8))
    columns, w, rows = CodedColumns.of(X), np.ones(n), np.arange(n)
    limits = FREE._replace(max_depth=9)
    copied = grow_tree(columns, target, w, rows, rules, limits, 1)
    plain = grow_tree(columns, target, w, rows, rules, limits._replace(max_leaves=n), 1)
    assert len(copied.threshold) == len(plain.threshold) > 300
    assert grown_leaves(copied, X) == grown_leaves(plain, X)
    assert {1, 2} <= set(copied.links[0])


def test_codes_number_the_distinct_values():
    X = np.array([[3.0, 0.0], [1.0, 0.0], [3.0, -0.0], [-2.0, 5.0]])
    coded = CodedColumns.of(X)
    assert coded.codes.tolist() == [[2, 1, 2, 0], [0, 0, 0, 1]]
    assert coded.values.tolist() == [-2.0, 1.0, 3.0, 0.0, 5.0]
    assert coded.starts.tolist() == [0, 3, 5]


def test_a_threshold_lies_between_neighbouring_numbers():
    a = 1.0
    X = np.array([[a], [np.nextafter(a, 2)]])
    grown = grow_tree(
        CodedColumns.of(X), Target.numbers([0.0, 1.0]), np.ones(2), np.arange(2),
        SplitRules("squared_error"), FREE, 1,
    )  # fmt: skip
    out = Trees.of([grown]).mean(X)
    assert out[:, 0].tolist() == [0.0, 1.0]
    big = np.array([[-1.7e308], [1.7e308]])  # their difference overflows
    grown = grow_tree(
        CodedColumns.of(big), Target.numbers([0.0, 1.0]), np.ones(2), np.arange(2),
        SplitRules("squared_error"), FREE, 1,
    )  # fmt: skip
    out = Trees.of([grown]).mean(big)
    assert out[:, 0].tolist() == [0.0, 1.0]


def test_broken_trees_are_refused():
    links = np.array([[0], [0], [0]], np.int32)  # a node that is its own child
    sides, roots = np.zeros(1, np.uint8), np.zeros(1, np.int64)
    value, values = np.zeros((1, 1)), np.zeros((3, 1))
    with pytest.raises(ValueError, match="children"):
        prepare_trees(links, np.zeros(1), sides, NO_CATEGORIES, roots, value)
    shared = np.array([[0, -1, -1], [1, -1, -1], [1, -1, -1]], np.int32)
    with pytest.raises(ValueError, match="children"):
        prepare_trees(shared, np.zeros(3), np.zeros(3, np.uint8), NO_CATEGORIES, roots, values)
    with pytest.raises(ValueError, match="root"):
        prepare_trees(links - 1, np.zeros(1), sides, NO_CATEGORIES, roots + 1, value)
    with pytest.raises(ValueError, match="length"):
        prepare_trees(links - 1, np.zeros(1), sides, NO_CATEGORIES, roots, values)
    good = np.array([[3, -1, -1], [1, -1, -1], [2, -1, -1]], np.int32)
    trees = prepare_trees(good, np.zeros(3), np.zeros(3, np.uint8), NO_CATEGORIES, roots, values)
    with pytest.raises(ValueError, match="column"):
        _core.find_leaves(trees, np.zeros((2, 1)), np.zeros((2, 1), np.int32), 1)
    with pytest.raises(ValueError, match="fit"):
        _core.find_leaves(trees, np.zeros((2, 4)), np.zeros((3, 1), np.int32), 1)


def plain_leaves(trees, X):
    """The leaf of every row in every tree, node by node."""
    found = np.empty((len(X), len(trees)), np.int64)
    for t, root in enumerate(trees.roots):
        for i, x in enumerate(X):
            at = root
            while (k := trees.links[0][at]) >= 0:
                missing = np.isnan(x[k])
                left = trees.missing_left[at] if missing else x[k] <= trees.threshold[at]
                at = trees.links[1][at] if left else trees.links[2][at]
            found[i, t] = at
    return found


@pytest.mark.parametrize("n", [2, 30])
def test_rows_find_their_leaves_where_float32_does_not_separate_values(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((60, 6))
    X[:, 1] = 1.7e9 + rng.integers(0, 300, 60)  # time stamps
    X[:, 2] = 1.0 + rng.integers(0, 9, 60) * 2.0**-40  # equal as float32
    X[:, 3] *= 1e300  # beyond float32
    X[:, 4] = rng.integers(-2, 3, 60) * 1e-50  # below it
    X[:, 5][rng.random(60) < 0.3] = np.nan
    columns, grown = CodedColumns.of(X), []
    for seed in range(6):
        target = Target.numbers(rng.standard_normal(60))
        limits = FREE._replace(columns=2)
        rules = SplitRules("squared_error")
        grown.append(grow_tree(columns, target, np.ones(60), np.arange(60), rules, limits, seed))
    trees = Trees.of(grown)
    assert set(trees.links[0]) >= set(range(6))
    limits = trees.threshold[trees.links[0] == 2][:1]
    new = np.concatenate([X[:n], X[:n] + np.array([0, 0, 2.0**-41, 0, 1e-51, 0])])
    new[0, 2] = limits[0] if len(limits) else 1.0  # on a threshold: left
    np.testing.assert_array_equal(trees.apply(new), plain_leaves(trees, new))
    known = np.nan_to_num(new)  # without missing values
    np.testing.assert_array_equal(trees.apply(known), plain_leaves(trees, known))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("n", [1, 11, 12, 13, 25, 2000])
def test_the_mean_of_trees_is_that_of_their_leaves(n, width, dtype):
    rng = np.random.default_rng(width)
    X, Y = rng.standard_normal((300, 4)), rng.integers(0, 4, (300, width)).astype(np.float64)
    columns, rules = CodedColumns.of(X), SplitRules("squared_error")
    grown = [
        grow_tree(columns, Target.numbers(Y), np.ones(300), np.arange(300), rules,
                  FREE._replace(columns=1), seed)
        for seed in range(5)
    ]  # fmt: skip
    trees = Trees.of(grown)
    new = rng.standard_normal((n, 4)).astype(dtype)
    new[rng.random((n, 4)) < 0.01] = np.nan
    mean = trees.value[plain_leaves(trees, new)].mean(axis=1)
    np.testing.assert_allclose(trees.mean(new), mean, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trees_flat_and_deep_give_the_sum_of_their_leaves_to_the_last_digit(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 3)), rng.standard_normal(500)
    grown = [
        grow_tree(CodedColumns.of(X), Target.numbers(y), np.ones(500), np.arange(500),
                  SplitRules("squared_error"), FREE._replace(max_depth=depth, columns=1), depth)
        for depth in (1, 5, 12, 13, 40)
    ]  # fmt: skip
    trees = Trees.of(grown)
    assert [trees.one(t).depth() for t in range(4)] == [1, 5, 12, 13]
    assert trees.one(4).depth() > 13
    new = rng.standard_normal((700, 3)).astype(dtype)
    total = np.zeros(700)
    for leaf in plain_leaves(trees, new).T:
        total += trees.value[leaf, 0]
    np.testing.assert_array_equal(trees.mean(new)[:, 0], total / 5)


@pytest.mark.parametrize("categorical", [[], [0, 1, 0]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_rows_are_found_wherever_they_stand(dtype, categorical):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (40, 3)).astype(np.float64)
    rules = SplitRules("squared_error", categorical=np.array(categorical, np.uint8))
    tree = grow_tree(
        CodedColumns.of(X), Target.numbers(rng.standard_normal(40)), np.ones(40), np.arange(40),
        rules, FREE, 0,
    )  # fmt: skip
    trees = Trees.of([tree])
    new = np.full((3001, 3), np.finfo(dtype).max, dtype)
    new[5, 1] = np.nan
    assert np.isfinite(trees.mean(new, finite=True)).all()
    for row, column, value in [(0, 0, np.inf), (3000, 2, -np.inf), (1500, 1, np.inf)]:
        wrong = new.copy()
        wrong[row, column] = value
        with pytest.raises(InfiniteRows):
            trees.mean(wrong, finite=True)
        assert np.isfinite(trees.mean(wrong)).all()
