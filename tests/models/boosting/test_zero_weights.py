"""Weights of boosting that leave no rows."""

import numpy as np
import pytest

import kilogram as kg


def test_rows_without_any_weight_are_a_clear_error():
    X, y = np.arange(20.0)[:, None], np.zeros(20)
    y[10:] = 1
    model = kg.HistGradientBoostingClassifier(class_weight={0: 0.0})
    with pytest.raises(ValueError, match="weight zero"):
        model.fit(X, y, sample_weight=1.0 - y)
