"""Networks on float32 rows."""

import numpy as np
import pytest

import kilogram as kg


def test_float32_rows_do_not_round_targets_far_from_zero():
    """Float32 has steps of 64 at 1e9: of targets that vary by 2 there nothing would be left."""
    X = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    y = 2.0 * X[:, 0].astype(np.float64) + 1e9
    how = {"hidden_layer_sizes": (20,), "solver": "lbfgs", "random_state": 0}
    model = kg.MLPRegressor(**how, max_iter=1000).fit(X, y)
    assert np.corrcoef(model.predict(X) - 1e9, y - 1e9)[0, 1] > 0.99


@pytest.mark.filterwarnings("ignore:MLPRegressor stopped")
def test_later_batches_keep_the_digits_of_earlier_ones():
    X = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    model = kg.MLPRegressor(hidden_layer_sizes=(3,), random_state=0)
    model.partial_fit(X, X[:, 0].astype(np.float64) + 1e9).partial_fit(X, X[:, 0])
    assert model.predict(X).dtype == np.float64
    model.fit(X, X[:, 0])
    assert model.predict(X).dtype == np.float32
