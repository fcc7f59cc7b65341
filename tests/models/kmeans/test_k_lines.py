"""KLines: the book's steps, lines that cross, weights, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import kilogram as kg
from kilogram.textbook import k_means
from kilogram.textbook.state import run


def crossing(n=60, k=3, noise=0.02, d=2, seed=0):
    """k lines of random direction, n rows each."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((k, d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    a, own = rng.standard_normal((k, d)), np.repeat(np.arange(k), n)
    t = rng.uniform(-5, 5, n * k)
    return a[own] + t[:, None] * v[own] + noise * rng.standard_normal((n * k, d)), own


def test_equals_the_book_from_the_same_labels():
    X, _ = crossing()
    first = np.random.default_rng(1).integers(0, 3, len(X))
    book = run(k_means.k_lines(X, first))
    fast = kg.KLines(3, init=first).fit(X)
    np.testing.assert_array_equal(fast.labels_, book["c"])
    assert fast.inertia_ == pytest.approx(book.objective)
    np.testing.assert_allclose(np.abs((fast.directions_ * book["v"]).sum(axis=1)), 1.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 2), (4, 3), (5, 6)])
def test_lines_are_found(seed, k, d):
    X, own = crossing(k=k, d=d, seed=seed)
    model = kg.KLines(k, random_state=0).fit(X)
    assert adjusted_rand_score(own, model.labels_) > (0.75 if d == 2 else 0.95)
    assert model.inertia_ < 2 * 60 * k * (d - 1) * 0.02**2
    assert model.objective(X) == pytest.approx(model.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_one_line_is_the_first_principal_axis():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [3, 1, 0.5] + 7
    model = kg.KLines(1).fit(X)
    pca = kg.PCA(1).fit(X)
    assert abs(float((model.directions_ * pca.components_).sum())) == pytest.approx(1.0)
    np.testing.assert_allclose(model.points_[0], X.mean(axis=0))


def test_weights_from_given_labels_are_repetitions():
    X, own = crossing(noise=0.3)
    w = np.random.default_rng(0).integers(0, 4, len(X))
    ours = kg.KLines(3, init=own).fit(X, sample_weight=w)
    many = kg.KLines(3, init=np.repeat(own, w)).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(ours.transform(X), many.transform(X), atol=1e-9)
    assert ours.inertia_ == pytest.approx(many.inertia_, rel=1e-10)


def test_float32_stays():
    X, _ = crossing()
    model = kg.KLines(3, random_state=0).fit(X.astype(np.float32))
    assert model.points_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32


def test_degenerate_rows():
    assert kg.KLines(2, random_state=0).fit(np.ones((6, 2))).inertia_ == 0
    assert kg.KLines(1).fit([[1.0, 2.0]]).inertia_ == 0
    X, _ = crossing()
    assert kg.KLines(90, random_state=0, n_init=1).fit(X[:90]).inertia_ < 1e-6
    one_column = kg.KLines(2, random_state=0).fit(X[:, :1])
    assert one_column.inertia_ == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 500}, "n_samples=180"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"init": "random"}, "init must be"),
        ({"init": np.zeros(3, int)}, "init must be an array of"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_bad_input(params, message):
    with pytest.raises(ValueError, match=message):
        kg.KLines(**params).fit(crossing()[0])
