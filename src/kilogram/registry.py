"""One table of everything public: where a name lives, and the page of the book it belongs to.

The lazy namespace of `kilogram`, the laws, the documentation and `kg explain` all read this table,
so a new page becomes visible everywhere by one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Page:
    """One page: a linear method and its kernel twin, what they minimise, cost and limits."""

    slug: str
    title: str
    names: tuple[str, ...]
    objective: str
    when: str
    cost: str
    limits: str
    sources: tuple[str, ...]
    derivation: tuple[tuple[str, str], ...]  # sentences, each with its formula


#: The pages in the order of the book; each is written in `pages/<slug>.toml`.
SLUGS: tuple[str, ...] = (
    "least_squares",
    "robust",
    "nonlinear",
    "kernel_regression",
    "ridge",
    "sparse",
    "pursuit",
    "glm",
    "svm",
    "pca",
    "cca",
    "factors",
    "fisher",
    "discriminants",
    "centroids",
    "naive_bayes",
    "neighbors",
    "logistic",
    "online",
    "neural",
    "gaussian_process",
    "clusters",
    "mixtures",
    "hierarchical",
    "choose_k",
    "spectral",
    "manifolds",
    "densities",
    "trees",
    "boosting",
    "semi_supervised",
    "explicit_features",
    "feature_maps",
    "kernels",
    "optimization",
    "datasets",
)

PUBLIC: dict[str, str] = {
    # least squares
    "LinearRegression": "kilogram.models.least_squares.linear_regression",
    "GeneralizedLeastSquares": "kilogram.models.least_squares.generalized",
    "ReweightedLeastSquares": "kilogram.models.least_squares.reweighted",
    "TotalLeastSquares": "kilogram.models.least_squares.total_least_squares",
    "coefficient_table": "kilogram.models.least_squares.coefficient_table",
    # robust regression
    "HuberRegressor": "kilogram.models.robust.huber",
    "QuantileRegressor": "kilogram.models.robust.quantile",
    "RobustRegressor": "kilogram.models.robust.robust_regressor",
    "LeastTrimmedSquares": "kilogram.models.robust.trimmed",
    "RANSACRegressor": "kilogram.models.robust.ransac",
    "TheilSenRegressor": "kilogram.models.robust.theil_sen",
    "MinCovDet": "kilogram.models.robust.min_cov_det",
    "robust_location": "kilogram.models.robust.location_scale",
    "robust_scale": "kilogram.models.robust.location_scale",
    "outlier_report": "kilogram.models.robust.outliers",
    # non-linear regression
    "NonlinearRegression": "kilogram.models.nonlinear.regression",
    "fit_circle": "kilogram.models.nonlinear.curves",
    "fit_ellipse": "kilogram.models.nonlinear.curves",
    "KernelRegression": "kilogram.models.kernel_regression.kernel_regression",
    # sparse regression
    "Lasso": "kilogram.models.sparse.elastic_net",
    "ElasticNet": "kilogram.models.sparse.elastic_net",
    "LassoCV": "kilogram.models.sparse.elastic_net_cv",
    "ElasticNetCV": "kilogram.models.sparse.elastic_net_cv",
    "lasso_path": "kilogram.models.sparse.paths",
    "enet_path": "kilogram.models.sparse.paths",
    "MultiTaskLasso": "kilogram.models.sparse.group_lasso",
    "MultiTaskElasticNet": "kilogram.models.sparse.group_lasso",
    "MultiTaskElasticNetCV": "kilogram.models.sparse.multi_task_cv",
    "MultiTaskLassoCV": "kilogram.models.sparse.multi_task_cv",
    "GroupLasso": "kilogram.models.sparse.group_lasso",
    "OnlineLasso": "kilogram.models.sparse.online_lasso",
    "ConcaveRegressor": "kilogram.models.sparse.concave",
    "PenalizedRegressor": "kilogram.models.sparse.penalized_regressor",
    "PenalizedClassifier": "kilogram.models.sparse.penalized_classifier",
    "penalized_path": "kilogram.models.sparse.penalized_path",
    "Lars": "kilogram.models.sparse.lars",
    "LassoLars": "kilogram.models.sparse.lars",
    "lars_path": "kilogram.models.sparse.lars",
    "LarsCV": "kilogram.models.sparse.lars_selection",
    "LassoLarsCV": "kilogram.models.sparse.lars_selection",
    "LassoLarsIC": "kilogram.models.sparse.lars_selection",
    "OrthogonalMatchingPursuit": "kilogram.models.sparse.pursuit",
    "OrthogonalMatchingPursuitCV": "kilogram.models.sparse.pursuit",
    "orthogonal_mp": "kilogram.models.sparse.pursuit",
    "orthogonal_mp_gram": "kilogram.models.sparse.pursuit",
    # generalised linear models
    "PoissonRegressor": "kilogram.models.glm.tweedie",
    "GammaRegressor": "kilogram.models.glm.tweedie",
    "TweedieRegressor": "kilogram.models.glm.tweedie",
    # regression
    "Ridge": "kilogram.models.ridge.ridge",
    "KernelRidge": "kilogram.models.ridge.kernel_ridge",
    "RidgeCV": "kilogram.models.ridge.ridge_cv",
    "KernelRidgeCV": "kilogram.models.ridge.kernel_ridge_cv",
    "GaussianProcessRegressor": "kilogram.models.gaussian_process.regressor",
    # classification and regression with margins
    "SVC": "kilogram.models.svm.svc",
    "LinearSVC": "kilogram.models.svm.linear_svc",
    "SVR": "kilogram.models.svm.svr",
    "svm_path": "kilogram.models.svm.path",
    "LinearSVR": "kilogram.models.svm.linear_svr",
    # subspaces
    "PCA": "kilogram.models.pca.pca",
    "KernelPCA": "kilogram.models.pca.kernel_pca",
    "CCA": "kilogram.models.cca.cca",
    "KernelCCA": "kilogram.models.cca.kernel_cca",
    "MultiviewCCA": "kilogram.models.cca.multiview",
    "FastICA": "kilogram.models.factorization.fast_ica",
    "NMF": "kilogram.models.factorization.nmf",
    "nmf_rank": "kilogram.models.factorization.nmf_rank",
    "RobustPCA": "kilogram.models.factorization.robust_pca",
    # classification
    "FisherDiscriminant": "kilogram.models.fisher.fisher",
    "KernelFisherDiscriminant": "kilogram.models.fisher.kernel_fisher",
    "GaussianProcessClassifier": "kilogram.models.gaussian_process.classifier",
    "LinearDiscriminantAnalysis": "kilogram.models.discriminant.lda",
    "QuadraticDiscriminantAnalysis": "kilogram.models.discriminant.qda",
    "NearestCentroid": "kilogram.models.centroid.nearest_centroid",
    "MajorityClassifier": "kilogram.models.centroid.majority",
    "GaussianNB": "kilogram.models.naive_bayes.gaussian",
    "BernoulliNB": "kilogram.models.naive_bayes.bernoulli",
    "CategoricalNB": "kilogram.models.naive_bayes.categorical",
    "MultinomialNB": "kilogram.models.naive_bayes.multinomial",
    "ComplementNB": "kilogram.models.naive_bayes.multinomial",
    "HistogramNB": "kilogram.models.naive_bayes.histogram",
    "LogisticRegression": "kilogram.models.logistic.logistic_regression",
    "LogisticRegressionCV": "kilogram.models.logistic.logistic_regression_cv",
    "logistic_path": "kilogram.models.logistic.logistic_regression_cv",
    "LabelSpreading": "kilogram.models.semi_supervised.label_spreading",
    "OnlineClassifier": "kilogram.models.online.online_classifier",
    "Perceptron": "kilogram.models.online.perceptron",
    "Adaline": "kilogram.models.online.adaline",
    # neighbours
    "NearestNeighbors": "kilogram.models.neighbors.nearest_neighbors",
    "KNeighborsClassifier": "kilogram.models.neighbors.classification",
    "KNeighborsRegressor": "kilogram.models.neighbors.regression",
    "RadiusNeighborsClassifier": "kilogram.models.neighbors.classification",
    "RadiusNeighborsRegressor": "kilogram.models.neighbors.regression",
    "LocalOutlierFactor": "kilogram.models.neighbors.outliers",
    "KNeighborsOutlierDetector": "kilogram.models.neighbors.outliers",
    "LSHNeighbors": "kilogram.models.neighbors.hashing",
    "condensed_neighbors": "kilogram.models.neighbors.reduction",
    "edited_neighbors": "kilogram.models.neighbors.reduction",
    "class_prototypes": "kilogram.models.neighbors.reduction",
    # networks
    "MLPClassifier": "kilogram.models.neural.classifier",
    "MLPRegressor": "kilogram.models.neural.regressor",
    "check_gradient": "kilogram.functions.gradients",
    # optimisation
    "newton_root": "kilogram.solvers.newton.root",
    "solve_quadratic_program": "kilogram.solvers.interior_point.quadratic_program",
    "check_kkt": "kilogram.functions.kkt",
    # clusters
    "KMeans": "kilogram.models.kmeans.kmeans",
    "KernelKMeans": "kilogram.models.kmeans.kernel_kmeans",
    "GaussianMixture": "kilogram.models.mixture.gaussian_mixture",
    "SpectralClustering": "kilogram.models.spectral.spectral_clustering",
    # manifolds
    "LocallyLinearEmbedding": "kilogram.models.manifold.locally_linear",
    "LaplacianEigenmaps": "kilogram.models.manifold.laplacian_eigenmaps",
    "Isomap": "kilogram.models.manifold.isomap",
    "MDS": "kilogram.models.manifold.mds",
    "ClassicalMDS": "kilogram.models.manifold.classical_mds",
    "KMedoids": "kilogram.models.kmeans.k_medoids",
    "KLines": "kilogram.models.kmeans.k_lines",
    "AgglomerativeClustering": "kilogram.models.hierarchical.agglomerative",
    "dendrogram": "kilogram.models.hierarchical.dendrogram",
    "choose_k": "kilogram.evaluation.choose_k",
    "stability_selection": "kilogram.evaluation.stability_selection",
    "silhouette_samples": "kilogram.evaluation.silhouette",
    "silhouette_score": "kilogram.evaluation.silhouette",
    "clustering_distance": "kilogram.functions.partitions",
    # densities
    "HistogramDensity": "kilogram.models.density.histogram",
    "KernelDensity": "kilogram.models.density.kernel_density",
    "DensityTree": "kilogram.models.density.density_tree",
    "DensityForest": "kilogram.models.density.density_forest",
    "RankTransform": "kilogram.models.density.rank_transform",
    "CopulaDensity": "kilogram.models.density.copula",
    "CopulaClassifier": "kilogram.models.density.copula",
    "DensityClassifier": "kilogram.models.density.classifier",
    # trees
    "DecisionTreeRegressor": "kilogram.models.trees.decision_tree",
    "DecisionTreeClassifier": "kilogram.models.trees.decision_tree",
    "RandomForestRegressor": "kilogram.models.trees.random_forest",
    "RandomForestClassifier": "kilogram.models.trees.random_forest",
    "ExtraTreeRegressor": "kilogram.models.trees.extra_tree",
    "ExtraTreeClassifier": "kilogram.models.trees.extra_tree",
    "ExtraTreesRegressor": "kilogram.models.trees.extra_trees",
    "ExtraTreesClassifier": "kilogram.models.trees.extra_trees",
    "export_text": "kilogram.models.trees.export",
    "export_svg": "kilogram.models.trees.export",
    "plot_tree": "kilogram.models.trees.export",
    # boosting
    "HistGradientBoostingRegressor": "kilogram.models.boosting.hist_gradient_boosting",
    "HistGradientBoostingClassifier": "kilogram.models.boosting.hist_gradient_boosting",
    "AdaBoostClassifier": "kilogram.models.boosting.adaboost_classifier",
    "AdaBoostRegressor": "kilogram.models.boosting.adaboost_regressor",
    "CascadeClassifier": "kilogram.models.boosting.cascade",
    "AdditiveBoostingRegressor": "kilogram.models.boosting.additive_boosting",
    "AdditiveBoostingClassifier": "kilogram.models.boosting.additive_boosting",
    # feature maps
    "PolynomialFeatures": "kilogram.models.features.polynomial",
    "RadialBasisFeatures": "kilogram.models.features.radial_basis",
    "FunctionFeatures": "kilogram.models.features.function_features",
    "HaarFeatures": "kilogram.models.features.haar",
    "HOGFeatures": "kilogram.models.features.hog",
    "FourierFeatures": "kilogram.models.features.fourier",
    "Nystroem": "kilogram.models.features.nystroem",
    "KitchenSinksRegressor": "kilogram.models.features.kitchen_sinks",
    "KitchenSinksClassifier": "kilogram.models.features.kitchen_sinks",
    # kernels
    "Linear": "kilogram.kernels",
    "Polynomial": "kilogram.kernels",
    "AllSubsets": "kilogram.kernels",
    "Gaussian": "kilogram.kernels",
    "Laplacian": "kilogram.kernels",
    "Matern": "kilogram.kernels",
    "RationalQuadratic": "kilogram.kernels",
    "Chi2": "kilogram.kernels",
    "Precomputed": "kilogram.kernels",
    "OnColumns": "kilogram.kernels",
    "Stretched": "kilogram.kernels",
    "White": "kilogram.kernels",
    "FromCallable": "kilogram.kernels",
    # generated data
    "make_xor": "kilogram.datasets",
    "make_two_moons": "kilogram.datasets",
    "make_digit_glyphs": "kilogram.datasets",
    "make_spam": "kilogram.datasets",
    "make_vowels": "kilogram.datasets",
    # plots
    "DecisionBoundaryDisplay": "kilogram.plotting.decision_boundary",
    "PredictionBandDisplay": "kilogram.plotting.prediction_band",
    "CoefficientPathDisplay": "kilogram.plotting.coefficient_path",
    "ClusterDisplay": "kilogram.plotting.clusters",
    "ScreeDisplay": "kilogram.plotting.scree",
    "KernelMatrixDisplay": "kilogram.plotting.kernel_matrix",
    "RocCurveDisplay": "kilogram.plotting.threshold_curves",
    "PrecisionRecallDisplay": "kilogram.plotting.threshold_curves",
    "ConfusionMatrixDisplay": "kilogram.plotting.confusion_matrix",
    "CalibrationDisplay": "kilogram.plotting.calibration",
    "PredictionErrorDisplay": "kilogram.plotting.prediction_error",
    "LearningCurveDisplay": "kilogram.plotting.learning_curve",
    "ValidationCurveDisplay": "kilogram.plotting.learning_curve",
    "SilhouetteDisplay": "kilogram.plotting.silhouette",
    "LossCurveDisplay": "kilogram.plotting.loss_curve",
    # rows of any size, and what a fit will cost
    "open_rows": "kilogram.arrays.row_files",
    "estimate": "kilogram.base.estimate",
    # from a table and a question to an answer
    "cook": "kilogram.kitchen",
    "CookClassifier": "kilogram.kitchen",
    "CookRegressor": "kilogram.kitchen",
    "audit": "kilogram.kitchen.audit",
    "explore": "kilogram.kitchen.explore",
    "choose": "kilogram.kitchen.choose",
    "load_model": "kilogram.kitchen",
    "explain_model": "kilogram.kitchen.explain",
    "export_model": "kilogram.kitchen.export",
}


def lazy_package(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names load on first use."""
    names = sorted(name for name, module in PUBLIC.items() if module.startswith(package + "."))

    def load(name: str) -> Any:
        if name in names:
            return getattr(import_module(PUBLIC[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load, lambda: names, names


@cache
def pages() -> tuple[Page, ...]:
    """Every page of the book, in order; read from the package's own files when first asked for."""
    return tuple(_read(slug) for slug in SLUGS)


def page_of(name: str) -> Page | None:
    """The page of a public name."""
    return next((page for page in pages() if name in page.names), None)


def _read(slug: str) -> Page:
    import tomllib  # only those who read a page pay for its reader

    text = (Path(__file__).parent / "pages" / f"{slug}.toml").read_text("utf-8")
    entry: dict[str, Any] = tomllib.loads(text)
    return Page(slug, **{key: _value(value) for key, value in entry.items()})


def _value(value: Any) -> Any:
    """Lists as tuples, paragraphs on one line."""
    return " ".join(value.split()) if isinstance(value, str) else tuple(map(_value, value))
