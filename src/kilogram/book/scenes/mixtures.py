"""Gaussian mixtures: expectation and maximisation, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kilogram.book.drawing import (
    data_grid,
    matched_labels,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Recording,
    data_points,
    ellipses,
    points,
)
from kilogram.book.scene import Break, Points, Scene, slider, switch
from kilogram.book.textbook_steps import record, thinned
from kilogram.models.mixture.gaussian_mixture import GaussianMixture
from kilogram.textbook import State


def _likelihood(state: State) -> float | None:
    """Of the mixture, where the step computes it; the printed version computes densities only."""
    if state.objective is not None:
        return -state.objective
    if "p" not in state.arrays or not state.step.startswith("2"):
        return None
    with np.errstate(divide="ignore"):
        return float(np.sum(np.log(state["p"].sum(axis=1))))


def _mixture(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = data.xy, c["k"]
    if k >= len(np.unique(X, axis=0)):
        raise BookError(f"{k} components need more than {k} different points.")
    start = X[np.random.default_rng(c["seed"]).choice(len(X), k, replace=False)]
    run = "mixture_em_as_printed" if c["printed"] else "mixture_em"
    try:
        steps = thinned(record(run, X, start), 40)
    except np.linalg.LinAlgError as error:
        raise BookError(
            "As printed: a component has shrunk to a point or a line, and its covariance is singular."
        ) from error
    model = GaussianMixture(n_components=k, random_state=c["seed"], n_init=3).fit(X)
    grid = data_grid(data)
    reached = [_likelihood(s.state) for s in steps]
    panel, mark = objective_panel(
        reached,
        title="Log likelihood",
    )
    frames = []
    for i, step in enumerate(steps):
        mu, sigma = step.state["mu"], step.state["Sigma"]
        owner = (
            step.state["gamma"].argmax(axis=1)
            if "gamma" in step.state.arrays
            else np.full(len(X), -1)
        )
        layers = [
            ellipses(mu, sigma, 1.0),
            ellipses(mu, sigma, 2.0, faint=True),
            data_points(c=owner),
            points(mu[:, 0], mu[:, 1], c=np.arange(k), shape="centre"),
        ]
        frames.append(Frame(step.name, {"data": layers, "objective": mark(i)}, step.line))
    labels = model.predict(X)
    color = matched_labels(labels, owner)
    own = np.argsort(color)[:k]  # ellipses have the colours 0, 1, ...
    beside = plane(data, "best", "Best of three starts", layers=[grid.regions(lambda Z: color[model.predict(Z)], faint=True), data_points(c=color[labels]),
                   ellipses(model.means_[own], model.covariances_[own], 2.0)], describe="the fit of GaussianMixture")  # fmt: skip
    return Recording(
        [plane(data, "data", "EM, step by step", describe="points by component and the ellipses of the components"), beside, panel], frames,
        [("log likelihood, this start", short(next((v for v in reversed(reached) if v is not None), float("nan")))), ("best of three", short(float(model.score(X)) * len(X))), ("BIC", short(float(model.bic(X))))],
        python=python_lines("cloud", f"model = kg.GaussianMixture({k}, random_state={c['seed']}, n_init=3).fit(X)"),
        code=run, fitted={"lower_bound_": model.lower_bound_},
    )  # fmt: skip


SCENES = (
    Scene(
        "mixtures", "mixtures", "Mixture of Gaussians by EM",
        "Two steps in turn. E: how probably does each point belong to each Gaussian? M: the mean and covariance of each Gaussian from the points weighted so. The likelihood can only rise.",
        _mixture, data="cloud", presets=("long", "blobs", "unequal", "moons", "one"),
        controls=(slider("k", "components", 2, 1, 6, export=(2, 3, 4)), slider("seed", "random start", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: algorithm 10 without a floor or an end")),
        breaks=(Break("A poor start: a poor maximum", "blobs", {"k": 3, "seed": 4}), Break("Moons are no Gaussians", "moons"), Break("More components than groups", "one", {"k": 5})),
        question="Long parallel groups: can k-means find what EM finds here?",
        answer="No: it cuts them halfway across. EM learns the covariance, so distance is measured along the group.",
        names=("GaussianMixture",), min_points=3,
    ),
)  # fmt: skip
