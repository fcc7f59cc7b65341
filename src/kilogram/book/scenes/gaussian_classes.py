"""Classes as Gaussians, their means and their scores: discriminants, naive Bayes, thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kilogram.book.drawing import (
    data_box,
    data_grid,
    percent,
    plane,
    python_lines,
    short,
)
from kilogram.book.errors import BookError
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    ellipses,
    limits,
    line,
    points,
    segments,
)
from kilogram.book.scene import Break, Points, Scene, log_slider, slider, switch
from kilogram.book.scenes.two_classes import SIDES, errors
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.centroid.nearest_centroid import NearestCentroid
from kilogram.models.discriminant.lda import LinearDiscriminantAnalysis
from kilogram.models.discriminant.qda import QuadraticDiscriminantAnalysis
from kilogram.models.fisher.fisher import FisherDiscriminant
from kilogram.models.fisher.kernel_fisher import KernelFisherDiscriminant
from kilogram.models.naive_bayes.gaussian import GaussianNB


def _discriminants(data: Points, c: Mapping[str, Any]) -> Recording:
    counts = np.bincount(data.labels)
    if (counts[counts > 0] < 3).any():
        raise BookError("Each class needs at least three points for its covariance.")
    X, y = data.xy, data.labels
    linear = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    quadratic = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    steps = record("quadratic_discriminant", X, y, X)
    grid = data_grid(data)
    means, shared = linear.means_, [linear.covariance_] * len(linear.means_)
    own = quadratic.covariance_
    fields = (
        grid.regions(linear.predict),
        grid.regions(partial(_by_distance, quadratic) if c["printed"] else quadratic.predict),
    )
    frames = []
    for i, step in enumerate(steps):
        left, right = [data_points()], [data_points()]
        if i >= 0:
            left += [ellipses(means, shared, 1.0), ellipses(means, shared, 2.0, faint=True)]
            right += [ellipses(means, own, 1.0), ellipses(means, own, 2.0, faint=True)]
        if i >= 2:
            left, right = [fields[0], *left], [fields[1], *right]
        frames.append(Frame(step.name, {"data": left, "quadratic": right}, step.line))
    readouts = [(f"{name}, linear", v) for name, v in errors(linear, data)] + [
        (f"{name}, quadratic", v) for name, v in errors(quadratic, data)
    ]
    if c["printed"]:
        wrong = float(np.mean(_by_distance(quadratic, X) != y))
        readouts[-2:] = [("training error, as printed", percent(wrong))]
    return Recording(
        [plane(data, "data", "Linear: one covariance", describe="ellipses and regions of the linear discriminant"),
         plane(data, "quadratic", "As printed: the distance alone" if c["printed"] else "Quadratic: one covariance per class", describe="ellipses and regions of the quadratic discriminant")],
        frames, readouts, python=python_lines("classes", "model = kg.QuadraticDiscriminantAnalysis().fit(X, y)"),
        code="quadratic_discriminant", fitted={"means_": quadratic.means_, "priors_": quadratic.priors_},
    )  # fmt: skip


def _histogram(id: str, title: str, scores: np.ndarray, labels: np.ndarray, **more: Any) -> Panel:
    """The scores of two classes as bars above and below the line."""
    lo, hi = limits(scores)
    edges = np.linspace(lo, hi, 25)
    middles, width = (edges[1:] + edges[:-1]) / 2, (edges[1] - edges[0]) * 0.9
    above = np.histogram(scores[labels == 1], edges)[0]
    below = np.histogram(scores[labels == 0], edges)[0]
    top = float(max(above.max(), below.max(), 1)) * 1.1
    return Panel(
        id,
        title,
        (lo, hi),
        (-top, top),
        [bars(middles, above, width, color="c1"), bars(middles, -below, width, color="c0")],
        legend=(("c1", "class 1"), ("c0", "class 0")),
        mirrored=True,
        **more,
    )


def _fisher(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    model = FisherDiscriminant().fit(X, y)
    kernel = KernelFisherDiscriminant(kernel=Gaussian(c["sigma"]), alpha=c["alpha"]).fit(X, y)
    steps = record("fisher", X, y)
    w = _last_direction(X, y) if c["printed"] else np.asarray(steps[-1].state["W"])[:, 0]
    w = w / np.linalg.norm(w)
    z = X @ w if c["printed"] else model.transform(X).ravel()
    grid = data_grid(data)
    means = np.array([X[y == name].mean(axis=0) for name in np.unique(y)])
    centre = X.mean(axis=0)
    reach = np.array([-4.5, 4.5])
    axis = line(centre[0] + reach * w[0], centre[1] + reach * w[1], color="ink", width=2.2)
    feet = centre + ((X - centre) @ w)[:, None] * w
    frames = []
    for i, step in enumerate(steps):
        layers = (
            [grid.regions(model.predict, faint=True)]
            if i == len(steps) - 1 and not c["printed"]
            else []
        )
        layers += (
            [segments(X[:, 0], X[:, 1], feet[:, 0], feet[:, 1], width=0.8), axis]
            if i == len(steps) - 1
            else []
        )
        layers += [data_points(), points(means[:, 0], means[:, 1], c=np.unique(y), shape="centre")]
        frames.append(Frame(step.name, {"data": layers}, step.line))
    beside = plane(
        data,
        "kernel",
        f"Kernel version, σ = {c['sigma']:.2g}",
        layers=[grid.regions(kernel.predict), data_points()],
    )
    panels = [plane(data, "data", "As printed: of the first eigenvalue" if c["printed"] else "Fisher’s direction", describe="points, class means and the direction that parts them"), beside,
              _histogram("scores", "Points along the direction", z, y, small=True)]  # fmt: skip
    return Recording(
        panels, frames, [*[(f"{n}, linear", v) for n, v in errors(model, data)], *[(f"{n}, kernel", v) for n, v in errors(kernel, data)]],
        python=python_lines("classes", "model = kg.FisherDiscriminant().fit(X, y)"), code="fisher",
        fitted={"scalings_": model.scalings_, "means_": model.means_},
    )  # fmt: skip


def _last_direction(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cookbook, algorithm 14: "the first eigenvalues", which numerical libraries sort upwards."""
    means = np.array([X[y == name].mean(axis=0) for name in np.unique(y)])
    S = sum(np.cov(X[y == name].T, bias=True) for name in np.unique(y))
    B = (means - X.mean(axis=0)).T @ (means - X.mean(axis=0))
    S = np.asarray(S) + 1e-9 * np.trace(S) * np.eye(2)
    return np.asarray(eigh(B, S)[1][:, 0])


def _by_distance(model: QuadraticDiscriminantAnalysis, Z: np.ndarray) -> np.ndarray:
    """Lecture notes, lecture 5: the nearest mean under each class's Mahalanobis distance alone."""
    distances = [
        np.einsum("ij,jk,ik->i", Z - m, np.linalg.pinv(S), Z - m)
        for m, S in zip(model.means_, model.covariance_, strict=True)
    ]
    return np.asarray(model.classes_[np.argmin(distances, axis=0)])


def _bayes(data: Points, c: Mapping[str, Any]) -> Recording:
    counts = np.bincount(data.labels)
    if (counts[counts > 0] < 2).any():
        raise BookError("Each class needs at least two points for its variances.")
    X, y = data.xy, data.labels
    model = GaussianNB().fit(X, y)
    rich = QuadraticDiscriminantAnalysis(store_covariance=True, reg_param=1e-3).fit(X, y)
    steps = record("gaussian_naive_bayes", X, y, X)
    grid = data_grid(data)
    shapes = [np.diag(v) for v in model.var_]
    ts = np.linspace(*data_box(data)[0], 120)
    margins = []
    for name, (mean, var) in enumerate(zip(model.theta_, model.var_, strict=True)):
        margins.append(
            line(
                ts,
                np.exp(-((ts - mean[0]) ** 2) / (2 * var[0])) / np.sqrt(2 * np.pi * var[0]),
                color=f"c{model.classes_[name]}",
            )
        )
    frames = []
    for i, step in enumerate(steps):
        layers = [
            data_points(),
            ellipses(model.theta_, shapes, 1.0),
            ellipses(model.theta_, shapes, 2.0, faint=True),
        ]
        if i == len(steps) - 1:
            layers = [grid.regions(model.predict), *layers]
        frames.append(Frame(step.name, {"data": layers}, step.line))
    beside = plane(
        data,
        "full",
        "With full covariances",
        layers=[
            grid.regions(rich.predict),
            data_points(),
            ellipses(rich.means_, rich.covariance_, 1.0),
        ],
    )
    top = float(1 / np.sqrt(2 * np.pi * model.var_[:, 0].min())) * 1.1
    panels = [plane(data, "data", "Naive Bayes: columns independent", describe="ellipses along the axes and the regions"), beside,
              Panel("margin", "Density of x₁ in each class", data_box(data)[0], (0, top), margins, x_label="x₁", small=True)]  # fmt: skip
    return Recording(
        panels, frames, [*[(f"{n}, naive", v) for n, v in errors(model, data)], *[(f"{n}, full", v) for n, v in errors(rich, data)]],
        python=python_lines("classes", "model = kg.GaussianNB().fit(X, y)"), code="gaussian_naive_bayes",
        fitted={"theta_": model.theta_, "var_": model.var_},
    )  # fmt: skip


def _roc(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, (data.labels > 0).astype(int)
    model = LinearDiscriminantAnalysis().fit(X, data.labels)
    scores = np.asarray(model.decision_function(X)).ravel()
    curve = _curve(scores, y)
    area = float(np.trapezoid(curve[:, 1], curve[:, 0]))
    grid = data_grid(data, 40)
    thresholds = np.quantile(scores, np.linspace(1, 0, 31))
    histogram = _histogram("scores", "Scores of the two classes", scores, y)
    frames = []
    for t in thresholds:
        hit, false = float(np.mean(scores[y == 1] >= t)), float(np.mean(scores[y == 0] >= t))
        cost = c["miss"] * np.sum(scores[y == 1] < t) + np.sum(scores[y == 0] >= t)
        frames.append(Frame(
            f"threshold {t:.2f}",
            {"data": [grid.regions(partial(_exceeds, model, t)), data_points()],
             "scores": [segments([t], [histogram.y[0]], [t], [histogram.y[1]], color="ink", width=2)],
             "roc": [points([false], [hit], color="accent", r=6.5)]},
            None, [("found of class 1", percent(hit)), ("false alarms", percent(false)), ("cost", short(float(cost)))],
        ))  # fmt: skip
    costs = [
        c["miss"] * np.sum(scores[y == 1] < t) + np.sum(scores[y == 0] >= t) for t in thresholds
    ]
    roc = Panel("roc", "Found of class 1 over false alarms", (0, 1), (0, 1.02), [line([0, 1], [0, 1], color="muted", dash=True, width=1), line(curve[:, 0], curve[:, 1], color="ink", width=2.2)],
                equal=True, x_label="false alarms", describe="found of class 1 over false alarms")  # fmt: skip
    return Recording(
        [plane(data, "data", "What the threshold decides", legend=SIDES), roc, histogram], frames,
        [("area under the curve", short(area)), ("cheapest threshold", short(float(thresholds[int(np.argmin(costs))])))],
        python=python_lines("classes", "model = kg.LinearDiscriminantAnalysis().fit(X, y)", "from kilogram.evaluation.ranking import auc", "print(auc(y, model.decision_function(X)))"),
        code="roc", fitted={"intercept_": model.intercept_}, start=int(np.argmin(costs)),
    )  # fmt: skip


def _exceeds(model: LinearDiscriminantAnalysis, threshold: float, Z: np.ndarray) -> np.ndarray:
    return np.ravel(model.decision_function(Z)) >= threshold


def _curve(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """False alarms and hits for every threshold."""
    cuts = np.concatenate([[np.inf], np.unique(scores)[::-1]])
    return np.array([[np.mean(scores[y == 0] >= t), np.mean(scores[y == 1] >= t)] for t in cuts])


def _centroid(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    order = np.random.default_rng(c["seed"]).permutation(len(X))
    steps = thinned(record("online_centroids", X[order], y[order]), 30)
    model = NearestCentroid().fit(X, y)
    grid = data_grid(data)
    classes = np.unique(y)
    frames = []
    for i, step in enumerate(steps):
        mu = model.centroids_ if i == len(steps) - 1 else step.state["mu"]
        seen = np.asarray(step.state["N"]) > 0
        layers = [
            *(
                [grid.regions(partial(_nearest, mu[seen], classes[seen], c["printed"]))]
                if seen.any()
                else []
            ),
            data_points(),
            points(mu[seen][:, 0], mu[seen][:, 1], c=classes[seen], shape="centre"),
        ]
        frames.append(
            Frame(
                step.name,
                {"data": layers},
                step.line,
                [("points seen", int(np.sum(step.state["N"])))],
            )
        )
    return Recording(
        [plane(data, "data", "Nearest centroid", describe="class means and the regions nearest to them")], frames, errors(model, data),
        python=python_lines("classes", "model = kg.NearestCentroid().fit(X, y)"), code="online_centroids", fitted={"centroids_": model.centroids_},
    )  # fmt: skip


def _nearest(mu: np.ndarray, classes: np.ndarray, printed: bool, X: np.ndarray) -> np.ndarray:
    return np.asarray(classes[_scores(X, mu, printed).argmax(axis=1)])


def _scores(X: np.ndarray, mu: np.ndarray, printed: bool) -> np.ndarray:
    """The linear rule of each mean: mu'x less half of |mu|^2; the printed one lacks the half."""
    return np.asarray(X @ mu.T - (1.0 if printed else 0.5) * (mu**2).sum(axis=1))


SCENES = (
    Scene(
        "discriminants", "discriminants", "Linear and quadratic discriminants",
        "A Gaussian for each class and Bayes’ rule. One shared covariance gives straight borders, one per class gives conics.",
        _discriminants, data="classes", presets=("three", "overlap", "long", "circles", "unequal", "xor"), classes=3,
        controls=(switch("printed", "as printed: the Mahalanobis distance without log-determinant and prior"),),
        breaks=(Break("What the printed page gets wrong: the wide class takes too much", "circles", {"printed": True}), Break("A class inside another: means coincide", "circles"), Break("Classes that are no Gaussians", "xor")),
        question="Two circles around one centre: which of the two parts them?",
        answer="The quadratic one: the classes differ in covariance, not in mean, so the linear scores are all but equal.",
        names=("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"), min_points=6,
    ),
    Scene(
        "fisher", "fisher", "Fisher’s discriminant",
        "The direction along which the class means are far apart compared with the spread within the classes.",
        _fisher, data="classes", presets=("long", "overlap", "two", "circles", "moons"),
        controls=(log_slider("sigma", "kernel width σ", 1.0, 0.1, 5.0), log_slider("alpha", "penalty of the kernel version", 0.01, 1e-5, 10.0), switch("printed", "as printed: eigenvectors of the first eigenvalues")),
        breaks=(Break("What the printed page gets wrong: the worst direction", "long", {"printed": True}), Break("Equal means: no direction parts them", "circles"),),
        question="Is the best direction the one that joins the means?",
        answer="Only for round classes. Long ones turn it: S_W⁻¹ (m₁ − m₀).",
        names=("FisherDiscriminant", "KernelFisherDiscriminant"), min_points=4,
    ),
    Scene(
        "naive_bayes", "naive_bayes", "Naive Bayes",
        "Pretend that, within a class, the columns have nothing to do with each other: the ellipses lie along the axes, whatever the data does.",
        _bayes, data="classes", presets=("three", "long", "overlap", "circles", "xor"), classes=3,
        breaks=(Break("Correlated columns", "long"), Break("Exclusive or: each column alone says nothing", "xor")),
        question="Long diagonal groups: how much does independence cost?",
        answer="Compare the errors: the naive ellipses overlap where the true ones do not.",
        names=("GaussianNB",), min_points=4,
    ),
    Scene(
        "roc", "naive_bayes", "ROC and thresholds",
        "A score orders the points; a threshold decides. Lowering it finds more of class 1 and raises more false alarms. Each threshold is one point of the curve.",
        _roc, data="classes", presets=("overlap", "two", "moons", "xor"),
        controls=(log_slider("miss", "cost of a miss / false alarm", 1.0, 0.1, 10.0),),
        breaks=(Break("A score that says nothing", "xor"),),
        question="A miss costs ten times a false alarm. Which way does the threshold move?",
        answer="Down: more false alarms are worth it. The curve stays as it is; only the best point on it moves.",
        names=("LinearDiscriminantAnalysis",), algorithms=("roc",), min_points=4,
    ),
    Scene(
        "centroids", "centroids", "Nearest centroid",
        "One mean per class, updated point by point; every place belongs to the nearest mean.",
        _centroid, data="classes", presets=("three", "overlap", "long", "circles", "aside"), classes=3,
        controls=(slider("seed", "random order of the points", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: the threshold without its half")),
        breaks=(Break("What the printed page gets wrong: a border in the wrong place", "aside", {"printed": True}), Break("Equal means", "circles"), Break("Long classes", "long")),
        question="Does the order of the points change the result?",
        answer="No: a running mean ends at the mean, whatever the order.",
        names=("NearestCentroid",), min_points=2,
    ),
)  # fmt: skip
