"""Validation: every container is accepted as rows, or refused with a sentence."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import kilogram as kg
from kilogram.base import Estimator
from kilogram.base.validation import validate


class Validating(Estimator):
    """Nothing but validation."""


def test_arrays_lists_and_sparse():
    for X in ([[1, 2], [3, 4]], np.eye(3), np.eye(3, dtype="f4"), sp.eye_array(3, format="coo")):
        estimator = Validating()
        rows = estimator._validate(X).X
        assert estimator.n_features_in_ == rows.shape[1]
        assert rows.dtype in (np.float32, np.float64)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
    ],
)
def test_frames_keep_their_names(make):
    frame = make({"height": [1.0, 2.0, 3.0], "width": [4.0, 5.0, 6.0]})
    estimator = Validating()
    assert estimator._validate(frame).X.shape == (3, 2)
    assert list(estimator.feature_names_in_) == ["height", "width"]
    swapped = make({"width": [4.0], "height": [1.0]})
    with pytest.raises(ValueError, match="feature names"):
        estimator._validate(swapped, reset=False)


def test_strict_arrays_stay_where_they_are():
    xp = pytest.importorskip("array_api_strict")
    estimator = Validating()
    X = xp.asarray(np.eye(3))
    inside = estimator._validate(X, xp.asarray(np.ones(3)), np.ones(3))
    assert type(inside.X) is type(inside.y) is type(inside.w) is type(X)
    with pytest.raises(ValueError, match="NaN"):
        estimator._validate(X * xp.asarray(np.nan))
    with pytest.raises(ValueError, match="features"):
        estimator._validate(xp.asarray(np.eye(2)), reset=False)
    with pytest.raises(ValueError, match="inconsistent"):
        estimator._validate(X, xp.asarray(np.ones(2)))
    with pytest.raises(ValueError, match="2D"):
        estimator._validate(xp.asarray(np.ones(2)))


def test_dask_is_let_in_unread():
    estimator = Validating()
    X = da.ones((10, 4), chunks=(3, 4))
    assert estimator._validate(X, finite=False).X is X
    assert estimator.n_features_in_ == 4
    seen = []
    watched = estimator._validate(
        X.map_blocks(lambda b: seen.append(1) or b, dtype=float, meta=X._meta)
    ).X
    assert not seen
    np.testing.assert_array_equal(watched.compute(), np.ones((10, 4)))
    assert len(seen) == 4
    with pytest.raises(ValueError, match="NaN, first in row 0 of column 2 of a block"):
        estimator._validate(da.where(da.arange(4) == 2, np.nan, X)).X.compute()


def test_deferred_search_for_nan():
    estimator = Validating()
    X = np.eye(3)
    X[1, 1] = np.nan
    assert estimator._validate(X, finite=False).X is not None
    with pytest.raises(ValueError, match="NaN"):
        estimator._ensure_finite(X.sum(axis=0), X)
    with pytest.raises(ValueError, match="overflow"):
        estimator._ensure_finite(np.array([np.inf]), np.full((2, 2), 1e300))


@pytest.mark.parametrize(
    ("w", "match"),
    [
        (-np.ones(3), "Negative"),
        (np.zeros(3), "zero"),
        (np.ones(2), "inconsistent"),
        (np.ones((3, 1)), "1D"),
        ([1.0, np.nan, 1.0], "NaN"),
        (np.nan, "finite, got nan"),
        (np.full(3, 1e308), "add up to more than float64"),
        (np.full(3, 1e-310), "too little for float64"),
    ],
)
def test_weights(w, match):
    with pytest.raises(ValueError, match=match):
        Validating()._validate(np.eye(3), sample_weight=w)


def test_scalar_weight():
    np.testing.assert_array_equal(Validating()._validate(np.eye(3), sample_weight=2).w, [2, 2, 2])


def _streams(X, y, w=None):
    """The same rows as blocks, as Dask, and as blocks beside arrays."""
    half = len(X) // 2
    cut = [slice(0, half), slice(half, None)]
    yield [(X[c], y[c]) if w is None else (X[c], y[c], w[c]) for c in cut], None, None
    yield [X[c] for c in cut], y, w
    chunks = [half, len(X) - half]
    wide = da.from_array(y, chunks=(chunks, -1) if y.ndim == 2 else (chunks,))
    yield (
        da.from_array(X, chunks=(chunks, -1)),
        wide,
        None if w is None else da.from_array(w, chunks=chunks),
    )


def _spoilt(values, at, value):
    values = np.array(values, dtype=float)
    values[at] = value
    return values


@pytest.mark.parametrize("model", [kg.LinearRegression(), kg.GaussianNB(), kg.LogisticRegression()])
@pytest.mark.parametrize(
    ("value", "word"), [(-1.0, "Negative"), (np.nan, "contains NaN"), (np.inf, "contains infinity")]
)
def test_weights_of_streams_are_checked_as_they_flow(model, value, word):
    X, y = np.random.default_rng(0).standard_normal((10, 2)), np.arange(10) % 2
    for rows in _streams(X, y, _spoilt(np.ones(10), 7, value)):
        with pytest.raises(ValueError, match=word):
            clone(model).fit(*rows)


@pytest.mark.parametrize("model", [kg.LinearRegression(), kg.GaussianNB(), kg.OnlineClassifier()])
def test_blocks_whose_weights_are_all_zero_are_refused(model):
    X, y = np.random.default_rng(0).standard_normal((10, 2)), np.arange(10) % 2
    for rows in list(_streams(X, y, np.zeros(10)))[:2]:
        with pytest.raises(ValueError, match="All sample weights are zero"):
            clone(model).fit(*rows)
    half = np.repeat([0.0, 1.0], 5)  # the first block counts nothing, the second does
    for rows in _streams(X, y, half):
        clone(model).fit(*rows)


@pytest.mark.parametrize("model", [kg.LinearRegression(), kg.TotalLeastSquares(), kg.Ridge()])
def test_missing_targets_of_streams_are_refused(model):
    X = np.random.default_rng(0).standard_normal((10, 2))
    for rows in _streams(X, _spoilt(X[:, 0], 8, np.nan)):
        with pytest.raises(ValueError, match="y contains NaN"):
            clone(model).fit(*rows)
    with pytest.raises(ValueError, match="y contains NaN"):
        clone(model).fit(X, np.array([None, *X[1:, 0]], dtype=object))


@pytest.mark.parametrize(
    "model", [kg.GaussianNB(), kg.LogisticRegression(), kg.LinearDiscriminantAnalysis()]
)
def test_labels_of_streams_are_labels(model):
    X, y = np.random.default_rng(0).standard_normal((12, 2)), np.arange(12) % 2
    bad = [
        (_spoilt(y, 8, np.nan), "y contains NaN"),
        (X[:, 0], "continuous"),
        (np.c_[y, y], "1d array"),
        (np.array(["tea", None] * 6, dtype=object), "contains None"),
    ]
    for labels, word in bad:
        for rows in _streams(X, labels):
            with pytest.raises(ValueError, match=word):
                clone(model).fit(*rows)
    want = clone(model).fit(X, y).predict(X)
    for rows in _streams(X, y[:, None]):  # a column of labels is one label to a row
        np.testing.assert_array_equal(clone(model).fit(*rows).predict(X), want)


def test_no_columns_are_refused_in_every_container():
    X, y = np.empty((6, 0)), np.arange(6) % 2
    for rows in _streams(X, y):
        with pytest.raises(ValueError, match="0 feature"):
            kg.LinearDiscriminantAnalysis().fit(*rows)


def test_words_as_labels_of_device_arrays():
    xp = pytest.importorskip("array_api_strict")
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.array(["tea", "mate"])[(X[:, 0] > 0).astype(int)]
    for labels in (y, y.astype(object), y.tolist()):
        got = kg.LogisticRegression().fit(xp.asarray(X), labels).predict(xp.asarray(X))
        np.testing.assert_array_equal(got, kg.LogisticRegression().fit(X, y).predict(X))


def test_large_finite_values_pass_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Validating()._validate(np.full((3, 2), 1e200), np.ones(3)).X.max() == 1e200


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_plain_arrays_pass_unchanged_and_bad_ones_do_not(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(6, 4)), dtype=dtype, order="F" if order == "F" else "C")
    X = X[:, :3] if order == "strided" else X[:, :3].copy(order=order)
    y = rng.normal(size=6)
    model = kg.Ridge().fit(X, y)
    assert model._validate(X, reset=False).X is X
    assert model._validate(X, y).y.dtype == np.float64  # targets keep their own precision
    assert model._validate(X, y.astype(np.float32)).y.dtype == np.float32
    assert model._validate(X, np.arange(6)).y.dtype == np.float64
    for value in (np.nan, np.inf):
        bad = np.concatenate([X, X], axis=1)[:, :3] if order == "strided" else X.copy(order="K")
        bad[4, 1] = value
        with pytest.raises(ValueError, match="contains"):
            model._validate(bad, reset=False)
        assert model._validate(bad, reset=False, finite=False).X is bad
        with pytest.raises(ValueError, match="Input y contains"):
            model._validate(X, np.where(np.arange(6) == 2, value, y))
    with pytest.raises(ValueError, match="2 features, but Ridge is expecting 3"):
        model.predict(np.ones((2, 2), dtype=dtype))
    with pytest.raises(ValueError, match="inconsistent"):
        model._validate(X, y[:-1])
    huge = np.full((2, 3), np.finfo(dtype).max, dtype=dtype)  # finite, though its squares are not
    assert model._validate(huge, reset=False).X is huge


def test_plain_targets_of_several_columns_skip_the_checks_of_frames(monkeypatch):
    """Those take longer than a small fit; what is wrong is refused as before."""
    checked = []
    whole = validate.validate_data
    monkeypatch.setattr(
        validate, "validate_data", lambda *a, **k: checked.append(1) or whole(*a, **k)
    )
    X, Y = np.ones((4, 2)), np.arange(8.0).reshape(4, 2)
    found = validate.validate(kg.Ridge(), X, Y)
    assert found.y is Y
    assert validate.validate(kg.Ridge(), X, Y.astype(int)).y.dtype == np.float64
    assert not checked
    for wrong, word in (
        (np.where(Y == 3, np.nan, Y), "NaN"),
        (Y[:3], "inconsistent"),
        (Y[:, :0], "0 feature"),
        (Y[None], "dim"),
    ):
        with pytest.raises(ValueError, match=word):
            validate.validate(kg.Ridge(), X, wrong)
    assert len(checked) == 4


def test_one_weight_for_all_rows_of_a_stream():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = (X[:, 0] > 0).astype(int)
    want = kg.LogisticRegression(tol=1e-8).fit(X, y, 2.0).coef_
    assert abs(want - kg.LogisticRegression(tol=1e-8).fit(X, y).coef_).max() > 1e-3
    for rows, labels, _ in _streams(X, y):
        got = kg.LogisticRegression(tol=1e-8).fit(rows, labels, 2.0).coef_
        np.testing.assert_allclose(got, want, rtol=1e-5)
    with pytest.raises(ValueError, match="Negative"):
        kg.LinearRegression().fit([(X, y)], None, -1.0)
    with pytest.raises(ValueError, match="second run"):
        kg.LinearRegression().fit(iter([(X, y)]), None, 2.0)


def test_masked_entries_are_missing_values():
    """`asarray` drops the mask, and what lies under it was taken for data."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    hidden = np.ma.array(X, mask=np.arange(90).reshape(30, 3) == 4)
    with pytest.raises(ValueError, match="X has 1 masked entries"):
        kg.Ridge().fit(hidden, X[:, 0])
    with pytest.raises(ValueError, match="X has 1 masked entries"):
        kg.Ridge().fit(X, X[:, 0]).predict(hidden)
    with pytest.raises(ValueError, match="y has 1 masked entries"):
        kg.Ridge().fit(X, hidden[:, 1])
    with pytest.raises(ValueError, match="sample_weight has 1 masked entries"):
        kg.Ridge().fit(X, X[:, 0], abs(hidden[:, 1]))
    with pytest.raises(ValueError, match="masked"):
        kg.silhouette_score(hidden, np.arange(30) % 2)
    with pytest.raises(ValueError, match="masked"):
        kg.choose_k(hidden, 3)
    got = kg.Ridge().fit(np.ma.array(X), X[:, 0]).coef_
    np.testing.assert_array_equal(got, kg.Ridge().fit(X, X[:, 0]).coef_)


def test_masked_entries_are_nan_where_that_is_allowed():
    X = np.random.default_rng(0).standard_normal((40, 3))
    gaps = np.where(np.arange(120).reshape(40, 3) % 11 == 4, np.nan, X)
    got = kg.GaussianMixture(2, random_state=0).fit(np.ma.masked_invalid(gaps))
    want = kg.GaussianMixture(2, random_state=0).fit(gaps)
    np.testing.assert_array_equal(got.means_, want.means_)


@pytest.mark.parametrize(
    "make",
    [
        lambda days: days.to_numpy()[:, None],
        lambda days: (days - days[0]).to_numpy()[:, None],
        lambda days: pd.DataFrame({"day": days}),
        lambda days: pd.DataFrame({"day": days, "size": np.arange(20.0)}),
        lambda days: pl.DataFrame({"day": days.to_numpy(), "size": np.arange(20.0)}),
    ],
    ids=["datetime64", "timedelta64", "pandas", "pandas mixed", "polars"],
)
def test_dates_are_no_numbers(make):
    """Nanoseconds since 1970, where all columns were dates."""
    days = pd.date_range("2020-01-01", periods=20)
    with pytest.raises(ValueError, match="dates"):
        kg.Ridge().fit(make(days), np.arange(20.0))
    with pytest.raises(ValueError, match="Input y holds dates"):
        kg.Ridge().fit(np.arange(20.0)[:, None], days)


def test_integers_beyond_floats_are_refused():
    with pytest.raises(ValueError, match="beyond the range of floats"):
        kg.Ridge().fit(np.array([[10**400], [1]], dtype=object), [0.0, 1.0])


@pytest.mark.parametrize("w", ["balanced", {"a": 1.0}, np.array(["heavy"] * 3)])
def test_weights_that_are_no_numbers_are_named(w):
    with pytest.raises(TypeError, match="sample_weight must be numbers"):
        Validating()._validate(np.eye(3), sample_weight=w)


def test_sparse_targets_are_refused_by_name():
    with pytest.raises(TypeError, match="Sparse data was passed for y"):
        kg.Ridge().fit(np.eye(3), sp.csr_array(np.ones((3, 1))))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_entries_in_parts_are_one_entry(form):
    """Whoever looks at entries one by one, as BernoulliNB does, counted each part."""
    rng = np.random.default_rng(0)
    X, y = (rng.random((30, 4)) < 0.5).astype(float), np.arange(30) % 2
    plain = form(X)
    parts = form((np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr))
    kept = parts.data.copy()
    for model in (kg.BernoulliNB(), kg.MultinomialNB(), kg.LogisticRegression()):
        got, want = clone(model).fit(parts, y), clone(model).fit(X, y)
        np.testing.assert_allclose(got.predict_proba(parts), want.predict_proba(X), rtol=1e-5)
    np.testing.assert_array_equal(parts.data, kept)


def _holed(kind):
    X = np.arange(12.0).reshape(6, 2)
    X[3, 1] = np.nan
    if kind == "frame":
        return pd.DataFrame(X, columns=["a", "b"])
    return sp.csc_array(X) if kind == "sparse" else X


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
@pytest.mark.parametrize("model", [kg.Ridge(), kg.PCA(1), kg.LinearRegression()])
def test_a_missing_value_is_refused_with_its_place(model, kind):
    column = "'b'" if kind == "frame" else "1"
    with pytest.raises(
        ValueError, match=f"contains NaN, first in row 3 of column {column}"
    ) as raised:
        model.fit(_holed(kind), np.arange(6.0))
    assert ('missing="em"' in str(raised.value)) == isinstance(model, kg.PCA)


def test_strings_are_reported_with_their_column():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["1", "red", "blue"]})
    with pytest.raises(
        ValueError, match=r"strings .* row 1 of column 'colour', 2 of 3 rows.*'red'"
    ):
        kg.Ridge().fit(X, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["Ridge", "GaussianNB", "KMeans", "SVC"])
def test_rows_of_different_lengths_are_named(name):
    model = getattr(kg, name)()
    with pytest.raises(ValueError, match="row 2 has 1 values, row 0 has 2"):
        model.fit([[1.0, 2.0], [2.0, 3.0], [3.0]], [0, 1, 0])
    with pytest.raises(ValueError, match="entries that are sequences"):
        model.fit([[1.0, [2.0, 3.0]], [2.0, 3.0], [3.0, 4.0]], [0, 1, 0])


def test_targets_that_are_sequences_are_named():
    with pytest.raises(ValueError, match="entries that are sequences"):
        kg.Ridge().fit([[1.0], [2.0], [3.0]], [1, [2, 3], 3])
