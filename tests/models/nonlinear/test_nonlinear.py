"""Non-linear regression against NIST's certified values, circles and ellipses."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.textbook import nonlinear as textbook
from kilogram.textbook.state import run
from tests.models.nonlinear.nist import PROBLEMS

#: From here only a path of thousands of damped steps leads to the minimum.
TOO_FAR = {("MGH10", 0)}
CASES = [(name, k) for name in PROBLEMS for k in (0, 1) if (name, k) not in TOO_FAR]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "k"), CASES)
def test_certified_values(name, k):
    f, x, y, starts, want, errors, squares = PROBLEMS[name]
    x, y = np.array(x, dtype=float)[:, None], np.array(y, dtype=float)
    model = kg.NonlinearRegression(f, starts[k]).fit(x, y)
    np.testing.assert_allclose(model.params_, want, rtol=1e-7)
    assert model.objective_ == pytest.approx(squares, rel=1e-9)
    if errors is not None:
        np.testing.assert_allclose(model.summary().error, errors, rtol=1e-5)


@pytest.mark.parametrize("method", ["lm", "levenberg", "gauss-newton"])
@pytest.mark.parametrize("jac", ["2-point", "3-point", "cs", "given"])
def test_methods_and_jacobians_agree(method, jac):
    f, x, y, starts, want, _, _ = PROBLEMS["Rat42"]
    x, y = np.array(x, dtype=float)[:, None], np.array(y, dtype=float)

    def slopes(x, a, b, c):
        e = np.exp(b - c * x)
        return np.c_[1 / (1 + e), -a * e / (1 + e) ** 2, a * x * e / (1 + e) ** 2]

    chosen = slopes if jac == "given" else jac
    model = kg.NonlinearRegression(f, starts[1], method=method, jac=chosen).fit(x, y)
    np.testing.assert_allclose(model.params_, want, rtol=1e-5)
    assert model.param_names_ == ("b1", "b2", "b3")


def test_agrees_with_the_textbook():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 3, 40)
    y = 2.0 * np.exp(-x) + 0.05 * rng.standard_normal(40)

    def model(beta):
        e = np.exp(-beta[1] * x)
        return beta[0] * e, np.c_[e, -beta[0] * x * e]

    want = run(textbook.levenberg_marquardt(model, y, np.array([1.0, 0.5])))["beta"]
    ours = kg.NonlinearRegression(lambda x, a, b: a * np.exp(-b * x), [1.0, 0.5])
    np.testing.assert_allclose(ours.fit(x[:, None], y).params_, want, rtol=1e-6)


def test_linear_formula_is_least_squares_with_its_errors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 1))
    y = 3 + 2 * X[:, 0] + rng.standard_normal(50)
    w = rng.uniform(0.5, 2.0, 50)
    ours = kg.NonlinearRegression(lambda x, a, b: a + b * x, [0.0, 0.0]).fit(X, y, w)
    table = kg.coefficient_table(kg.LinearRegression().fit(X, y, w), X, y, w)
    np.testing.assert_allclose(ours.params_, table.estimate, rtol=1e-7)
    np.testing.assert_allclose(ours.summary().error, table.error, rtol=1e-6)
    np.testing.assert_allclose(ours.covariance_, table.covariance, rtol=1e-5, atol=1e-9)


def test_bands_cover_as_often_as_they_say():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4, 25)[:, None]
    truth = 3.0 * np.exp(-0.7 * x[:, 0])
    curve, new = [], []
    for _ in range(200):
        y = truth + 0.1 * rng.standard_normal(25)
        model = kg.NonlinearRegression(lambda x, a, b: a * np.exp(-b * x), [2.0, 0.5]).fit(x, y)
        low, high = model.confidence_band(x)
        curve.append(((low <= truth) & (truth <= high)).mean())
        fresh = truth + 0.1 * rng.standard_normal(25)
        low, high = model.prediction_band(x)
        new.append(((low <= fresh) & (fresh <= high)).mean())
    assert np.mean(curve) == pytest.approx(0.95, abs=0.03)
    assert np.mean(new) == pytest.approx(0.95, abs=0.03)


def test_bounds_hold():
    x = np.linspace(0, 3, 30)[:, None]
    y = 2.0 * np.exp(-1.5 * x[:, 0])
    model = kg.NonlinearRegression(
        lambda x, a, b: a * np.exp(-b * x), [1.0, 0.5], bounds=([0, 0], [10, 1.0])
    ).fit(x, y)
    assert model.params_[1] == 1.0
    a = model.params_[0]
    e = np.exp(-x[:, 0])
    assert a == pytest.approx(float(e @ y / (e @ e)), rel=1e-6)


def test_bad_input():
    x, y = np.arange(10.0)[:, None], np.arange(10.0)

    def log_law(x, a, b):
        with np.errstate(invalid="ignore"):
            return np.log(a + 0 * x) + b

    with pytest.raises(ValueError, match="NaN or infinity at the start"):
        kg.NonlinearRegression(log_law, [-1.0, 0.0]).fit(x, y)
    with pytest.raises(ValueError, match="contradictory"):
        kg.NonlinearRegression(log_law, [1.0, 0.0], bounds=([2, 0], [1, 1])).fit(x, y)
    with pytest.raises(ValueError, match="outside its bounds"):
        kg.NonlinearRegression(log_law, [1.0, 0.0], bounds=([2, 0], [3, 1])).fit(x, y)
    with pytest.raises(ValueError, match="p0 has 3 values"):
        kg.NonlinearRegression(log_law, [1.0, 0.0, 1.0]).fit(x, y)
    with pytest.raises(ValueError, match="one value per row"):
        kg.NonlinearRegression(lambda x, a: a, [1.0]).fit(x, y)
    with pytest.raises(ValueError, match="at least the number of parameters"):
        kg.NonlinearRegression(log_law, [1.0, 0.0]).fit(x[:1], y[:1])
    with pytest.raises(ValueError, match="f must be"):
        kg.NonlinearRegression().fit(x, y)
    flat = kg.NonlinearRegression(lambda x, a: a + 0 * x, [3.0]).fit(x, np.full(10, 7.0))
    assert flat.params_[0] == pytest.approx(7.0)


def arc(part, n=60, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi * part, n)
    return 3 * np.c_[np.cos(t), np.sin(t)] + [5.0, -2.0] + noise * rng.standard_normal((n, 2))


@pytest.mark.parametrize("method", ["geometric", "algebraic", "robust"])
def test_circles_without_noise_are_exact(method):
    found = kg.fit_circle(arc(0.3, noise=0.0), method)
    np.testing.assert_allclose([*found.center, found.radius], [5.0, -2.0, 3.0], atol=1e-8)


def test_circles_agree_with_the_textbook():
    P = arc(0.6)
    algebraic, geometric = kg.fit_circle(P, "algebraic"), kg.fit_circle(P)
    want = run(textbook.circle_algebraic(P))
    assert algebraic.radius == pytest.approx(float(want["r"]), rel=1e-9)
    want = run(textbook.circle_geometric(P, algebraic.center, algebraic.radius))
    assert geometric.radius == pytest.approx(float(want["r"]), rel=1e-7)
    np.testing.assert_allclose(geometric.center, want["c"], rtol=1e-7)


def test_short_arcs_bias_the_algebraic_circle():
    radii = [
        [kg.fit_circle(arc(0.25, seed=s), m).radius for m in ("algebraic", "geometric")]
        for s in range(30)
    ]
    small, right = np.median(radii, axis=0)
    assert small < 2.85
    assert 2.9 < right < 3.1


def test_robust_circle_among_outliers():
    P = arc(1.0)
    P[:20] = np.random.default_rng(1).uniform(-12, 12, (20, 2))
    found = kg.fit_circle(P, "robust")
    np.testing.assert_allclose([*found.center, found.radius], [5.0, -2.0, 3.0], atol=0.15)
    assert (found.weights[:20] < 0.1).mean() > 0.7


def ellipse(n=80, noise=0.05, part=1.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi * part, n)
    c, s = np.cos(0.5), np.sin(0.5)
    P = np.c_[4 * np.cos(t), 2 * np.sin(t)] @ np.array([[c, s], [-s, c]]) + [10.0, 20.0]
    return P + noise * rng.standard_normal((n, 2))


@pytest.mark.parametrize("method", ["geometric", "algebraic", "robust"])
def test_ellipses(method):
    exact = kg.fit_ellipse(ellipse(noise=0.0), method)
    np.testing.assert_allclose([*exact.center, *exact.axes], [10, 20, 4, 2], atol=1e-6)
    assert exact.angle == pytest.approx(0.5, abs=1e-6)
    noisy = kg.fit_ellipse(ellipse(), method)
    np.testing.assert_allclose([*noisy.center, *noisy.axes], [10, 20, 4, 2], atol=0.1)


def test_geometric_ellipse_is_nearer_and_robust_resists():
    P = ellipse(noise=0.2, part=0.6)
    squares = {m: float(np.sum(kg.fit_ellipse(P, m).residuals ** 2)) for m in
               ("geometric", "algebraic")}  # fmt: skip
    assert squares["geometric"] < squares["algebraic"]
    P = ellipse(120)
    P[:30] = np.random.default_rng(1).uniform(-10, 40, (30, 2))
    found = kg.fit_ellipse(P, "robust")
    np.testing.assert_allclose([*found.center, *found.axes], [10, 20, 4, 2], atol=0.2)


def test_points_that_determine_no_curve():
    line = np.c_[np.arange(9.0), 2 * np.arange(9.0)]
    with pytest.raises(ValueError, match="line"):
        kg.fit_circle(line)
    with pytest.raises(ValueError, match="line"):
        kg.fit_ellipse(line)
    with pytest.raises(ValueError, match="at least 3"):
        kg.fit_circle(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        kg.fit_circle(np.ones(5))
    with pytest.raises(ValueError, match="NaN"):
        kg.fit_circle([[0, 0], [1, np.nan], [1, 1]])
