"""Law: sparse = dense, for arrays and matrices in row and in column order."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under

FORMATS = [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.coo_array]


@under("sparse")
@pytest.mark.parametrize("form", FORMATS)
def test_sparse(name, form):
    X, y = data(name=name)
    X = np.where(np.random.default_rng(4).random(X.shape) < 0.5, 0.0, X)
    model = make(name)
    y = target_for(model, y)
    want, got = fit(model, X, y), fit(model, form(X), y)
    rtol = max(laws(name).rtol, 1e-6)
    assert_same(want, answer(got, form(X)), answer(want, X), rtol)
    assert_same(want, answer(got, X), answer(want, X), rtol)
