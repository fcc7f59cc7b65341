"""Label spreading beside scikit-learn's, uncertainty, and bad input."""

import numpy as np
import pytest
from sklearn import semi_supervised
from sklearn.datasets import load_digits, make_circles

import kilogram as kg
from kilogram.evaluation import learn_actively, most_uncertain, uncertainty
from kilogram.models.semi_supervised.spreading import normalised_graph, spread


def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:400] / 16.0, truth[:400]
    y = np.where(np.arange(400) % 10 == 0, truth, -1)
    return X, y, truth


def test_scikit_learns_fixed_point():
    X, y, _ = digits()
    ours = kg.LabelSpreading(gamma=0.5, alpha=0.6, tol=1e-10).fit(X, y)
    peer = semi_supervised.LabelSpreading(gamma=0.5, alpha=0.6, tol=1e-12, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(ours.label_distributions_, peer.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X[:20]), peer.predict_proba(X[:20]), atol=1e-6)


def test_weakly_linked_rows_keep_their_proportions():
    """scikit-learn's example on digits: rows as far as exp(-250) from each other."""
    X, truth = load_digits(return_X_y=True)
    order = np.random.RandomState(2).permutation(len(X))[:340]
    X, truth = X[order], truth[order]
    y = np.where(np.arange(340) < 40, truth, -1)
    ours = kg.LabelSpreading(gamma=0.25).fit(X, y)
    A = np.exp(-0.25 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(A, 0.0)
    s = 1 / np.sqrt(A.sum(axis=1))
    F = np.linalg.solve(
        np.eye(340) - 0.2 * s[:, None] * A * s, 0.8 * np.eye(10)[truth] * (y >= 0)[:, None]
    )
    np.testing.assert_allclose(
        ours.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-6
    )
    assert (ours.transduction_ == truth)[40:].mean() > 0.85


def test_two_circles():
    """scikit-learn's example: one label on each circle, the others along a path of small values."""
    X, circle = make_circles(n_samples=200, shuffle=False)
    y = np.full(200, -1)
    y[0], y[-1] = 0, 1
    ours = kg.LabelSpreading("knn", alpha=0.8).fit(X, y)
    assert (ours.transduction_ == circle).mean() == 1.0


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.999])
def test_every_entry_is_accurate(alpha):
    """A chain of 60 rows: entries fall by a constant factor, over many orders of magnitude."""
    n = 60
    A = np.eye(n, k=1) + np.eye(n, k=-1)
    Y = np.eye(n)[:, :1]
    S = normalised_graph(A.copy())
    found = spread(S, Y, alpha, tol=1e-9, max_iter=5000)
    series, term = np.zeros((n, 1)), (1 - alpha) * Y
    for _ in range(60_000 if alpha > 0.99 else 4000):
        series, term = series + term, alpha * (S @ term)
    assert found.converged
    np.testing.assert_allclose(found.value, series, rtol=1e-6)


def test_unlabelled_rows_help():
    X, y, truth = digits()
    alone = kg.SVC().fit(X[y >= 0], y[y >= 0]).predict(X)
    near = kg.LabelSpreading("knn", n_neighbors=6, alpha=0.9).fit(X, y)
    assert (near.transduction_ == truth).mean() > (alone == truth).mean()


def test_labels_may_be_words_and_parts_without_labels_get_the_prior():
    x = np.array([[0.0], [0.1], [5.0], [5.1], [99.0], [99.1]])
    y = np.array(["a", "?", "b", "?", "?", "?"])
    model = kg.LabelSpreading("knn", n_neighbors=2, unlabelled="?").fit(x, y)
    assert model.transduction_[:4].tolist() == ["a", "a", "b", "b"]
    np.testing.assert_allclose(model.label_distributions_[4:], 0.5)
    assert model.predict([[0.05]]).tolist() == ["a"]
    with pytest.raises(ValueError, match="y has no labels"):
        kg.LabelSpreading(unlabelled="?").fit(x, np.full(6, "?"))


@pytest.mark.parametrize(
    ("params", "match"),
    [({"kernel": "linear"}, "kernel"), ({"alpha": 1.0}, "alpha"), ({"gamma": 0}, "gamma"),
     ({"tol": -1.0}, "tol"), ({"n_neighbors": 0, "kernel": "knn"}, "n_neighbors")],
)  # fmt: skip
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        kg.LabelSpreading(**params).fit([[0.0], [1.0], [2.0]], [0, 1, -1])


def test_uncertainty():
    p = np.array([[0.8, 0.1, 0.1], [0.5, 0.5, 0.0], [0.4, 0.3, 0.3]])
    np.testing.assert_allclose(uncertainty(p), [0.3, 1.0, 0.9])
    np.testing.assert_allclose(uncertainty(p, "least_confident"), [0.2, 0.5, 0.6])
    assert np.argmax(uncertainty(p, "entropy")) == 2
    with pytest.raises(ValueError, match="measure"):
        uncertainty(p, "variance")
    with pytest.raises(ValueError, match="two classes"):
        uncertainty(p[:, :1])


def test_machines_without_probabilities_are_unsure_at_the_border():
    x = np.linspace(-1, 1, 41)[:, None]
    model = kg.LinearSVC().fit(x, (x[:, 0] > 0).astype(int))
    assert abs(x[most_uncertain(model, x, 3)]).max() < 0.2
    three = kg.LinearSVC().fit(x, np.digitize(x[:, 0], [-0.4, 0.4]))
    assert len(most_uncertain(three, x, 5)) == 5


def test_questions_that_cannot_be_asked():
    x = np.arange(6.0)[:, None]
    for bad in ({"start": [0, 0]}, {"start": [0, 9]}, {"start": [0, 5], "n_queries": 5}):
        with pytest.raises(ValueError, match=r"start|labels"):
            learn_actively(kg.LogisticRegression(), x, lambda i: i > 2, **{"n_queries": 1, **bad})


def test_the_training_rows_are_kept():
    x = np.arange(6.0)[:, None]
    model = kg.LabelSpreading().fit(x, [0, -1, -1, -1, -1, 1])
    np.testing.assert_array_equal(model.X_, x)
