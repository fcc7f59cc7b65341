"""KernelKMeans pass by pass: sums corrected by the changed rows equal sums made anew."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import kilogram as kg
from kilogram.operators.gram import Gram
from kilogram.solvers.lloyd import kernel_lloyd as trace

N, K = 300, 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)) + 2.0 * RNG.integers(0, 3, size=(N, 1))
FIRST = RNG.integers(K, size=N)
W = RNG.integers(1, 4, size=N).astype(float)
KERNEL = kg.Gaussian(sigma=2.0)
ROWS = X[:40]


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
    space = trace.KernelSpace(Gram(KERNEL, X, store=store), np.ones(N), W)
    sums = trace.ClusterProducts(space, K)
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


@pytest.mark.parametrize("approximation", [None, "nystroem", "fourier"])
def test_score_is_minus_the_objective(approximation):
    model = kg.KernelKMeans(3, approximation=approximation, random_state=0).fit(ROWS)
    assert model.score(ROWS) == pytest.approx(-model.inertia_)


@pytest.mark.parametrize("kernel", ["precomputed", kg.Precomputed()])
def test_a_given_matrix_says_nothing_of_distances(kernel):
    """By name it was refused, as an object k(x, x) was taken for 0."""
    K = kg.Gaussian(sigma=1.0)(ROWS)
    with pytest.raises(NotFittedError):
        kg.KernelKMeans(3, kernel=kernel).transform(K)
    model = kg.KernelKMeans(3, kernel=kernel, random_state=0).fit(K)
    np.testing.assert_array_equal(model.predict(K), model.labels_)
    assert get_tags(model).input_tags.pairwise
    with pytest.raises(ValueError, match="Use predict"):
        model.transform(K)


def test_labels_of_sparse_rows_are_whole_numbers():
    K = kg.Gaussian(sigma=1.0)(ROWS)
    given = kg.KernelKMeans(3, kernel="precomputed", random_state=0).fit(sp.csr_array(K))
    rows = kg.KernelKMeans(3, kernel=kg.Gaussian(sigma=1.0), random_state=0).fit(sp.csr_array(ROWS))
    for model, seen in ((given, K), (rows, ROWS)):
        labels = model.predict(sp.csr_array(seen))
        assert labels.dtype == np.int32
        np.testing.assert_array_equal(labels, model.labels_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:9], "square"),
        (lambda K: K + np.triu(0.1 + 0 * K, 1), "symmetric"),
        (lambda K: -K, "inner products"),
        (lambda K: np.sqrt(2 - 2 * K), "inner products"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(change, message):
    """Half of such a matrix was read, or all rows were one cluster."""
    K = change(np.minimum(kg.Gaussian(sigma=1.0)(ROWS), 1.0))
    with pytest.raises(ValueError, match=message):
        kg.KernelKMeans(3, kernel="precomputed").fit(K)


@pytest.mark.parametrize("labels", [np.full(40, 0.5), np.full(40, np.nan), ["a"] * 40, [3] * 40])
@pytest.mark.parametrize("model", [kg.KernelKMeans(3), kg.KLines(3)])
def test_first_labels_are_integers(model, labels):
    with pytest.raises(ValueError, match="integers from 0 to 2"):
        model.set_params(init=labels).fit(ROWS)


def test_first_labels_need_the_exact_method():
    model = kg.KernelKMeans(3, init=np.arange(40) % 3, approximation="nystroem")
    with pytest.raises(ValueError, match="approximation=None"):
        model.fit(ROWS)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "precomputed"])
@pytest.mark.parametrize("init", ["k-means++", "random", "farthest"])
def test_copies_of_a_centre_are_one_to_labels_and_predict(kernel, init):
    """Fewer distinct rows than clusters: the first of equal centres has the row, in fit and use."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((3, 3))[rng.integers(0, 3, 40)]
        given = kg.Gaussian(sigma=1.5)(rows) if kernel == "precomputed" else rows
        model = kg.KernelKMeans(8, kernel=kernel, init=init, random_state=seed)
        with pytest.warns(kg.base.ConvergenceWarning, match="distinct clusters"):
            labels = model.fit(given).labels_
        np.testing.assert_array_equal(model.predict(given), labels)
        same = (rows[:, None] == rows).all(axis=2)
        np.testing.assert_array_equal(labels[:, None] == labels, same)
