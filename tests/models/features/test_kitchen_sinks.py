"""Kitchen sinks: ridge on random features that are never stored, for numbers and for classes."""

from __future__ import annotations

import tracemalloc

import array_api_strict
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeClassifier

import kilogram as kg
from kilogram.models.features.fourier_moments import feature_moments
from kilogram.textbook import random_kitchen_sinks as book
from kilogram.textbook.state import run
from tests.optional import torch

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 4))
y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 100.0
w = rng.uniform(0.1, 3.0, size=300)
labels = np.digitize(y - 100, [0.3, 1.5])


def sinks(cls=kg.KitchenSinksRegressor, **params):
    return cls(**{"n_components": 60, "alpha": 0.1, "random_state": 0, **params})


@pytest.mark.parametrize("weights", [None, w])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", [y, np.column_stack([y, -y, X[:, 2]])], ids=["one", "three"])
def test_it_is_ridge_on_the_features(targets, fit_intercept, weights):
    model = sinks(fit_intercept=fit_intercept).fit(X, targets, sample_weight=weights)
    Z = kg.FourierFeatures(n_components=60, random_state=0).fit_transform(X)
    want = SklearnRidge(alpha=0.1, fit_intercept=fit_intercept).fit(Z, targets, weights)
    assert_allclose(model.coef_, want.coef_, atol=1e-7)
    assert_allclose(model.intercept_, want.intercept_, atol=1e-7)
    assert_allclose(model.predict(X), want.predict(Z), atol=1e-7)
    assert model.predict(X).shape == targets.shape


def test_it_is_the_books_algorithm():
    model = sinks(fit_intercept=False, kernel=kg.Gaussian(1.5)).fit(X, y)
    features = book.shifted_cosine(model.random_offset_)
    reference = run(book.kitchen_sinks(X, y, model.random_weights_, 0.1, features=features))
    assert_allclose(model.coef_, reference["a"], rtol=1e-7, atol=1e-8)
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-8)


def test_many_features_are_kernel_ridge():
    kernel, new = kg.Gaussian(1.5), X[:50] + 0.1
    K = kernel(X) + 0.1 * np.eye(300)
    want = kernel(new, X) @ np.linalg.solve(K, y - 100)
    errors = []
    for D in (30, 1920):
        model = sinks(kernel=kernel, n_components=D, fit_intercept=False).fit(X, y - 100)
        errors.append(np.sqrt(np.mean((model.predict(new) - want) ** 2)))
    assert errors[1] < 0.3 * errors[0]


def test_alpha_zero_is_least_squares_of_smallest_norm():
    model = sinks(alpha=0.0, n_components=200, fit_intercept=False).fit(X[:50], y[:50])
    assert_allclose(model.predict(X[:50]), y[:50], rtol=1e-4)


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_containers_agree(task):
    cls, t = (
        (kg.KitchenSinksRegressor, y)
        if task == "regression"
        else (
            kg.KitchenSinksClassifier,
            labels,
        )
    )
    model = sinks(cls)
    answer = "predict" if task == "regression" else "decision_function"
    want = getattr(model.fit(X, t, w), answer)(X)
    chunks = {"X": da.from_array(X, (90, 4)), "t": da.from_array(t, 90), "w": da.from_array(w, 90)}
    model.fit(chunks["X"], chunks["t"], chunks["w"])
    lazy = getattr(model, answer)(chunks["X"])
    assert isinstance(lazy, da.Array)
    assert_allclose(lazy.compute(), want, atol=1e-6)
    blocks = [(X[:100], t[:100], w[:100]), (X[100:], t[100:], w[100:])]
    assert_allclose(getattr(model.fit(blocks), answer)(X), want, atol=1e-6)
    sparse = scipy.sparse.csr_array(X)
    assert_allclose(getattr(model.fit(sparse, t, w), answer)(sparse), want, atol=1e-6)
    part = sinks(cls)
    for rows in (slice(0, 120), slice(120, 300)):
        part.partial_fit(X[rows], t[rows], sample_weight=w[rows])
    assert_allclose(getattr(part, answer)(X), want, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_torch(dtype):
    A, t = torch.asarray(X, dtype=dtype), torch.asarray(y, dtype=dtype)
    got = sinks().fit(A, t).predict(A)
    assert got.dtype == dtype
    assert_allclose(
        got, sinks().fit(X, y).predict(X), atol=1e-5 if dtype == torch.float64 else 0.05
    )


def test_float32_keeps_its_digits():
    A, t = X.astype(np.float32), y.astype(np.float32)
    model = sinks().fit(A, t)
    assert model.coef_.dtype == np.float32
    assert model.predict(A).dtype == np.float32
    assert_allclose(model.predict(A), sinks().fit(X, y).predict(X), atol=1e-2)


def test_moments_in_blocks_of_any_library(monkeypatch):
    phi = sinks().fit(X, y)._map()
    want = feature_moments(phi, X, y, w)
    monkeypatch.setattr("kilogram.models.features.fourier_moments.BLOCK_ENTRIES", 60 * 64)
    got = feature_moments(phi, torch.asarray(X), torch.asarray(y), torch.asarray(w))
    for name in ("weight", "mean", "scatter", "mean_y", "cross", "scatter_y"):
        assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-8, atol=1e-8)


def test_features_are_never_stored():
    n, D = 20_000, 400
    big = np.random.default_rng(0).standard_normal((n, 5))
    tracemalloc.start()
    try:
        model = sinks(n_components=D).fit(big, big[:, 0])
        model.predict(big)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.75 * n * D * 8
    assert sum(np.asarray(v).nbytes for v in vars(model).values() if hasattr(v, "nbytes")) < 1e5


def test_widths():
    median = sinks(sigma="median").fit(X, y).kernel_.sigma
    assert median == kg.Gaussian("median").resolve(X).sigma
    assert sinks(gamma="scale").fit(X, y).kernel_.gamma == pytest.approx(1 / (4 * X.var()))
    assert sinks(kernel="laplacian", gamma=0.3).fit(X, y).kernel_ == kg.Laplacian(gamma=0.3)
    with pytest.raises(ValueError, match="not both"):
        sinks(sigma=1.0, gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="alpha must be"):
        sinks(alpha=-1.0).fit(X, y)


def test_partial_fit_begins_anew_after_fit():
    model = sinks().fit(X, y)
    with pytest.warns(UserWarning, match="starts again"):
        model.partial_fit(X[:100], y[:100])
    assert_allclose(model.predict(X), sinks().fit(X[:100], y[:100]).predict(X), atol=1e-7)


@pytest.mark.parametrize("names", [[0, 1, 2], ["low", "mid", "top"]])
def test_classes_by_ridge_on_the_features(names):
    t = np.asarray(names)[labels]
    model = sinks(kg.KitchenSinksClassifier).fit(X, t, w)
    Z = kg.FourierFeatures(n_components=60, random_state=0).fit_transform(X)
    want = RidgeClassifier(alpha=0.1).fit(Z, t, w)
    assert_allclose(model.decision_function(X), want.decision_function(Z), atol=1e-7)
    assert (model.predict(X) == want.predict(Z)).all()
    assert list(model.classes_) == names
    assert model.score(X, t) > 0.85


def test_two_classes_are_a_sign():
    t = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    model = sinks(kg.KitchenSinksClassifier).fit(X, t)
    scores = model.decision_function(X)
    assert scores.shape == (300,)
    assert model.coef_.shape == (60,)
    assert ((scores > 0) == (model.predict(X) == "yes")).all()
    assert model.score(X, t) > 0.85


def test_classes_on_dask_and_in_parts():
    t = np.asarray(["low", "mid", "top"])[labels]
    model = sinks(kg.KitchenSinksClassifier).fit(da.from_array(X, (90, 4)), da.from_array(t, 90))
    want = sinks(kg.KitchenSinksClassifier).fit(X, t).predict(X)
    assert (model.predict(da.from_array(X, (90, 4))).compute() == want).all()
    part = sinks(kg.KitchenSinksClassifier)
    order = np.argsort(labels, kind="stable")  # the first part has one class only
    part.partial_fit(X[order[:50]], t[order[:50]], classes=["top", "low", "mid"])
    part.partial_fit(X[order[50:]], t[order[50:]])
    assert (part.predict(X) == want).all()
    with pytest.raises(ValueError, match=r"\['other'\]"):
        part.partial_fit(X[:1], ["other"])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        sinks(kg.KitchenSinksClassifier).fit(X, np.zeros(300))


def test_predictions_stay_on_the_device():
    device = array_api_strict.Device("device1")
    A, t = array_api_strict.asarray(X, device=device), array_api_strict.asarray(y, device=device)
    model = sinks().fit(A, t)
    assert model.predict(A).device == device
    assert model.coef_.device == device


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_more_features_than_rows_take_the_equations_of_the_rows(fit_intercept, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1)
    w = rng.random(60) + 0.1 if weighted else None
    model = kg.KitchenSinksRegressor(200, gamma=0.1, fit_intercept=fit_intercept, random_state=0)
    wide = clone(model).fit(X, Y, sample_weight=w)
    moments = clone(model).partial_fit(X, Y, sample_weight=w)  # always the D x D equations
    np.testing.assert_allclose(wide.coef_, moments.coef_, atol=1e-10)
    np.testing.assert_allclose(wide.intercept_, moments.intercept_, atol=1e-10)
    assert wide.objective_ == pytest.approx(moments.objective_, rel=1e-8)
