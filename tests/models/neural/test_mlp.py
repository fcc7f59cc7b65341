"""MLPClassifier and MLPRegressor: scikit-learn's networks for equal seeds, and what goes beyond."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.neural_network import MLPClassifier, MLPRegressor

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.models.neural.mlp import float32_suffices

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS, LABELS = DIGITS[:400] / 16, LABELS[:400]
TARGET = DIGITS[:, 20] + 0.5 * DIGITS[:, 30]
SETTINGS = [
    {},
    {"solver": "sgd", "learning_rate_init": 0.1},
    {
        "solver": "sgd",
        "learning_rate": "adaptive",
        "learning_rate_init": 0.5,
        "n_iter_no_change": 1,
    },
    {"solver": "sgd", "nesterovs_momentum": False, "learning_rate": "invscaling"},
    {"solver": "lbfgs"},
    {"early_stopping": True, "validation_fraction": 0.2},
    {"activation": "tanh", "hidden_layer_sizes": (9, 7), "batch_size": 33},
    {"activation": "logistic", "shuffle": False, "alpha": 0.1},
    {"hidden_layer_sizes": ()},
]


def both(ours, theirs, X, y, w=None, **params):
    params = {"max_iter": 12, "random_state": 3, "hidden_layer_sizes": (20,), **params}
    return ours(**params).fit(X, y, w), theirs(**params).fit(X, y, w)


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_classifier_is_scikit_learns_for_equal_seeds(params):
    ours, theirs = both(kg.MLPClassifier, MLPClassifier, DIGITS, LABELS, **params)
    np.testing.assert_allclose(ours.predict_proba(DIGITS), theirs.predict_proba(DIGITS), atol=1e-7)
    for name in ("n_iter_", "t_", "n_layers_", "n_outputs_", "out_activation_"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-7)
    if params.get("solver") != "lbfgs":
        np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-7)
        assert ours.best_validation_score_ == theirs.best_validation_score_
        assert ours.validation_scores_ == theirs.validation_scores_


@pytest.mark.parametrize("params", [*SETTINGS[:7], {"loss": "poisson"}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_regressor_is_scikit_learns_for_equal_seeds(params, weighted):
    w = np.random.default_rng(0).integers(1, 4, len(DIGITS)).astype(float) if weighted else None
    ours, theirs = both(kg.MLPRegressor, MLPRegressor, DIGITS, TARGET, w, **params)
    np.testing.assert_allclose(ours.predict(DIGITS), theirs.predict(DIGITS), atol=1e-6)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-6)


def test_two_classes_and_several_labels():
    X, Y = make_multilabel_classification(120, 8, n_classes=4, random_state=0)
    ours, theirs = both(kg.MLPClassifier, MLPClassifier, X, Y, max_iter=40)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(clone(ours).fit(X, sp.csr_array(Y)).predict(X), ours.predict(X))
    np.testing.assert_array_equal(clone(ours).fit(X, Y.tolist()).predict(X), ours.predict(X))
    words = np.where(Y[:, 0] == 1, "yes", "no")
    ours, theirs = both(kg.MLPClassifier, MLPClassifier, X, words, max_iter=40)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-7)
    with pytest.raises(ValueError, match="multiclass-multioutput"):
        clone(ours).fit(X, Y + np.arange(len(Y))[:, None])


def test_the_loss_of_several_targets_is_the_one_whose_gradient_is_followed():
    """L-BFGS converges on two targets: at its end the penalty and the error balance."""
    Y = np.column_stack([TARGET, 3 * DIGITS[:, 10]])
    model = kg.MLPRegressor(
        hidden_layer_sizes=(5,), activation="tanh", solver="lbfgs", max_iter=2000, random_state=0
    ).fit(DIGITS, Y)
    error = 0.5 * np.mean(np.sum((model.predict(DIGITS) - Y) ** 2, axis=1))
    penalty = 0.5 * model.alpha * sum((W**2).sum() for W in model.coefs_) / len(Y)
    assert model.loss_ == pytest.approx(error + penalty, rel=1e-9)
    assert np.all(np.diff(model.loss_curve_) <= 1e-12)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_train_the_same_network(solver, library):
    xp = pytest.importorskip(library)
    params = {"solver": solver, "hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0}
    for dropout, stop in ((0.0, True), (0.3, False)):
        model = kg.MLPClassifier(dropout=dropout, early_stopping=stop, **params)
        want = clone(model).fit(DIGITS, LABELS).predict_proba(DIGITS)
        X = xp.asarray(DIGITS)
        got = model.fit(X, xp.asarray(LABELS))
        assert type(got.coefs_[0]) is type(X)
        np.testing.assert_allclose(np.asarray(got.predict_proba(X)), want, atol=1e-9)
        np.testing.assert_allclose(got.predict_proba(DIGITS), want, atol=1e-9)


def test_sparse_rows_train_the_same_network():
    model = kg.MLPClassifier((8,), max_iter=4, random_state=0, early_stopping=True)
    want = clone(model).fit(DIGITS, LABELS).predict_proba(DIGITS)
    got = model.fit(sp.csc_array(DIGITS), LABELS).predict_proba(sp.csr_array(DIGITS))
    np.testing.assert_allclose(got, want, atol=1e-10)


def test_a_row_without_weight_is_left_out():
    w = (np.arange(len(DIGITS)) % 3 > 0).astype(float)
    model = kg.MLPRegressor(hidden_layer_sizes=(8,), max_iter=4, random_state=0)
    want = clone(model).fit(DIGITS[w > 0], TARGET[w > 0]).predict(DIGITS)
    np.testing.assert_allclose(model.fit(DIGITS, TARGET, w).predict(DIGITS), want, atol=1e-10)


def test_partial_fit_is_scikit_learns():
    ours, theirs = (M((6,), random_state=1) for M in (kg.MLPClassifier, MLPClassifier))
    for start in (0, 100, 200):
        part = slice(start, start + 100)
        for model in (ours, theirs):
            model.partial_fit(DIGITS[part], LABELS[part], classes=np.arange(10))
    np.testing.assert_allclose(ours.predict_proba(DIGITS), theirs.predict_proba(DIGITS), atol=1e-9)
    assert (ours.t_, len(ours.loss_curve_)) == (300, 3)
    with pytest.raises(ValueError, match="not the same"):
        ours.partial_fit(DIGITS, LABELS, classes=np.arange(9))
    with pytest.raises(ValueError, match="classes must be passed"):
        kg.MLPClassifier().partial_fit(DIGITS, LABELS)
    assert not hasattr(kg.MLPRegressor(solver="lbfgs"), "partial_fit")
    with pytest.raises(ValueError, match="early_stopping"):
        kg.MLPRegressor(early_stopping=True).partial_fit(DIGITS, TARGET)


def test_a_failed_warm_start_leaves_the_network_as_it_was():
    model = kg.MLPClassifier((6,), max_iter=3, random_state=1, warm_start=True).fit(DIGITS, LABELS)
    before = model.predict_proba(DIGITS)
    for bad, y, what in [(DIGITS, LABELS + 1, "same"), (DIGITS * np.nan, LABELS, "NaN")]:
        with pytest.raises(ValueError, match=what):
            model.fit(bad, y)
    with pytest.raises(ValueError, match="layers of"):
        model.set_params(hidden_layer_sizes=(7,)).fit(DIGITS, LABELS)
    model.set_params(hidden_layer_sizes=(6,))
    np.testing.assert_array_equal(model.predict_proba(DIGITS), before)
    assert model.fit(DIGITS, LABELS).loss_ < model.loss_curve_[0]
    assert len(model.loss_curve_) == 6


def test_dropout_regularises_and_is_off_in_predictions():
    model = kg.MLPClassifier((40,), dropout=0.5, max_iter=60, random_state=0).fit(DIGITS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(DIGITS), model.predict_proba(DIGITS))
    assert model.score(DIGITS, LABELS) > 0.9
    with pytest.raises(ValueError, match="dropout needs"):
        kg.MLPClassifier(dropout=0.1, solver="lbfgs").fit(DIGITS, LABELS)


def test_squared_loss_of_probabilities():
    model = kg.MLPClassifier((30,), loss="squared_error", max_iter=200, random_state=0)
    P = model.fit(DIGITS, LABELS).predict_proba(DIGITS)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert model.score(DIGITS, LABELS) > 0.9


def test_float32_rows_give_a_float32_network():
    X = DIGITS.astype(np.float32)
    model = kg.MLPRegressor(hidden_layer_sizes=(8,), max_iter=30, random_state=0)
    got = clone(model).fit(X, TARGET.astype(np.float32))
    assert got.coefs_[0].dtype == got.predict(X).dtype == np.float32
    want = model.fit(DIGITS, TARGET).predict(DIGITS)
    np.testing.assert_allclose(got.predict(X), want, atol=1e-3)


def test_a_generator_is_a_random_state():
    models = [
        kg.MLPRegressor(hidden_layer_sizes=(4,), max_iter=2, random_state=np.random.default_rng(5))
        for _ in range(2)
    ]
    one, two = (model.fit(DIGITS, TARGET).predict(DIGITS) for model in models)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"hidden_layer_sizes": (3, 0)}, "hidden_layer_sizes must be > 0"),
        ({"hidden_layer_sizes": (2.5,)}, "hidden_layer_sizes"),
        ({"activation": "softmax"}, "activation must be one of"),
        ({"momentum": 2}, "momentum must be a float in"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be an integer"),
        ({"dropout": 1.0}, "dropout must be a float in"),
        ({"learning_rate_init": 1e9, "solver": "sgd"}, "non-finite"),
        ({"early_stopping": True, "validation_fraction": 0.001}, "validation set is too small"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.MLPRegressor(random_state=0, **params).fit(DIGITS, TARGET)


def test_bad_targets():
    with pytest.raises(ValueError, match="negative"):
        kg.MLPRegressor(loss="poisson").fit(DIGITS, -TARGET)
    with pytest.raises(ValueError, match="one class only"):
        kg.MLPClassifier().fit(DIGITS, np.ones(len(DIGITS)))
    with pytest.raises(ValueError, match="y to be passed"):
        kg.MLPRegressor().fit(DIGITS)
    with pytest.raises(ValueError, match="overflow"):
        kg.MLPRegressor().fit(DIGITS, TARGET * 1e200)


def test_unfinished_training_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for solver in ("adam", "lbfgs"):
            model = kg.MLPRegressor(solver=solver, max_iter=2, random_state=0)
            with pytest.raises(ConvergenceWarning, match="max_iter is reached"):
                model.fit(DIGITS, TARGET)
        kg.MLPRegressor(random_state=0).partial_fit(DIGITS, TARGET)


def test_a_diverging_network_keeps_its_best_weights_with_early_stopping(capsys):
    model = kg.MLPRegressor(
        hidden_layer_sizes=100,
        activation="identity",
        solver="sgd",
        alpha=0.0001,
        learning_rate_init=1,
        early_stopping=True,
        random_state=0,
        verbose=True,
    )
    model.fit(DIGITS * 100, TARGET)
    assert all(np.isfinite(W).all() for W in model.coefs_)
    assert "Validation score" in capsys.readouterr().out


def test_estimate():
    assert kg.estimate(kg.MLPClassifier(), n=60_000, d=784).seconds > 0


def test_many_float64_rows_are_trained_in_float32_where_it_has_the_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    assert float32_suffices(X)
    assert not float32_suffices(X + 1e6)
    assert not float32_suffices(X[:100])
    assert not float32_suffices(X.astype(np.float32))
    assert float32_suffices(np.ones((6000, 2)))
    for params in ({}, {"early_stopping": True, "shuffle": False}):
        model = kg.MLPRegressor(hidden_layer_sizes=(10,), max_iter=3, random_state=0, **params)
        theirs = MLPRegressor(hidden_layer_sizes=(10,), max_iter=3, random_state=0, **params)
        assert model.fit(X, y).coefs_[0].dtype == np.float64
        np.testing.assert_allclose(model.predict(X), theirs.fit(X, y).predict(X), atol=1e-3)
        assert model.loss_ == pytest.approx(theirs.loss_, rel=1e-3)
    model = kg.MLPRegressor(hidden_layer_sizes=(10,), random_state=0).partial_fit(X, y)
    first = model.loss_
    assert model.partial_fit(X[:500], y[:500]).coefs_[0].dtype == np.float64
    assert model.partial_fit(X, y).loss_ < first
