"""Law: scikit-learn's own estimator checks, with no expected failure."""

import inspect
import re
from itertools import pairwise

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.laws.cases import ESTIMATORS, make

#: check name -> written reason, per estimator. Empty is the aim.
FRACTIONS = "feeds fractions, which are no categories"
STEPS = "a weight is the length of one step, a repeated row two steps, as for scikit-learn's own"
WEIGHTS_ARE_STEPS = {
    f"check_sample_weight_equivalence_on_{kind}_data": STEPS for kind in ("dense", "sparse")
}
WEIGHTS_ARE_DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn, a row of weight 2 as one"
    for kind in ("dense", "sparse")
}
ASKS_CLASSES = "asks whoever has a predict_proba for its number of classes; a mixture has none"
EXPECTED: dict[str, dict[str, str]] = {
    "KLines": {
        "check_clustering": "finds lines, and the check has round blobs",
        "check_sample_weight_equivalence_on_dense_data": "starts are drawn among the rows given",
    },
    "OnlineClassifier": WEIGHTS_ARE_STEPS,
    "OnlineLasso": WEIGHTS_ARE_STEPS,
    "Perceptron": WEIGHTS_ARE_STEPS,
    "Adaline": WEIGHTS_ARE_STEPS,
    "RandomForestRegressor": WEIGHTS_ARE_DRAWN,
    "RANSACRegressor": WEIGHTS_ARE_DRAWN,
    "RobustRegressor": {
        "check_sample_weight_equivalence_on_dense_data": "starts are drawn among the rows given"
    },
    "RandomForestClassifier": WEIGHTS_ARE_DRAWN,
    "GaussianMixture": {
        f"check_estimator_sparse_{form}": ASKS_CLASSES for form in ("array", "matrix")
    },
    "CategoricalNB": {
        "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
        "check_classifiers_one_label_sample_weights": FRACTIONS,
    },
}


CHECKS = parametrize_with_checks(
    [make(name) for name in ESTIMATORS],
    expected_failed_checks=lambda model: EXPECTED.get(type(model).__name__, {}),
    xfail_strict=True,
).mark


def _id(value):
    """The id of scikit-learn without the addresses of functions, which differ between processes."""
    return re.sub(r"at0x[0-9a-f]+", "", CHECKS.kwargs["ids"](value))


@pytest.mark.parametrize(*CHECKS.args, ids=_id)
def test_contract(estimator, check):
    """A check raises where it is not met; those of EXPECTED must, or xfail_strict says so."""
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_documented(name):
    cls = ESTIMATORS[name]
    text = cls.__doc__ or ""
    for part in ("Parameters", "Attributes", "Examples"):
        assert part in text, f"{name} lacks the section {part}"
    missing = [p for p in cls().get_params(deep=False) if p not in text]
    assert not missing


def undescribed(text):
    """Entries of Parameters and Attributes with neither a description nor a reference to one."""
    lines, part, found = inspect.cleandoc(text).split("\n"), "", []
    for line, after in pairwise([*lines, ""]):
        if re.fullmatch("-{3,}", after):
            part = line
        entry = re.match(r"[a-z_]\w*(, \w+)* :(?! see )", line)
        if entry and part in ("Parameters", "Attributes") and not after.startswith("    "):
            found.append(line)
    return found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_entry_is_described(name):
    assert undescribed(ESTIMATORS[name].__doc__) == []


def test_an_entry_without_a_description_is_found():
    text = "A.\n\n    Parameters\n    ----------\n    a : int\n    b : int\n        Number of b."
    assert undescribed(text) == ["a : int"]
