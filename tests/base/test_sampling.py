"""Rows drawn from generative classifiers have the distribution of the fitted model."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kilogram as kg

RNG = np.random.default_rng(0)
A = np.array([[2.0, 0.6], [0.0, 0.5]])
X = np.concatenate([RNG.standard_normal((300, 2)) @ A, RNG.standard_normal((100, 2)) @ A.T + 4])
Y = np.repeat(["left", "right"], [300, 100])
M = 40_000  # a mean of M rows has the standard error sigma / 100 (a quarter of them: / 200)


@pytest.mark.parametrize(
    "model",
    [
        kg.LinearDiscriminantAnalysis(),
        kg.LinearDiscriminantAnalysis(solver="lsqr"),
        kg.QuadraticDiscriminantAnalysis(),
        kg.GaussianNB(),
        kg.HistogramNB(bins=12, alpha=1e-3),
    ],
    ids=repr,
)
def test_moments_of_the_classes(model):
    model.fit(X, Y)
    Z, labels = model.sample(M, random_state=1)
    assert (labels == "left").mean() == pytest.approx(0.75, abs=0.01)
    for name in ("left", "right"):
        own, drawn = X[name == Y], Z[labels == name]
        width = 5 * own.std(axis=0) / 100
        assert (np.abs(drawn.mean(axis=0) - own.mean(axis=0)) < width + 0.02).all()
    if isinstance(model, kg.QuadraticDiscriminantAnalysis):
        want = np.cov(X[Y == "left"].T, bias=True)
        np.testing.assert_allclose(np.cov(Z[labels == "left"].T), want, atol=0.12)
    again, _ = model.sample(M, random_state=1)
    np.testing.assert_array_equal(again, Z)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "CategoricalNB"])
def test_counts_of_the_classes(name):
    rows = RNG.integers(0, 2 if name == "BernoulliNB" else 4, (400, 3)).astype(float)
    model = getattr(kg, name)(alpha=1e-6).fit(rows, Y)
    Z, labels = model.sample(M, random_state=0)
    for c in ("left", "right"):
        np.testing.assert_allclose(
            Z[labels == c].mean(axis=0), rows[c == Y].mean(axis=0), atol=0.06
        )
    assert (np.floor(Z) == Z).all()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError):
        kg.GaussianNB().sample(3)
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 0"):
        kg.GaussianNB().fit(X, Y).sample(-1)
    wide = RNG.standard_normal((10, 30))
    labels = np.arange(10) % 2
    with pytest.raises(ValueError, match="store_covariance"):
        kg.LinearDiscriminantAnalysis().fit(wide, labels).sample(2)
    stored = kg.LinearDiscriminantAnalysis(store_covariance=True).fit(wide, labels)
    assert stored.sample(2)[0].shape == (2, 30)
    assert not hasattr(kg.ComplementNB(), "sample")
