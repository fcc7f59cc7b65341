"""Law: a GPU array goes in and comes out, with NumPy's answer. Runs where there is a GPU."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from kilogram.arrays.namespace import to_numpy
from tests.laws.cases import (
    ESTIMATORS,
    answer,
    assert_same,
    data,
    fit,
    laws,
    make,
    target_for,
    under,
)


def _on_device(library):
    if library == "torch":
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("torch sees no GPU")
        return lambda a: torch.asarray(a, device="cuda")
    cupy = pytest.importorskip("cupy")
    try:
        cupy.zeros(1)
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy sees no GPU")
    return cupy.asarray


@under("backend")
@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_device(name, library, dtype):
    put = _on_device(library)
    X, y = data(200, dtype=dtype, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    X_ = put(X)
    got = answer(fit(model, X_, put(y)), X_)
    assert type(got) is type(X_)
    assert got.device == X_.device
    assert got.dtype == X_.dtype
    rtol = max(laws(name).rtol, 1e-6) if dtype == "float64" else 5e-3
    assert_same(want, got, answer(want, X), rtol)


@under("backend")
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_weights_on_device(name, library):
    put = _on_device(library)
    if isinstance(laws(name).weight, str):
        pytest.skip(laws(name).weight)
    X, y = data(100, name=name)
    model = make(name)
    y = target_for(model, y)
    w = np.random.default_rng(0).integers(1, 4, 100).astype(float)
    want = answer(fit(model, X, y, w), X)
    X_ = put(X)
    got = answer(fit(model, X_, put(y), put(w)), X_)
    assert_same(fit(model, X, y, w), got, want, max(laws(name).rtol, 1e-6))


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if is_classifier(make(n))])
@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("kind", ["int64", "int32", "bool"])
def test_labels_on_device(name, library, kind):
    """Labels and weights on the device, with features there or in NumPy, for every classifier."""
    put = _on_device(library)
    X, y = data(name=name)
    y = (y > np.median(y)).astype(kind)
    want = fit(make(name), X, y)
    features = [X] if isinstance(laws(name).backend, str) else [X, put(X)]
    for X_ in features:
        got = fit(make(name), X_, put(y))
        assert got.classes_.dtype == y.dtype
        np.testing.assert_array_equal(to_numpy(got.predict(X_)), want.predict(X))
    if not isinstance(laws(name).weight, str):
        w = np.linspace(1, 2, len(y))
        got = fit(make(name), X, put(y), put(w))
        np.testing.assert_array_equal(got.predict(X), fit(make(name), X, y, w).predict(X))
