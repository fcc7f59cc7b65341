"""Random Fourier features beside the exact kernel method."""

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
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    data_points,
    limits,
    line,
    points,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.kernels import Gaussian
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.kitchen_sinks import KitchenSinksRegressor
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.ridge import Ridge


def _sinks(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.x[:, None], data.y
    places = curve_places(data)
    exact = KernelRidge(alpha=c["alpha"], kernel=Gaussian(c["sigma"])).fit(X, y)
    truth = exact.predict(places)
    r = np.linspace(0, 4, 100)
    shape = np.exp(-(r**2) / (2 * c["sigma"] ** 2))
    counts = (2, 4, 8, 16, 32, 64, 128, 256, 512)
    frames, gaps = [], []
    fit = f"model = kg.KitchenSinksRegressor(n_components={{}}, alpha={c['alpha']}, kernel=kg.Gaussian({c['sigma']}), random_state={c['seed']}).fit(X, y)"
    model = None
    for i, count in enumerate(counts):
        model = KitchenSinksRegressor(
            n_components=count,
            alpha=c["alpha"],
            kernel=Gaussian(c["sigma"]),
            random_state=c["seed"],
        ).fit(X, y)
        features = FourierFeatures(
            n_components=count, kernel=Gaussian(c["sigma"]), random_state=c["seed"]
        ).fit(X)
        scale = np.sqrt(count) if c["printed"] else 1.0  # the printed features lack 1/sqrt(K)
        near = scale**2 * (features.transform(r[:, None]) @ features.transform(np.zeros((1, 1))).T)
        guess = model.predict(places)
        if c["printed"]:
            Z = scale * np.asarray(features.transform(X))
            guess = Ridge(alpha=c["alpha"]).fit(Z, y).predict(scale * features.transform(places))
        gaps.append(float(np.sqrt(np.mean((guess - truth) ** 2))))
        frames.append(Frame(
            f"{count} random features",
            {"data": [line(places, truth, color="c1", dash=True), line(places, guess, color="accent", width=2.6), data_points()],
             "shape": [line(r, np.ravel(near), color="accent")],
             "gap": [line(np.log2(counts[: i + 1]), np.log10(np.maximum(gaps, 1e-9)), color="accent"), points([np.log2(count)], [np.log10(max(gaps[-1], 1e-9))], color="accent", r=5)]},
            None, [("distance from kernel ridge", short(gaps[-1]))], python_lines("curve", fit.format(count)),
        ))  # fmt: skip
    panels = [
        plane(data, "data", "Kitchen sinks and kernel ridge", equal=False, legend=(("accent", "random features"), ("c1", "exact kernel ridge")), describe="both fits"),
        Panel("shape", "The kernel and its approximation", (0, 4), (-0.6, 1.3), [line(r, shape, color="c1", dash=True)], x_label="distance"),
        Panel("gap", "Distance from the exact fit", (0.5, 9.5), limits(np.log10(np.maximum(gaps, 1e-9)), 0.1), faint_curves(np.log2(counts), np.log10(np.maximum(gaps, 1e-9))), x_label="log2 features", y_label="log10 RMS", small=True, whole=True),
    ]  # fmt: skip
    return Recording(
        panels,
        frames,
        python=python_lines("curve", fit.format(counts[-1])),
        code="random_kitchen_sinks",
        fitted={"n_features_in_": 1},
    )


SCENES = (
    Scene(
        "kitchen_sinks", "feature_maps", "Random kitchen sinks",
        "Random cosines whose inner products approximate the kernel. Play doubles their number: the fit approaches kernel ridge, at the cost of a linear method.",
        _sinks, data="curve", presets=("sine", "few", "steps", "gap"),
        controls=(log_slider("sigma", "kernel width σ", 0.7, 0.1, 5.0), log_slider("alpha", "penalty α", 0.1, 1e-3, 10.0), slider("seed", "random seed", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: features without 1/√K")),
        breaks=(Break("A narrow kernel needs more features", "sine", {"sigma": 0.15}), Break("What the printed page gets wrong: the penalty fades as features are added", "few", {"printed": True, "alpha": 10.0})),
        question="Four times as many features: how much smaller is the distance?",
        answer="About half: the error of a random approximation falls as one over the square root.",
        names=("KitchenSinksRegressor", "FourierFeatures", "KernelRidge"), min_points=3,
    ),
)  # fmt: skip
