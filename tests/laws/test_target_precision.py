"""Law: float32 features do not round float64 targets."""

import numpy as np
import pytest
from sklearn.base import is_regressor

from tests.laws.cases import ESTIMATORS, data, make, target_for

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
