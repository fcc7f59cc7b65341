"""Stability selection finds the features that decide, and few others."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kilogram as kg
from kilogram.evaluation.stability_selection import _halves

TRUE = [2, 11, 23]


def rows(n=120, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, TRUE] @ np.array([1.0, -1.0, 0.8]) + rng.standard_normal(n)


def test_probabilities_are_counts_over_halves():
    X, y = rows()
    model = kg.Lasso(0.2)
    found = kg.stability_selection(model, X, y, n_pairs=5, random_state=3)
    halves = _halves(model, y, 5, 3)
    counts = [model.fit(X[half], y[half]).coef_ != 0 for half in halves]
    np.testing.assert_array_equal(found.probabilities, np.mean(counts, axis=0))
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert not np.intersect1d(first, second).size
        assert len(first) == len(second) == 60
    q = np.sum(counts) / len(counts)
    np.testing.assert_allclose(found.false_bound, q**2 / (0.5 * 40))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
def test_the_features_that_decide_are_stable(container):
    X, y = rows()
    found = kg.stability_selection(
        kg.Lasso(), container(X), y, alphas=[0.3, 0.2], n_pairs=15, threshold=0.8
    )
    assert sorted(found.selected.tolist()) == TRUE
    assert found.by_strength.shape == (2, 40)
    np.testing.assert_array_equal(found.probabilities, found.by_strength.max(axis=0))


def test_pipelines_classes_and_pursuit():
    X, y = rows()
    pipeline = make_pipeline(StandardScaler(), kg.PenalizedClassifier(alpha=0.08))
    found = kg.stability_selection(pipeline, X, np.where(y > 0, "up", "down"), n_pairs=15)
    assert set(TRUE) <= set(found.selected.tolist())
    pursuit = kg.OrthogonalMatchingPursuit(n_nonzero_coefs=3)
    found = kg.stability_selection(pursuit, X, y, n_pairs=15)
    assert sorted(found.selected.tolist()) == TRUE
    assert found.average_size == 3


def test_bad_input():
    X, y = rows(20)
    with pytest.raises(ValueError, match="threshold"):
        kg.stability_selection(kg.Lasso(), X, y, threshold=0.5)
    with pytest.raises(ValueError, match="alphas is empty"):
        kg.stability_selection(kg.Lasso(), X, y, alphas=[])
    with pytest.raises(TypeError, match="coef_"):
        kg.stability_selection(kg.KNeighborsRegressor(), X, y, n_pairs=1)
