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
class MethodInfo:
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
        module, _, name = self.elsewhere.rpartition(".")
        return getattr(import_module(module), name)()

    def rated(self) -> dict[str, bool | None]:
        """The row of table 6.1, aspect by aspect."""
        return dict(zip(ASPECTS, self.ratings, strict=True)) if self.ratings else {}


def _row(text: str) -> tuple[bool | None, ...]:
    """A row of the table: H high, l low, - no entry."""
    return tuple({"H": True, "l": False, "-": None}[letter] for letter in text)


_RBF: dict[str, Any] = {"kernel": "rbf"}
METHODS: dict[str, MethodInfo] = {
    # classification, table 6.1
    "nearest centroid": MethodInfo("Nearest centroid", "NearestCentroid", _row("HHHlllll")),
    "naive Bayes": MethodInfo("Naive Bayes", "GaussianNB", _row("HHHlllll"), probabilities=True),
    "linear discriminant": MethodInfo(
        "Linear discriminant", "LinearDiscriminantAnalysis", _row("HHHHHllH"), probabilities=True
    ),
    "logistic regression": MethodInfo(
        "Logistic regression", "LogisticRegression", _row("HHlllllH"), probabilities=True
    ),
    "linear SVM": MethodInfo("Linear support vector machine", "LinearSVC", _row("HllllllH")),
    "kernel SVM": MethodInfo("Kernel support vector machine", "SVC", _row("lllHHHHH"), kernel=True),
    "k-NN": MethodInfo(
        "k nearest neighbours",
        "KNeighborsClassifier",
        _row("Hll--HHH"),
        kernel=True,
        probabilities=True,
    ),
    "neural network": MethodInfo(
        "Neural network",
        "MLPClassifier",
        _row("HllHHlHH"),
        kernel=True,
        probabilities=True,
    ),
    "kitchen sinks, classes": MethodInfo("Random kitchen sinks, classes", "KitchenSinksClassifier"),
    "Gaussian process, classes": MethodInfo(
        "Gaussian process classifier", "GaussianProcessClassifier", kernel=True, probabilities=True
    ),
    # regression
    "least squares": MethodInfo("Least squares", "LinearRegression"),
    "ridge": MethodInfo("Ridge regression", "Ridge"),
    "lasso": MethodInfo("Lasso", "Lasso"),
    "weighted least squares": MethodInfo("Reweighted least squares", "ReweightedLeastSquares"),
    "total least squares": MethodInfo("Total least squares", "TotalLeastSquares"),
    "robust regression": MethodInfo("Robust regression (Huber)", "HuberRegressor"),
    "Poisson regression": MethodInfo("Poisson regression", "PoissonRegressor"),
    "kernel ridge": MethodInfo(
        "Kernel ridge regression", "KernelRidge", kernel=True, settings=_RBF
    ),
    "Gaussian process": MethodInfo(
        "Gaussian process regression", "GaussianProcessRegressor", kernel=True, probabilities=True
    ),
    "k-NN, numbers": MethodInfo("k nearest neighbours", "KNeighborsRegressor", kernel=True),
    "neural network, numbers": MethodInfo("Neural network", "MLPRegressor", kernel=True),
    "kitchen sinks": MethodInfo("Random kitchen sinks", "KitchenSinksRegressor"),
    "Levenberg-Marquardt": MethodInfo(
        "Levenberg-Marquardt, if the formula is known",
        "NonlinearRegression",
    ),
    "forest": MethodInfo("Regression forest", "RandomForestRegressor"),
    # without labels
    "PCA": MethodInfo("Principal components", "PCA"),
    "NMF": MethodInfo("Non-negative factors", "NMF"),
    "kernel PCA": MethodInfo(
        "Kernel principal components", "KernelPCA", kernel=True, settings=_RBF
    ),
    "CCA": MethodInfo("Canonical correlations", "CCA"),
    "kernel CCA": MethodInfo("Kernel canonical correlations", "KernelCCA", kernel=True),
    "k-means": MethodInfo("k-means", "KMeans"),
    "mixture": MethodInfo("Mixture of Gaussians", "GaussianMixture", probabilities=True),
    "kernel k-means": MethodInfo(
        "k-means on kernel principal components", "KernelKMeans", kernel=True
    ),
}
