"""Law: NumPy = torch = array-api-strict; the answer is on the input's device, in its dtype."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

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

LIBRARIES = ["torch", "strict", "strict device"]


def _put(which):
    """NumPy array -> array of the library; "strict device" is one that NumPy cannot read."""
    if which == "torch":
        return pytest.importorskip("torch").asarray
    strict = pytest.importorskip("array_api_strict")
    device = strict.Device("device1") if which == "strict device" else None
    return partial(strict.asarray, device=device)


@under("backend")
@pytest.mark.parametrize("which", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_backend(name, which, dtype):
    put = _put(which)
    X, y = data(dtype=dtype, name=name)
    model = make(name)
    y = target_for(model, y)
    want = fit(model, X, y)
    X_ = put(X)
    got = answer(fit(model, X_, put(y)), X_)
    assert type(got) is type(X_)
    assert got.dtype == X_.dtype
    assert got.device == X_.device
    rtol = max(laws(name).rtol, 1e-6) if dtype == "float64" else 5e-3
    assert_same(want, got, answer(want, X), rtol)


@under("backend")
def test_half_precision_is_widened(name):
    """Half precision of torch is computed in float64, as that of NumPy is."""
    torch = pytest.importorskip("torch")
    X, y = data(dtype="float16", name=name)
    model = make(name)
    y = target_for(model, y.astype("float64"))
    X_ = torch.asarray(X)
    want = fit(model, X, y)
    assert_same(want, answer(fit(model, X_, y), X_), answer(want, X), max(laws(name).rtol, 1e-6))


@under("backend")
@pytest.mark.parametrize("which", LIBRARIES)
def test_weights_of_the_library(name, which):
    put = _put(which)
    if isinstance(laws(name).weight, str):
        pytest.skip(laws(name).weight)
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    want = fit(model, X, y, w)
    got = fit(model, *(put(a) for a in (X, y, w)))
    X_ = put(X)
    assert_same(want, answer(got, X_), answer(want, X), max(laws(name).rtol, 1e-6))


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if is_classifier(make(n))])
@pytest.mark.parametrize("which", LIBRARIES)
@pytest.mark.parametrize("kind", ["int64", "int32", "bool"])
def test_labels_of_another_library(name, which, kind):
    """Labels and weights of another library, with features of it or of NumPy."""
    put = _put(which)
    X, y = data(name=name)
    y = (y > np.median(y)).astype(kind)
    model = make(name)
    want = fit(model, X, y)
    features = [X] if isinstance(laws(name).backend, str) else [X, put(X)]
    for X_ in features:
        got = fit(model, X_, put(y))
        assert got.classes_.dtype == y.dtype
        np.testing.assert_array_equal(to_numpy(got.predict(X_)), want.predict(X))
    if not isinstance(laws(name).weight, str):
        w = np.linspace(1, 2, len(y))
        got = fit(model, X, put(y), put(w))
        np.testing.assert_array_equal(got.predict(X), fit(model, X, y, w).predict(X))


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


@under("backend")
@pytest.mark.parametrize("which", LIBRARIES)
def test_predictions_and_score_stay_in_the_library(name, which):
    """`predict` answers where X is, labels included; `score` takes y and weights from there."""
    put = _put(which)
    X, y = data(name=name)
    model = make(name)
    if not hasattr(model, "predict"):
        pytest.skip("has no predictions")
    y = target_for(model, y)
    want = fit(model, X, y)
    X_, y_ = put(X), put(y)
    got = fit(model, X_, y_)
    predicted = got.predict(X_)
    assert type(predicted) is type(X_)
    assert predicted.device == X_.device
    if is_classifier(model):
        np.testing.assert_array_equal(to_numpy(predicted), want.predict(X))
        assert to_numpy(predicted).dtype == want.predict(X).dtype
    if is_classifier(model) or is_regressor(model):
        assert got.score(X_, y_) == pytest.approx(want.score(X, y), abs=1e-6)
        w = np.linspace(1, 2, len(y))
        score = got.score(X_, y_, sample_weight=put(w))
        assert score == pytest.approx(want.score(X, y, sample_weight=w), abs=1e-6)
