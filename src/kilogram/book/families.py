"""The pages by family, each with a short title and its idea in one sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContentsEntry:
    """A page in the table of contents."""

    family: str
    short: str
    idea: str


_PAGES: dict[str, dict[str, tuple[str, str]]] = {
    "Predict a number": {
        "least_squares": ("Least squares", "Draw the curve whose squared distances to the points are smallest, and see when a richer curve predicts worse."),
        "ridge": ("Ridge and kernel ridge", "Pay for large weights, and the curve calms down; a kernel lets it bend."),
        "sparse": ("Lasso and elastic net", "Pay for every weight by its size, and most of them become exactly zero."),
        "pursuit": ("Matching pursuit", "Choose the features one by one, always the one that explains most of what is left."),
        "robust": ("Robust regression", "Fit the many, not the few that lie far away."),
        "kernel_regression": ("Kernel regression", "Average the neighbours, the near ones more than the far ones."),
        "gaussian_process": ("Gaussian processes", "Keep every curve that agrees with the points, and know where you do not know."),
        "nonlinear": ("Non-linear regression", "Walk down the sum of squares of a curve whose parameters stand inside it."),
        "glm": ("Generalised linear models", "Counts and amounts: a mean that is never negative, with a spread that grows."),
    },
    "Predict a class": {
        "logistic": ("Logistic regression", "A straight border, and a probability that changes smoothly across it."),
        "svm": ("Support vector machines", "The widest street between two classes, held by a few points at its kerb."),
        "online": ("The perceptron", "Look at one point at a time, and turn the line whenever it is wrong."),
        "neighbors": ("Nearest neighbours", "Ask the nearest points and let them vote."),
        "centroids": ("Nearest centroids", "One mean for each class; the nearest one wins."),
        "naive_bayes": ("Naive Bayes and Bayes’ rule", "How likely is this point in each class, if its columns had nothing to do with each other?"),
        "discriminants": ("Linear and quadratic discriminants", "One Gaussian for each class, and Bayes’ rule between them."),
        "fisher": ("Fisher’s discriminant", "Look from the side from which the classes stand furthest apart."),
        "trees": ("Trees and forests", "Ask one question after another; ask many such trees and average."),
        "boosting": ("Boosting", "Many weak rules, each one trained on what the others got wrong."),
        "neural": ("Neural networks", "Many simple units, adjusted together, a little at a time."),
        "semi_supervised": ("Label spreading", "A few labels, and neighbours that pass them on."),
    },
    "Find groups": {
        "clusters": ("K-means", "Put every point with its nearest centre, put every centre amid its points, repeat."),
        "mixtures": ("Mixtures of Gaussians", "Groups that overlap: each point belongs to each of them with some probability."),
        "hierarchical": ("Agglomerative clustering", "Join the two closest groups, again and again, and keep the family tree."),
        "spectral": ("Spectral clustering", "Connect near points and cut the graph where it is thin."),
        "choose_k": ("How many clusters?", "Compare the clusters for every k, and with data that has none."),
        "densities": ("Densities", "Where are the points dense, where rare, where absent?"),
    },
    "Find structure": {
        "pca": ("Principal components", "The directions along which the data spreads most."),
        "cca": ("Canonical correlations", "What do two views of the same things have in common?"),
        "factors": ("Parts of pictures", "Every picture a sum of parts that are never negative."),
        "manifolds": ("Manifolds", "Unroll a bent sheet by keeping each point near its neighbours."),
    },
    "Foundations": {
        "kernels": ("Kernels", "A kernel says which points are alike; everything else follows from it."),
        "feature_maps": ("Random kitchen sinks", "Random cosines that turn a kernel method into a linear one."),
        "explicit_features": ("Cross-validation", "Hide a part of the data, predict it, and choose what predicts best."),
        "optimization": ("Optimisation", "Roots, minima and constraints: how the methods are solved."),
        "datasets": ("Generated data", "Data whose truth is known, the same on every machine."),
    },
}  # fmt: skip

FAMILIES = tuple(_PAGES)
ENTRIES = {
    slug: ContentsEntry(family, *words)
    for family, found in _PAGES.items()
    for slug, words in found.items()
}
