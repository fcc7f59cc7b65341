"""Law: a fit is atomic. One that fails or is interrupted leaves the estimator as it was."""

import inspect
import sys
import warnings
from functools import partial

import numpy as np
import pytest

from tests.laws.cases import ESTIMATORS, allows_nan, answer, data, fit, make, target_for

#: Where in a fit it is interrupted, as fractions of its Python calls.
MOMENTS = (0.1, 0.35, 0.6, 0.85, 0.97)


class _Interrupt:
    """Counts calls of Kilogram's functions and raises KeyboardInterrupt at one, as Ctrl-C does."""

    def __init__(self, at=None):
        self.calls, self.at = 0, at

    def __call__(self, frame, event, arg):
        # a generator that is closed is called too, and what it raises then is ignored by Python
        if event != "call" or frame.f_code.co_flags & inspect.CO_GENERATOR:
            return
        if frame.f_globals.get("__name__", "").startswith("kilogram"):
            self.calls += 1
            if self.at is not None and self.calls >= self.at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def run(self, function):
        sys.setprofile(self)
        try:
            function()
        finally:
            sys.setprofile(None)


def _calls(model, X, y):
    """How many calls a fit takes."""
    count = _Interrupt()
    count.run(partial(model.fit, X, y))
    return count.calls


def _state(model, X):
    """What predictions say, and the names of all attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = np.asarray(answer(model, X))
        except (AttributeError, NotImplementedError):  # clusterings without a prediction
            values = np.asarray(getattr(model, "labels_", getattr(model, "embedding_", 0)))
    return sorted(vars(model)), values


def _assert_unfitted(model, X):
    """Predictions raise NotFittedError, or are those of the prior, as before the fit."""
    fresh = type(model)(**model.get_params(deep=False))
    try:
        want = answer(fresh, X)
    except (AttributeError, NotImplementedError) as error:  # NotFittedError is an AttributeError
        with pytest.raises(type(error)):
            answer(model, X)
    else:
        np.testing.assert_array_equal(answer(model, X), want)
    assert vars(model).keys() == vars(fresh).keys()


def _bad(name, X):
    bad = X.copy()
    bad[3, 1] = np.inf if allows_nan(name) else np.nan
    return bad


@pytest.mark.parametrize("name", ESTIMATORS)
def test_failed_fit(name):
    X, y = data(name=name)
    model = make(name)
    y = target_for(model, y)
    with pytest.raises(ValueError, match=r"contains|has"):
        model.fit(_bad(name, X), y)
    _assert_unfitted(model, X)
    model = fit(model, X, y)
    names, before = _state(model, X)
    wide = np.hstack([X, X])
    with pytest.raises(ValueError, match=r"contains|has"):
        model.fit(_bad(name, wide), y)
    after, values = _state(model, X)
    assert after == names
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_interrupted_fit(name):
    X, y = data(40, name=name)
    Z, t = data(44, 6, seed=1, name=name)
    model = make(name)
    y, t = target_for(model, y), target_for(model, t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(model, Z, t)  # imports and caches, which the next fit has
        calls = _calls(fit(model, X, y), Z, t)
        unfitted = make(name)
        with pytest.raises(KeyboardInterrupt):
            _Interrupt(calls // 2).run(partial(unfitted.fit, Z, t))
        _assert_unfitted(unfitted, X)
        model = fit(model, X, y)
        names, before = _state(model, X)
        for moment in MOMENTS:
            interrupt = _Interrupt(max(int(moment * calls), 1))
            try:
                interrupt.run(partial(model.fit, Z, t))
            except KeyboardInterrupt:
                after, values = _state(model, X)
                assert after == names
                np.testing.assert_array_equal(values, before)
            else:  # this fit took fewer calls, as the second of a kind may
                model = fit(model, X, y)
