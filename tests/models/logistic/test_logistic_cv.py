"""The warm-started path over C, and the choice along it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import LogisticRegressionCV as Reference
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

import kilogram as kg

X, y = load_iris(return_X_y=True)


def test_the_path_is_the_single_fits_in_fewer_steps():
    path = kg.logistic_path(X, y, Cs=[10.0, 0.01, 0.1, 1.0], tol=1e-9)
    np.testing.assert_array_equal(path.Cs, [0.01, 0.1, 1.0, 10.0])
    alone = [kg.LogisticRegression(C=C, tol=1e-9).fit(X, y) for C in path.Cs]
    for k, model in enumerate(alone):
        np.testing.assert_allclose(path.coefs[k], model.coef_, atol=1e-6)
        assert np.isclose(path.objectives[k], model.objective_)
    assert path.steps.sum() <= sum(int(m.n_iter_[0]) for m in alone)


def test_scores_are_those_of_fits_on_the_folds():
    folds = KFold(4, shuffle=True, random_state=0)
    Cs = [0.1, 1.0, 10.0]
    model = kg.LogisticRegressionCV(Cs=Cs, cv=folds, tol=1e-8).fit(X, y)
    assert model.scores_.shape == (4, 1, 3)
    for f, (train, test) in enumerate(folds.split(X)):
        peer = Peer(C=1.0, tol=1e-9, max_iter=5000).fit(X[train], y[train])
        want = -log_loss(y[test], peer.predict_proba(X[test]), labels=[0, 1, 2])
        assert np.isclose(model.scores_[f, 0, 1], want, atol=1e-5)
    assert Cs[int(np.argmax(model.scores_.mean(axis=(0, 1))))] == model.C_
    final = kg.LogisticRegression(C=model.C_, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), final.predict_proba(X), atol=1e-5)


def test_ratios_scoring_and_means_of_folds():
    model = kg.LogisticRegressionCV(Cs=[0.05, 0.5], l1_ratios=[0.0, 1.0], cv=3,
                                    scoring="accuracy", refit=False, max_iter=500).fit(X, y)  # fmt: skip  # noqa: E501
    assert model.scores_.shape == (3, 2, 2)
    assert model.l1_ratio_ in (0.0, 1.0)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("Cs", [[0.0, 1.0], [], [-1.0]])
def test_bad_grids(Cs):
    with pytest.raises(ValueError, match="Cs"):
        kg.LogisticRegressionCV(Cs=Cs).fit(X, y)


def test_streams_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match="logistic_path"):
        kg.LogisticRegressionCV().fit([(X[:70], y[:70]), (X[70:], y[70:])])


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_that_lack_a_class():
    """NumPy spoke of an inhomogeneous shape, and one class only was said to be in the labels."""
    rare = np.r_[np.zeros(20), np.ones(20), 2]
    rows = np.random.default_rng(0).standard_normal((41, 2))
    assert kg.LogisticRegressionCV(Cs=2, cv=5).fit(rows, rare).coef_.shape == (3, 2)
    with pytest.raises(ValueError, match=r"all classes.* no row of \[2.0\]"):
        kg.LogisticRegressionCV(Cs=2, cv=5, refit=False).fit(rows, rare)
    halves = [(np.arange(20), np.arange(20, 41))]
    with pytest.raises(ValueError, match=r"two classes in the training rows.* \[1.0, 2.0\]"):
        kg.LogisticRegressionCV(Cs=2, cv=halves).fit(rows, rare)


def test_score_is_that_of_scoring():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] + rng.standard_normal(80) > 0.5).astype(int)
    model = kg.LogisticRegressionCV(Cs=3, cv=3, scoring="neg_log_loss").fit(X, y)
    assert model.score(X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))
    plain = kg.LogisticRegressionCV(Cs=3, cv=3).fit(X, y)
    assert plain.score(X, y) == pytest.approx(np.mean(plain.predict(X) == y))


def test_paths_of_coefficients_are_those_of_scikit_learn():
    """In the shapes of both settings of use_legacy_attributes."""
    for labels in (y, y > 0):
        both = []
        for legacy in (False, True):
            how = {"Cs": [0.1, 1.0], "cv": 3, "l1_ratios": (0.0,), "tol": 1e-8, "max_iter": 5000}
            how |= {"scoring": "accuracy", "use_legacy_attributes": legacy}
            both.append((kg.LogisticRegressionCV(**how).fit(X, labels), Reference(**how)))
        for ours, reference in both:
            reference.fit(X, labels)
            for name in ("coefs_paths_", "scores_"):
                a, b = getattr(ours, name), getattr(reference, name)
                a, b = (v if isinstance(v, dict) else {0: v} for v in (a, b))
                assert a.keys() == b.keys()
                for key, value in b.items():
                    assert a[key].shape == value.shape
                    np.testing.assert_allclose(a[key], value, rtol=1e-2, atol=2e-3)
            assert np.shape(ours.C_) == np.shape(reference.C_)
            assert np.shape(ours.n_iter_) == np.shape(reference.n_iter_)


def test_a_fold_without_a_class_has_no_coefficients_for_it():
    X = np.arange(24.0)[:, None]
    y = np.repeat([0, 1, 2], 8)
    folds = [(np.arange(8, 24), np.arange(8)), (np.arange(24), np.arange(24))]
    model = kg.LogisticRegressionCV(Cs=[1.0], cv=folds).fit(X, y)
    assert np.isnan(model.coefs_paths_[0, 0, 0, 0]).all()
    assert np.isfinite(model.coefs_paths_[0, 0, 0, 1:]).all()
    np.testing.assert_allclose(
        model.coefs_paths_[0, 0, 0, 1], -model.coefs_paths_[0, 0, 0, 2], rtol=1e-12
    )


def test_deprecated_penalty_fixes_the_ratio():
    model = kg.LogisticRegressionCV(Cs=[0.1], cv=3, penalty="l1").fit(X, y > 0)
    assert model.l1_ratio_ == 1.0
    assert (model.coef_ == 0).any()


def test_an_empty_grid_of_ratios_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="l1_ratios must have at least one value"):
        kg.LogisticRegressionCV(l1_ratios=[]).fit(X, y)
