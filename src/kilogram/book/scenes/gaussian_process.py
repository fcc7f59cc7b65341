"""Gaussian process regression: the posterior and its band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

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
    picture,
)
from kilogram.book.scene import Break, Points, Scene, choice, log_slider, switch
from kilogram.book.scenes.kernel_curves import KERNELS, kernel_of
from kilogram.models.gaussian_process.regressor import GaussianProcessRegressor


def _posterior(
    model: GaussianProcessRegressor, places: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and draws of the function at the places."""
    mean, covariance = model.predict(places, return_cov=True)
    values, vectors = np.linalg.eigh(covariance)
    draws = mean[:, None] + (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T @ noise
    return mean, np.sqrt(np.maximum(np.diag(covariance), 0)), draws


def _gaussian_process(data: Points, c: Mapping[str, Any]) -> Recording:
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


SCENES = (
    Scene(
        "gaussian_process", "gaussian_process", "Gaussian process",
        "A distribution over functions, conditioned on one point after the other. The band is narrow near points and returns to the prior away from them.",
        _gaussian_process, data="curve", presets=("gap", "few", "sine", "line"),
        controls=(choice("kernel", "kernel", KERNELS[:3]), log_slider("sigma", "width σ", 0.8, 0.1, 4.0), log_slider("noise", "noise of y", 0.2, 0.01, 1.0), switch("printed", "as printed: a band without the noise"), switch("optimise", "choose the width by marginal likelihood")),
        breaks=(Break("Far from the points: only the prior", "gap", {"sigma": 0.3}), Break("Noise set too low: it chases points", "sine", {"noise": 0.01, "sigma": 0.3}), Break("What the printed page gets wrong: points outside their own band", "sine", {"printed": True, "noise": 0.25, "sigma": 1.0})),
        question="Drag a point up. Does the band around it grow?",
        answer="No: the posterior variance depends on where the points are, not on their values. Only the mean follows.",
        names=("GaussianProcessRegressor",), min_points=1,
    ),
)  # fmt: skip
