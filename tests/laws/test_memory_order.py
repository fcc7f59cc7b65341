"""Law: how the numbers lie in memory does not matter: one answer for every order and container."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags

import kilogram as kg
from tests.laws.cases import ESTIMATORS, answer, assert_same, data, laws, make, target_for


def _strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def _reversed(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


def _readonly(X):
    X = X.copy()
    X.flags.writeable = False
    return X


ORDERS = {
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "read-only": _readonly,
    "frame": pd.DataFrame,
}
SPARSE = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}


def _read(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(answer(model, X))
        except (AttributeError, NotImplementedError, ValueError):  # no predictions for new rows
            return np.asarray(model.labels_ if hasattr(model, "labels_") else model.embedding_)


def _fit(name, X, y, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(name, **params).fit(X, y)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_order(name, order):
    X, y = data(name=name)
    y = target_for(make(name), y)
    want = _fit(name, X, y)
    Z = ORDERS[order](X)
    t = y if order == "F" else ORDERS[order](y[:, None])
    t = t.iloc[:, 0] if order == "frame" else t.reshape(-1) if order == "F" else t[:, 0]
    got = _fit(name, Z, t)
    assert_same(want, _read(got, Z), _read(want, X), laws(name).rtol)
    assert_same(want, _read(want, Z), _read(want, X), laws(name).rtol)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize(
    "name", [n for n in ESTIMATORS if not isinstance(ESTIMATORS[n].laws.sparse, str)]
)
def test_sparse_order(name, kind):
    X, y = data(name=name)
    X[X < 0.2] = 0
    y = target_for(make(name), y)
    want = _fit(name, sp.csr_array(X), y)
    Z = SPARSE[kind](X)
    got = _fit(name, Z, y)
    rtol = max(laws(name).rtol, 1e-6)
    assert_same(want, _read(got, Z), _read(want, sp.csr_array(X)), rtol)


def _takes(name, parameter):
    """Estimators that accept parameter="precomputed", by their tags."""
    if parameter not in make(name).get_params(deep=False):
        return False
    return get_tags(make(name, **{parameter: "precomputed"})).input_tags.pairwise


PRECOMPUTED = [
    (name, parameter)
    for name in ESTIMATORS
    for parameter in ("kernel", "affinity", "metric")
    if _takes(name, parameter)
]


@pytest.mark.parametrize("order", ["F", "strided", "reversed", "read-only", "frame", "transposed"])
@pytest.mark.parametrize(("name", "parameter"), PRECOMPUTED)
def test_precomputed(name, parameter, order):
    X, y = data(name=name)
    y = target_for(make(name), y)
    K = rbf_kernel(X, gamma=0.3) if parameter != "metric" else 1 - rbf_kernel(X, gamma=0.3)
    K = (K + K.T) / 2
    want = _fit(name, K, y, **{parameter: "precomputed"})
    Z = K.T if order == "transposed" else ORDERS[order](K)
    before = np.array(Z)
    got = _fit(name, Z, y, **{parameter: "precomputed"})
    np.testing.assert_array_equal(np.array(Z), before)
    assert_same(want, _read(got, Z), _read(want, K), laws(name).rtol)
    assert_same(want, _read(want, Z), _read(want, K), laws(name).rtol)


def test_some_estimators_are_precomputed():
    """The search above finds those that take kernels and distances."""
    found = {name for name, _ in PRECOMPUTED}
    assert {"KernelRidge", "SVC", "KernelPCA"} <= found


@pytest.mark.parametrize("init", ["random", "k-means++", "k-means||"])
@pytest.mark.parametrize("spherical", [False, True])
def test_kmeans_starts(init, spherical):
    """Every start of K-means draws the same rows of Fortran-ordered data."""
    X, _ = data(200)
    model = kg.KMeans(4, init=init, spherical=spherical, n_init=1, random_state=0)
    centers = [
        clone(model).fit(order(X)).cluster_centers_ for order in (np.array, np.asfortranarray)
    ]
    np.testing.assert_allclose(centers[0], centers[1], atol=1e-9)
