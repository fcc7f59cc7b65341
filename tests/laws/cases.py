"""The estimators that every law runs over: all public ones, by being in the registry."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector
from sklearn.utils import get_tags

import kilogram as kg
from kilogram.arrays.namespace import to_numpy
from kilogram.base import Estimator, Laws
from kilogram.registry import PUBLIC


def estimators() -> dict[str, type[Estimator]]:
    """Every public estimator class by name."""
    found = {
        name: getattr(kg, name) for name in PUBLIC if PUBLIC[name].startswith("kilogram.models")
    }
    return {
        name: cls
        for name, cls in found.items()
        if inspect.isclass(cls) and issubclass(cls, Estimator)
    }


ESTIMATORS = estimators()


def under(law: str) -> Any:
    """Parametrise a test over the estimators that declare this law; the others give a reason."""
    import pytest  # here, as the fuzzer uses this module where it is not installed

    names = []
    for name, cls in ESTIMATORS.items():
        holds = getattr(cls.laws, law)
        if isinstance(holds, str):
            assert len(holds) > 10, f"{name} must say why the {law} law does not apply"
        else:
            names.append(name)
    return pytest.mark.parametrize("name", names)


def make(name: str, **params: Any) -> BaseEstimator:
    """The small deterministic instance that an estimator declares for its tests."""
    cls = ESTIMATORS[name]
    return cls(**{**cls.laws.example, **params})


def laws(name: str) -> Laws:
    return ESTIMATORS[name].laws


def data(
    n: int = 60, d: int = 5, *, seed: int = 0, dtype: Any = np.float64, name: str | None = None
) -> tuple:
    """Correlated rows off the origin, a smooth target with noise; counts for those who count."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(np.linspace(1.5, 0.4, d)) + 0.3
    X[:, 1] += 0.5 * X[:, 0]
    y = np.sin(X[:, 0]) + X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    tags = None if name is None else get_tags(make(name)).input_tags
    if tags is not None and (tags.categorical or tags.positive_only):
        X = np.floor(2 * np.abs(X)) if tags.categorical else np.abs(X)
    return X.astype(dtype), y.astype(dtype)


def allows_nan(name: str) -> bool:
    """Whether NaN stands for a missing value."""
    return get_tags(make(name)).input_tags.allow_nan


def target_for(model: BaseEstimator, y: np.ndarray) -> np.ndarray:
    """Real or positive targets for regressors, three classes for classifiers,
    or two where they take no more.
    """
    if is_classifier(model):
        cuts = [0.33, 0.66] if get_tags(model).classifier_tags.multi_class else [0.5]
        return np.digitize(y, np.quantile(y, cuts)) if len(y) else y
    if get_tags(model).target_tags.positive_only:
        return np.exp(0.3 * y).astype(y.dtype)
    return y


def fit(model: BaseEstimator, X: Any, y: Any, w: Any = None) -> BaseEstimator:
    """Fit a fresh clone; weights are passed only when given."""
    weights = {} if w is None else {"sample_weight": w}
    return clone(model).fit(X, y, **weights)


def answer(model: BaseEstimator, X: Any) -> Any:
    """What a user reads off a fitted model: decision values, densities, predictions or scores."""
    if is_classifier(model):
        names = ("decision_function", "predict_joint_log_proba", "predict_proba")
        return getattr(model, next(name for name in names if hasattr(model, name)))(X)
    if is_outlier_detector(model):
        return model.decision_function(X)
    if hasattr(model, "transform"):
        return model.transform(X)
    if hasattr(model, "predict"):
        return model.predict(X)
    if hasattr(model, "mahalanobis"):
        return model.mahalanobis(X)
    return model.score_samples(X) if hasattr(model, "score_samples") else model.kneighbors(X)[0]


#: Attributes of methods whose directions are determined up to their sign.
SIGNED = ("explained_variance_", "eigenvalues_", "correlations_", "mixing_")


def has_signs(model: BaseEstimator) -> bool:
    """Principal directions are known up to sign: compare after fixing it."""
    return any(hasattr(model, a) for a in SIGNED)


def assert_same(model: BaseEstimator, got: Any, want: Any, rtol: float) -> None:
    """Equal to a tolerance relative to the size of the answer; up to sign for directions."""
    got, want = (np.asarray(to_numpy(a), dtype=float) for a in (got, want))
    assert got.shape == want.shape
    assert not np.isnan(want).any()  # which assert_allclose takes for equal to itself
    if has_signs(model) and want.ndim == 2:
        flip = np.sign(np.sum(got * want, axis=0))
        got = got * np.where(flip == 0, 1, flip)
    away = np.isinf(want)  # log densities beyond the support: -inf on both sides
    np.testing.assert_array_equal(got[away], want[away])
    got, want = got[~away], want[~away]
    scale = np.max(np.abs(want), initial=0.0) or 1.0
    np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=rtol)


Maker = Callable[..., BaseEstimator]
