"""The twin search: leave-one-out scores that brute force confirms, and a smooth winner."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score

from kilogram.kitchen.search import (
    TwinSearchClassifier,
    TwinSearchRegressor,
    smooth_winner,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=30)
LABELS = np.array(["no", "yes", "maybe"])[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_inner_score_is_that_of_brute_force(kernel):
    search = TwinSearchRegressor(kernel, alphas=[0.5], widths=[1.0]).fit(X, Y)
    sigma = None if kernel == "linear" else search.model_.kernel.sigma
    left_out = np.empty(30)
    for i in range(30):
        rest = np.arange(30) != i
        model = clone(search.model_)
        if sigma is not None:  # the median distance of 29 rows is another one
            model.set_params(kernel__sigma=sigma)
        left_out[i] = model.fit(X[rest], Y[rest]).predict(X[[i]])[0]
    assert search.best_score_ == pytest.approx(r2_score(Y, left_out), abs=1e-6)


def test_classes_by_brute_force_and_decisions():
    search = TwinSearchClassifier("linear", alphas=[1.0]).fit(X, LABELS)
    indicators = (LABELS[:, None] == search.classes_).astype(float)
    answers = []
    for i in range(30):
        rest = np.arange(30) != i
        model = clone(search.model_).fit(X[rest], indicators[rest])
        answers.append(search.classes_[np.argmax(model.predict(X[[i]]))])
    assert search.best_score_ == pytest.approx(accuracy_score(LABELS, answers))
    assert search.decision_function(X).shape == (30, 3)
    assert set(search.predict(X)) <= set(LABELS)


def test_two_classes_have_one_margin_that_agrees_with_the_answer():
    y = (X[:, 0] > 0).astype(int)
    search = TwinSearchClassifier("gaussian").fit(X, y)
    margin = search.decision_function(X)
    assert margin.shape == (30,)
    assert np.array_equal(search.predict(X), (margin > 0).astype(int))
    assert search.score(X, y) > 0.9


def test_the_kernel_twin_bends_where_the_linear_one_cannot():
    linear, kernel = (
        TwinSearchRegressor(k).fit(X, np.cos(3 * X[:, 0])) for k in ("linear", "gaussian")
    )
    assert kernel.best_score_ > linear.best_score_ + 0.2
    assert set(kernel.best_params_) == {"alpha", "width"}
    assert kernel.path_.shape == (len(kernel.widths), len(kernel.alphas_))


def test_landmarks_for_many_rows_agree_with_the_exact_road():
    exact = TwinSearchRegressor("gaussian", widths=[1.0], alphas=[0.1]).fit(X, Y)
    road = TwinSearchRegressor(
        "gaussian", widths=[1.0], alphas=[0.1], max_exact=10, n_landmarks=30
    ).fit(X, Y)
    assert road.predict(X) == pytest.approx(exact.predict(X), abs=1e-4)
    assert road.best_score_ == pytest.approx(exact.best_score_, abs=1e-4)


def test_balanced_classes_weigh_the_same():
    y = np.array([0] * 27 + [1] * 3)
    shifted = X + 1.0 * y[:, None]
    plain = TwinSearchClassifier("linear", alphas=[1.0]).fit(shifted, y)
    fair = TwinSearchClassifier("linear", alphas=[1.0], balanced=True).fit(shifted, y)
    assert fair.predict(shifted).sum() > plain.predict(shifted).sum()
    assert 0 <= fair.best_score_ <= 1


def test_smooth_winner():
    noise = RNG.normal(size=200) ** 2
    losses = np.stack([noise + 0.5, noise + 0.001 * RNG.normal(size=200), noise + 0.0, noise + 0.4])
    assert smooth_winner(losses[None]) == (0, 2)  # as good as the least, and smoother
    assert smooth_winner(losses[None, :1]) == (0, 0)
    wide = np.stack([losses, losses + 0.3])
    assert smooth_winner(wide) == (0, 2)


def test_bad_input():
    with pytest.raises(ValueError, match="linear"):
        TwinSearchRegressor("cubic").fit(X, Y)
    with pytest.raises(ValueError, match="positive"):
        TwinSearchRegressor(alphas=[-1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="two classes"):
        TwinSearchClassifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="NaN"):
        TwinSearchRegressor().fit(np.where(X > 0, np.nan, X), Y)
