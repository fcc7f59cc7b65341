"""Whether an estimator is fitted, without the cost of scikit-learn's look at its tags."""

from __future__ import annotations

from typing import Any

import sklearn.utils.validation as scikit_learn
from sklearn.base import BaseEstimator


def check_is_fitted(estimator: BaseEstimator, attributes: Any = None) -> None:
    """Raise NotFittedError for an estimator without a completed fit.

    Fits are atomic, so the number of features is known to fitted estimators only; scikit-learn's
    own check takes a third of the time that one row takes in a linear model.
    """
    if attributes is None and "n_features_in_" in vars(estimator):
        own = getattr(type(estimator), "__sklearn_is_fitted__", None)
        if own is None or own(estimator):
            return
    scikit_learn.check_is_fitted(estimator, attributes)
