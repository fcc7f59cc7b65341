"""Law: bad input gets a clear error or a right answer; never a crash, a hang or silence."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from tests.laws.cases import ESTIMATORS, allows_nan, answer, data, fit, make, target_for

EVERY = pytest.mark.parametrize("name", ESTIMATORS)


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(name, bad):
    if np.isnan(bad) and allows_nan(name):
        return
    X, y = data(name=name)
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|inf"):
        fit(make(name), X, target_for(make(name), y))


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_sparse(name, bad):
    if np.isnan(bad) and allows_nan(name):
        return
    X, y = data(name=name)
    X[3, 2] = bad
    with pytest.raises((ValueError, TypeError)):
        fit(make(name), sp.csr_array(X), target_for(make(name), y))


@EVERY
def test_not_finite_in_use(name):
    X, y = data(name=name)
    model = fit(make(name), X, target_for(make(name), y))
    X[0, 0] = np.inf if allows_nan(name) else np.nan
    with pytest.raises(ValueError, match=r"(?i)nan|inf"):
        answer(model, X)


@EVERY
def test_missing_values_say_nothing(name):
    """NaN, where it is allowed: finite answers, and a row of nothing else gets the priors."""
    if not allows_nan(name):
        return
    X, y = data(name=name)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    X[0] = np.nan
    model = fit(make(name), X, target_for(make(name), y))
    assert np.isfinite(np.asarray(answer(model, X))).all()
    if hasattr(model, "trees_"):  # trees learn a side for missing values
        return
    if name.startswith(("HistGradientBoosting", "AdditiveBoosting")):
        return  # a missing value is a value of its own: each tree learns what it means
    if is_classifier(model):
        shares = np.bincount(target_for(model, y)) / len(y)
    else:
        shares = model.weights_  # of the components
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares, rtol=1e-9)


@EVERY
def test_not_finite_target(name):
    X, y = data(name=name)
    if not is_regressor(make(name)):
        return
    y[4] = np.nan
    with pytest.raises(ValueError, match=r"(?i)nan|inf"):
        fit(make(name), X, y)


@EVERY
def test_strings(name):
    X, y = data(name=name)
    words = np.full(X.shape, "heavy", dtype=object)
    with pytest.raises(ValueError, match=r"(?i)string|float|numeric"):
        fit(make(name), words, target_for(make(name), y))


@EVERY
@pytest.mark.parametrize("shape", [(0, 5), (10, 0), (10,), (2, 3, 4)])
def test_wrong_shape(name, shape):
    model = make(name)
    y = target_for(model, np.linspace(0, 1, shape[0]))
    with pytest.raises(ValueError, match=r"(?i)sample|feature|expected 2D|dim|shape"):
        fit(model, np.zeros(shape), y)


@EVERY
def test_lengths_differ(name):
    X, y = data(name=name)
    model = make(name)
    if not (hasattr(model, "predict")):
        return
    with pytest.raises(ValueError, match=r"(?i)inconsistent|length|samples"):
        fit(model, X, target_for(model, y)[:-1])


@EVERY
def test_constant_columns_and_duplicates(name):
    X, y = data(name=name)
    X[:, 2] = 4.0
    X = np.vstack([X, X[:5]])
    y = np.concatenate([y, y[:5]])
    model = fit(make(name), X, target_for(make(name), y))
    assert np.isfinite(np.asarray(answer(model, X))).all()


@EVERY
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(name, scale):
    if get_tags(make(name)).input_tags.categorical:
        return  # categories have no scale
    X, y = data(name=name)
    y = target_for(make(name), y)
    if (name, scale) == ("KernelCCA", 1e-12):  # pairs of a kernel of rounding would be rounding
        with pytest.raises(ValueError, match="all equal in the features of its kernel"):
            fit(make(name), X * scale, y)
        return
    model = fit(make(name), X * scale, y)
    assert np.isfinite(np.asarray(answer(model, X * scale))).all()


@EVERY
def test_wrong_columns_in_use(name):
    X, y = data(name=name)
    model = fit(make(name), X, target_for(make(name), y))
    with pytest.raises(ValueError, match="features"):
        answer(model, X[:, :-1])


@EVERY
@pytest.mark.parametrize(
    ("w", "match"),
    [(-np.ones(60), "(?i)negative"), (np.zeros(60), "(?i)zero"), (np.ones(59), "(?i)inconsistent")],
)
def test_bad_weights(name, w, match):
    if isinstance(ESTIMATORS[name].laws.weight, str):
        return
    X, y = data(name=name)
    with pytest.raises(ValueError, match=match):
        fit(make(name), X, target_for(make(name), y), w)


@EVERY
def test_read_only_rows(name):
    X, y = data(name=name)
    X.setflags(write=False)
    y.setflags(write=False)
    before = X.copy()
    fit(make(name), X, target_for(make(name), y))
    np.testing.assert_array_equal(X, before)


@EVERY
def test_inputs_are_left_alone(name):
    X, y = data(name=name)
    kept_X, kept_y = X.copy(), y.copy()
    model = fit(make(name), X, target_for(make(name), y))
    answer(model, X)
    np.testing.assert_array_equal(X, kept_X)
    np.testing.assert_array_equal(y, kept_y)


@EVERY
@pytest.mark.parametrize("order", ["F", "strided"])
def test_memory_order_does_not_matter(name, order):
    X, y = data(name=name)
    other = np.asfortranarray(X) if order == "F" else np.repeat(X, 2, axis=0)[::2]
    model = make(name)
    y = target_for(model, y)
    want = answer(fit(model, X, y), X)
    got = answer(fit(model, other, y), other)
    np.testing.assert_allclose(np.abs(got), np.abs(want), rtol=1e-6, atol=1e-7)


@EVERY
def test_tags_of_wrong_parameters(name):
    """scikit-learn reads tags before a fit can refuse parameters."""
    for parameter in make(name).get_params(deep=False):
        for bad in (np.array([1.0, 2.0]), {}, object, None, []):
            assert get_tags(make(name, **{parameter: bad})).input_tags is not None
