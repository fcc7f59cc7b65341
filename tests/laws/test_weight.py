"""Law: an integer weight equals repeating the row; a zero weight equals leaving it out."""

import numpy as np

from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under


@under("weight")
def test_weight_is_repetition(name):
    X, y = data(40, name=name)
    model = make(name)
    y = target_for(model, y)
    w = np.random.default_rng(3).integers(0, 4, len(X))
    weighted = fit(model, X, y, w.astype(float))
    repeated = fit(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    rtol = max(laws(name).rtol, 1e-6)
    assert_same(weighted, answer(weighted, X[:10]), answer(repeated, X[:10]), rtol)


@under("weight")
def test_unit_weights_change_nothing(name):
    X, y = data(40, name=name)
    model = make(name)
    y = target_for(model, y)
    plain, ones = fit(model, X, y), fit(model, X, y, np.ones(len(X)))
    assert_same(plain, answer(ones, X), answer(plain, X), laws(name).rtol)
