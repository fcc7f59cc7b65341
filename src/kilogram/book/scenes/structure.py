"""Structure without labels: principal components, mixtures, hierarchical and spectral clustering, densities, k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.cluster import hierarchy

from kilogram.book.drawing import (
    curve_places,
    data_box,
    data_grid,
    faint_curves,
    matched_labels,
    objective_panel,
    plane,
    python_lines,
    short,
)
from kilogram.book.recording import (
    Frame,
    Panel,
    Recording,
    bars,
    data_points,
    ellipses,
    limits,
    line,
    picture,
    points,
    segments,
)
from kilogram.book.scene import BookError, Break, Points, Scene, choice, log_slider, slider, switch
from kilogram.book.textbook_steps import record, thinned
from kilogram.evaluation.silhouette import silhouette_score
from kilogram.kernels import Gaussian
from kilogram.models.density.kernel_density import KernelDensity
from kilogram.models.hierarchical.agglomerative import AgglomerativeClustering
from kilogram.models.kmeans.kmeans import KMeans
from kilogram.models.mixture.gaussian_mixture import GaussianMixture
from kilogram.models.pca.kernel_pca import KernelPCA
from kilogram.models.pca.pca import PCA
from kilogram.models.spectral.spectral_clustering import SpectralClustering
from kilogram.textbook import State


def _pca(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    model = PCA(n_components=2).fit(X)
    steps = record("pca", X, 2)
    mean = np.zeros(2) if c["printed"] else model.mean_
    scatter = (X - mean).T @ (X - mean) / len(X)
    values, vectors = np.linalg.eigh(scatter)
    values, W = values[::-1], vectors[:, ::-1]
    sd = np.sqrt(np.maximum(values, 0))
    feet = mean + np.outer((X - mean) @ W[:, 0], W[:, 0])
    axes = [line(mean[0] + np.array([-2, 2]) * sd[j] * W[0, j], mean[1] + np.array([-2, 2]) * sd[j] * W[1, j],
                 color="ink" if j == 0 else "muted", width=3 if j == 0 else 2) for j in range(2)]  # fmt: skip
    centre = points([mean[0]], [mean[1]], color="ink", shape="cross", r=6)
    stages = [[centre], [ellipses([mean], [scatter], 2.0, color="accent"), centre],
              [ellipses([mean], [scatter], 2.0, color="accent"), *axes, centre],
              [segments(X[:, 0], X[:, 1], feet[:, 0], feet[:, 1], width=1), *axes,
               points(feet[:, 0], feet[:, 1], color="accent", r=3), centre]]  # fmt: skip
    frames = [
        Frame(step.name, {"data": [data_points(), *stages[min(i, 3)]]}, step.line)
        for i, step in enumerate(steps)
    ]
    kernel = KernelPCA(n_components=2, kernel=Gaussian(c["sigma"])).fit(X)
    grid = data_grid(data, 44)
    component = np.asarray(kernel.transform(grid.places))[:, c["component"] - 1]
    spread = float(np.abs(component).max()) or 1.0
    beside = plane(data, "kernel", f"Kernel version, component {c['component']}",
                   layers=[grid.values(component, limit=spread, levels=spread * np.array([-0.6, -0.3, 0.3, 0.6])), data_points(color="ink")],
                   describe="the value of a kernel principal component at every place")  # fmt: skip
    fraction = values / values.sum() if values.sum() > 0 else values
    scree = Panel(
        "scree",
        "Explained variance",
        (0.4, 2.6),
        (0, 1.05),
        [bars([1, 2], fraction, 0.6)],
        x_label="component",
        small=True,
        whole=True,
    )
    title = "Principal axes" if not c["printed"] else "As printed: without centring"
    notes = (
        [
            "Printed in the cookbook: XX′ as covariance. Off the origin its leading direction is the mean."
        ]
        if c["printed"]
        else []
    )
    return Recording(
        [plane(data, "data", title, describe="points, their principal axes and projections"), beside, scree], frames,
        [("variance along the first axis", short(float(values[0]))), ("along the second", short(float(values[1])))],
        notes=notes, python=python_lines("cloud", "model = kg.PCA(2).fit(X)"), code="pca",
        fitted={"explained_variance_ratio_": model.explained_variance_ratio_, "mean_": model.mean_},
    )  # fmt: skip


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


def _hierarchical(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    if len(X) > 250:
        raise BookError("A dendrogram of more than 250 points cannot be read: delete some.")
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = AgglomerativeClustering(n_clusters=c["k"], linkage=c["linkage"]).fit(X)
    Z = hierarchy.linkage(X, c["linkage"])
    tree = hierarchy.dendrogram(Z, no_plot=True)
    xs, ys = np.array(tree["icoord"]), np.array(tree["dcoord"])
    heights = Z[:, 2]
    top = float(heights[-1]) * 1.05
    counts = thin_counts(len(X))
    frames = []
    for count in counts:
        labels = np.asarray(hierarchy.fcluster(Z, count, "maxclust")) - 1
        cut = (
            float((heights[-count] + (heights[-count + 1] if count > 1 else top)) / 2)
            if count <= len(heights)
            else 0.0
        )
        edges = _cluster_links(X, D, labels)
        frames.append(Frame(
            f"{count} cluster{'s' * (count != 1)}", {"data": [edges, data_points(c=labels)], "tree": [line([0, 10 * len(X)], [cut, cut], color="accent", dash=True)]},
            None, [("clusters", int(labels.max()) + 1), ("height of the cut", short(cut))],
        ))  # fmt: skip
    links = [line(x, y, color="ink", width=1) for x, y in zip(xs, ys, strict=True)]
    dendrogram = Panel(
        "tree",
        "Dendrogram",
        (0, 10 * len(X)),
        (0, top),
        links,
        describe="the tree of mergers with the cut",
    )
    return Recording(
        [plane(data, "data", f"Clusters, {c['linkage']} linkage", describe="points by cluster"), dendrogram], frames,
        python=python_lines("cloud", f"model = kg.AgglomerativeClustering({c['k']}, linkage={c['linkage']!r}).fit(X)"),
        code="hierarchical", fitted={"n_clusters_": model.n_clusters_}, start=int(np.argmin([abs(count - c['k']) for count in counts])),
    )  # fmt: skip


def thin_counts(n: int) -> list[int]:
    """Numbers of clusters to show, from all points down to one."""
    return sorted(
        {min(n, v) for v in (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 45, 70, 110, 170, 250)},
        reverse=True,
    )


def _cluster_links(X: np.ndarray, D: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Each point joined to its nearest one of the same cluster."""
    same = np.where(labels[:, None] == labels[None], D, np.inf) + np.diag(np.full(len(X), np.inf))
    near = same.argmin(axis=1)
    own = np.isfinite(same[np.arange(len(X)), near])
    return segments(X[own, 0], X[own, 1], X[near[own], 0], X[near[own], 1], color="muted", width=1)


def _spectral(data: Points, c: Mapping[str, Any]) -> Recording:
    X, k = data.xy, c["k"]
    if k >= len(np.unique(X, axis=0)):
        raise BookError(f"{k} clusters need more than {k} different points.")
    K = np.asarray(Gaussian(c["sigma"])(X, X))
    run = "spectral_clustering" if c["printed"] else "normalised_cut"
    letter = "H_hat" if c["printed"] else "F"
    steps = thinned(record(run, K, k), 14)
    model = SpectralClustering(n_clusters=k, gamma=1 / (2 * c["sigma"] ** 2), random_state=0).fit(X)
    plain = KMeans(k, random_state=0, n_init=10).fit(X)
    order = np.argsort(model.labels_, kind="stable")
    n = len(X)
    matrix = Panel(
        "matrix",
        "Affinities, points by cluster",
        (0, n),
        (0, n),
        [picture(K[np.ix_(order, order)], 0, 0, n, n, colors="accent")],
        equal=True,
        axes=False,
    )
    F = np.asarray(steps[-1].state[letter])
    embed = Panel(
        "embed",
        "Points by two eigenvectors",
        limits(F[:, 0]),
        limits(F[:, 1]) if F.shape[1] > 1 else (-1, 1),
        x_label="first",
        y_label="second",
    )
    frames = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        labels = (
            model.labels_
            if last and not c["printed"]
            else step.state["c"]
            if "c" in step.state.arrays and step.state["c"].min() >= 0
            else np.full(n, -1)
        )
        place = (
            [points(F[:, 0], F[:, 1] if F.shape[1] > 1 else np.zeros(n), c=labels, r=4)]
            if letter in step.state.arrays
            else []
        )
        frames.append(
            Frame(step.name, {"data": [data_points(c=labels)], "embed": place}, step.line)
        )
    beside = plane(
        data, "plain", "K-means on the same points",
        layers=[data_points(c=matched_labels(plain.labels_, model.labels_)[plain.labels_])],
    )  # fmt: skip
    return Recording(
        [plane(data, "data", "As printed: without degrees" if c["printed"] else "Spectral clustering", describe="points by cluster"), beside, embed, matrix], frames,
        python=python_lines("cloud", f"model = kg.SpectralClustering({k}, gamma=1 / (2 * {c['sigma']}**2), random_state=0).fit(X)"),
        code=run, fitted={"labels_": model.labels_},
    )  # fmt: skip


def _density(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    widths = np.geomspace(0.06, 2.0, 18)
    loo = []
    for h in widths:
        U = ((X[:, None] - X[None]) ** 2).sum(axis=2) / h**2
        P = np.exp(-U / 2) / (2 * np.pi * h**2)
        np.fill_diagonal(P, 0)
        loo.append(float(np.mean(np.log(np.maximum(P.sum(axis=1) / max(len(X) - 1, 1), 1e-12)))))
    grid = data_grid(data, 48)
    frames = []
    logs = np.log10(widths)
    for i, h in enumerate(widths):
        model = KernelDensity(bandwidth=float(h)).fit(X)
        p = np.exp(model.score_samples(grid.places))
        top = float(p.max())
        layers = [
            grid.values(p, levels=top * np.array([0.1, 0.3, 0.5, 0.7, 0.9])),
            data_points(r=3),
        ]
        frames.append(Frame(f"width {h:.2g}", {"data": layers, "loo": [line(logs[: i + 1], loo[: i + 1], color="accent"), points(logs[i : i + 1], loo[i : i + 1], color="accent", r=5)]},
                            None, [("log likelihood, left out", short(loo[i]))]))  # fmt: skip
    best = widths[int(np.argmax(loo))]
    panel = Panel("loo", "Each point under the others", (logs[0], logs[-1]), limits(np.maximum(loo, np.max(loo) - 4), 0.1), [line(logs, loo, color="muted", width=1)],
                  x_label="log10 width", small=True)  # fmt: skip
    final = KernelDensity(bandwidth=float(widths[-1])).fit(X)
    return Recording(
        [plane(data, "data", "Kernel density", describe="points and the level lines of the density"), panel], frames, [("best width", short(float(best)))],
        python=python_lines("cloud", f"model = kg.KernelDensity(bandwidth={float(widths[-1])!r}).fit(X)"), code="kernel_density",
        fitted={"bandwidth_": final.bandwidth_} if hasattr(final, "bandwidth_") else {}, start=int(np.argmax(loo)),
    )  # fmt: skip


def _choose(data: Points, c: Mapping[str, Any]) -> Recording:
    X = data.xy
    ks = [k for k in range(1, 9) if k <= len(np.unique(X, axis=0)) - 1] or [1]
    models = [KMeans(k, random_state=0, n_init=5).fit(X) for k in ks]
    inertia = np.array([m.inertia_ for m in models]) / max(models[0].inertia_, 1e-300)
    silhouettes = [
        float(silhouette_score(X, m.labels_)) if k > 1 else np.nan
        for k, m in zip(ks, models, strict=True)
    ]
    grid = data_grid(data)
    frames = []
    for i, (k, model) in enumerate(zip(ks, models, strict=True)):
        mu = model.cluster_centers_
        layers = [
            grid.regions(model.predict, faint=True),
            data_points(c=model.labels_),
            points(mu[:, 0], mu[:, 1], c=np.arange(k), shape="centre"),
        ]
        marks = [
            line(ks[: i + 1], inertia[: i + 1], color="c0"),
            points([k], [inertia[i]], color="c0", r=5),
        ]
        others = (
            [
                line(ks[1 : i + 1], silhouettes[1 : i + 1], color="c1"),
                points([k], [silhouettes[i]], color="c1", r=5),
            ]
            if i
            else []
        )
        frames.append(Frame(f"k = {k}", {"data": layers, "elbow": marks, "silhouette": others}, None,
                            [("within / total", short(float(inertia[i]))), ("silhouette", short(silhouettes[i]))]))  # fmt: skip
    best = ks[int(np.nanargmax(silhouettes))] if len(ks) > 1 else 1
    panels = [
        plane(data, "data", "K-means for each k", describe="points by cluster"),
        Panel(
            "elbow",
            "Within-cluster sum of squares",
            (0.5, 8.5),
            (0, 1.05),
            faint_curves(ks, inertia),
            x_label="k",
            describe="elbow",
            whole=True,
        ),
        Panel(
            "silhouette",
            "Silhouette",
            (0.5, 8.5),
            limits([0, 0.5, *silhouettes]),
            x_label="k",
            whole=True,
        ),
    ]
    return Recording(
        panels, frames, [("largest silhouette at k", best)],
        python=python_lines("cloud", f"model = kg.KMeans({ks[-1]}, random_state=0, n_init=5).fit(X)", "print(kg.choose_k(X))"),
        code="elbow", fitted={"inertia_": models[-1].inertia_}, start=ks.index(best),
    )  # fmt: skip


def _kernels(data: Points, c: Mapping[str, Any]) -> Recording:
    from kilogram.book.scenes.regression import kernel_of

    kernel, words = kernel_of(c)
    if c["printed"] and c["kernel"] == "gaussian":
        kernel, words = kernel_of({**c, "sigma": c["sigma"] ** 0.5})
    order = np.argsort(data.x)
    X = data.x[order][:, None]
    K = np.asarray(kernel(X, X))
    n = len(X)
    places = curve_places(data, 160)
    big = np.asarray(kernel(places, places))
    values, vectors = np.linalg.eigh(big)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = root @ np.random.default_rng(5).standard_normal((len(places), 4))
    centre = np.array([[0.0]])
    shape = np.asarray(kernel(places, centre)).ravel()
    spectrum = np.sort(np.linalg.eigvalsh(K))[::-1]
    shown = min(n, 20)
    box = data_box(data)[0]
    panels = [
        plane(data, "data", "Points (their x is used)", equal=False, layers=[data_points()]),
        Panel("shape", "k(x, 0)", box, limits([0, *shape]), [line(places, shape, color="accent", width=2.4)], x_label="x"),
        Panel("draws", "Functions the kernel prefers", box, limits(draws), [line(places, draws[:, j], color=f"c{j}", width=1.8) for j in range(4)]),
        Panel("matrix", "Kernel matrix, points in order of x", (0, n), (0, n), [picture(K, 0, 0, n, n, colors="accent")], equal=True, axes=False),
        Panel("spectrum", "Eigenvalues", (0.3, shown + 0.7), (0, float(spectrum[0]) * 1.05), [bars(range(1, shown + 1), np.maximum(spectrum[:shown], 0), 0.7)], small=True),
    ]  # fmt: skip
    return Recording(panels, [Frame("the kernel", {})], [("least eigenvalue", short(float(spectrum[-1]))), ("trace", short(float(np.trace(K))))],
                     python=python_lines("curve", f"K = {words}(X, X)"))  # fmt: skip


_CLOUDS = ("blobs", "unequal", "long", "circles", "moons", "one")
SCENES = (
    Scene(
        "pca", "pca", "Principal components",
        "The direction of largest variance, then the largest across it. The kernel version does the same in the space of a kernel: its components are curved.",
        _pca, data="cloud", presets=("ellipse", "shifted", "moons", "circles", "blobs"),
        controls=(switch("printed", "as printed: without centring"), log_slider("sigma", "kernel width σ", 1.0, 0.1, 5.0), slider("component", "kernel component", 1, 1, 2, export=(1, 2))),
        breaks=(Break("What the printed page gets wrong: no centring", "shifted", {"printed": True}), Break("A ring has no principal direction", "circles"), Break("Groups: variance is not what parts them", "blobs")),
        question="Shift all points by the same vector. Do the axes turn?",
        answer="No, since the mean is subtracted first. The printed version without centring turns toward the mean: try it.",
        names=("PCA", "KernelPCA"), min_points=3,
    ),
    Scene(
        "mixtures", "mixtures", "Mixture of Gaussians by EM",
        "E: whose point is it, in probability? M: mean and covariance of each component with these weights. The likelihood can only rise.",
        _mixture, data="cloud", presets=("long", "blobs", "unequal", "moons", "one"),
        controls=(slider("k", "components", 2, 1, 6, export=(2, 3, 4)), slider("seed", "start", 0, 0, 20, export=(0, 1)), switch("printed", "as printed: algorithm 10 without a floor or an end")),
        breaks=(Break("A poor start: a poor maximum", "blobs", {"k": 3, "seed": 4}), Break("Moons are no Gaussians", "moons"), Break("More components than groups", "one", {"k": 5})),
        question="Long parallel groups: can k-means find what EM finds here?",
        answer="No: it cuts them halfway across. EM learns the covariance, so distance is measured along the group.",
        names=("GaussianMixture",), min_points=3,
    ),
    Scene(
        "hierarchical", "hierarchical", "Hierarchical clustering",
        "Every point begins as a cluster; the closest two merge. Where the dendrogram is cut decides how many remain.",
        _hierarchical, data="cloud", presets=_CLOUDS,
        controls=(choice("linkage", "linkage", (("single", "single"), ("complete", "complete"), ("average", "average"), ("ward", "Ward"))), slider("k", "clusters", 3, 1, 10, export=(2, 3, 4))),
        breaks=(Break("Complete linkage cuts rings", "circles", {"linkage": "complete"}), Break("Single linkage chains through noise", "one", {"linkage": "single"})),
        question="Which linkage finds the two rings?",
        answer="Single: it follows neighbours. Complete and Ward want compact clusters.",
        names=("AgglomerativeClustering", "dendrogram"), min_points=3,
    ),
    Scene(
        "spectral", "spectral", "Spectral clustering",
        "Points are joined by affinities; the leading eigenvectors place connected points together, and k-means finds the rest easy.",
        _spectral, data="cloud", presets=("circles", "moons", "long", "blobs", "one"),
        controls=(slider("k", "clusters k", 2, 2, 6, export=(2, 3)), log_slider("sigma", "width of the affinity σ", 0.3, 0.05, 3.0), switch("printed", "as printed: eigenvectors of the kernel matrix itself")),
        breaks=(Break("Too wide: it is k-means again", "circles", {"sigma": 2.0}), Break("One group: a cut all the same", "one")),
        question="Why does k-means succeed on the eigenvectors where it failed on the points?",
        answer="Connected points have nearly equal rows there: the rings have become two small groups.",
        names=("SpectralClustering",), min_points=4,
    ),
    Scene(
        "densities", "densities", "Kernel density",
        "A small bump on every point, averaged. Play widens the bumps; the best width is the one under which each point is likely given the others.",
        _density, data="cloud", presets=("blobs", "moons", "circles", "unequal", "one"),
        breaks=(Break("Groups of unequal spread: no single width fits", "unequal"),),
        question="As the width goes to zero, what happens to the likelihood of the points themselves?",
        answer="It grows without bound: each point sits on its own spike. Leaving the point out shows the truth.",
        names=("KernelDensity",), min_points=2,
    ),
    Scene(
        "choose_k", "choose_k", "How many clusters?",
        "K-means for every k. The sum of squares always falls; the silhouette compares a point’s own cluster with the next.",
        _choose, data="cloud", presets=_CLOUDS, breaks=(Break("One group: the curves still bend", "one"), Break("Rings: k-means is the wrong question", "circles")),
        question="One single group: what does the elbow say?",
        answer="It bends all the same. Only a comparison with data without clusters (the gap statistic in kg.choose_k) shows that there are none.",
        names=("choose_k", "silhouette_score"), min_points=3,
    ),
    Scene(
        "kernels", "kernels", "Kernels",
        "A kernel says which points are similar. Its matrix, its eigenvalues and the functions it prefers are three views of one choice.",
        _kernels, data="curve", presets=("sine", "few", "gap"),
        controls=(choice("kernel", "kernel", (("gaussian", "Gaussian"), ("laplacian", "Laplacian"), ("matern", "Matérn 3/2"), ("polynomial", "cubic polynomial"), ("linear", "linear"))), log_slider("sigma", "width σ", 0.7, 0.05, 5.0), switch("printed", "as printed: 2σ below the Gaussian’s distance")),
        breaks=(Break("What the printed page gets wrong: σ is no width", "sine", {"printed": True, "sigma": 0.05}), Break("Narrow: every point for itself", "sine", {"sigma": 0.05}), Break("Wide: all points alike", "sine", {"sigma": 5.0})),
        question="Which kernel prefers rough functions?",
        answer="The Laplacian: its corner at 0 makes draws that are continuous but nowhere smooth. The Gaussian’s are smooth to every order.",
        names=("Gaussian", "Laplacian", "Matern"), min_points=2,
    ),
)  # fmt: skip
