"""Cross-validation, and the degree of a polynomial chosen by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from kilogram.book.drawing import (
    curve_places,
    plane,
    python_lines,
    short,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    band,
    data_points,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, slider, switch
from kilogram.models.features.polynomial import PolynomialFeatures
from kilogram.models.least_squares.linear_regression import LinearRegression


def _validation(data: Points, c: Mapping[str, Any]) -> Recording:
    x, y, degrees = data.x, data.y, np.arange(0, 11)
    folds = KFold(min(c["folds"], len(x)), shuffle=True, random_state=0)
    count = folds.get_n_splits()
    places = curve_places(data, 120)
    powers = PolynomialFeatures(int(degrees[-1]))
    Z, Zp = powers.fit_transform(data.x[:, None]), powers.transform(places)
    test, train = np.zeros((count, len(degrees))), np.zeros((count, len(degrees)))
    frames = []
    for f, (kept, out) in enumerate(folds.split(Z)):
        fits = []
        for d in degrees:
            fits.append(LinearRegression(fit_intercept=False).fit(Z[kept, : d + 1], y[kept]))
            missed = (y - fits[d].predict(Z[:, : d + 1])) ** 2
            test[f, d], train[f, d] = missed[out].mean(), missed[kept].mean()
            if c["printed"]:
                test[f, d] /= len(out)
        fit, columns = fits[c["degree"]], slice(c["degree"] + 1)
        miss = segments(x[out], y[out], x[out], fit.predict(Z[out, columns]), color="c1", width=2)
        shown = [
            line(places, np.clip(fit.predict(Zp[:, columns]), -99, 99), color="accent", width=2.4),
            miss,
            data_points(c=np.isin(np.arange(len(x)), out)),
        ]
        mean, sd = test[: f + 1].mean(axis=0), test[: f + 1].std(axis=0) / np.sqrt(f + 1)
        curves = [
            band(degrees, mean - sd, mean + sd, color="c1"),
            line(degrees, mean, color="c1", width=2.4),
            line(degrees, train[: f + 1].mean(axis=0), color="c0"),
        ]
        curves.append(points([c["degree"]], [mean[c["degree"]]], color="c1", r=5))
        frames.append(
            Frame(
                f"fold {f + 1} of {count} left out",
                {"data": shown, "errors": curves},
                None,
                [("error on this fold", short(float(test[f, c["degree"]])))],
            )
        )
    mean = test.mean(axis=0)
    title = (
        "As printed: divided by the size of the fold again" if c["printed"] else "Error by degree"
    )
    panels = [
        plane(data, "data", f"Degree {c['degree']}", equal=False, legend=(("c0", "to fit"), ("c1", "left out")), describe="fit without one fold, and its errors"),
        Panel("errors", title, (-0.3, 10.3), (0, max(2.5 * float(mean.min()), float(mean[:3].max()) * 1.25)), x_label="degree", whole=True, legend=(("c0", "training"), ("c1", "cross-validation ± se"))),
    ]  # fmt: skip
    lines = [
        "from sklearn.model_selection import GridSearchCV, KFold",
        "from sklearn.pipeline import make_pipeline",
        "fit = make_pipeline(kg.PolynomialFeatures(), kg.LinearRegression(fit_intercept=False))",
        f"folds = KFold({count}, shuffle=True, random_state=0)",
        "grid = {'polynomialfeatures__degree': range(11)}",
        "model = GridSearchCV(fit, grid, cv=folds, scoring='neg_mean_squared_error').fit(X, y)",
    ]
    return Recording(
        panels, frames, [("best degree", int(mean.argmin())), ("cross-validation error", short(float(mean[c["degree"]])))],
        python=python_lines("curve", *lines), fitted={"best_score_": -mean.min(), "best_index_": mean.argmin()},
    )  # fmt: skip


SCENES = (
    Scene(
        "cross_validation", "explicit_features", "Cross-validation and the degree",
        "Leave one part out, fit the rest, measure the part left out; then the next. Each fold adds a curve to the average on the right.",
        _validation, data="curve", presets=("sine", "few", "parabola", "line", "outliers"),
        controls=(slider("degree", "degree", 5, 0, 10, export=(1, 3, 5, 9)), slider("folds", "folds", 5, 2, 10, export=(2, 5, 10)), switch("printed", "as printed: the mean of a fold is divided by its size again")),
        breaks=(Break("What the printed page gets wrong: an error below the training error", "sine", {"printed": True}), Break("Two folds of ten points", "few", {"folds": 2}), Break("An outlier in a fold", "outliers", {"degree": 3})),
        question="Which degree would you choose: the lowest point of the curve, or the simplest within one standard error?",
        answer="The simplest within one standard error is the safer choice: the curve itself is an estimate.",
        names=("PolynomialFeatures", "LinearRegression"), min_points=6,
    ),
)  # fmt: skip
