"""Law: float32 features do not round float64 targets."""

import re

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from tests.laws.cases import ESTIMATORS, answer, assert_same, data, laws, make, target_for

CLASSIFIERS = [name for name in ESTIMATORS if is_classifier(make(name))]
REGRESSORS = [name for name in ESTIMATORS if is_regressor(make(name))]


def _fit_predict(name, X, y):
    return np.asarray(make(name).fit(X, y).predict(X), dtype=float)


@pytest.mark.parametrize("name", REGRESSORS)
def test_targets_keep_their_precision(name):
    """Targets near 2^31, as timestamps are: float32 has steps of 256 there.

    Only for methods that follow a shift of y in float64; a penalised constant does not. The
    remaining error is that of float32 features, whose size is the spread of y, not its distance
    from zero.
    """
    X, y = data(name=name, dtype=np.float32)
    y = target_for(make(name), y.astype(np.float64))
    far = y + 2.0**31
    wide = _fit_predict(name, X.astype(np.float64), far)
    if np.abs(wide - 2.0**31 - _fit_predict(name, X.astype(np.float64), y)).max() > 1e-2:
        pytest.skip("predictions do not follow a shift of the targets")
    got = make(name).fit(X, far).predict(X)
    assert got.dtype == np.float64
    assert np.abs(got - wide).max() < 1e-2 * np.ptp(y)


@pytest.mark.parametrize("targets", ["float64", "int64", "float32"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_of_float32_rows_have_the_type_of_the_targets(name, targets):
    """One rule for all regressors: float32 only if rows and targets were."""
    X, y = data(name=name, dtype=np.float32)
    y = np.round(8 * target_for(make(name), y)).astype(targets)
    want = np.float32 if targets == "float32" else np.float64
    assert make(name).fit(X, y).predict(X).dtype == want


@pytest.mark.parametrize("rows", ["float32", "float64"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_of_float32_rows_keep_the_digits_of_targets(name, rows):
    """The same model, asked for rows of either type, whichever it was fitted on."""
    X, y = data(name=name, dtype=np.float32)
    far = target_for(make(name), y.astype(np.float64)) + 2.0**30
    model = make(name).fit(X.astype(rows), far)
    gap = np.abs(model.predict(X) - model.predict(X.astype(np.float64))).max()
    assert gap < 1e-3 * np.ptp(far)


@pytest.mark.parametrize("name", REGRESSORS)
def test_targets_beyond_the_range_of_float32(name):
    """Targets of 1e39 with float32 features: the right prediction or an error, not infinity."""
    X, y = data(name=name, dtype=np.float32)
    y = target_for(make(name), y.astype(np.float64)) * 1e39
    try:
        got = _fit_predict(name, X, y)
    except ValueError as error:
        message = str(error)
    else:
        message = None
    if message is not None:
        assert "y" in message
        return
    want = _fit_predict(name, X.astype(np.float64), y)
    assert np.abs(got - want).max() <= 5e-3 * np.abs(want).max()


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize(
    "name", [n for n in ESTIMATORS if not isinstance(laws(n).backend, str) and n not in CLASSIFIERS]
)
def test_float64_targets_beside_float32_rows_of_a_library(name, library):
    """The law holds for arrays of other libraries, which do not mix float types by themselves."""
    put = pytest.importorskip(library).asarray
    X, y = data(name=name, dtype=np.float32)
    y = target_for(make(name), y.astype(np.float64))
    y = y * 1e39 if name in REGRESSORS else y
    w = np.linspace(0, 2, len(y))
    weights = {} if isinstance(laws(name).weight, str) else {"sample_weight": w}
    try:
        want = make(name).fit(X, y, **weights)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error)[:20])):
            make(name).fit(put(X), put(y), **{key: put(a) for key, a in weights.items()})
        return
    got = make(name).fit(put(X), put(y), **{key: put(a) for key, a in weights.items()})
    assert_same(want, answer(got, put(X)), answer(want, X), 5e-3)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_wide_float32_rows_of_a_library_with_rows_of_no_weight(library):
    """RidgeCV's residuals of rows that took no part, with more columns than rows."""
    put = pytest.importorskip(library).asarray
    X, y = data(12, 30, dtype=np.float32)
    w = np.arange(12.0)
    want = kg.RidgeCV(alphas=[0.1, 1.0]).fit(X, y.astype(np.float64), w)
    got = kg.RidgeCV(alphas=[0.1, 1.0]).fit(put(X), put(y.astype(np.float64)), put(w))
    assert got.alpha_ == want.alpha_
    np.testing.assert_allclose(to_numpy(got.coef_), want.coef_, rtol=1e-5, atol=1e-8)
