"""GaussianMixture with little to go by: holes in odd places, far rows, changed settings."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning

KINDS = ["full", "tied", "diag", "spherical"]
ATTRIBUTES = ["weights_", "means_", "covariances_", "precisions_cholesky_", "lower_bound_"]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2)) + np.repeat([[6.0, 6.0], [-6.0, -6.0], [0.0, 0.0]], 20, axis=0)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet
@pytest.mark.parametrize("weight", [0.0, 1e-12])
@pytest.mark.parametrize("init", ["kmeans", "random", "random_from_data", "farthest"])
@pytest.mark.parametrize("kind", KINDS)
def test_holes_in_rows_of_no_weight(kind, init, weight):
    """Sums of weights do not see such holes, and NaN came into the start and stayed."""
    rows, w = np.vstack([X, [[1.0, np.nan]]]), np.append(np.ones(60), weight)
    model = kg.GaussianMixture(3, covariance_type=kind, init_params=init, random_state=0)
    model.fit(rows, sample_weight=w)
    for name in ATTRIBUTES:
        assert np.isfinite(getattr(model, name)).all()
    plain = kg.GaussianMixture(3, covariance_type=kind, init_params="farthest").fit(X)
    if init == "farthest":
        np.testing.assert_allclose(model.means_, plain.means_, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_far_rows_with_missing_values_have_responsibilities(kind):
    """Two densities of 0 were divided by each other."""
    model = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    far = np.array([[1e200, np.nan], [np.nan, -1e300], [1e200, 1e200]])
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(far)).all()


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("kind", KINDS)
def test_far_rows_of_other_libraries_have_responsibilities(kind):
    model = kg.GaussianMixture(3, covariance_type=kind, random_state=0).fit(strict.asarray(X))
    shares = np.asarray(model.predict_proba(strict.asarray([[1e200, 1e200], [1.0, 2.0]])))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@quiet
@pytest.mark.parametrize("seed", range(3))
def test_single_precision_leaves_every_block_of_a_covariance_a_root(seed):
    """Batches of other scales than the first make covariances that float32 only just holds."""
    rng = np.random.default_rng(seed)
    first, then = 1e-3 * rng.standard_normal((4, 6)), 100.0 * rng.standard_normal((3, 6))
    model = kg.GaussianMixture(1, random_state=0)
    for batch in (first, then):
        model.partial_fit(batch.astype(np.float32))
    rows = np.repeat(then[:1].astype(np.float32), 6, axis=0)
    np.fill_diagonal(rows, np.nan)
    assert np.isfinite(model.score_samples(rows)).all()
    assert np.isfinite(model.partial_fit(rows).lower_bound_)


@pytest.mark.parametrize("streamed", [False, True])
def test_columns_without_any_value_are_refused(streamed):
    rows = np.column_stack([X, np.full(60, np.nan)])
    if streamed:
        rows = pytest.importorskip("dask.array").from_array(rows, chunks=(20, 3))
    with pytest.raises(ValueError, match="only NaN in column 2"):
        kg.GaussianMixture(2).fit(rows)
    with pytest.raises(ValueError, match="only NaN in column 2"):
        kg.GaussianMixture(2).partial_fit(rows)


@pytest.mark.parametrize(
    "change", [{"n_components": 3}, {"covariance_type": "diag"}, {"covariance_type": "tied"}]
)
def test_what_goes_on_has_the_same_components(change):
    """They were ignored, or met an error from the middle of a pass."""
    warm = kg.GaussianMixture(2, warm_start=True, random_state=0).fit(X).set_params(**change)
    with pytest.raises(ValueError, match=f"warm_start=True continues .*{next(iter(change))}"):
        warm.fit(X)
    online = kg.GaussianMixture(2, random_state=0).partial_fit(X).set_params(**change)
    with pytest.raises(ValueError, match=f"partial_fit continues .*{next(iter(change))}"):
        online.partial_fit(X)


def test_warm_starts_have_the_same_columns():
    model = kg.GaussianMixture(2, warm_start=True, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 1 features"):
        model.fit(X[:, :1])
    assert model.predict(X).shape == (60,)


def test_predictions_are_those_of_the_fit_whatever_is_set_since():
    model = kg.GaussianMixture(2, random_state=0).fit(X)
    want = model.predict_proba(X), model.bic(X)
    model.set_params(covariance_type="spherical")
    np.testing.assert_array_equal(model.predict_proba(X), want[0])
    assert model.bic(X) == want[1]


def test_starts_that_time_leaves_out_are_reported():
    model = kg.GaussianMixture(1, n_init=10**6, max_time=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="of 1000000 starts"):
        model.fit(X)
    assert model.converged_
