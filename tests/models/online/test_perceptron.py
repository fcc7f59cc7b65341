"""Online classifiers: the perceptron's variants, steps, batches, partial_fit and refusals."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as Peer

import kilogram as kg
from kilogram.base import ConvergenceWarning

rng = np.random.default_rng(0)
Y = np.arange(200) % 3
X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 4.0]])[Y] + rng.standard_normal((200, 2))


@pytest.mark.parametrize("K", [2, 3])
def test_scikit_learns_coefficients_without_shuffling(K):
    keep = Y < K
    params = dict(shuffle=False, max_iter=7, tol=None)
    ours, peer = kg.Perceptron(**params).fit(X[keep], Y[keep]), Peer(**params).fit(X[keep], Y[keep])
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-9)


@pytest.mark.parametrize("name", ["Perceptron", "Adaline", "OnlineClassifier"])
def test_partial_fit_is_a_pass_in_order(name):
    cls = getattr(kg, name)
    once = cls().partial_fit(X, Y, classes=[0, 1, 2])
    parts = cls()
    for a in range(0, 200, 37):
        parts.partial_fit(X[a : a + 37], Y[a : a + 37], classes=[0, 1, 2])
    sparse = cls().partial_fit(sp.csr_array(X), Y, classes=[0, 1, 2])
    np.testing.assert_allclose(parts.coef_, once.coef_)
    np.testing.assert_allclose(sparse.coef_, once.coef_)
    assert parts.t_ == 200


def test_classes_unseen_in_the_first_call_are_refused():
    model = kg.OnlineClassifier()
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, Y)
    model.partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1])
    with pytest.raises(ValueError, match=r"\[2\].*did not"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])


def test_the_mean_of_the_iterates_is_the_mean():
    plain = kg.OnlineClassifier(shuffle=False)
    iterates = []
    for i in range(60):
        plain.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[0, 1, 2])
        iterates.append(plain.coef_.copy())
    mean = kg.OnlineClassifier(average=True).partial_fit(X[:60], Y[:60], classes=[0, 1, 2])
    np.testing.assert_allclose(mean.coef_, np.mean(iterates, axis=0), rtol=1e-8)


@pytest.mark.parametrize("loss", ["log", "hinge", "squared", "tanh", "perceptron"])
@pytest.mark.parametrize("batch", [1, 16])
def test_every_loss_learns(loss, batch):
    model = kg.OnlineClassifier(loss, batch_size=batch, random_state=0, max_iter=200)
    assert model.fit(X, Y).score(X, Y) > 0.9


def test_the_log_loss_approaches_logistic_regression():
    want = kg.LogisticRegression(C=1.0).fit(X, Y > 0)
    online = kg.OnlineClassifier(alpha=1 / 200, eta0=0.5, power=0.7, max_iter=200, tol=None,
                                 average=True, random_state=0).fit(X, Y > 0)  # fmt: skip
    a, b = want.coef_[0], online.coef_[0]
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.999
    assert np.linalg.norm(a - b) < 0.1 * np.linalg.norm(a)


def test_early_stopping_and_the_vote():
    watched = kg.Perceptron(early_stopping=True, random_state=0).fit(X, Y)
    assert watched.n_iter_ < 1000
    assert watched.score(X, Y) > 0.85
    with pytest.warns(ConvergenceWarning):
        voted = kg.Perceptron(average="voted", max_iter=2, tol=None).fit(X, Y)
    assert voted.score(X, Y) > 0.9
    with pytest.raises(ValueError, match="in memory"):
        kg.Perceptron(average="voted").fit([(X, Y)])


@pytest.mark.filterwarnings("ignore")
def test_votes_come_as_the_rows_came_and_end_with_the_next_call():
    """They were dense in memory, and went on after partial_fit had learned something else."""
    voted = kg.Perceptron(average="voted", max_iter=2, tol=None).fit(X, Y)
    lazy = da.from_array(X, chunks=(50, -1))
    assert isinstance(voted.predict(lazy), da.Array)
    np.testing.assert_array_equal(voted.predict(lazy).compute(), voted.predict(X))
    assert voted.decision_function(X.astype(np.float32)).dtype == np.float32
    for _ in range(20):
        voted.partial_fit(X, 2 - Y)
    assert voted.score(X, 2 - Y) > 0.8


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"variant": "all"}, "variant"),
        ({"average": "mean"}, "average"),
        ({"penalty": "l1"}, "penalty must be 'l2' or None"),
        ({"eta0": 0.0}, "eta0"),
        ({"max_iter": 0}, "max_iter"),
        ({"early_stopping": True, "validation_fraction": 2}, "validation_fraction"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.Perceptron(**params).fit(X, Y)


def test_rows_of_any_scale_do_not_diverge():
    model = kg.Adaline(random_state=0, max_iter=20, tol=None).fit(1e6 * X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.score(1e6 * X, Y) > 0.6


def test_an_interrupted_fit_leaves_the_model_as_it_was(monkeypatch):
    from kilogram.models.online import training

    model = kg.OnlineClassifier(random_state=0, warm_start=True).fit(X, Y)
    before, machines = model.coef_.copy(), model.machines_.W.copy()
    one_pass = training.one_pass

    def interrupted(*args):
        one_pass(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "one_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 2 - Y)
    np.testing.assert_array_equal(model.coef_, before)
    np.testing.assert_array_equal(model.machines_.W, machines)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], Y)
    assert model.predict(X).shape == Y.shape
