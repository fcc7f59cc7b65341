"""Curves through points: polynomials and overfitting, ridge and kernel ridge, Gaussian processes, robust fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    curve_places,
    data_box,
    faint_curves,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.misprints import huber_by_loss, printed_steps, variances_of_one_row
from kilogram.book.recording import (
    Frame,
    Layer,
    Panel,
    Recording,
    band,
    bars,
    data_points,
    limits,
    line,
    picture,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.textbook_steps import record
from kilogram.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from kilogram.models.features.polynomial import PolynomialFeatures
from kilogram.models.gaussian_process.regressor import GaussianProcessRegressor
from kilogram.models.least_squares.linear_regression import LinearRegression
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.ridge import Ridge
from kilogram.models.robust.huber import HuberRegressor
from kilogram.models.robust.ransac import RANSACRegressor
from kilogram.models.robust.robust_regressor import RobustRegressor

DEGREES = range(0, 13)


def _left_out(Z: np.ndarray, y: np.ndarray, alpha: float = 0.0, offset: bool = True) -> float:
    """The exact leave-one-out mean squared error of a (ridge) fit on the columns Z with an offset."""
    if not offset:
        hat = Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T)
        return float(np.mean(((y - hat @ y) / (1 - np.diag(hat))) ** 2))
    Z1 = np.column_stack([np.ones(len(Z)), Z])
    if alpha:
        hat = Z1 @ np.linalg.solve(Z1.T @ Z1 + alpha * np.diag([0.0] + [1.0] * Z.shape[1]), Z1.T)
    else:
        U, s, _ = np.linalg.svd(Z1, full_matrices=False)
        U = U[:, s > 1e-12 * s[0]]
        hat = U @ U.T
    rest = 1 - np.diag(hat)
    return float(np.mean(((y - hat @ y) / rest) ** 2)) if (rest > 1e-9).all() else float("inf")


def _resampled(Z: np.ndarray, y: np.ndarray, alpha: float, places: np.ndarray) -> np.ndarray:
    """The curve of one bootstrap sample: the same least squares, in three lines of NumPy."""
    rows = np.sqrt(alpha) * np.eye(Z.shape[1])
    mean, middle = Z.mean(axis=0), y.mean()
    A, b = np.concatenate([Z - mean, rows]), np.concatenate([y - middle, np.zeros(len(rows))])
    return middle + (places - mean) @ np.linalg.lstsq(A, b, rcond=1e-12)[0]


def _polynomial(data: Points, c: Mapping[str, Any]) -> Recording:
    y, alpha = data.y, c["alpha"] if c["ridge"] else 0.0
    places, rng = curve_places(data, 120), np.random.default_rng(0)
    samples = [rng.choice(len(y), len(y)) for _ in range(8)]
    frames, train, left_out, fits = [], [], [], []
    for degree in DEGREES:
        Z = np.vander(data.x, degree + 1, increasing=True)[:, 1:]
        Zp = np.vander(places.ravel(), degree + 1, increasing=True)[:, 1:]
        if degree == 0:
            Z, Zp = np.zeros((len(y), 1)), np.zeros((len(places), 1))
        model = (Ridge(alpha=alpha) if alpha else LinearRegression()).fit(Z, y)
        fits.append(model)
        train.append(float(np.mean((y - model.predict(Z)) ** 2)))
        left_out.append(_left_out(Z, y, alpha))
        if c["printed"]:
            offset, coef = variances_of_one_row(Z, y)
            fit, guess = offset + Z @ coef, offset + Zp @ coef
            train[-1] = float(np.mean((y - fit) ** 2))
            left_out[-1] = float("nan")
        else:
            guess = model.predict(Zp)
        curves = [] if c["printed"] else [_resampled(Z[i], y[i], alpha, Zp[::2]) for i in samples]
        layers = [
            *[line(places[::2], np.clip(curve, -9, 9), color="c1", width=1, faint=True) for curve in curves],
            line(places, np.clip(guess, -99, 99), color="accent", width=2.6), data_points(),
        ]  # fmt: skip
        frames.append(_degree_frame(layers, train, left_out, alpha))
    top = 2.2 * max(train[0], 1e-6)
    errors = Panel("errors", "Error and degree", (-0.3, 12.3), (0, top), faint_curves(DEGREES, train, left_out), x_label="degree", y_label="mean squared error", whole=True,
                   legend=(("c0", "training"), ("c1", "leave one out")), describe="training and leave-one-out error by degree")  # fmt: skip
    title = "As printed: a variance for every point" if c["printed"] else "Polynomial fit"
    main = plane(data, "data", title, equal=False, legend=(("accent", "fit"), ("c1", "fits to resampled points")),
                 describe="the points and the fitted polynomial")  # fmt: skip
    best = 3 if c["printed"] else int(np.argmin(left_out))
    return Recording(
        [main, errors], frames,
        python=python_lines("curve", *_polynomial_lines(best, alpha)), code="ridge", start=best,
        fitted={"coef_": fits[best].coef_} if best else {},
    )  # fmt: skip


def _degree_frame(
    layers: list[Layer], train: list[float], left_out: list[float], alpha: float
) -> Frame:
    """The fit of one degree and the errors up to it."""
    degree = len(train) - 1
    marks = []
    for color, values in (("c0", train), ("c1", left_out)):
        marks.append(line(range(degree + 1), values, color=color))
        if np.isfinite(values[-1]):
            marks.append(points([degree], [values[-1]], color=color, r=4.5))
    readouts = [
        ("training error", short(train[-1])),
        ("leave-one-out error", short(left_out[-1])),
        ("best degree so far", int(np.nanargmin(left_out)) if np.isfinite(left_out).any() else 0),
    ]
    python = python_lines("curve", *_polynomial_lines(degree, alpha))
    return Frame(f"degree {degree}", {"data": layers, "errors": marks}, None, readouts, python)


def _polynomial_lines(degree: int, alpha: float) -> tuple[str, str]:
    """The fit of a degree; of degree 0 on a column of zeros, so that only the offset is fitted."""
    columns = f"kg.PolynomialFeatures({degree}, include_bias=False).fit_transform(X)"
    model = f"kg.Ridge(alpha={alpha})" if alpha else "kg.LinearRegression()"
    return f"Z = {columns if degree else '0 * X'}", f"model = {model}.fit(Z, y)"


def _ridge_path(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    alphas = np.array([float(f"{a:.4g}") for a in np.geomspace(300, 1e-4, 16)])
    features = PolynomialFeatures(c["degree"], include_bias=False)
    scale = 3.0 ** np.arange(
        1, c["degree"] + 1
    )  # columns of comparable size: the penalty treats them alike
    Z, places = features.fit_transform(X) / scale, curve_places(data, 120)
    Zp = features.transform(places) / scale
    kernel = Gaussian(c["sigma"])
    fit = "model = kg.KernelRidge(alpha={:.4g}, kernel=kg.Gaussian({})).fit(X, y)"
    frames, coefs, shown = [], [], []
    if c["printed"]:  # a column of ones like any other
        Z, Zp = (np.column_stack([np.ones(len(A)), A]) for A in (Z, Zp))
    for alpha in alphas:
        linear = Ridge(alpha=alpha, fit_intercept=not c["printed"]).fit(Z, y)
        curved = KernelRidge(alpha=alpha, kernel=kernel).fit(X, y)
        coefs.append(linear.coef_)
        shown.append((alpha, linear.predict(Zp), curved.predict(places),
                      float(np.mean((linear.predict(Z) - y) ** 2)), float(np.mean((curved.predict(X) - y) ** 2))))  # fmt: skip
    columns = _kernel_columns(np.asarray(kernel(X, X)))
    paths = np.array(coefs)
    logs = np.log10(alphas)
    lows = [_left_out(Z, y, a, offset=not c["printed"]) for a in alphas]
    lows_kernel = [_left_out(columns, y, a) for a in alphas]
    for i, (alpha, straight, curved_line, error, error_kernel) in enumerate(shown):
        trail = [
            line(logs[: i + 1], paths[: i + 1, j], color=f"c{j % 8}", width=1.6)
            for j in range(paths.shape[1])
        ]
        marks = [
            line(logs[: i + 1], lows[: i + 1], color="c0"),
            line(logs[: i + 1], lows_kernel[: i + 1], color="c1"),
        ]
        frames.append(Frame(
            f"α = {alpha:.2g}",
            {"data": [line(places, straight, color="c0", width=2.6), data_points()],
             "kernel": [line(places, curved_line, color="c1", width=2.6), data_points()],
             "path": trail, "errors": marks},
            None,
            [("ridge: training error", short(error)), ("ridge: leave-one-out", short(lows[i])),
             ("kernel: training error", short(error_kernel)), ("kernel: leave-one-out", short(lows_kernel[i]))],
            python_lines("curve", fit.format(alpha, c["sigma"])),
        ))  # fmt: skip
    finite = [v for v in [*lows, *lows_kernel] if np.isfinite(v)]
    panels = [
        plane(data, "data", _ridge_title(c), equal=False, describe="points and ridge fit"),
        plane(data, "kernel", f"Kernel ridge, σ = {c['sigma']:.2g}", equal=False, describe="points and kernel ridge fit"),
        Panel("path", "Coefficients of ridge", (logs[-1], logs[0]), limits(np.clip(paths, -12, 12)), faint_curves(logs, *paths.T), x_label="log10 α"),
        Panel("errors", "Leave-one-out error", (logs[-1], logs[0]), (0, min(max(finite), 4 * min(finite) + float(np.var(y)))), faint_curves(logs, lows, lows_kernel),
              x_label="log10 α", legend=(("c0", "ridge"), ("c1", "kernel ridge"))),
    ]  # fmt: skip
    best = float(alphas[int(np.argmin(lows_kernel))])
    return Recording(
        panels, frames, [("best α, ridge", short(float(alphas[int(np.argmin(lows))]))), ("best α, kernel", short(best))],
        python=python_lines("curve", fit.format(alphas[-1], c["sigma"])),
        code="ridge", fitted={"dual_coef_": KernelRidge(alpha=alphas[-1], kernel=kernel).fit(X, y).dual_coef_}, start=int(np.argmin(lows_kernel)),
    )  # fmt: skip


def _ridge_title(c: Mapping[str, Any]) -> str:
    power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(c["degree"]))
    columns = "x" if c["degree"] == 1 else f"x, …, x{power}"
    return f"As printed: ridge on 1, {columns}" if c["printed"] else f"Ridge on {columns}"


def _kernel_columns(K: np.ndarray) -> np.ndarray:
    """Columns whose inner products are the centred kernel matrix: kernel ridge is ridge on them."""
    values, vectors = np.linalg.eigh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


_KERNELS = (
    ("gaussian", "Gaussian"),
    ("laplacian", "Laplacian"),
    ("matern", "Matérn 3/2"),
    ("polynomial", "cubic polynomial"),
    ("linear", "linear"),
)


def kernel_of(c: Mapping[str, Any]) -> tuple[Any, str]:
    """The chosen kernel and how it is written."""
    s = c["sigma"]
    return {
        "gaussian": (Gaussian(s), f"kg.Gaussian({s})"),
        "laplacian": (Laplacian(s), f"kg.Laplacian({s})"),
        "matern": (Matern(1.5, s), f"kg.Matern(1.5, {s})"),
        "polynomial": (Polynomial(3), "kg.Polynomial(3)"),
        "linear": (Linear(), "kg.Linear()"),
    }[c["kernel"]]


def _kernel_ridge(data: Points, c: Mapping[str, Any]) -> Recording:
    order = np.argsort(data.x)
    X, y = data.x[:, None], data.y
    kernel, words = kernel_of(c)
    model = KernelRidge(alpha=c["alpha"], kernel=kernel).fit(X, y)
    K = np.asarray(kernel(X, X))
    steps = record("kernel_ridge", K, y - y.mean(), c["alpha"])
    places = curve_places(data)
    alpha = np.asarray(model.dual_coef_).ravel()
    parts = np.asarray(kernel(places, X)) * alpha
    base = float(model.predict(places[:1])[0] - parts[0].sum())
    n = len(y)
    matrix = Panel("matrix", "Kernel matrix K", (0, n), (0, n), [picture(K[np.ix_(order, order)], 0, 0, n, n, colors="accent")],
                   equal=True, axes=False, describe="points in the order of x")  # fmt: skip
    weights = Panel(
        "alpha",
        "Dual coefficients α",
        data_box(data)[0],
        limits([0, *alpha], 0.1),
        x_label="x of the point",
        small=True,
    )
    frames = []
    for i, step in enumerate(steps):
        layers = (
            [line(places, base + parts[:, j], color="c1", width=1, faint=True) for j in range(n)]
            if i >= 1
            else []
        )
        if i == len(steps) - 1:
            layers.append(line(places, model.predict(places), color="accent", width=2.8))
        shown = {"data": [*layers, data_points()], "matrix": []}
        if i == len(steps) - 1:
            shown["alpha"] = [bars(data.x, alpha, 0.06)]
        frames.append(Frame(step.name, shown, step.line))
    error = float(np.mean((model.predict(X) - y) ** 2))
    left = _left_out(_kernel_columns(K), y, c["alpha"])
    return Recording(
        [plane(data, "data", "Kernel ridge regression", equal=False, describe="points, one curve per point, and their sum",
               legend=(("c1", "α_i k(x, x_i)"), ("accent", "their sum"))), matrix, weights],
        frames, [("training error", short(error)), ("leave-one-out error", short(left))],
        python=python_lines("curve", f"model = kg.KernelRidge(alpha={c['alpha']}, kernel={words}).fit(X, y)"),
        code="kernel_ridge", fitted={"dual_coef_": model.dual_coef_},
    )  # fmt: skip


def _posterior(
    model: GaussianProcessRegressor, places: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and draws of the function at the places."""
    mean, covariance = model.predict(places, return_cov=True)
    values, vectors = np.linalg.eigh(covariance)
    draws = mean[:, None] + (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T @ noise
    return mean, np.sqrt(np.maximum(np.diag(covariance), 0)), draws


def _process(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    kernel, words = kernel_of(c)
    places = curve_places(data, 80)
    K = np.asarray(kernel(places, places))
    root = np.linalg.cholesky(K + 1e-8 * np.eye(len(K)))
    noise = np.random.default_rng(3).standard_normal((len(K), 4))
    extra = 0.0 if c["printed"] else c["noise"] ** 2  # a new observation has noise of its own
    optimizer = "fmin_l_bfgs_b" if c["optimise"] else None
    model = GaussianProcessRegressor(kernel=kernel, alpha=c["noise"] ** 2, optimizer=optimizer).fit(
        X, y
    )
    frames = []
    counts = sorted({round(v) for v in np.linspace(0, len(y), min(len(y), 8) + 1)})
    for count in counts:
        if count == 0:
            mean, sd = np.zeros(len(places)), np.sqrt(np.diag(K))
            draws = root @ noise
        else:
            part = model
            if count < len(y):
                part = GaussianProcessRegressor(
                    kernel=kernel, alpha=c["noise"] ** 2, optimizer=None
                )
                part.fit(X[:count], y[:count])
            mean, sd, draws = _posterior(part, places, noise)
        reach = 1.96 * np.sqrt(sd**2 + extra)
        layers = [band(places, mean - reach, mean + reach)]
        missed = np.abs(y - np.interp(data.x, places.ravel(), mean))
        inside = missed <= np.interp(data.x, places.ravel(), reach)
        layers += [line(places, draws[:, j], color=f"c{j + 1}", width=1, faint=True)
                   for j in range(4)]  # fmt: skip
        layers += [
            line(places, mean, color="accent", width=2.6),
            data_points(c=[0 if i < count else -1 for i in range(len(y))]),
        ]
        known = f"given {count} point{'s' * (count != 1)}"
        frames.append(Frame(
            known if count else "the prior, before any point", {"data": layers}, None,
            [("widest band, ± 1.96 sd", short(float(reach.max()))),
             ("points inside the band", f"{int(inside.sum())} of {len(y)}")],
        ))  # fmt: skip
    panel = plane(data, "data", "Gaussian process", equal=False, describe="mean, 95 % band and four draws",
                  legend=(("accent", "mean and 95 % band"), ("c1", "draws")))  # fmt: skip
    n = len(y)
    order = np.argsort(data.x)
    matrix = Panel("matrix", "Kernel matrix", (0, n), (0, n), [picture(np.asarray(kernel(X, X))[np.ix_(order, order)], 0, 0, n, n, colors="accent")],
                   equal=True, axes=False, small=True)  # fmt: skip
    fit = f"model = kg.GaussianProcessRegressor({words}, alpha={c['noise']}**2, optimizer={optimizer!r}).fit(X, y)"
    likelihood = float(model.log_marginal_likelihood_value_)
    return Recording(
        [panel, matrix], frames, [("log marginal likelihood", short(likelihood)), ("kernel", str(model.kernel_))],
        python=python_lines("curve", fit), code="gaussian_process",
        fitted={"log_marginal_likelihood_value_": likelihood},
    )  # fmt: skip


def _robust(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    X1 = np.column_stack([np.ones(len(y)), data.x])
    steps = record("huber_regression", X1, y, steps=12)
    if c["printed"]:
        steps = printed_steps(huber_by_loss(X1, y, float(steps[0].state["kappa"])))
    model = HuberRegressor(epsilon=c["epsilon"], alpha=0.0).fit(X, y)
    plain = LinearRegression().fit(X, y)
    ends = np.array(data_box(data)[0])
    ransac = RANSACRegressor(residual_threshold=c["reach"], random_state=0).fit(X, y)
    mm = RobustRegressor(n_starts=50, random_state=0).fit(X, y)
    panel, mark = objective_panel([s.state.objective for s in steps], title="Huber's loss")
    frames = []
    for i, step in enumerate(steps):
        beta, w = step.state["beta"], step.state["w"]
        layers = [
            line(ends, plain.predict(ends[:, None]), color="c1", dash=True),
            line(ends, beta[0] + beta[1] * ends, color="c0", width=2.6),
        ]
        marks = {}
        if i == len(steps) - 1:
            agreed = ransac.predict(ends[:, None])
            layers.insert(0, band(ends, agreed - c["reach"], agreed + c["reach"], color="c2"))
            layers.append(line(ends, agreed, color="c2", width=2))
            layers.append(line(ends, mm.predict(ends[:, None]), color="c3", width=2.2))
            marks = {"ring": (~ransac.inlier_mask_).astype(int)}
        residuals = segments(data.x, data.y, data.x, beta[0] + beta[1] * data.x, color="muted")
        layers = [residuals, *layers, data_points(r=2.5 + 4 * np.clip(w, 0, 1), **marks)]
        frames.append(
            Frame(
                step.name,
                {"data": layers, "objective": mark(i)},
                step.line,
                [("smallest weight", short(float(np.min(w))))],
            )
        )
    main = plane(data, "data", "Robust regression", equal=False, describe="points by weight and three lines",
                 legend=(("c1", "least squares"), ("c0", "Huber, step by step"), ("c2", "RANSAC"), ("c3", "MM")))  # fmt: skip
    return Recording(
        [main, panel], frames,
        [("slope, least squares", short(float(plain.coef_[0]))), ("slope, HuberRegressor", short(float(model.coef_[0]))), ("slope, RANSACRegressor", short(float(ransac.estimator_.coef_[0]))), ("slope, RobustRegressor (MM)", short(float(mm.coef_[0]))), ("inliers of RANSAC", f"{int(ransac.inlier_mask_.sum())} of {len(y)}"), ("outliers of MM", f"{int(mm.outliers_.sum())} of {len(y)}")],
        notes=["A point’s size is its weight in the last weighted least squares; at the end, rings mark the points beyond RANSAC’s distance, which its line leaves out."],
        python=python_lines("curve", f"model = kg.HuberRegressor(epsilon={c['epsilon']}, alpha=0.0).fit(X, y)", f"ransac = kg.RANSACRegressor(residual_threshold={c['reach']}, random_state=0).fit(X, y)", "mm = kg.RobustRegressor(n_starts=50, random_state=0).fit(X, y)"),
        code="huber_regression", fitted={"coef_": model.coef_},
    )  # fmt: skip


_CURVES = ("sine", "line", "parabola", "few", "steps", "gap", "outliers")
SCENES = (
    Scene(
        "polynomial", "least_squares", "Polynomials and overfitting",
        "Each degree adds one column. The training error can only fall; the error on points left out falls, then rises. "
        "The faint curves are fits to resampled points: where they spread, variance has replaced bias.",
        _polynomial, data="curve", presets=_CURVES,
        controls=(switch("ridge", "ridge penalty"), log_slider("alpha", "penalty α", 0.1, 1e-4, 100.0), switch("printed", "as printed: unknown variances, one for every point")),
        breaks=(Break("What the printed page gets wrong: the fit passes through a few points and forgets the rest", "sine", {"printed": True}), Break("Ten points, degree twelve", "few"), Break("One outlier bends everything", "outliers"), Break("Steps are no polynomial", "steps")),
        question="From which degree on does a higher degree do harm on the sine?",
        answer="Where the leave-one-out curve turns upward: with 30 points of this sine, from about degree 6 or 7. The training error does not show it.",
        names=("LinearRegression", "PolynomialFeatures"), algorithms=("ridge",), min_points=3,
    ),
    Scene(
        "ridge", "ridge", "Ridge and kernel ridge",
        "One objective in two coordinate systems: a penalty on the weights of explicit columns, and on the norm in the space of a kernel. "
        "Play lowers the penalty α from 300 to 0.0001.",
        _ridge_path, data="curve", presets=("sine", "few", "steps", "line", "high", "outliers"),
        controls=(slider("degree", "degree of the columns", 9, 1, 12, export=(3, 9)), log_slider("sigma", "kernel width σ", 0.7, 0.05, 5.0), switch("printed", "as printed: the offset is penalised too")),
        breaks=(Break("What the printed page gets wrong: a penalised offset", "high", {"printed": True, "degree": 1}), Break("Kernel too narrow: it interpolates", "sine", {"sigma": 0.05}), Break("Kernel too wide: almost a line", "sine", {"sigma": 5.0})),
        question="The left curve is flat for a large α. Flat at which height?",
        answer="At the mean of y: the offset carries no penalty, so only the slope and the bends shrink.",
        names=("Ridge", "KernelRidge"), min_points=3,
    ),
    Scene(
        "kernel_ridge", "ridge", "Kernel ridge, taken apart",
        "The fitted curve is a sum of one kernel per point, weighted by the dual coefficients that solve (K + αI) α = y.",
        _kernel_ridge, data="curve", presets=_CURVES,
        controls=(choice("kernel", "kernel", _KERNELS), log_slider("sigma", "width σ", 0.7, 0.05, 5.0), log_slider("alpha", "penalty α", 0.1, 1e-4, 100.0)),
        breaks=(Break("No penalty, narrow kernel: spikes", "sine", {"sigma": 0.08, "alpha": 0.0001}), Break("Linear kernel on a sine", "sine", {"kernel": "linear"})),
        question="Drag one point far up. Which dual coefficient grows?",
        answer="Its own: α_i is the residual of the point divided by the penalty.",
        names=("KernelRidge",),
    ),
    Scene(
        "gaussian_process", "gaussian_process", "Gaussian process",
        "A distribution over functions, conditioned on one point after the other. The band is narrow near points and returns to the prior away from them.",
        _process, data="curve", presets=("gap", "few", "sine", "line"),
        controls=(choice("kernel", "kernel", _KERNELS[:3]), log_slider("sigma", "width σ", 0.8, 0.1, 4.0), log_slider("noise", "noise of y", 0.2, 0.01, 1.0), switch("printed", "as printed: a band without the noise"), switch("optimise", "choose the width by marginal likelihood")),
        breaks=(Break("Far from the points: only the prior", "gap", {"sigma": 0.3}), Break("Noise set too low: it chases points", "sine", {"noise": 0.01, "sigma": 0.3}), Break("What the printed page gets wrong: points outside their own band", "sine", {"printed": True, "noise": 0.25, "sigma": 1.0})),
        question="Drag a point up. Does the band around it grow?",
        answer="No: the posterior variance depends on where the points are, not on their values. Only the mean follows.",
        names=("GaussianProcessRegressor",), min_points=1,
    ),
    Scene(
        "robust", "robust", "Outliers",
        "Least squares follows the outliers. Huber’s loss weighs far points less in each round; RANSAC looks for the line most points agree on; MM gives gross outliers no weight at all.",
        _robust, data="curve", presets=("outliers", "line", "sine"),
        controls=(slider("epsilon", "Huber ε", 1.35, 1.0, 3.0, 0.05, export=(1.0, 1.35, 3.0)), slider("reach", "RANSAC distance", 0.4, 0.05, 1.5, 0.05, export=(0.1, 0.4, 1.0)), switch("printed", "as printed: the weights of Huber are ρ/r²")),
        breaks=(Break("Outliers at the end of the line: leverage", "outliers", {"epsilon": 3.0}), Break("What the printed page gets wrong: outliers weigh twice as much", "outliers", {"printed": True}), Break("Not a line at all", "sine")),
        question="Drag one point straight up. Which line moves?",
        answer="Least squares, without limit. Huber’s pull stays constant once the residual exceeds the bend; RANSAC drops the point.",
        names=("HuberRegressor", "RANSACRegressor", "RobustRegressor", "LinearRegression"), min_points=4,
    ),
)  # fmt: skip
