"""Defects that users' data, limits and options once met and that no other test is about.

`tests/hardening.md` lists all of them with the test of each.
"""

import numpy as np
import pytest

import kilogram as kg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
LABELS = (Y > 0).astype(int)


@pytest.mark.parametrize("name", ["QuadraticDiscriminantAnalysis", "ReweightedLeastSquares"])
def test_a_tolerance_of_none_is_refused(name):
    with pytest.raises(ValueError, match="tol must be a float"):
        getattr(kg, name)(tol=None).fit(X, LABELS)


@pytest.mark.parametrize("name", ["Ridge", "KMeans", "GaussianNB", "PCA"])
def test_a_generator_of_single_rows_is_refused_with_advice(name):
    with pytest.raises(ValueError, match="yields single rows"):
        getattr(kg, name)().fit((row for row in X), LABELS)


def test_an_error_scale_below_the_normal_floats_is_named():
    with pytest.raises(ValueError, match="y_error is too small"):
        kg.TotalLeastSquares(y_error=1e-320).fit(X, Y)


@pytest.mark.parametrize("name", ["LinearSVC", "PCA", "LogisticRegression"])
def test_one_value_at_the_end_of_the_floats_is_named(name):
    rows = X.copy()
    rows[0, 0] = 1e308
    with pytest.raises(ValueError, match="StandardScaler"):
        getattr(kg, name)().fit(rows, LABELS)


@pytest.mark.parametrize("name", ["GaussianProcessRegressor", "GaussianProcessClassifier"])
def test_processes_of_rows_in_blocks_give_advice(name):
    dask_array = pytest.importorskip("dask.array")
    forms = ([X[:15], X[15:]], [LABELS[:15], LABELS[15:]])
    lazy = [dask_array.from_array(a, chunks=15) for a in (X, LABELS)]
    for rows, targets in (forms, lazy):
        with pytest.raises(ValueError, match="needs all rows in memory"):
            getattr(kg, name)().fit(rows, targets)
