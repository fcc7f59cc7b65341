"""The methods of the trees: what they are called here, and how the cookbook rates them.

The ratings are those of the cookbook's table 6.1, high (True) or low (False) for each of

    multiclass, interpretable output, interpretable model, training time, retraining time,
    prediction time, memory, model complexity

None where the table has no entry. A method that is not in Kilogram is named as in scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kilogram.registry import PUBLIC

ASPECTS = (
    "multiclass",
    "interpretable output",
    "interpretable model",
    "training time",
    "retraining time",
    "prediction time",
    "memory",
    "model complexity",
)


@dataclass(frozen=True)
class Method:
    """A method: its title, its class (Kilogram's name, else a path into scikit-learn), remarks."""

    title: str
    name: str
    ratings: tuple[bool | None, ...] = ()
    kernel: bool = False
    probabilities: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    elsewhere: str = ""

    @property
    def where(self) -> str:
        """Where the class is: `kg.Ridge`, or a path into scikit-learn."""
        return f"kg.{self.name}" if self.name in PUBLIC else self.elsewhere

    def make(self) -> Any:
        """The estimator, or None if there is none at hand."""
        if self.name in PUBLIC:
            return getattr(import_module(PUBLIC[self.name]), self.name)(**self.settings)
        if not self.elsewhere:
            return None
        room, _, name = self.elsewhere.rpartition(".")
        return getattr(import_module(room), name)()

    def rated(self) -> dict[str, bool | None]:
        """The row of table 6.1, aspect by aspect."""
        return dict(zip(ASPECTS, self.ratings, strict=True)) if self.ratings else {}


def _row(text: str) -> tuple[bool | None, ...]:
    """A row of the table: H high, l low, - no entry."""
    return tuple({"H": True, "l": False, "-": None}[letter] for letter in text)


_RBF: dict[str, Any] = {"kernel": "rbf"}
METHODS: dict[str, Method] = {
    # classification, table 6.1
    "nearest centroid": Method("Nearest centroid", "NearestCentroid", _row("HHHlllll")),
    "naive Bayes": Method("Naive Bayes", "GaussianNB", _row("HHHlllll"), probabilities=True),
    "linear discriminant": Method("Linear discriminant", "LinearDiscriminantAnalysis",
                                  _row("HHHHHllH"), probabilities=True),
    "logistic regression": Method("Logistic regression", "LogisticRegression", _row("HHlllllH"),
                                  probabilities=True),
    "linear SVM": Method("Linear support vector machine", "LinearSVC", _row("HllllllH")),
    "kernel SVM": Method("Kernel support vector machine", "SVC", _row("lllHHHHH"), kernel=True),
    "k-NN": Method("k nearest neighbours", "KNeighborsClassifier", _row("Hll--HHH"), kernel=True,
                   probabilities=True, elsewhere="sklearn.neighbors.KNeighborsClassifier"),
    "neural network": Method("Neural network", "MLPClassifier", _row("HllHHlHH"), kernel=True,
                             probabilities=True,
                             elsewhere="sklearn.neural_network.MLPClassifier"),
    "kitchen sinks, classes": Method("Random kitchen sinks, classes", "KitchenSinksClassifier"),
    "Gaussian process, classes": Method("Gaussian process classifier", "GaussianProcessClassifier",
                                        kernel=True, probabilities=True),
    # regression
    "least squares": Method("Least squares", "LinearRegression"),
    "ridge": Method("Ridge regression", "Ridge"),
    "lasso": Method("Lasso", "Lasso", elsewhere="sklearn.linear_model.Lasso"),
    "weighted least squares": Method("Reweighted least squares", "ReweightedLeastSquares"),
    "total least squares": Method("Total least squares", "TotalLeastSquares"),
    "robust regression": Method("Robust regression (Huber)", "HuberRegressor"),
    "Poisson regression": Method("Poisson regression", "PoissonRegressor",
                                 elsewhere="sklearn.linear_model.PoissonRegressor"),
    "kernel ridge": Method("Kernel ridge regression", "KernelRidge", kernel=True, settings=_RBF),
    "Gaussian process": Method("Gaussian process regression", "GaussianProcessRegressor",
                               kernel=True, probabilities=True),
    "kitchen sinks": Method("Random kitchen sinks", "KitchenSinksRegressor"),
    "Levenberg-Marquardt": Method("Levenberg-Marquardt, if the formula is known",
                                  "LevenbergMarquardt", elsewhere="scipy.optimize.least_squares"),
    "forest": Method("Regression forest", "RandomForestRegressor"),
    # without labels
    "PCA": Method("Principal components", "PCA"),
    "NMF": Method("Non-negative factors", "NMF"),
    "kernel PCA": Method("Kernel principal components", "KernelPCA", kernel=True, settings=_RBF),
    "CCA": Method("Canonical correlations", "CCA"),
    "kernel CCA": Method("Kernel canonical correlations", "KernelCCA", kernel=True),
    "k-means": Method("k-means", "KMeans"),
    "mixture": Method("Mixture of Gaussians", "GaussianMixture", probabilities=True),
    "kernel k-means": Method("k-means on kernel principal components", "KernelKMeans", kernel=True),
}  # fmt: skip
