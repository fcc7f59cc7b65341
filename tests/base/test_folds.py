"""What `cv` may be, in everything that splits rows."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import kilogram as kg
from kilogram.base.folds import split_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
y = X[:, 0] + 0.1 * RNG.standard_normal(20)
NAMES = (
    *("LassoCV", "ElasticNetCV", "LarsCV", "LassoLarsCV", "OrthogonalMatchingPursuitCV"),
    *("RidgeCV", "KernelRidgeCV", "LogisticRegressionCV", "MultiTaskLassoCV"),
)
WRONG = (
    (np.array([1.0, 2.0]), "pairs"),
    ([], "pairs"),
    ([(np.arange(5), np.arange(5, 99))], "the row 98, but X has 20 rows"),
    ([(np.arange(5), np.array([-21]))], "the row -21, but X has 20 rows"),
    ([(1, 2)], "arrays of row numbers"),
    ([([0.5], [1.0])], "arrays of row numbers"),
)


@pytest.mark.parametrize(("cv", "words"), WRONG)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_cv_is_named(name, cv, words):
    """It was an IndexError, or a float that cannot be unpacked."""
    model = getattr(kg, name)(cv=cv)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y > 0 if name.startswith("Logistic") else y)


def test_folds_are_those_of_the_splitter():
    want = list(KFold(4).split(X))
    masks = [(np.isin(np.arange(20), a), np.isin(np.arange(20), b)) for a, b in want]
    for cv in (4, KFold(4), want, iter(want), masks):
        for got, expected in zip(split_rows(cv, X, y), want, strict=True):
            np.testing.assert_array_equal(np.concatenate(got), np.concatenate(expected))
