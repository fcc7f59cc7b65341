"""Input and parameters that are meant to be awkward for support vector machines."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning
from kilogram.models.svm.svc import SVC


def two_classes(n, noise=0.5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + noise * rng.standard_normal(n) > 0).astype(int)
    return X, y


def test_class_of_weight_zero_is_an_error():
    X, y = two_classes(30)
    with pytest.raises(ValueError, match="weight zero"):
        SVC().fit(X, y, (y == 1).astype(float))
    with pytest.raises(ValueError, match="class_weight must have finite values of at least 0"):
        SVC(class_weight={0: -1.0, 1: 1.0}).fit(X, y)


def test_duplicates_with_opposite_labels():
    X, y = two_classes(50)
    model = SVC(tol=1e-6).fit(np.vstack([X, X]), np.concatenate([y, 1 - y]))
    np.testing.assert_allclose(model.decision_function(X), 0.0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_huge_values_finish_or_stop_with_advice(kernel):
    X, y = two_classes(100)
    X = X * np.array([1e9, 1.0, 1e4, 1e-3])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = SVC(kernel=kernel, max_iter=300_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.fit_status_ == 0 or any("Scale the features" in str(w.message) for w in said)


def test_indefinite_callable_stops():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), rng.integers(0, 2, 80)

    def odd(A, B):
        return -((A[:, None] - B[None]) ** 2).sum(2)  # all eigenvalues but one are negative

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(kernel=odd, max_iter=100_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_callable_takes_whole_tables_and_must_return_their_matrix():
    """As in scikit-learn; FromCallable says which of the two is meant where one wants pairs."""
    X, y = two_classes(60)
    want = SVC(kernel="linear", tol=1e-8).fit(X, y).decision_function(X)
    for kernel in (
        lambda A, B: A @ B.T,
        kg.FromCallable(lambda A, B: A @ B.T, on="blocks"),
        kg.FromCallable(lambda a, b: a @ b),
    ):
        got = SVC(kernel=kernel, tol=1e-8).fit(X, y).decision_function(X)
        np.testing.assert_allclose(got, want, atol=1e-6)
    for wrong in (lambda A, B: (A * B).sum(1), lambda A, B: A @ B.T[:, 1:], lambda A, B: 1.0):
        with pytest.raises(ValueError, match=r"of shape \(60, 60\).*on='rows'"):
            SVC(kernel=wrong).fit(X, y)
    with pytest.raises(ValueError, match=r"return a number.*on='blocks'"):
        SVC(kernel=kg.FromCallable(lambda a, b: a * b)).fit(X, y)


def test_interrupting_a_long_fit_leaves_at_once():
    X, y = two_classes(400)
    asked = []

    def impatient(A, B):
        asked.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SVC(kernel=impatient).fit(X, y)
    assert len(asked) == 1


INTERRUPTED = """
import signal, threading, time, _thread
import numpy as np
from kilogram import {name}
rng = np.random.default_rng(0)
X = rng.standard_normal((6000, 20)); y = rng.integers(0, 2, 6000)
signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
threading.Timer(1.0, _thread.interrupt_main).start()
start = time.perf_counter()
try:
    {name}({params}).fit(X, y)
except KeyboardInterrupt:
    print("left after", time.perf_counter() - start)
"""


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("SVC", "C=1e5, tol=1e-10, gamma=5e-3"),
        ("LinearSVC", "C=1e5, tol=1e-14, loss='hinge', dual=True, max_iter=10**7"),
    ],
)
def test_control_c_ends_a_long_fit_within_seconds(name, params):
    """The loops in C++ come back to Python often enough to hear it."""
    code = INTERRUPTED.format(name=name, params=params)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "left after" in done.stdout, done.stderr[-500:]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"C": 0}, "C must"),
        ({"C": -1.0}, "C must"),
        ({"C": "big"}, "C must"),
        ({"tol": 0}, "tol must"),
        ({"gamma": -1.0}, "gamma must"),
        ({"gamma": "wide"}, "gamma must"),
        ({"kernel": "gauss"}, "unknown kernel"),
        ({"slack": 3}, "slack must"),
        ({"multi_class": "all"}, "multi_class must"),
        ({"decision_function_shape": "none"}, "decision_function_shape must"),
        ({"max_iter": -2}, "max_iter must"),
    ],
)
def test_bad_parameters(params, match):
    X, y = two_classes(20)
    with pytest.raises(ValueError, match=match):
        SVC(**params).fit(X, y)


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="one class"):
        SVC().fit(np.eye(3), [1, 1, 1])


def test_stopping_early_says_how_far():
    X, y = two_classes(500)
    with pytest.warns(ConvergenceWarning, match=r"KKT violation is .* usable"):
        model = SVC(C=10.0, max_iter=20).fit(X, y)
    assert model.fit_status_ == 1
    assert model.kkt_violation_ > model.tol
    done = SVC(C=10.0).fit(X, y)
    assert done.kkt_violation_ <= done.tol
    assert done.objective_ <= model.objective_
    assert model.objective_ - model.dual_gap_ <= done.objective_  # the gap is a bound
