"""cook as scikit-learn estimators, and results in Python."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from kilogram import CookClassifier, CookRegressor
from kilogram.kitchen.audit.finding import CODES
from kilogram.kitchen.estimators import class_names
from kilogram.kitchen.report.html import command
from tests.kitchen.conftest import classes, curved

QUICK = {"folds": 2, "repeats": 1, "search": "path", "recipes": ["linear", "kernel"]}


def test_a_regressor():
    frame = curved(120).dropna(subset="y")
    X = frame.drop(columns="y")
    model = clone(CookRegressor(**QUICK)).fit(X, frame.y)
    assert model.score(X, frame.y) > 0.7
    low, high = model.predict_interval(X)
    assert np.mean((low <= frame.y) & (frame.y <= high)) > 0.8
    array = np.random.default_rng(0).normal(size=(60, 2))
    assert CookRegressor(**QUICK).fit(array, array[:, 0] ** 2 + array[:, 1]).n_features_in_ == 2


@pytest.mark.parametrize("labels", [[3, 7, 9], ["p", "q", "r"]])
def test_a_classifier(labels):
    frame = classes(90)
    y = np.array(labels)[pd.factorize(frame.kind, sort=True)[0]]
    X = frame[["a", "b"]].to_numpy()
    model = CookClassifier(**QUICK).fit(X, y)
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, y) > 0.9
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1)
    assert P.shape == (90, 3)


def test_serious_findings_of_the_audit_are_a_warning():
    """A fold of somebody else's cross-validation must not end it."""
    frame = classes(90)
    X = frame.assign(copy=(frame.kind == frame.kind.iloc[0]).astype(float))
    X["kind2"] = frame.kind
    model = CookClassifier(**QUICK | {"recipes": ["linear"]})
    with pytest.warns(UserWarning, match=r"data leakage.*\n *KG-A07"):
        model.fit(X.drop(columns="kind"), frame.kind)
    assert model.result_.audit.accepted == model.result_.settings.accept == ()
    assert "--accept" not in command(model.result_)
    known = {f.code for f in model.result_.audit.findings}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clone(model).set_params(accept=tuple(known)).fit(X.drop(columns="kind"), frame.kind)
    with pytest.raises(ValueError, match="KG-X99"):
        clone(model).set_params(accept=("KG-X99",)).fit(X.drop(columns="kind"), frame.kind)


def test_the_report_has_the_names_of_target_and_classes():
    frame = classes(90)
    model = CookClassifier(**QUICK).fit(frame[["a", "b"]], frame.kind)
    assert model.target_ == "kind"
    assert "kind can be predicted" in str(model.result_)
    assert model.result_.model.classes == tuple(sorted(set(frame.kind)))


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (["no", "yes"], True), ([1, 2, 10], True), ([False, True], True), (["10", "2"], False),
        (["NA", "other"], False), (["a", "a "], False),
    ],
)  # fmt: skip
def test_labels_that_a_table_would_change_get_other_names(labels, kept):
    assert (class_names(np.array(labels)) == [str(label) for label in labels]) == kept
    y = np.repeat(labels, 30)
    y[0], y[-1] = y[-1], y[0]  # no column may determine them
    X = np.column_stack([np.repeat(np.arange(len(labels)), 30), np.arange(len(y)) % 7])
    X = X + np.random.default_rng(0).normal(0, 0.2, X.shape)
    model = CookClassifier(**QUICK | {"recipes": ["linear"]}).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.score(X, y) > 0.8


FEW_ROWS = "folds inside folds need 20 rows, the check has fewer"
EXPECTED = {name: FEW_ROWS for name in (
    "check_n_features_in_after_fitting", "check_classifier_data_not_an_array",
    "check_fit2d_1feature", "check_fit2d_1sample", "check_regressors_no_decision_function",
)}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [CookClassifier, CookRegressor])
def test_the_checks_of_scikit_learn(kind):
    """Unfitted, with other columns, infinities, sparse rows, targets of several columns, ..."""
    model = kind(**QUICK | {"recipes": ["linear"]}, accept=tuple(CODES))
    found = check_estimator(model, expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []


def test_results_in_python(two_classes):
    rows = two_classes.compare()
    assert [row["recipe"] for row in rows] == [one.name for one in two_classes.judged]
    assert sum(row["chosen"] for row in rows) == 1
    found = two_classes.predict_table(classes(10).drop(columns="kind")).to_pandas()
    assert {"predicted kind", "P(true)", "P(false)"} <= set(found)
