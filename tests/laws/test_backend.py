"""Law: NumPy = torch = array-api-strict; the answer is on the input's device, in its dtype."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from tests.laws.cases import answer, assert_same, data, fit, laws, make, target_for, under


def _library(which):
    return pytest.importorskip({"torch": "torch", "strict": "array_api_strict"}[which])


@under("backend")
@pytest.mark.parametrize("which", ["torch", "strict"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_backend(name, which, dtype):
    library = _library(which)
    X, y = data(dtype=dtype, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    X_ = library.asarray(X)
    y_ = y if is_classifier(model) else library.asarray(y)
    got = answer(fit(model, X_, y_), X_)
    assert type(got).__module__.split(".")[0] == library.__name__
    assert got.dtype == X_.dtype
    rtol = max(laws(name).rtol, 1e-6) if dtype == "float64" else 5e-3
    assert_same(want, np.asarray(got), answer(want, X), rtol)


@under("backend")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_dtype_is_kept(name, dtype):
    X, y = data(dtype=dtype, name=name)
    model = make(name)
    assert answer(fit(model, X, target_for(model, y)), X).dtype == np.dtype(dtype)


@under("backend")
def test_float32_is_near_float64(name):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    small = X.astype(np.float32)
    y32 = y if is_classifier(model) else y.astype(np.float32)
    assert_same(want, answer(fit(model, small, y32), small), answer(want, X), 5e-3)
