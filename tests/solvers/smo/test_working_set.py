"""Block SMO against a plain quadratic program, and its parts against a few lines of NumPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

import kilogram as kg
from kilogram.native.svm import add_rows, pair_steps, select_block, square_from, square_of
from kilogram.solvers.smo import (
    BlockOptions,
    StoredRows,
    certify,
    fit_machine,
    kernel_rows,
    soft_margin,
    solve_block,
    tube,
)
from kilogram.solvers.smo.cache import SlotCache
from kilogram.solvers.smo.compiled_rows import BitRows, NativeRows, packed_bits
from kilogram.solvers.smo.row_storage import ArrayRows
from kilogram.solvers.smo.working_set import NotSeparable

TIGHT = BlockOptions(tol=1e-9)


def plain_qp(K, P):
    """The same dual by a general solver."""
    Q = K[np.ix_(P.point, P.point)] + np.diag(P.s)
    found = minimize(
        lambda b: 0.5 * b @ Q @ b - P.t @ b,
        np.zeros(len(P.t)),
        jac=lambda b: Q @ b - P.t,
        bounds=list(zip(P.lower, P.upper, strict=True)),
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.x


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 3.0, n)


@pytest.mark.parametrize("slack", [1, 2])
@pytest.mark.parametrize("machine", ["soft margin", "tube"])
def test_equals_a_quadratic_program(machine, slack):
    X, y, C = problem()
    K = kg.Gaussian(1.0)(X)
    P = (
        soft_margin(y, C, slack=slack)
        if machine == "soft margin"
        else tube(X[:, 1], C, 0.1, slack=slack)
    )
    found = solve_block(StoredRows(K), P, TIGHT)
    want = plain_qp(K, P)
    b, g = found.value
    np.testing.assert_allclose(
        found.objective, 0.5 * want @ K[np.ix_(P.point, P.point)] @ want
        + 0.5 * P.s @ want**2 - P.t @ want, rtol=1e-6)  # fmt: skip
    beta = np.bincount(P.point, weights=b)
    np.testing.assert_allclose(K @ beta, K @ np.bincount(P.point, weights=want), atol=2e-4)
    np.testing.assert_allclose(g, K @ beta, atol=1e-10)
    assert found.converged
    assert abs(b.sum()) < 1e-10
    certificate = certify(P, b, g)
    assert certificate.violation <= 1e-9
    assert -1e-9 <= certificate.gap < 1e-6


@pytest.mark.parametrize("slack", [1, 2])
def test_kkt_conditions(slack):
    X, y, C = problem(80, 3)
    P = soft_margin(y, C, slack=slack)
    machine = fit_machine(kg.Gaussian(1.0), X, P, TIGHT, limit=2**28)
    a = machine.coef * y
    margin = y * (machine.dual.g + machine.certificate.bias)
    assert (a >= 0).all()
    if slack == 2:
        margin = margin + a / (2 * C)  # the slack is a / (2 C)
        free, bound = a > 0, np.zeros(len(a), bool)
    else:
        assert (a <= C).all()
        free, bound = (a > 0) & (a < C), a == C
        assert bound.any()
    assert free.any()
    np.testing.assert_allclose(margin[free], 1.0, atol=1e-8)
    assert (margin[a == 0] >= 1 - 1e-8).all()
    assert (margin[bound] <= 1 + 1e-8).all()


def test_bias_without_free_vectors_is_the_middle():
    """Two points, C = 1/4: both at the bound, b anywhere in [-1/2, 1/2]."""
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    P = soft_margin(np.array([1.0, -1.0]), np.full(2, 0.25), slack=1)
    b, g = solve_block(StoredRows(K), P, TIGHT).value
    np.testing.assert_array_equal(b, [0.25, -0.25])
    assert certify(P, b, g).bias == pytest.approx(0.0)


def test_pair_steps_keep_gradient_and_sum():
    X, y, C = problem(70, 1)
    K, P = kg.Gaussian(1.0)(X), soft_margin(y, C, slack=2)
    f, b = -P.t.copy(), np.zeros(70)
    done = pair_steps(K, P.s, P.lower, P.upper, f, b, tol=1e-3, max_steps=10_000)
    np.testing.assert_allclose(f, K @ b + P.s * b - P.t, atol=1e-12)
    assert done.violation <= 1e-3
    assert abs(b.sum()) < 1e-13
    again = pair_steps(K, P.s, P.lower, P.upper, f, b, tol=1e-3, max_steps=10_000)
    assert again.steps == 0


def test_select_block_takes_the_worst_from_both_ends():
    rng = np.random.default_rng(0)
    m = 101
    g, b = rng.standard_normal(m), rng.integers(0, 3, m) / 2.0
    ones = np.ones(m)
    variables = (np.arange(m), 0.5 * ones, 0.25 * ones, 0 * ones, ones)
    kept = (rng.random(m) < 0.1).astype(np.uint8)
    f = np.empty(m)
    found = select_block(variables, b, g, kept, 20, f)
    np.testing.assert_allclose(f, g + 0.25 * b - 0.5)
    assert found.smallest == f[b < 1].min()
    assert found.largest == f[b > 0].max()
    assert len(set(found.chosen)) == 20
    assert not kept[found.chosen].any()
    up = np.flatnonzero((b < 1) & (kept == 0))
    assert set(up[np.argsort(f[up])[:10]]) == set(found.chosen[:10])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, 1030])
def test_rows_are_added_in_float64(dtype, n):
    rng = np.random.default_rng(0)
    K = rng.standard_normal((9, n)).astype(dtype)
    at, delta, g = np.array([0, 8, 3, 3, 5]), rng.standard_normal(5), rng.standard_normal(n)
    want = g + delta @ K[at].astype(float)
    add_rows(K, at, delta, g)
    np.testing.assert_allclose(g, want, rtol=1e-13, atol=1e-13)
    square = rng.standard_normal((9, 9)).astype(dtype)
    np.testing.assert_array_equal(square_of(square, at), square[np.ix_(at, at)].astype(float))


@pytest.mark.parametrize("limit", [2**30, 40 * 300 * 8, 1])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kernel", [kg.Gaussian(2.0), kg.Polynomial(2), kg.Laplacian()])
def test_native_rows_with_any_cache(kernel, single, limit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) + 5.0
    K, rows = kernel(X), NativeRows(kernel, X, limit, single)
    g, want = np.zeros(300), np.zeros(300)
    tol = 1e-4 * np.abs(K).max() if single else 1e-9 * np.abs(K).max()
    for _ in range(6):
        at = rng.choice(300, 70, replace=False)
        delta = rng.standard_normal(70)
        rows.add(at, delta, g)
        want += delta @ K[at]
        np.testing.assert_allclose(g, want, atol=20 * tol)
        np.testing.assert_allclose(rows.square(at), K[np.ix_(at, at)], atol=tol)


@pytest.mark.parametrize("narrow", [2, 256])
def test_only_rows_marked_are_kept(narrow, monkeypatch):
    monkeypatch.setattr("kilogram.solvers.smo.compiled_rows.NARROW", narrow)
    rng = np.random.default_rng(1)
    X, kernel = rng.standard_normal((250, 4)), kg.Gaussian(1.0)
    K, rows, g, want = kernel(X), NativeRows(kernel, X, 2**30, False), np.zeros(250), np.zeros(250)
    held = set()
    for _ in range(5):
        at, delta = rng.choice(250, 60, replace=False), rng.standard_normal(60)
        again = rng.random(60) < 0.3
        rows.add(at, delta, g, again)
        held |= set(at[again])
        want += delta @ K[at]
        np.testing.assert_allclose(g, want, atol=1e-11)
        np.testing.assert_allclose(rows.square(at), K[np.ix_(at, at)], atol=1e-12)
    assert set(np.flatnonzero(rows.slots.slot >= 0)) == held
    assert rows.slots.filled == len(held)


def test_slots_open_when_rows_are_made_again():
    slots = SlotCache(100, 2**20, 8, first=4, patience=2.0)
    assert (slots.open, slots.capacity) == (4, 100)
    slots.place(np.arange(20))
    assert slots.filled == 4
    slots.place(np.arange(4, 10), np.zeros(6, bool))  # six made again, eight are bearable
    assert slots.open == 4
    slots.place(np.arange(4, 10))
    assert slots.open == slots.filled == 8
    assert sorted(slots.owner[:8]) == sorted(np.flatnonzero(slots.slot >= 0))
    for _ in range(60):
        slots.place(np.arange(100), np.zeros(100, bool))
    assert slots.open == 100


def zeros_and_ones(n, d, dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).random((n, d)) < 0.3).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 64, 65, 130, 200, 256, 300])
@pytest.mark.parametrize(
    "kernel", [kg.Gaussian(2.0), kg.Matern(nu=1.5), kg.RationalQuadratic(), kg.Linear(),
               kg.Polynomial(3)], ids=lambda k: type(k).__name__)  # fmt: skip
def test_rows_of_bits(kernel, d, dtype):
    X = zeros_and_ones(203, d, dtype)
    kernel = kernel.resolve(X)
    K, rows, g = kernel(X.astype(float)), BitRows(kernel, X, packed_bits(X)), np.zeros(203)
    rng = np.random.default_rng(3)
    scale = np.abs(K).max()
    at, delta = rng.choice(203, 70, replace=False), rng.standard_normal(70)
    rows.add(at, delta, g)
    np.testing.assert_allclose(g, delta @ K[at], atol=1e-12 * scale)
    square = rows.square(at)
    assert square.dtype == dtype
    tol = 1e-6 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(square, K[np.ix_(at, at)], atol=tol * scale)
    np.testing.assert_allclose(rows.diag(), np.diagonal(K), atol=1e-13 * scale)


def test_only_zeros_and_ones_are_bits():
    X = zeros_and_ones(100, 9)
    assert packed_bits(X).shape == (100, 1)
    for value in (2.0, -1.0, 0.5, 1e-30):
        for row in (3, 99):
            other = X.copy()
            other[row, 4] = value
            assert packed_bits(other) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("machine", ["soft margin", "tube"])
def test_bits_reach_the_point_of_the_whole_matrix(machine, dtype, monkeypatch):
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.WHOLE", 0)
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    X, rng = zeros_and_ones(400, 30, dtype), np.random.default_rng(4)
    t = X @ rng.standard_normal(30) + rng.standard_normal(400)
    C, options = rng.uniform(0.5, 2.0, 400), BlockOptions(tol=1e-7, block=64)
    P = (
        soft_margin(np.where(t > t.mean(), 1.0, -1.0), C, slack=1)
        if machine == "soft margin"
        else tube(t, C, 0.2, slack=1)
    )
    rows = kernel_rows(kg.Gaussian(gamma=0.1), X, limit=2**28)
    assert isinstance(rows, BitRows)
    whole = StoredRows(kg.Gaussian(gamma=0.1)(X.astype(float)))
    got, want = solve_block(rows, P, options), solve_block(whole, P, options)
    assert got.converged
    assert got.objective == pytest.approx(want.objective, rel=1e-8)
    assert certify(P, got.value.b, whole.K @ np.bincount(P.point, got.value.b)).violation <= 2e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("slack", [1, 2])
def test_wide_points_have_small_blocks_and_the_same_solution(slack, dtype):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((640, 300)).astype(dtype)
    y = np.where(X[:, :5].sum(axis=1) + rng.standard_normal(640) > 0, 1.0, -1.0)
    kernel, P = kg.Gaussian(gamma=1 / 300), soft_margin(y, rng.uniform(0.5, 2.0, 640), slack=slack)
    rows = kernel_rows(kernel, X, limit=2**28)
    assert isinstance(rows, NativeRows)
    assert isinstance(kernel_rows(kernel, X, limit=2**28, shared=True), StoredRows)
    assert isinstance(kernel_rows(kernel, X[:, :200], limit=2**28), StoredRows)
    K = kernel(X.astype(float))
    got = fit_machine(kernel, X, P, BlockOptions(tol=1e-4), limit=2**28)
    want = solve_block(StoredRows(K), P, BlockOptions(tol=1e-4))
    assert got.certificate.violation <= 1e-4
    assert certify(P, got.dual.b, K @ got.dual.b).violation <= 2e-4
    assert got.found.objective == pytest.approx(want.objective, rel=1e-5)


@pytest.mark.parametrize("capacity", [3, 40, 200])
@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_array_rows_of_other_libraries(library, capacity, monkeypatch):
    xp = pytest.importorskip(library)
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.ROWS_AT_ONCE", 16)
    X = np.random.default_rng(0).standard_normal((60, 3))
    kernel = kg.Gaussian(1.0)
    rows = ArrayRows(kernel, xp.asarray(X), capacity * 60 * 8)
    g, K = np.zeros(60), kernel(X)
    for at in (np.arange(30), np.arange(15, 60), np.arange(0, 60, 2)):
        rows.add(at, 1.0 + at, g)
        assert rows.filled <= max(capacity, 1)
    want = sum((1.0 + at) @ K[at] for at in (np.arange(30), np.arange(15, 60), np.arange(0, 60, 2)))
    np.testing.assert_allclose(g, want, rtol=1e-12)
    assert all(type(block).__module__.startswith(library) for block in rows.blocks.values())
    np.testing.assert_allclose(rows.square(np.arange(5)), K[:5, :5], atol=1e-12)
    np.testing.assert_allclose(rows.diag(), np.ones(60))


def test_slots_go_to_the_latest_used():
    slots = SlotCache(10, 4 * 8, 8)
    assert slots.capacity == 4
    slots.place(np.array([0, 1, 2, 3]))
    slots.place(np.array([2, 3]))
    found, missing, places = slots.place(np.array([2, 7, 8]))
    assert list(found) == [0]
    assert list(missing) == [1, 2]
    assert sorted(slots.owner) == [2, 3, 7, 8]
    assert (slots.slot[[0, 1]] == -1).all()
    assert list(slots.owner[places]) == [7, 8]
    placed = slots.place(np.arange(10))
    assert (placed.places >= 0).sum() == 0 + 4 - len(placed.found)


@pytest.mark.parametrize("block", [8, 64, 1024])
def test_blocks_of_any_size_reach_the_same_point(block, monkeypatch):
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    X, y, C = problem(300, 5)
    K, P = kg.Gaussian(1.0)(X), soft_margin(y, C, slack=1)
    found = solve_block(StoredRows(K), P, BlockOptions(tol=1e-8, block=block))
    assert found.converged
    assert certify(P, *found.value).gap < 1e-4
    np.testing.assert_allclose(found.objective, solve_block(StoredRows(K), P, TIGHT).objective)


class Counted(NativeRows):
    passes = 0

    def add(self, points, delta, g, again=None):
        self.passes += 1
        super().add(points, delta, g, again)


@pytest.mark.parametrize("limit", [2**30, 40 * 600 * 8])
@pytest.mark.parametrize("machine", ["soft margin", "tube"])
def test_shrinking_leaves_the_others_alone_and_ends_at_the_same_point(machine, limit, monkeypatch):
    """Many free variables: sets of several blocks, fewer passes over all rows, one answer."""
    monkeypatch.setattr("kilogram.solvers.smo.working_set.WHOLE", 0)
    X, y, _ = problem(600, 7)
    kernel, C = kg.Gaussian(0.5), np.full(600, 10.0)
    P = (
        soft_margin(y, C, slack=1)
        if machine == "soft margin"
        else tube(X[:, 1] ** 2, 0.1 * C, 0.02, slack=1)
    )
    found, passes = {}, {}
    for shrinking in (False, True):
        rows = Counted(kernel, X, limit, single=False)
        options = BlockOptions(tol=1e-5, block=32, shrinking=shrinking)
        found[shrinking] = solve_block(rows, P, options)
        assert found[shrinking].converged
        assert certify(P, *found[shrinking].value).violation <= 1e-5
        passes[shrinking] = rows.passes
    assert passes[True] < (0.5 if limit > 2**20 else 1.01) * passes[False]
    np.testing.assert_allclose(found[True].objective, found[False].objective, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_come_from_kept_rows_and_symmetry(dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((90, 90))
    K = (A + A.T).astype(dtype)
    cache, slot = np.zeros((40, 90), dtype=dtype), np.full(90, -1)
    for place, row in enumerate(rng.choice(90, 40, replace=False)):
        cache[place], slot[row] = K[row], place
    at = rng.choice(90, 70, replace=False)
    lacking = at[slot[at] < 0]
    assert 0 < len(lacking) < 70
    made = np.ascontiguousarray(K[np.ix_(lacking, lacking)])
    got = square_from(cache, slot[at], at, made)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, K[np.ix_(at, at)])


def test_start_from_a_dual_point():
    X, y, C = problem(100, 2)
    P = soft_margin(y, C, slack=1)
    cold = fit_machine(kg.Gaussian(1.0), X, P, TIGHT, limit=2**28)
    warm = fit_machine(kg.Gaussian(1.0), X, P, TIGHT, limit=2**28, start=cold.dual.b)
    assert warm.found.n_iter <= 5
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-8)


def test_hard_margin_on_what_cannot_be_separated_is_refused():
    X, y, _ = problem()
    P = soft_margin(y, np.full(len(y), np.inf), slack=1)
    rows = kernel_rows(kg.Linear(), X, limit=2**28)
    with pytest.raises(NotSeparable, match="finite C"):
        solve_block(rows, P, BlockOptions())


def test_max_steps_and_tick_stop_with_a_feasible_point():
    X, y, C = problem(200, 4)
    P = soft_margin(y, C, slack=1)
    rows = kernel_rows(kg.Gaussian(1.0), X, limit=2**28)
    few = solve_block(rows, P, BlockOptions(tol=1e-8, max_steps=7))
    assert (few.n_iter, few.converged) == (7, False)
    assert "max_iter" in few.message
    stopped = solve_block(rows, P, BlockOptions(tol=1e-8, tick=lambda step, value: step > 1))
    assert "time" in stopped.message
    for b, _ in (few.value, stopped.value):
        assert abs(b.sum()) < 1e-12
        assert ((b >= P.lower) & (b <= P.upper)).all()


def test_float32_rows_only_where_they_are_not_seen(monkeypatch):
    monkeypatch.setattr("kilogram.solvers.smo.row_storage.WHOLE", 0)
    from kilogram.solvers.smo.binary_machine import may_round

    X, y, _ = problem(500, 6)
    k, P = kg.Gaussian(1.0), soft_margin(y, np.ones(500), slack=1)
    assert may_round(k, X, P, 1e-3)
    assert not may_round(k, X, P, 1e-9)
    assert not may_round(k, X, soft_margin(y, np.full(500, 1e6), slack=1), 1e-3)
    assert not may_round(kg.Linear(), 1e6 * X, P, 1e-3)
    monkeypatch.setattr("kilogram.solvers.smo.binary_machine.may_round", lambda *a: True)
    tight = fit_machine(k, X, P, BlockOptions(tol=1e-9), limit=2**28)  # starts in float32
    np.testing.assert_allclose(tight.dual.g, k(X) @ tight.coef, atol=1e-11)
    assert tight.certificate.violation <= 1e-9


@pytest.mark.parametrize(
    "points", [[], [3], range(12), [0, 1, 2, 7, 8], [7, 8, 9, 0, 1], [5, 3, 1, 8, 2, 11, 0]]
)
def test_squares_of_a_stored_matrix(points):
    K = np.random.default_rng(2).random((12, 12))
    at = np.array(points, dtype=np.int64)
    np.testing.assert_array_equal(StoredRows(K).square(at), K[np.ix_(at, at)])
