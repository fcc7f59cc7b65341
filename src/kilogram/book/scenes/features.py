"""Trees and forests, the lasso path, random features, two views, parts, manifolds, semi-supervised learning, cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from kilogram.book.drawing import (
    curve_places,
    data_box,
    data_grid,
    faint_curves,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    band,
    bars,
    data_points,
    limits,
    line,
    points,
    segments,
    text,
)
from kilogram.book.scene import BookError, Break, Points, Scene, log_slider, slider, switch
from kilogram.book.scenes.classification import errors
from kilogram.book.tables import columns_at, correlated_columns
from kilogram.book.textbook_steps import record, thinned
from kilogram.kernels import Gaussian
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.kitchen_sinks import KitchenSinksRegressor
from kilogram.models.features.polynomial import PolynomialFeatures
from kilogram.models.least_squares.linear_regression import LinearRegression
from kilogram.models.ridge.kernel_ridge import KernelRidge
from kilogram.models.ridge.ridge import Ridge
from kilogram.models.sparse.elastic_net import Lasso
from kilogram.models.sparse.paths import lasso_path
from kilogram.models.trees.decision_tree import DecisionTreeClassifier
from kilogram.models.trees.random_forest import RandomForestClassifier


def _tree(data: Points, c: Mapping[str, Any]) -> Recording:
    X, y = data.xy, data.labels
    classes = np.unique(y)
    indicators = (y[:, None] == classes).astype(float)
    steps = thinned(record("decision_tree", X, indicators, "gini", 1, c["depth"]), 30)
    model = DecisionTreeClassifier(max_depth=c["depth"], random_state=0).fit(X, y)
    forest = RandomForestClassifier(n_estimators=c["trees"], max_depth=None, random_state=0).fit(
        X, y
    )
    grid = data_grid(data)
    panel, mark = objective_panel([s.state.objective for s in steps], title="Impurity (Gini)")
    frames = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        grown = step.state["nodes"], step.state["values"]
        region = grid.regions(model.predict if last else partial(_tree_class, classes, *grown))
        shown = {
            "data": [region, data_points()],
            "objective": mark(i),
            "tree": _drawn_tree(classes, *grown),
        }
        frames.append(
            Frame(
                step.name,
                shown,
                step.line,
                [("leaves", int(np.sum(np.asarray(step.state["nodes"])[:, 0] < 0)))],
            )
        )
    beside = plane(
        data,
        "forest",
        f"Forest of {c['trees']} trees",
        layers=[grid.regions(forest.predict), data_points()],
        describe="regions of the forest",
    )
    tree = Panel(
        "tree", "The tree", (0, 1), (0, 1), axes=False, describe="splits from the root down"
    )
    return Recording(
        [plane(data, "data", f"One tree, depth at most {c['depth']}", describe="regions of the tree, split by split"), beside, tree, panel], frames,
        [*[(f"{n}, tree", v) for n, v in errors(model, data)], *[(f"{n}, forest", v) for n, v in errors(forest, data)]],
        python=python_lines("classes", f"model = kg.DecisionTreeClassifier(max_depth={c['depth']}, random_state=0).fit(X, y)"),
        code="decision_tree", fitted={"n_features_in_": 2},
    )  # fmt: skip


def _tree_class(classes: np.ndarray, nodes: Any, values: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(classes[_descend(nodes, values, X)])


def _descend(nodes: Any, values: Any, X: np.ndarray) -> np.ndarray:
    """The class index of the leaf of every row."""
    table, at = np.asarray(nodes, float), np.zeros(len(X), dtype=int)
    while True:
        inner = table[at, 0] >= 0
        if not inner.any():
            return np.asarray(values)[at].argmax(axis=1)
        feature = table[at, 0].astype(int)
        left = X[np.arange(len(X)), np.maximum(feature, 0)] <= table[at, 1]
        at = np.where(inner, np.where(left, table[at, 2], table[at, 3]).astype(int), at)


def _drawn_tree(classes: np.ndarray, nodes: Any, values: Any) -> list[dict[str, Any]]:
    """The tree as lines: leaves side by side in the colours of their classes, the root on top."""
    table, shares = np.asarray(nodes, float), np.asarray(values)
    place: dict[int, tuple[float, int]] = {}
    leaves = 0

    def visit(node: int, depth: int) -> float:
        nonlocal leaves
        if table[node, 0] < 0:
            x = float(leaves)
            leaves += 1
        else:
            x = (visit(int(table[node, 2]), depth + 1) + visit(int(table[node, 3]), depth + 1)) / 2
        place[node] = (x, depth)
        return x

    visit(0, 0)
    deepest = max(depth for _, depth in place.values()) or 1

    def spot(node: int) -> tuple[float, float]:
        return 0.06 + 0.88 * (place[node][0] + 0.5) / leaves, 0.9 - 0.82 * place[node][1] / deepest

    inner = [n for n in place if table[n, 0] >= 0]
    ends = [(spot(n), spot(int(child))) for n in inner for child in table[n, 2:4]]
    layers = [
        segments(
            [a[0] for a, _ in ends],
            [a[1] for a, _ in ends],
            [b[0] for _, b in ends],
            [b[1] for _, b in ends],
            color="muted",
            width=1.4,
        )
    ]
    leaves_of = [n for n in place if table[n, 0] < 0]
    leaf, colors = np.array([spot(n) for n in leaves_of]), classes[shares[leaves_of].argmax(axis=1)]
    layers.append(points(leaf[:, 0], leaf[:, 1], c=colors, r=5.5))
    if len(inner) <= 12:
        layers += [
            text(x, y + 0.025, f"x{'₁₂'[int(table[n, 0])]} ≤ {table[n, 1]:.2f}")
            for n, (x, y) in ((n, spot(n)) for n in inner)
        ]
    return layers


def _split_anew(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """Cookbook, algorithm 17, as printed: the last coefficients of its stochastic gradients."""
    states = record("online_lasso", X, y, alpha, 12, np.random.default_rng(0), form="printed")
    return np.asarray(states[-1].state["w_last"])


def _lasso_points(c: Mapping[str, Any]) -> Points:
    """One column and the target, row by row."""
    X, y, _ = correlated_columns(c["seed"], c["noise"], c["correlation"])
    return Points(np.column_stack([X[:, c["column"] - 1], y]), np.arange(1, len(y) + 1))


def _lasso(data: Points, c: Mapping[str, Any]) -> Recording:
    settings = c["column"], c["seed"], c["noise"], c["correlation"]
    X, y = columns_at(np.column_stack([data.xy, data.labels]), *settings)
    truth = correlated_columns(*settings[1:])[2]
    if not np.any(X.T @ y):
        raise BookError("The target is constant here, so every coefficient is 0: move a point.")
    alphas, coefs, _ = lasso_path(X, y, n_alphas=40, eps=2e-3)
    alphas = np.asarray(alphas)
    order = np.argsort(alphas)[::-1]
    alphas, coefs = alphas[order], np.asarray(coefs)[:, order].T
    if c["printed"]:
        alphas = alphas[::3]
        coefs = np.array([_split_anew(X, y, float(a)) for a in alphas])
    ridges = np.array([Ridge(alpha=len(y) * a * 5).fit(X, y).coef_ for a in alphas])
    fresh, target, _ = correlated_columns(c["seed"] + 1000, c["noise"], c["correlation"])
    logs = np.log10(alphas)
    test = [float(np.mean((target - fresh @ w) ** 2)) for w in coefs]
    train = [float(np.mean((y - X @ w) ** 2)) for w in coefs]
    frames = []
    ends = np.array(data_box(data)[0])
    lines = (
        "from kilogram.book.tables import columns_at",
        f"X, y = columns_at(T, {', '.join(map(str, settings))})",
    )
    for i, a in enumerate(alphas):
        slope = coefs[i, c["column"] - 1]
        shown = [line(logs[: i + 1], coefs[: i + 1, j], color=f"c{j}") for j in range(8)]
        others = [line(logs[: i + 1], ridges[: i + 1, j], color=f"c{j}") for j in range(8)]
        bar = [
            bars(np.arange(1, 9), coefs[i], 0.6, c=np.arange(8)),
            points(np.arange(1, 9), truth, color="ink", shape="ring", r=5),
        ]
        curve = [
            line(logs[: i + 1], train[: i + 1], color="c0"),
            line(logs[: i + 1], test[: i + 1], color="c1"),
            points([logs[i]], [test[i]], color="c1", r=5),
        ]
        frames.append(Frame(f"α = {a:.3g}", {"data": [line(ends, slope * ends, color=f"c{c['column'] - 1}"), data_points()], "path": shown, "ridge": others, "bars": bar, "errors": curve}, None,
                            [("columns in use", int(np.sum(coefs[i] != 0))), ("training error", short(train[i])), ("test error", short(test[i]))],
                            python_lines("rows", *lines, f"model = kg.Lasso(alpha={a:.6g}).fit(X, y)")))  # fmt: skip
    model = Lasso(alpha=float(alphas[-1])).fit(X, y)
    box = (float(logs[-1]), float(logs[0]))
    high = limits([*coefs.ravel(), *truth], 0.1)
    panels = [
        plane(data, "data", f"Target over column {c['column']}", equal=False, describe="the rows; the other columns keep their values when a point moves"),
        Panel("bars", "Coefficients now, truth ringed", (0.4, 8.6), high, x_label="column", whole=True),
        Panel("path", "As printed: u and v split anew" if c["printed"] else "Lasso: coefficients", box, high, faint_curves(logs, *coefs.T), x_label="log10 α", describe="coefficients along the path"),
        Panel("ridge", "Ridge on the same data", box, high, faint_curves(logs, *ridges.T), x_label="log10 α"),
        Panel("errors", "Training and test error", box, (0, max(test[0], train[0]) * 1.05), faint_curves(logs, train, test), x_label="log10 α", legend=(("c0", "training"), ("c1", "test")), small=True),
    ]  # fmt: skip
    return Recording(panels, frames, [("α of least test error", short(float(alphas[int(np.argmin(test))])))],
                     notes=["The points have eight columns. One of them and the target can be moved here."],
                     python=python_lines("rows", *lines, f"model = kg.Lasso(alpha={float(alphas[-1])!r}).fit(X, y)"), code="lasso_sweeps", fitted={"coef_": model.coef_}, start=int(np.argmin(test)),
    )  # fmt: skip


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
        "trees", "trees", "Tree and forest",
        "The best split, then the best split of each half, and so on. A forest averages many trees grown on resampled points.",
        _tree, data="classes", presets=("moons", "overlap", "xor", "circles", "three", "long"), classes=3,
        controls=(slider("depth", "depth of the tree", 4, 1, 10, export=(1, 2, 4, 8)), slider("trees", "trees in the forest", 50, 1, 100, export=(1, 50))),
        breaks=(Break("A diagonal border becomes stairs", "long", {"depth": 6}), Break("Exclusive or: the first split gains nothing", "xor", {"depth": 2}), Break("Grown to the end: every point its own box", "overlap", {"depth": 10})),
        question="Exclusive or: why does a greedy first split gain almost nothing?",
        answer="Each half still holds both classes half and half. Only the second level gains, which a greedy choice cannot see.",
        names=("DecisionTreeClassifier", "RandomForestClassifier"), min_points=4,
    ),
    Scene(
        "lasso", "sparse", "Lasso path",
        "The penalty |w|₁ sets coefficients to exactly zero; as α falls they enter one after the other. Ridge shrinks them all and drops none.",
        _lasso, data="rows", presets=("sample",), classes=61, draw=_lasso_points, redraws=("noise", "correlation", "seed", "column"), min_points=3,
        controls=(slider("column", "column shown", 1, 1, 8), slider("noise", "noise", 1.5, 0.0, 5.0, 0.25, export=(0.5, 1.5, 3.0)), slider("correlation", "correlation of the columns", 0.3, 0.0, 0.95, 0.05, export=(0.0, 0.3, 0.9)), slider("seed", "sample", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: algorithm 17, u and v split anew")),
        breaks=(Break("What the printed page gets wrong: no coefficient is zero", controls={"printed": True}), Break("Correlated columns: it picks one of them", controls={"correlation": 0.9}), Break("Much noise: false columns enter", controls={"noise": 3.0})),
        question="Three columns matter. Are they the first three to enter?",
        answer="With little correlation, yes. With strong correlation a stand-in may enter first, and leave again.",
        names=("Lasso", "lasso_path", "Ridge"),
    ),
    Scene(
        "kitchen_sinks", "feature_maps", "Random kitchen sinks",
        "Random cosines whose inner products approximate the kernel. Play doubles their number: the fit approaches kernel ridge, at the cost of a linear method.",
        _sinks, data="curve", presets=("sine", "few", "steps", "gap"),
        controls=(log_slider("sigma", "kernel width σ", 0.7, 0.1, 5.0), log_slider("alpha", "penalty α", 0.1, 1e-3, 10.0), slider("seed", "seed", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: features without 1/√K")),
        breaks=(Break("A narrow kernel needs more features", "sine", {"sigma": 0.15}), Break("What the printed page gets wrong: the penalty fades as features are added", "few", {"printed": True, "alpha": 10.0})),
        question="Four times as many features: how much smaller is the distance?",
        answer="About half: the error of a random approximation falls as one over the square root.",
        names=("KitchenSinksRegressor", "FourierFeatures", "KernelRidge"), min_points=3,
    ),
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
