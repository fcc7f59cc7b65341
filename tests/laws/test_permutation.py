"""Law: the order of rows, of columns and the names of classes do not matter."""

import numpy as np
from sklearn.base import is_classifier

from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under


@under("permutation")
def test_rows(name):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    order = np.random.default_rng(2).permutation(len(X))
    one, two = fit(model, X, y), fit(model, X[order], y[order])
    assert_same(one, answer(two, X), answer(one, X), max(laws(name).rtol, 1e-6))


@under("permutation")
def test_columns(name):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    order = np.random.default_rng(2).permutation(X.shape[1])
    one, two = fit(model, X, y), fit(model, X[:, order], y)
    assert_same(one, answer(two, X[:, order]), answer(one, X), max(laws(name).rtol, 1e-6))


@under("permutation")
def test_class_names(name):
    model = make(name)
    if not is_classifier(model):
        return
    X, y = data(name=name)
    y = target_for(model, y)
    names = np.array(["a", "b", "c"])
    one, two = fit(model, X, y), fit(model, X, names[y])
    np.testing.assert_array_equal(two.predict(X), names[one.predict(X)])
