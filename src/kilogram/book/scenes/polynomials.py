"""Polynomials of growing degree, and overfitting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    curve_places,
    faint_curves,
    plane,
    python_lines,
    short,
)
from kilogram.book.misprints import variances_of_one_row
from kilogram.book.presets import CURVES
from kilogram.book.recording import (
    Frame,
    Layer,
    Panel,
    Recording,
    data_points,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, switch
from kilogram.book.scenes.kernel_curves import leave_one_out_error
from kilogram.models.least_squares.linear_regression import LinearRegression
from kilogram.models.ridge.ridge import Ridge

DEGREES = range(0, 13)


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
        left_out.append(leave_one_out_error(Z, y, alpha))
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


SCENES = (
    Scene(
        "polynomial", "least_squares", "Polynomials and overfitting",
        "Each degree adds one column. The training error can only fall; the error on points left out falls, then rises. "
        "The faint curves are fits to resampled points: where they spread, variance has replaced bias.",
        _polynomial, data="curve", presets=CURVES,
        controls=(switch("ridge", "ridge penalty"), log_slider("alpha", "penalty α", 0.1, 1e-4, 100.0), switch("printed", "as printed: unknown variances, one for every point")),
        breaks=(Break("What the printed page gets wrong: the fit passes through a few points and forgets the rest", "sine", {"printed": True}), Break("Ten points, degree twelve", "few"), Break("One outlier bends everything", "outliers"), Break("Steps are no polynomial", "steps")),
        question="From which degree on does a higher degree do harm on the sine?",
        answer="Where the leave-one-out curve turns upward: with 30 points of this sine, from about degree 6 or 7. The training error does not show it.",
        names=("LinearRegression", "PolynomialFeatures"), algorithms=("ridge",), min_points=3,
    ),
)  # fmt: skip
