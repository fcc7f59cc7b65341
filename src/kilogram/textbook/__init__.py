"""The algorithms as the books tell them: short generators in plain NumPy, and the books' errata.

`run(pca(X, 2))` follows a telling to its end; iterating over it shows every step. `TELLINGS` lists
them all with the pages they stand beside and the estimators they explain; `errata` lists the
errors of the printed pages, each with the test that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kilogram.textbook import (
    bayes,
    cca,
    centroids,
    discriminants,
    fisher,
    gaussian_process,
    histograms,
    k_means,
    kernel_pca,
    kernel_regression,
    kernel_ridge,
    kernel_template,
    kernels,
    least_squares,
    logistic,
    naive_bayes,
    neighbours,
    nonlinear,
    online,
    pca,
    perceptron,
    preimage,
    quadratic_program,
    random_kitchen_sinks,
    ridge,
    ridge_solvers,
    sparse_regression,
    svm_dual,
    svm_sgd,
    svr,
    tomography,
)
from kilogram.textbook.state import State, Telling, begin, run


@dataclass(frozen=True)
class Page:
    """One telling: the generator, its title, where the texts tell it, what it explains."""

    function: Callable[..., Telling]
    title: str
    sources: tuple[str, ...]
    explains: tuple[str, ...]


_PCA = ("PCA",)
_KERNEL_PCA = ("KernelPCA",)
_RIDGE = ("Ridge", "RidgeCV")
_LEAST_SQUARES = ("LinearRegression",)
_KERNEL_RIDGE = ("KernelRidge", "KernelRidgeCV")
_SVM = ("SVC", "LinearSVC")
_LINEAR_SVM = ("LinearSVC",)
_FISHER = ("FisherDiscriminant",)
_KERNEL_FISHER = ("KernelFisherDiscriminant",)
_KERNEL_CCA = ("KernelCCA",)
_LDA = ("LinearDiscriminantAnalysis",)
_QDA = ("QuadraticDiscriminantAnalysis",)
_CENTROID = ("NearestCentroid",)
_BAYES = ("MajorityClassifier",)
_SINKS = ("KitchenSinksRegressor", "KitchenSinksClassifier", "FourierFeatures")
_K_MEANS = ("KMeans",)
_LOGISTIC = ("LogisticRegression", "OnlineClassifier")

TELLINGS: dict[str, Page] = {
    "pca": Page(
        pca.pca,
        "Principal component analysis",
        (
            "cookbook 7, algorithm 1",
            "first_encounter 12",
            "lecture_notes L19",
            "summary 6",
            "slides 9, algorithm 2",
        ),
        _PCA,
    ),
    "pca_dual": Page(
        pca.pca_dual,
        "PCA with more dimensions than points",
        ("cookbook A.3", "first_encounter 12", "lecture_notes L19", "slides 9"),
        _PCA,
    ),
    "pca_reconstruct": Page(
        pca.reconstruct, "PCA: reconstruction", ("cookbook 7, algorithm 2", "summary 6"), _PCA
    ),
    "pca_denoise": Page(
        pca.denoise,
        "PCA: keeping any set of components",
        ("cookbook 7", "slides 9"),
        _PCA,
    ),
    "pca_deflation": Page(
        pca.deflation,
        "PCA by power iteration and deflation",
        ("slides 9", "lecture_notes L19"),
        _PCA,
    ),
    "whiten": Page(
        pca.whiten,
        "Whitening",
        ("first_encounter 1 and D.2", "lecture_notes L19 and L21"),
        _PCA,
    ),
    "kernel_pca_train": Page(
        kernel_pca.train,
        "Kernel PCA: training",
        ("cookbook 8, algorithm 3", "first_encounter 12", "lecture_notes L20", "summary 7"),
        _KERNEL_PCA,
    ),
    "kernel_pca_project": Page(
        kernel_pca.project,
        "Kernel PCA: projecting new points",
        ("cookbook 8, algorithm 4", "first_encounter 12", "lecture_notes L20", "summary 7"),
        _KERNEL_PCA,
    ),
    "preimage": Page(
        preimage.preimage, "Pre-images by fixed point", ("cookbook 8 (named)",), _KERNEL_PCA
    ),
    "lsqr": Page(
        least_squares.lsqr,
        "LSQR: least squares by products",
        ("lecture_notes L11",),
        _LEAST_SQUARES,
    ),
    "weighted_least_squares": Page(
        least_squares.weighted,
        "Weighted least squares",
        ("lecture_notes L12",),
        (*_LEAST_SQUARES, "GeneralizedLeastSquares"),
    ),
    "generalised_least_squares": Page(
        least_squares.generalised,
        "Generalised least squares",
        ("lecture_notes L12",),
        ("GeneralizedLeastSquares",),
    ),
    "reweighted_least_squares": Page(
        least_squares.reweighted,
        "Least squares with unknown variances",
        ("lecture_notes L12",),
        ("ReweightedLeastSquares",),
    ),
    "total_least_squares": Page(
        least_squares.total,
        "Total least squares",
        ("lecture_notes L12",),
        ("TotalLeastSquares",),
    ),
    "tomography": Page(
        tomography.reconstruct,
        "Computed tomography by LSQR",
        ("lecture_notes L11",),
        _LEAST_SQUARES,
    ),
    "matching_pursuit": Page(
        sparse_regression.matching_pursuit,
        "Orthogonal matching pursuit",
        ("lecture_notes L12 and L13",),
        (),
    ),
    "matching_pursuit_qr": Page(
        sparse_regression.matching_pursuit_qr,
        "Orthogonal matching pursuit by reflections",
        ("lecture_notes L13",),
        (),
    ),
    "lasso_sweeps": Page(
        sparse_regression.lasso,
        "Lasso, one coefficient at a time",
        ("lecture_notes L12",),
        (),
    ),
    "lars": Page(
        sparse_regression.lars, "The lasso path by least angles", ("lecture_notes L13",), ()
    ),
    "elastic_net": Page(sparse_regression.elastic_net, "Elastic net", ("lecture_notes L13",), ()),
    "group_lasso": Page(sparse_regression.group_lasso, "Group lasso", ("lecture_notes L13",), ()),
    "gauss_newton": Page(nonlinear.gauss_newton, "Gauss-Newton", ("lecture_notes L13",), ()),
    "levenberg_marquardt": Page(
        nonlinear.levenberg_marquardt, "Levenberg-Marquardt", ("lecture_notes L14",), ()
    ),
    "circle_algebraic": Page(
        nonlinear.circle_algebraic,
        "Circle fit by a change of variables",
        ("lecture_notes L14",),
        (),
    ),
    "circle_geometric": Page(
        nonlinear.circle_geometric, "Circle fit by distances", ("lecture_notes L14",), ()
    ),
    "ridge": Page(
        ridge.ridge,
        "Least squares and ridge regression",
        (
            "cookbook 17, algorithm 16",
            "first_encounter 10",
            "lecture_notes L12",
            "summary 2",
            "slides 8",
        ),
        _RIDGE,
    ),
    "ridge_leave_one_out": Page(
        ridge.leave_one_out,
        "Ridge: leave-one-out from one fit",
        ("summary 2", "first_encounter 10"),
        ("RidgeCV",),
    ),
    "ridge_cholesky": Page(
        ridge_solvers.cholesky_road,
        "Ridge by Cholesky",
        ("lecture_notes L10",),
        (*_RIDGE, *_LEAST_SQUARES),
    ),
    "ridge_streaming": Page(
        ridge_solvers.streaming_road,
        "Ridge row by row",
        ("lecture_notes L10",),
        (*_RIDGE, *_LEAST_SQUARES),
    ),
    "ridge_qr": Page(
        ridge_solvers.qr_road,
        "Ridge by QR",
        ("lecture_notes L12", "summary 2"),
        (*_RIDGE, *_LEAST_SQUARES),
    ),
    "ridge_svd": Page(
        ridge_solvers.svd_road, "Ridge by SVD", ("lecture_notes L12",), (*_RIDGE, *_LEAST_SQUARES)
    ),
    "tikhonov": Page(
        ridge_solvers.tikhonov_road, "Tikhonov: any penalty matrix", ("summary 2",), ("Ridge",)
    ),
    "kernel_ridge": Page(
        kernel_ridge.kernel_ridge,
        "Kernel ridge regression",
        ("cookbook 23, algorithm 22", "first_encounter 10", "lecture_notes L15"),
        _KERNEL_RIDGE,
    ),
    "kernel_ridge_leave_one_out": Page(
        kernel_ridge.leave_one_out,
        "Kernel ridge: every lambda's leave-one-out error",
        ("cookbook C.3", "first_encounter 10"),
        ("KernelRidgeCV",),
    ),
    "norm_constrained": Page(
        kernel_ridge.norm_constrained,
        "Kernel ridge with a bound on the norm",
        ("first_encounter 10",),
        ("KernelRidge",),
    ),
    "kernel_regression": Page(
        kernel_regression.kernel_regression, "Kernel regression", ("lecture_notes L15",), ()
    ),
    "gaussian_process": Page(
        gaussian_process.gaussian_process,
        "Gaussian process prediction",
        ("cookbook 23, algorithm 23",),
        ("KernelRidge", "GaussianProcessRegressor"),
    ),
    "gaussian_process_samples": Page(
        gaussian_process.sample_functions,
        "Functions drawn from a Gaussian process",
        ("cookbook 23",),
        (),
    ),
    "random_kitchen_sinks": Page(
        random_kitchen_sinks.kitchen_sinks,
        "Random kitchen sinks",
        ("cookbook 24, algorithm 24",),
        _SINKS,
    ),
    "kernel_template": Page(
        kernel_template.kernel_template,
        "The kernel template",
        ("cookbook A, algorithm 25", "first_encounter C.3", "summary 7"),
        ("KernelRidge", "KernelPCA"),
    ),
    "linear_twin": Page(
        kernel_template.linear_twin,
        "The linear twin: w = X'a",
        ("cookbook A", "lecture_notes L15"),
        ("Ridge", "KernelRidge"),
    ),
    "quadratic_program": Page(
        quadratic_program.quadratic_program,
        "A small quadratic programme and its KKT conditions",
        ("first_encounter A",),
        ("SVC", "SVR"),
    ),
    "linear_svm": Page(
        svm_sgd.linear_svm,
        "Linear support vector machine by stochastic gradients",
        ("cookbook 20, algorithm 19", "lecture_notes L24"),
        _LINEAR_SVM,
    ),
    "kernel_svm": Page(
        svm_sgd.kernel_svm,
        "Kernel support vector machine by stochastic gradients",
        ("cookbook 21, algorithm 20",),
        ("SVC",),
    ),
    "svm": Page(
        svm_dual.svm,
        "Support vector machine: the dual and every KKT condition",
        ("first_encounter 8", "lecture_notes L25", "summary 3"),
        _SVM,
    ),
    "smo": Page(svm_dual.smo, "Sequential minimal optimisation", ("lecture_notes L25",), ("SVC",)),
    "coordinate_descent": Page(
        svm_dual.coordinate_descent, "Dual coordinate descent", ("lecture_notes L25",), _LINEAR_SVM
    ),
    "perceptron": Page(
        svm_dual.perceptron,
        "Rosenblatt's perceptron and its margin",
        ("slides 7", "first_encounter 7 (named)"),
        (),
    ),
    "widest_margin": Page(
        svm_dual.widest,
        "The widest margin between separable classes",
        ("first_encounter 8", "lecture_notes L24", "summary 3"),
        _SVM,
    ),
    "svr": Page(svr.svr, "Support vector regression", ("first_encounter 9",), ("SVR", "LinearSVR")),
    "fisher": Page(
        fisher.fisher,
        "Fisher's discriminant",
        (
            "cookbook 16, algorithm 14",
            "first_encounter 13",
            "lecture_notes L05 and L06",
            "slides 8",
        ),
        _FISHER,
    ),
    "fisher_classify": Page(
        fisher.classify,
        "Fisher's discriminant: the nearest projected mean",
        ("cookbook 16, algorithm 15",),
        _FISHER,
    ),
    "shared_gaussians": Page(
        fisher.shared_gaussians,
        "Log-odds of Gaussians with one covariance",
        ("cookbook C.1", "lecture_notes L05"),
        _FISHER,
    ),
    "kernel_fisher": Page(
        fisher.kernel_fisher, "Kernel Fisher discriminant", ("first_encounter 13",), _KERNEL_FISHER
    ),
    "nearest_in_line": Page(
        fisher.nearest_in_line,
        "Classes on one direction: the nearest in standard deviations",
        ("first_encounter 13",),
        (*_FISHER, *_KERNEL_FISHER),
    ),
    "cca": Page(
        cca.cca,
        "Canonical correlations of several views",
        ("cookbook 10, algorithm 6", "first_encounter 14"),
        ("CCA", "MultiviewCCA"),
    ),
    "cca_two_views": Page(
        cca.two_views, "Canonical correlations by one SVD", ("cookbook B.2",), ("CCA",)
    ),
    "kernel_cca": Page(
        cca.kernel_cca,
        "Kernel canonical correlations",
        ("cookbook 11, algorithm 7", "first_encounter 14"),
        _KERNEL_CCA,
    ),
    "kernel_cca_project": Page(
        cca.kernel_scores,
        "Kernel canonical correlations: new points",
        ("cookbook 11, equation 11.2",),
        _KERNEL_CCA,
    ),
    "quadratic_discriminant": Page(
        discriminants.quadratic, "Quadratic discriminant analysis", ("lecture_notes L05",), _QDA
    ),
    "linear_discriminant": Page(
        discriminants.linear,
        "Linear discriminant analysis",
        ("lecture_notes L05", "cookbook C.1"),
        _LDA,
    ),
    "discriminant_as_least_squares": Page(
        discriminants.least_squares_view,
        "The linear discriminant as least squares",
        ("lecture_notes L06", "slides 8"),
        (*_LDA, *_FISHER),
    ),
    "online_centroids": Page(
        centroids.online_centroids,
        "Centroids point by point",
        ("cookbook 15, algorithm 12", "slides 3"),
        _CENTROID,
    ),
    "nearest_centroid": Page(
        centroids.nearest_centroid,
        "The nearest centroid",
        ("cookbook 15, algorithm 13", "slides 3", "lecture_notes L04"),
        _CENTROID,
    ),
    "centroids_as_a_linear_rule": Page(
        centroids.linear_rule,
        "Two centroids as a linear rule",
        ("slides 3", "cookbook C.2"),
        _CENTROID,
    ),
    "kernel_nearest_mean": Page(
        centroids.kernel_nearest_mean,
        "The nearest mean in the space of a kernel",
        ("cookbook 15 and A",),
        ("NearestCentroid", "KernelPCA"),
    ),
    "bernoulli_naive_bayes": Page(
        naive_bayes.bernoulli,
        "Naive Bayes for words that are there or not",
        ("cookbook 14, algorithm 11",),
        ("BernoulliNB",),
    ),
    "bernoulli_posterior": Page(
        naive_bayes.bernoulli_posterior,
        "Naive Bayes: the posterior",
        ("cookbook 14",),
        ("BernoulliNB",),
    ),
    "categorical_naive_bayes": Page(
        naive_bayes.categorical,
        "Naive Bayes for categories and counts of values",
        ("first_encounter 6",),
        ("CategoricalNB", "MultinomialNB"),
    ),
    "naive_bayes_scores": Page(
        naive_bayes.log_scores,
        "Naive Bayes: scores as sums of logarithms",
        ("first_encounter 6",),
        ("CategoricalNB",),
    ),
    "naive_bayes_threshold": Page(
        naive_bayes.threshold_decision,
        "A threshold between two classes",
        ("first_encounter 6",),
        ("CategoricalNB", "BernoulliNB"),
    ),
    "roc": Page(naive_bayes.roc, "The ROC curve", ("first_encounter 6 and D.17",), ()),
    "gaussian_naive_bayes": Page(
        naive_bayes.gaussian, "Gaussian naive Bayes", ("lecture_notes L08",), ("GaussianNB",)
    ),
    "naive_bayes_generate": Page(
        naive_bayes.generate, "Drawing from naive Bayes", ("first_encounter 6",), ("CategoricalNB",)
    ),
    "histogram": Page(
        histograms.histogram, "The histogram as a density", ("lecture_notes L07",), ("HistogramNB",)
    ),
    "histogram_widths": Page(
        histograms.width_rules,
        "Four rules for the width of bins",
        ("lecture_notes L07",),
        ("HistogramNB",),
    ),
    "bayes_rule": Page(bayes.bayes_rule, "Bayes' rule", ("lecture_notes L02",), _BAYES),
    "confusion": Page(bayes.confusion, "The confusion matrix", ("lecture_notes L02",), _BAYES),
    "threshold_errors": Page(
        bayes.threshold_errors, "Errors of two threshold rules", ("lecture_notes L02",), ()
    ),
    "one_prototype_each": Page(
        bayes.one_prototype_each,
        "One nearest neighbour, one point for each class",
        ("lecture_notes L03",),
        (),
    ),
    "nearest_neighbours": Page(
        neighbours.votes,
        "Nearest neighbours vote",
        ("first_encounter 5", "lecture_notes L03 and L04"),
        (),
    ),
    "condensed_neighbours": Page(
        neighbours.condensed, "Condensed nearest neighbours", ("lecture_notes L04",), ()
    ),
    "partial_distance": Page(
        neighbours.partial_distance, "Distances abandoned early", ("lecture_notes L04",), ()
    ),
    "kd_tree": Page(neighbours.kd_tree, "Search in a k-d tree", ("lecture_notes L04",), ()),
    "logistic_sgd": Page(
        logistic.logistic_sgd,
        "Logistic regression by stochastic gradients",
        ("lecture_notes L06",),
        _LOGISTIC,
    ),
    "softmax_sgd": Page(
        logistic.softmax_sgd,
        "Softmax regression by stochastic gradients",
        ("cookbook 19, algorithm 18",),
        _LOGISTIC,
    ),
    "logistic_irls": Page(
        logistic.irls,
        "Logistic regression by reweighted least squares",
        ("lecture_notes L07", "cookbook 19 (named)"),
        ("LogisticRegression",),
    ),
    "softmax_newton": Page(
        logistic.newton,
        "Softmax regression by Newton's method",
        ("summary 4",),
        ("LogisticRegression",),
    ),
    "logistic_coordinates": Page(
        logistic.coordinate_descent,
        "Sparse logistic regression, one weight at a time",
        ("summary 4 (added)",),
        ("LogisticRegression",),
    ),
    "perceptron_mistakes": Page(
        perceptron.mistakes,
        "The perceptron, variant A: a random mistake at a time",
        ("slides 7",),
        ("Perceptron",),
    ),
    "perceptron_draws": Page(
        perceptron.draws,
        "The perceptron, variant B: shrinking steps on random points",
        ("slides 7, algorithm 1",),
        ("Perceptron",),
    ),
    "perceptron_averaged": Page(
        perceptron.averaged,
        "The voted and the averaged perceptron",
        ("slides 7 (named)",),
        ("Perceptron",),
    ),
    "perceptron_one_versus_rest": Page(
        perceptron.one_versus_rest,
        "One perceptron per class",
        ("slides 7",),
        ("Perceptron",),
    ),
    "gradient_descent": Page(
        online.gradient_descent,
        "Gradient descent on squared, tanh and log cost",
        ("first_encounter 7", "slides 7"),
        ("Adaline", "OnlineClassifier"),
    ),
    "stochastic_gradients": Page(
        online.stochastic,
        "Stochastic gradients: one row or a batch, annealed",
        ("first_encounter 7", "slides 7"),
        ("Adaline", "OnlineClassifier"),
    ),
    "newton_raphson": Page(
        online.newton_raphson,
        "One Newton step on the squared cost",
        ("first_encounter 7 (named)",),
        ("Adaline",),
    ),
    "k_means": Page(
        k_means.lloyd,
        "K-means: Lloyd's algorithm",
        (
            "cookbook 12, algorithm 8",
            "first_encounter 11",
            "lecture_notes L23",
            "summary 8",
            "slides 10, algorithm 1",
        ),
        _K_MEANS,
    ),
    "k_means_online": Page(
        k_means.online, "K-means: one point at a time", ("cookbook 12, algorithm 9",), _K_MEANS
    ),
    "k_means_plus_plus": Page(
        k_means.plus_plus, "K-means++: where to begin", ("lecture_notes L23",), _K_MEANS
    ),
    "kernel_k_means": Page(
        k_means.kernel_k_means,
        "Kernel k-means by the trace form",
        ("first_encounter 11",),
        ("KernelKMeans",),
    ),
    "k_medoids": Page(k_means.k_medoids, "K-medoids", ("lecture_notes L22 and L23",), ()),
    "k_lines": Page(k_means.k_lines, "K-lines", ("lecture_notes L23",), ()),
}

__all__ = [
    "TELLINGS",
    "Page",
    "State",
    "Telling",
    "begin",
    "kernels",
    "run",
]
