"""Warnings name the user's line, not one of ours."""

import warnings

import numpy as np
import pytest

import kilogram as kg
from kilogram.base.warnings import ConvergenceWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
y = X[:, 0] > 0


@pytest.mark.parametrize(
    "fit",
    [
        lambda: kg.LogisticRegression(max_iter=1).fit(X, y),
        lambda: kg.MLPClassifier(max_iter=1, random_state=0).fit(X, y),
    ],
)
def test_a_warning_of_a_fit_is_located_where_fit_is_called(fit):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit()
    assert {one.filename for one in seen if one.category is ConvergenceWarning} == {__file__}
