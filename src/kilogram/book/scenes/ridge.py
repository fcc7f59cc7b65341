"""Ridge regression and kernel ridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    curve_places,
    data_box,
    faint_curves,
    plane,
    python_lines,
    short,
)
from kilogram.book.presets import CURVES
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    limits,
    line,
    picture,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.scenes.kernel_curves import KERNELS, kernel_of, leave_one_out_error
from kilogram.book.textbook_steps import record
from kilogram.kernels import Gaussian
from kilogram.models.features.polynomial import PolynomialFeatures
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.ridge import Ridge


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
    lows = [leave_one_out_error(Z, y, a, offset=not c["printed"]) for a in alphas]
    lows_kernel = [leave_one_out_error(columns, y, a) for a in alphas]
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
        "Dual coefficients a",
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
    left = leave_one_out_error(_kernel_columns(K), y, c["alpha"])
    return Recording(
        [plane(data, "data", "Kernel ridge regression", equal=False, describe="points, one curve per point, and their sum",
               legend=(("c1", "aᵢ k(x, xᵢ)"), ("accent", "their sum"))), matrix, weights],
        frames, [("training error", short(error)), ("leave-one-out error", short(left))],
        python=python_lines("curve", f"model = kg.KernelRidge(alpha={c['alpha']}, kernel={words}).fit(X, y)"),
        code="kernel_ridge", fitted={"dual_coef_": model.dual_coef_},
    )  # fmt: skip


SCENES = (
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
        "The fitted curve is a sum of bumps, one on each point. Their heights, the dual coefficients a, solve (K\u00a0+\u00a0αI)\u00a0a\u00a0=\u00a0y.",
        _kernel_ridge, data="curve", presets=CURVES,
        controls=(choice("kernel", "kernel", KERNELS), log_slider("sigma", "width σ", 0.7, 0.05, 5.0), log_slider("alpha", "penalty α", 0.1, 1e-4, 100.0)),
        breaks=(Break("No penalty, narrow kernel: spikes", "sine", {"sigma": 0.08, "alpha": 0.0001}), Break("Linear kernel on a sine", "sine", {"kernel": "linear"})),
        question="Drag one point far up. Which dual coefficient grows?",
        answer="Its own: aᵢ is the residual of the point divided by the penalty.",
        names=("KernelRidge",),
    ),
)  # fmt: skip
