"""Non-linear regression against NIST's certified values, circles and ellipses."""

import numpy as np
import pytest
import scipy.optimize

import kilogram as kg
from kilogram.solvers.least_squares.levenberg_marquardt import _bounded_step, _trust_step
from kilogram.textbook import nonlinear as textbook
from kilogram.textbook.state import run
from tests.models.nonlinear.nist import PROBLEMS

CASES = [(name, k) for name in PROBLEMS for k in (0, 1)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_reference_data_have_their_certified_sum_of_squares(name):
    one = PROBLEMS[name]
    wide = [np.longdouble(v) for v in one["params"]]
    x = one["X"].astype(np.longdouble)
    r = one["f"](x[:, 0] if x.shape[1] == 1 else x, *wide) - one["y"].astype(np.longdouble)
    # Lanczos1: residuals of 1e-13 of data that have 14 digits, at parameters that have 11
    assert float(r @ r) == pytest.approx(one["squares"], rel=1e-9, abs=1e-19)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", ["lm", "levenberg"])
@pytest.mark.parametrize(("name", "k"), CASES)
def test_certified_values(name, k, method):
    one = PROBLEMS[name]
    model = kg.NonlinearRegression(one["f"], one["starts"][k], method=method).fit(
        one["X"], one["y"]
    )
    np.testing.assert_allclose(model.params_, one["params"], rtol=1e-6)
    assert model.objective_ == pytest.approx(one["squares"], rel=1e-9, abs=1e-19)
    if name != "Lanczos1":  # the errors are of rounding's size
        np.testing.assert_allclose(model.summary().error, one["errors"], rtol=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["MGH09", "ENSO", "Thurber", "Rat43"])
def test_digits_beyond_the_rounding_of_the_sum_of_squares(name):
    """The sum of squares is flat to rounding within 1e-8 of these minima."""
    one = PROBLEMS[name]
    model = kg.NonlinearRegression(one["f"], one["starts"][1], jac="cs")
    np.testing.assert_allclose(model.fit(one["X"], one["y"]).params_, one["params"], rtol=2e-9)


@pytest.mark.parametrize("radius", [1e-3, 0.3, 2.0, np.inf])
@pytest.mark.parametrize("rank", [4, 3])
def test_trust_step_is_the_minimum_of_its_ball(radius, rank):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, rank)) @ rng.standard_normal((rank, 4)) * [1.0, 10.0, 0.1, 1.0]
    c = rng.standard_normal(6)
    s = _trust_step(A, c, radius)
    size = np.linalg.norm(s)
    assert size <= 1.1 * radius
    gradient = A.T @ (c + A @ s)
    if size < 0.9 * radius:
        assert np.linalg.norm(gradient) < 1e-10
    else:  # optimal in the ball of its own length: the gradient is -tau s with tau > 0
        np.testing.assert_allclose(gradient, -s * np.linalg.norm(gradient) / size, rtol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_bounded_step_descends_within_bounds_and_radius(seed):
    rng = np.random.default_rng(seed)
    R = np.triu(rng.standard_normal((5, 5)))
    c, p = rng.standard_normal(5), rng.standard_normal(5)
    low, high = p - rng.exponential(0.3, 5), p + rng.exponential(0.3, 5)
    low[0] = p[0]
    D, radius = np.exp(rng.standard_normal(5)), 1.0
    free = ~((p <= low) & (R.T @ c > 0))
    s = _bounded_step(R, c, D, free, radius, p, low, high)
    assert np.all(low - 1e-15 <= p + s)
    assert np.all(p + s <= high + 1e-15)
    assert np.linalg.norm(D * s) <= 1.1 * radius + 1e-12
    assert np.linalg.norm(c + R @ s) < np.linalg.norm(c)


@pytest.mark.parametrize("method", ["lm", "levenberg", "gauss-newton"])
@pytest.mark.parametrize("name", ["Rat42", "Misra1a", "Chwirut2", "Thurber"])
def test_bounds_that_cut_off_the_minimum(name, method):
    """Where parameters end at their bounds, scipy's bounded minimum is reached or surpassed."""
    one = PROBLEMS[name]
    start, want = np.array(one["starts"][1], dtype=float), np.array(one["params"])
    low, high = np.minimum(start, 0.5 * (start + want)), np.maximum(start, 0.5 * (start + want))
    x = one["X"][:, 0]
    peer = scipy.optimize.least_squares(
        lambda p: one["f"](x, *p) - one["y"], start, bounds=(low, high), x_scale="jac",
        xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=2000,
    )  # fmt: skip
    ours = kg.NonlinearRegression(one["f"], start, bounds=(low, high), method=method)
    ours.fit(one["X"], one["y"])
    assert np.all((low <= ours.params_) & (ours.params_ <= high))
    assert ours.objective_ <= 2 * peer.cost * (1 + 1e-6)


def test_derivative_at_the_edge_of_the_domain():
    """f is NaN to one side of the start: the difference is taken to the other side."""
    x = np.linspace(1, 5, 20)
    y = np.sqrt(x - 0.5)

    def root(x, a):
        with np.errstate(invalid="ignore"):
            return np.sqrt(x - a)

    model = kg.NonlinearRegression(root, [1.0 - 1e-9]).fit(x[:, None], y)
    assert model.params_[0] == pytest.approx(0.5, abs=1e-8)

    def island(x, a):
        return x * (1.0 if a == 1.0 else np.nan)

    with pytest.raises(ValueError, match="derivative of f in its parameter 0"):
        kg.NonlinearRegression(island, [1.0]).fit(x[:, None], y)


@pytest.mark.parametrize("method", ["lm", "levenberg", "gauss-newton"])
@pytest.mark.parametrize("jac", ["2-point", "3-point", "cs", "given"])
def test_methods_and_jacobians_agree(method, jac):
    one = PROBLEMS["Rat42"]

    def slopes(x, a, b, c):
        e = np.exp(b - c * x)
        return np.c_[1 / (1 + e), -a * e / (1 + e) ** 2, a * x * e / (1 + e) ** 2]

    chosen = slopes if jac == "given" else jac
    model = kg.NonlinearRegression(one["f"], one["starts"][1], method=method, jac=chosen)
    model.fit(one["X"], one["y"])
    np.testing.assert_allclose(model.params_, one["params"], rtol=1e-5)
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


def test_squares_beyond_floats_are_refused():
    """Residuals are finite, their squares are not: the search for a step never ended."""
    x = np.linspace(0, 1, 20)
    with pytest.raises(ValueError, match="sum of squares of y - f overflows at the start"):
        kg.NonlinearRegression(lambda x, a, b: a * np.exp(b * x), p0=[1.0, 1.0]).fit(
            x[:, None], 1e200 * (1 + x)
        )


def decay(x, size, rate):
    return size * np.exp(-rate * x)


def decay_with_noise():
    x = np.linspace(0, 4, 30)
    noise = np.random.default_rng(0).normal(size=30)
    return x[:, None], 2.0 * np.exp(-0.7 * x) + 0.02 * noise


def test_a_parameter_at_its_bound_counts_as_known():
    """Its error and the bands were those of a minimum that the bound excludes."""
    x, y = decay_with_noise()
    held = kg.NonlinearRegression(decay, [1.0, 1.0], bounds=([0, 0], [1.5, 5])).fit(x, y)
    known = kg.NonlinearRegression(lambda x, rate: decay(x, 1.5, rate), [1.0]).fit(x, y)
    np.testing.assert_array_equal(held.at_bound_, [True, False])
    assert held.degrees_of_freedom_ == known.degrees_of_freedom_ == 29
    np.testing.assert_allclose(held.covariance_[1, 1], known.covariance_[0, 0], rtol=1e-5)
    assert not held.covariance_[0].any()
    for band in ("confidence_band", "prediction_band"):
        np.testing.assert_allclose(
            getattr(held, band)(x), getattr(known, band)(x), rtol=1e-5, atol=1e-9
        )
    table = held.summary()
    assert np.isnan([table.error[0], table.t[0], table.p[0], table.low[0], table.high[0]]).all()
    np.testing.assert_allclose(table.error[1], known.summary().error[0], rtol=1e-5)
    assert "size at a bound" in repr(table)


def test_equal_bounds_hold_a_parameter_and_all_may_be_held():
    x, y = decay_with_noise()
    fixed = kg.NonlinearRegression(decay, [2.0, 1.0], bounds=([2, 0], [2, 5])).fit(x, y)
    np.testing.assert_array_equal(fixed.at_bound_, [True, False])
    both = kg.NonlinearRegression(decay, [1.0, 0.9], bounds=([0, 0.9], [1.0, 5])).fit(x, y)
    assert both.at_bound_.all()
    assert not both.covariance_.any()
    low, high = both.confidence_band(x)
    np.testing.assert_array_equal(low, high)
    assert (np.diff(both.prediction_band(x), axis=0) > 0).all()


def test_a_bound_that_holds_nothing_changes_no_error():
    x, y = decay_with_noise()
    free = kg.NonlinearRegression(decay, [1.0, 1.0]).fit(x, y)
    wide = kg.NonlinearRegression(decay, [1.0, 1.0], bounds=(0, [9.0, 9.0])).fit(x, y)
    assert not free.at_bound_.any()
    assert not wide.at_bound_.any()
    np.testing.assert_allclose(wide.covariance_, free.covariance_, rtol=1e-6)


@pytest.mark.parametrize(
    ("bounds", "words"), [(([0], [3]), "one value for each of 2"), (([np.nan, 0], 3), "are NaN")]
)
def test_bounds_of_another_length_and_nan_are_refused(bounds, words):
    x, y = decay_with_noise()
    with pytest.raises(ValueError, match=words):
        kg.NonlinearRegression(decay, [1.0, 1.0], bounds=bounds).fit(x, y)


@pytest.mark.parametrize("P", [np.outer(np.arange(5.0), [1, 1]), np.ones((5, 2)), np.eye(2)])
def test_the_textbook_circle_of_a_line_is_refused(P):
    """It was the circle of least norm of its equations, around one of the points."""
    with pytest.raises(ValueError, match="determine no circle"):
        run(textbook.circle_algebraic(P))
