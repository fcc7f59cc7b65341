"""KernelRidge beyond memory and time: which solver is taken, what is said, and how good it is."""

import warnings

import dask.array as da
import numpy as np
import pytest

import kilogram as kg
from kilogram.base import ConvergenceWarning, MemoryFallbackWarning
from kilogram.models.ridge import kernel_solvers as kernel_fit
from kilogram.models.ridge.kernel_solver_choice import KernelSize, choose_solver, default_centres


def data(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(X[:, 1])]) + 0.1 * rng.standard_normal((n, 2))
    return X, Y + 1.0, rng.integers(0, 4, n).astype(float)


NEW = data(80, seed=5)[0]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "solver", [{"solver": "cg"}, {"solver": "falkon"}, {"approximation": "nystroem"}]
)
def test_all_rows_as_centres_are_the_exact_solution(fit_intercept, weighted, solver):
    X, Y, w = data(120)
    w = w + 1.0 if weighted else None
    params = {"kernel": kg.Gaussian(1.5), "alpha": [0.1, 3.0], "fit_intercept": fit_intercept}
    want = kg.KernelRidge(**params).fit(X, Y, w)
    got = kg.KernelRidge(**params, **solver, n_components=120, tol=1e-12).fit(X, Y, w)
    np.testing.assert_allclose(got.predict(NEW), want.predict(NEW), rtol=1e-5, atol=1e-6)
    assert got.objective_ == pytest.approx(want.objective_, rel=1e-6)
    assert got.objective(X, Y, w) == pytest.approx(got.objective_, rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_falkon_is_nystroem_by_iteration(fit_intercept):
    """Two ways to one minimum on the same centres."""
    X, Y, w = data()
    params = {"kernel": kg.Gaussian(1.5), "alpha": 0.3, "fit_intercept": fit_intercept}
    params |= {"n_components": 40, "random_state": 3, "tol": 1e-12}
    one = kg.KernelRidge(**params, solver="falkon").fit(X, Y, w)
    two = kg.KernelRidge(**params, approximation="nystroem").fit(X, Y, w)
    np.testing.assert_array_equal(one.X_fit_, two.X_fit_)
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), rtol=1e-5, atol=1e-6)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-7)
    assert one.dual_coef_.shape == (40, 2)


def test_float32_centres(monkeypatch):
    X, Y, _ = data()
    params = {"kernel": kg.Gaussian(1.5), "alpha": 0.3, "n_components": 40, "random_state": 3}
    want = kg.KernelRidge(**params, solver="falkon", tol=1e-10).fit(X + 1e3, Y)
    monkeypatch.setattr(kernel_fit, "SMALL", 0)
    for memory in (None, 30_000):  # stored, then streamed
        got = kg.KernelRidge(**params, solver="falkon", max_memory=memory).fit(X + 1e3, Y)
        error = np.abs(got.predict(NEW + 1e3) - want.predict(NEW + 1e3)).max()
        assert error < 1e-2 * np.abs(Y).max()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_fourier_is_ridge_on_the_features(fit_intercept):
    X, Y, w = data()
    params = {"alpha": 0.3, "fit_intercept": fit_intercept}
    model = kg.KernelRidge(
        **params, kernel=kg.Gaussian(1.5), approximation="fourier", n_components=50, random_state=1
    ).fit(X, Y, w)
    phi = model.features_
    want = kg.Ridge(**params).fit(phi(X), Y, w)
    np.testing.assert_allclose(model.predict(NEW), want.predict(phi(NEW)), rtol=1e-6)
    assert model.objective_ == pytest.approx(want.objective_, rel=1e-7)
    assert model.objective(X, Y, w) == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.parametrize("name", ["nystroem", "fourier"])
def test_approximations_in_blocks_and_on_dask(name):
    X, Y, w = data()
    model = kg.KernelRidge(
        0.3, kernel="rbf", approximation=name, n_components=30, random_state=1, fit_intercept=True
    )
    want = model.fit(X, Y, w).predict(NEW)
    lazy = [da.from_array(a, chunks=(70, -1) if a.ndim == 2 else 70) for a in (X, Y, w)]
    blocks = [(X[i : i + 90], Y[i : i + 90], w[i : i + 90]) for i in range(0, 300, 90)]
    for rows in (lazy, [blocks]):
        np.testing.assert_allclose(model.fit(*rows).predict(NEW), want, rtol=1e-6)


def test_more_features_come_closer():
    X, Y, _ = data()
    exact = kg.KernelRidge(0.3, kernel=kg.Gaussian(1.5)).fit(X, Y).predict(NEW)
    for name in ("nystroem", "fourier"):
        errors = []
        for m in (10, 60, 280):
            draws = [
                kg.KernelRidge(
                    0.3,
                    kernel=kg.Gaussian(1.5),
                    approximation=name,
                    n_components=m,
                    random_state=seed,
                ).fit(X, Y)
                for seed in range(8)
            ]
            errors.append(np.mean([np.abs(f.predict(NEW) - exact).mean() for f in draws]))
        assert errors[2] < errors[1] < errors[0]


def test_beyond_memory_the_solver_is_announced():
    X, Y, _ = data()
    exact = kg.KernelRidge(0.3, kernel=kg.Gaussian(1.5)).fit(X, Y)
    with pytest.warns(MemoryFallbackWarning, match="centres"):
        model = kg.KernelRidge(
            0.3, kernel=kg.Gaussian(1.5), max_memory=300_000, random_state=0
        ).fit(X, Y)
    assert model.solver_ == "falkon"
    assert len(model.X_fit_) < 300
    assert np.corrcoef(model.predict(NEW).ravel(), exact.predict(NEW).ravel())[0, 1] > 0.99


def test_half_the_memory_is_still_exact():
    X, Y, _ = data()
    exact = kg.KernelRidge(0.3, kernel=kg.Gaussian(1.5)).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kg.KernelRidge(0.3, kernel=kg.Gaussian(1.5), max_memory=500_000).fit(X, Y)
    assert model.solver_ == "cholesky"
    np.testing.assert_allclose(model.dual_coef_, exact.dual_coef_, rtol=1e-7, atol=1e-9)


def test_refused_when_the_solver_was_asked_for():
    X, Y, _ = data()
    with pytest.raises(MemoryError, match="max_memory"):
        kg.KernelRidge(kernel="rbf", solver="cholesky", max_memory="100KB").fit(X, Y)


def test_cg_beyond_memory_is_exact():
    X, Y, _ = data()
    exact = kg.KernelRidge(0.3, kernel=kg.Gaussian(1.5)).fit(X, Y)
    model = kg.KernelRidge(
        0.3, kernel=kg.Gaussian(1.5), solver="cg", max_memory=100_000, tol=1e-10
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), rtol=1e-6, atol=1e-7)


def test_streamed_rows_beyond_memory_take_landmarks():
    X, Y, _ = data()
    blocks = [(X[i : i + 90], Y[i : i + 90]) for i in range(0, 300, 90)]
    with pytest.warns(MemoryFallbackWarning, match="centres"):
        model = kg.KernelRidge(
            0.3, kernel=kg.Gaussian(1.5), max_memory=300_000, random_state=0
        ).fit(blocks)
    assert model.solver_ == "nystroem"
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("solver", ["cg", "falkon"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_time_is_kept_and_the_model_usable(solver, fit_intercept):
    X, Y, w = data()
    model = kg.KernelRidge(
        0.3,
        kernel=kg.Gaussian(0.5),
        solver=solver,
        max_time=1e-6,
        n_components=100,
        fit_intercept=fit_intercept,
    )
    with pytest.warns(ConvergenceWarning, match=r"residual.*usable.*max_time"):
        model.fit(X, Y, w)
    assert not model.converged_
    assert np.isfinite(model.predict(NEW)).all()
    assert model.objective(X, Y, w) == pytest.approx(model.objective_, rel=1e-6)


def test_few_steps_lower_the_objective():
    X, Y, _ = data()
    found = []
    for steps in (1, 3, 100):
        model = kg.KernelRidge(
            0.01,
            kernel=kg.Gaussian(0.7),
            solver="falkon",
            max_iter=steps,
            n_components=100,
            random_state=0,
            tol=1e-10,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(model.fit(X, Y).objective_)
    assert found[0] >= found[1] >= found[2]


def test_short_time_turns_to_a_solver_that_can_be_stopped():
    size = KernelSize(
        n=50_000,
        d=10,
        dtype="float64",
        kernel=kg.Gaussian(1.0),
        solver="auto",
        max_memory="100GiB",
        max_time=1e-3,
        n_components=None,
        numpy=True,
    )
    plan = choose_solver(size)
    assert plan.name == "cg"
    assert "max_time" in plan.reason


def test_estimates_follow_the_solvers():
    small = kg.estimate(kg.KernelRidge(kernel="rbf"), n=2_000, d=10)
    assert small.fits
    assert small.method == "cholesky"
    large = kg.estimate(kg.KernelRidge(kernel="rbf", max_memory="12GiB"), n=500_000, d=28)
    assert large.fits
    assert large.method == "falkon"
    assert "centres" in str(large)
    features = kg.estimate(kg.KernelRidge(kernel="rbf", approximation="nystroem"), n=10**6, d=10)
    assert features.method == "nystroem"


def test_centres_follow_rows_and_memory():
    assert default_centres(50, 10**9) == 50
    assert default_centres(500_000, 12 * 2**30) == 3535
    assert default_centres(500_000, 2**30) < 500
