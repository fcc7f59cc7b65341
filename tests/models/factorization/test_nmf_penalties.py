"""NMF: a penalty on one factor alone can be scaled away; it is said, and no number runs off."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning

rng = np.random.default_rng(0)
X = rng.random((60, 4)) @ rng.random((4, 9)) + 0.02 * rng.random((60, 9))
LONG = {"max_iter": 1500, "tol": 1e-9, "random_state": 0}
POISSON = {"beta_loss": "kullback-leibler", "solver": "mu"}


def one_penalty(**params):
    """A fit, and the loadings, with the warning about its penalty."""
    model = kg.NMF(4, **{**LONG, **params})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "NMF stopped", ConvergenceWarning)
        with pytest.warns(ConvergenceWarning, match="Penalise both factors"):
            W = model.fit_transform(X)
    return model, W


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("params", [{}, {"solver": "mu"}, POISSON])
@pytest.mark.parametrize("factor", ["W", "H"])
def test_numbers_stay_in_the_size_of_the_rows(factor, params, l1_ratio):
    penalties = {"alpha_W": 0.0, "alpha_H": 0.0, f"alpha_{factor}": 0.01}
    model, W = one_penalty(l1_ratio=l1_ratio, **penalties, **params)
    assert max(W.max(), model.components_.max()) < 10 * X.max()
    assert model.objective_ == pytest.approx(model.objective(X))


def test_parts_are_those_of_the_loss_alone():
    """The limit of ever larger parts; loadings are penalised for parts of length 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = kg.NMF(4, **LONG).fit(X)
    H = plain.components_ / np.linalg.norm(plain.components_, axis=1)[:, None]
    model, W = one_penalty(alpha_W=0.01, alpha_H=0.0, l1_ratio=1.0)
    np.testing.assert_allclose(model.components_, H, rtol=1e-9)
    np.testing.assert_array_equal(W, model.transform(X))
    slope = (W @ H - X) @ H.T + 0.01 * X.shape[1]  # of the penalised loss; 0 where W is above 0
    assert np.abs(np.minimum(slope, W)).max() < 1e-6
    unpenalised, _ = one_penalty(alpha_W=0.0, alpha_H=0.01)
    np.testing.assert_allclose(unpenalised.components_, plain.components_, rtol=1e-9)
    assert unpenalised.objective_ == pytest.approx(plain.objective_)


def test_batches_do_not_drift():
    """Parts of batches are those without the penalty, too; one warning."""
    model = kg.NMF(4, alpha_W=0.01, alpha_H=0.0, l1_ratio=1.0, random_state=0)
    plain = kg.NMF(4, random_state=0).partial_fit(X)
    with pytest.warns(ConvergenceWarning, match="alpha_H='same'"):
        model.partial_fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            model.partial_fit(X)
            plain.partial_fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.transform(X).sum() < plain.transform(X).sum()


@pytest.mark.parametrize("penalties", [{}, {"alpha_W": 0.01}, {"alpha_W": 0.01, "alpha_H": 1e-6}])
def test_none_or_both_are_as_before(penalties):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "NMF stopped", ConvergenceWarning)
        model = kg.NMF(4, **LONG, **penalties).fit(X)
    assert 0 < model.components_.max() < 1e3
