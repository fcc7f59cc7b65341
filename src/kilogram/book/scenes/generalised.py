"""Generalised linear models, kernel regression, and the generated data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import curve_places, plane, python_lines, short
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
)
from kilogram.book.scene import Break, Points, Scene, choice, slider
from kilogram.book.tables import positive_target
from kilogram.datasets import (
    make_digit_glyphs,
    make_spam,
    make_two_moons,
    make_vowels,
    make_xor,
)
from kilogram.kernels import Gaussian
from kilogram.models.glm.tweedie import GammaRegressor, PoissonRegressor, TweedieRegressor
from kilogram.models.kernel_regression.kernel_regression import KernelRegression
from kilogram.models.least_squares.linear_regression import LinearRegression

_FAMILIES: dict[str, tuple[type, dict[str, Any], float]] = {
    "poisson": (PoissonRegressor, {}, 1.0),
    "gamma": (GammaRegressor, {}, 2.0),
    "tweedie": (TweedieRegressor, {"power": 1.5, "link": "log"}, 1.5),
}


def _generalised(data: Points, c: Mapping[str, Any]) -> Recording:
    x, y = positive_target(c["family"], c["slope"], c["seed"])
    fresh, target = positive_target(c["family"], c["slope"], c["seed"] + 1000)
    kind, settings, power = _FAMILIES[c["family"]]
    X, places = x[:, None], np.linspace(-3, 3, 120)[:, None]
    plain = LinearRegression().fit(X, y)
    alphas = np.geomspace(30, 1e-3, 16)
    logs, train, test, frames, model = np.log10(alphas), [], [], [], None
    for i, alpha in enumerate(alphas):
        model = kind(alpha=float(alpha), tol=1e-8, max_iter=500, **settings).fit(X, y)
        mean = model.predict(places)
        train.append(1 - float(model.score(X, y)))
        test.append(1 - float(model.score(fresh[:, None], target)))
        fitted = model.predict(X)
        spread = np.sqrt(fitted**power)
        frames.append(Frame(
            f"α = {alpha:.2g}",
            {"data": [band(places, np.maximum(mean - np.sqrt(mean**power), 0), mean + np.sqrt(mean**power)),
                      line(places, plain.predict(places), color="c1", dash=True), line(places, mean, color="accent", width=2.6),
                      points(x, y, color="ink", r=3.4)],
             "residuals": [points(fitted, (y - fitted) / spread, color="accent", r=3)],
             "errors": [line(logs[: i + 1], train, color="c0"), line(logs[: i + 1], test, color="c1"), points(logs[i : i + 1], test[-1:], color="c1", r=5)]},
            None, [("coefficient", short(float(model.coef_[0]))), ("unexplained deviance, training", short(train[-1])), ("unexplained deviance, test", short(test[-1]))],
        ))  # fmt: skip
    top = float(y.max()) * 1.08
    panels = [
        Panel("data", "Mean and spread of y", (-3.1, 3.1), (min(0.0, float(plain.predict(places).min())) - 0.04 * top, top), x_label="x", y_label="y",
              legend=(("accent", "exp(bx + c) ± its spread"), ("c1", "least squares")), describe="data, the mean of the model and the least squares line"),
        Panel("residuals", "Residuals over their own spread", limits(fitted, 0.1), (-4, 6), [line([0, top * 2], [0, 0], color="muted", dash=True)], x_label="fitted mean"),
        Panel("errors", "Part of the deviance not explained", (logs[-1], logs[0]), (0, 1.05), x_label="log10 α", legend=(("c0", "training"), ("c1", "test")), small=True),
    ]  # fmt: skip
    name = kind.__name__
    words = "".join(f", {k}={v!r}" for k, v in settings.items())
    lines = [
        f"from kilogram.book.tables import positive_target; x, y = positive_target({c['family']!r}, {c['slope']}, {c['seed']})",
        f"model = kg.{name}(alpha={float(alphas[-1])!r}, tol=1e-8, max_iter=500{words}).fit(x[:, None], y)",
    ]
    assert model is not None
    return Recording(
        panels, frames, [("least squares at x = −3", short(float(plain.predict([[-3.0]])[0])))],
        notes=["The band is one standard deviation: the square root of the mean for counts, proportional to it for gamma."],
        python=python_lines("none", *lines), fitted={"coef_": model.coef_}, start=int(np.argmin(test)),
    )  # fmt: skip


def _smoother(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    places = curve_places(data, 160)
    widths = np.geomspace(0.08, 3.0, 16)
    at = np.array([[c["at"]]])
    logs, left, train, frames, model = np.log10(widths), [], [], [], None
    for i, h in enumerate(widths):
        model = KernelRegression(float(h), degree=c["degree"], n_neighbors=None).fit(X, y)
        guess = model.predict(places)
        left.append(_left_out(data.x, y, float(h), c["degree"]))
        train.append(float(np.mean((y - model.predict(X)) ** 2)))
        weight = np.asarray(Gaussian(float(h))(at, X)).ravel()
        weight = weight / weight.sum() if weight.sum() > 0 else weight
        frames.append(Frame(
            f"width {h:.2g}",
            {"data": [line([c["at"]] * 2, [-99, 99], color="muted", dash=True, width=1.2), line(places, np.clip(guess, -99, 99), color="accent", width=2.6), data_points(r=2.5 + 7 * np.sqrt(weight))],
             "weights": [bars(data.x, weight, 0.05)],
             "errors": [line(logs[: i + 1], train, color="c0"), line(logs[: i + 1], left, color="c1"), points(logs[i : i + 1], left[-1:], color="c1", r=5)]},
            None, [("training error", short(train[-1])), ("leave-one-out error", short(left[-1])), ("prediction at the dashed line", short(float(model.predict(at)[0])))],
        ))  # fmt: skip
    shown, best = [v for v in left if np.isfinite(v)], int(np.argmin(left))
    panels = [
        plane(data, "data", "Local line" if c["degree"] else "Local average", equal=False, describe="points, sized by their weight at the dashed line, and the fit"),
        Panel("errors", "Error and width", (logs[0], logs[-1]), (0, 1.05 * max([*shown, *train])), x_label="log10 width", legend=(("c0", "training"), ("c1", "leave one out"))),
        Panel("weights", "Weights at the dashed line", (-3, 3), (0, 0.6), x_label="x of the point", small=True),
    ]  # fmt: skip
    assert model is not None
    fit = f"model = kg.KernelRegression({float(widths[-1])!r}, degree={c['degree']}, n_neighbors=None).fit(X, y)"
    return Recording(
        panels, frames, [("best width, left out", short(float(widths[best])))],
        python=python_lines("curve", fit), fitted={"n_features_in_": 1}, start=best,
    )  # fmt: skip


def _left_out(x: np.ndarray, y: np.ndarray, h: float, degree: int) -> float:
    """Mean squared error of every point predicted from the others; infinite where none is near."""
    u = x[None] - x[:, None]
    w = np.exp(-(u**2) / (2 * h**2))
    np.fill_diagonal(w, 0)
    if degree:  # the line's value at the place: weights w (s2 - u s1)
        s1, s2 = (w * u).sum(axis=1), (w * u**2).sum(axis=1)
        w = w * (s2[:, None] - u * s1[:, None])
    total = w.sum(axis=1)
    if (np.abs(total) < 1e-12).any():
        return float("inf")
    return float(np.mean((y - w @ y / total) ** 2))


def _generated(data: Points, c: Mapping[str, Any]) -> Recording:
    seed, noise = c["seed"], c["noise"]
    panels = []
    for id, title, (X, y) in (
        ("moons", "make_two_moons", make_two_moons(200, noise=noise, random_state=seed)),
        ("xor", "make_xor", make_xor(200, noise=2 * noise, random_state=seed)),
    ):
        panels.append(Panel(id, title, limits(X[:, 0]), limits(X[:, 1]), [points(X[:, 0], X[:, 1], c=y, r=3.2)], equal=True))  # fmt: skip
    glyphs, _ = make_digit_glyphs(24, noise=noise, random_state=seed)
    panels.append(Panel("glyphs", "make_digit_glyphs", (-0.05, 6.55), (-4.4, 0.05), _glyphs(glyphs, 6), axes=False, equal=True))  # fmt: skip
    counts, spam, words = make_spam(400, random_state=seed)
    rates = np.stack([counts[spam == k].mean(axis=0) for k in (0, 1)])
    panels.append(Panel(
        "spam", "make_spam: words per message", (-0.7, len(words) - 0.3), (0, float(rates.max()) * 1.1),
        [bars(np.arange(len(words)) - 0.2, rates[0], 0.38, color="c0"), bars(np.arange(len(words)) + 0.2, rates[1], 0.38, color="c1")],
        x_label="word", legend=(("c0", "wanted"), ("c1", "spam")),
    ))  # fmt: skip
    spectra, vowel, _ = make_vowels(300, noise=3 * noise, random_state=seed)
    means = [spectra[vowel == k].mean(axis=0) for k in np.unique(vowel)]
    panels.append(Panel(
        "vowels", "make_vowels: mean spectra", (0, 23), limits(np.array(means)), [line(range(24), m, color=f"c{k}") for k, m in enumerate(means)], x_label="band",
    ))  # fmt: skip
    lines = [f"X, y = kg.make_two_moons(200, noise={noise}, random_state={seed})",
             f"model = kg.SVC().fit(X, y); print(model.score(*kg.make_two_moons(200, noise={noise}, random_state={seed + 1})))"]  # fmt: skip
    return Recording(panels, [Frame("drawn", {})], python=python_lines("none", *lines))


def _glyphs(rows: np.ndarray, across: int) -> list[Layer]:
    return [
        picture(row.reshape(16, 16), 1.1 * (i % across), -1.1 * (i // across) - 1,
                1.1 * (i % across) + 1, -1.1 * (i // across), colors="grey", lo=0.0, hi=1.0)
        for i, row in enumerate(rows)
    ]  # fmt: skip


SCENES = (
    Scene(
        "glm", "glm", "Counts and amounts",
        "The mean is an exponential of a line, so it is never negative, and the spread grows with it. Least squares knows neither.",
        _generalised,
        controls=(choice("family", "y is", (("poisson", "a count (Poisson)"), ("gamma", "an amount (gamma)"), ("tweedie", "an amount, often zero (Tweedie)"))),
                  slider("slope", "slope b", 0.7, -1.5, 1.5, 0.1, export=(0.3, 0.7)), slider("seed", "random sample", 0, 0, 20, export=(0, 1))),
        breaks=(Break("No relation: the penalty is all there is", controls={"slope": 0.0}), Break("Steep: a few large counts decide", controls={"slope": 1.5})),
        question="Least squares predicts a negative count at the left end. Why can the Poisson model not?",
        answer="It models the logarithm of the mean: whatever the line does, its exponential is positive.",
        names=("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "LinearRegression"),
    ),
    Scene(
        "kernel_regression", "kernel_regression", "Kernel regression",
        "Every prediction is an average of the points nearby, weighted by a kernel. Play widens it: from every point for itself to one mean for all.",
        _smoother, data="curve", presets=("sine", "few", "steps", "gap", "line", "outliers"),
        controls=(choice("degree", "near a place, fit", ((0, "a constant (Nadaraya-Watson)"), (1, "a line"))),
                  slider("at", "place of the dashed line", -2.5, -3.0, 3.0, 0.1, export=(-2.5, 0.0))),
        breaks=(Break("At the edge, averages bend towards the inside", "line", {"at": -2.8}), Break("A gap: nobody near", "gap", {"at": 0.2})),
        question="On a straight line of points, which of the two is wrong at the ends, and why?",
        answer="The local constant: at an end all neighbours lie on one side, so their average is too high or too low. A local line has no such bias.",
        names=("KernelRegression",), min_points=3,
    ),
    Scene(
        "generated", "datasets", "Generated data sets",
        "Five data sets with known classes. The same seed gives the same rows on every machine.",
        _generated, controls=(slider("noise", "noise", 0.1, 0.0, 0.5, 0.05, export=(0.0, 0.1, 0.3)), slider("seed", "random seed", 0, 0, 20, export=(0, 1))),
        breaks=(Break("So much noise that the classes mix", controls={"noise": 0.5}),),
        question="Which of these classes can a line part?",
        answer="The spam messages, nearly: each word adds its part to a linear score. The moons and exclusive or need a curved border.",
        names=("make_two_moons", "make_xor", "make_digit_glyphs", "make_spam", "make_vowels"),
    ),
)  # fmt: skip
