"""KernelKMeans pass by pass: sums corrected by the changed rows equal sums made anew."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.operators.gram import Gram
from kilogram.solvers.cluster import trace

N, K = 300, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)) + 2.0 * RNG.integers(0, 3, size=(N, 1))
FIRST = RNG.integers(K, size=N)
W = RNG.integers(1, 4, size=N).astype(float)
KERNEL = kg.Gaussian(sigma=2.0)


def plain(A, labels, w):
    """The trace form with a whole product every pass, until labels repeat."""
    while True:
        a = np.eye(K)[labels] * w[:, None]
        a = a / a.sum(axis=0)
        D = np.diag(A)[:, None] - 2 * A @ a + np.diag(a.T @ A @ a)
        found = D.argmin(axis=1)
        if (found == labels).all():
            return labels, w @ D[np.arange(len(labels)), labels]
        labels = found


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("small", [0, N])
@pytest.mark.parametrize("rows", [X, X.astype(np.float32)])
def test_fit_is_the_plain_trace_form(monkeypatch, weights, small, rows):
    monkeypatch.setattr(trace, "SMALL", small)  # 0: K made in cache, N: K kept
    labels, inertia = plain(
        KERNEL(rows.astype(float)), FIRST, np.ones(N) if weights is None else weights
    )
    model = kg.KernelKMeans(K, kernel=KERNEL, init=FIRST).fit(rows, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-10)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("count", [1, 2, 100, 290])
def test_sums_follow_the_labels(store, count):
    space = trace.Space(Gram(KERNEL, X, store=store), np.ones(N), W)
    sums = trace.Sums(space, K)
    sums.move(FIRST)
    other = FIRST.copy()
    other[-count:] = (other[-count:] + 1) % K
    for labels in (other, other, FIRST):
        sums.move(labels)
        whole = KERNEL(X) @ (np.eye(K)[labels] * W[:, None])
        np.testing.assert_allclose(sums.KWZ, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [kg.Gaussian(2.0) + kg.White(0.5), kg.White(1.0)])
def test_noise_belongs_to_a_row_and_itself(monkeypatch, kernel):
    monkeypatch.setattr(trace, "SMALL", 0)
    labels, inertia = plain(kernel(X), FIRST, np.ones(N))
    model = kg.KernelKMeans(K, kernel=kernel, init=FIRST, max_memory="1KiB").fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(inertia)


def test_products_by_some_rows():
    V = RNG.normal(size=(7, 4))
    some = RNG.choice(N, 7, replace=False)
    for K_ in (Gram(KERNEL, X, store=True), Gram(KERNEL, X, store=False),
               Gram(kg.Precomputed(), KERNEL(X))):  # fmt: skip
        np.testing.assert_allclose(K_.by_rows_of(some, V), KERNEL(X)[:, some] @ V, atol=1e-13)


@pytest.mark.parametrize(
    ("n", "d", "starts", "kept"),
    [(2_000, 3, 1, True), (2_001, 3, 1, False), (2_001, 200, 1, True), (2_001, 3, 10, True)],
)
def test_matrix_is_kept_where_it_is_dear(n, d, starts, kept):
    model = kg.KernelKMeans(3, n_init=starts)
    model.kernel_ = KERNEL
    assert (model._stores(np.zeros((n, d))) == "auto") == kept
