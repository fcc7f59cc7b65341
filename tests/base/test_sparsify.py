"""`sparsify` and `densify` change how the coefficients are stored, and nothing else."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import kilogram as kg

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        kg.LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga", warm_start=True),
        kg.LogisticRegressionCV(Cs=[0.1], cv=3),
        kg.LinearSVC(C=0.1, warm_start=True),
        kg.Perceptron(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_predictions_and_later_fits_are_the_same(model):
    with pytest.raises(NotFittedError):
        model.sparsify()
    model.fit(X, y)
    coef, values, labels = model.coef_.copy(), model.decision_function(X), model.predict(X)
    assert model.sparsify() is model
    assert issparse(model.coef_)
    np.testing.assert_array_equal(model.decision_function(X), values)
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.densify().coef_, coef)
    assert not issparse(model.sparsify().fit(X, y).coef_)
    np.testing.assert_array_equal(model.predict(X), labels)
