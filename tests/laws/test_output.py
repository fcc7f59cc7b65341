"""Law: `set_output` changes what `transform` comes in, whoever set it, and nothing else."""

import numpy as np
import pandas as pd
import pytest
import sklearn

from tests.laws.cases import ESTIMATORS, data, fit, make, target_for

ASKED = ("transform", "predict", "predict_proba", "decision_function", "score_samples", "denoise")
TRANSFORMERS = [name for name, cls in ESTIMATORS.items() if hasattr(cls, "set_output")]
SOLVERS = {
    "KernelPCA, nystroem": ("KernelPCA", {"approximation": "nystroem", "random_state": 0}),
    "KernelPCA, fixed point": ("KernelPCA", {"preimage": "fixed_point"}),
    "KernelFisherDiscriminant, nystroem": (
        "KernelFisherDiscriminant",
        {"approximation": "nystroem", "random_state": 0},
    ),
    "KernelCCA, nystroem": ("KernelCCA", {"approximation": "nystroem", "random_state": 0}),
    "Isomap, landmarks": ("Isomap", {"n_landmarks": 20, "random_state": 0}),
}


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("case", [*TRANSFORMERS, *SOLVERS])
def test_set_output(case, everywhere):
    name, params = SOLVERS.get(case, (case, {}))
    X, y = data(name=name)
    model = make(name, **params)
    y = target_for(model, y)
    plain = fit(model, X, y)
    with sklearn.config_context(transform_output="pandas" if everywhere else "default"):
        model = fit(model, X, y) if everywhere else fit(model, X, y).set_output(transform="pandas")
        got = {f: getattr(model, f)(X) for f in ASKED if can(plain, f, X)}
    frame = got["transform"][0] if isinstance(got["transform"], tuple) else got["transform"]
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(model.get_feature_names_out())
    for f, answer in got.items():
        np.testing.assert_allclose(np.asarray(answer), getattr(plain, f)(X), atol=1e-6, err_msg=f)
    if hasattr(plain, "embedding_"):
        assert type(model.embedding_) is type(plain.embedding_)


def can(model, method, X):
    try:
        getattr(model, method)(X)
    except (AttributeError, sklearn.exceptions.NotFittedError):
        return False
    return True
