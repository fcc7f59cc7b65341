"""One table of everything public: where a name lives, and the page of the book it belongs to.

The lazy namespace of `kilogram`, the laws, the documentation and `kg explain` all read this table,
so a new page becomes visible everywhere by one entry here.
"""

from __future__ import annotations

from dataclasses import dataclass


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


PAGES: tuple[Page, ...] = (
    Page(
        slug="ridge",
        title="Ridge and kernel ridge regression",
        names=("Ridge", "KernelRidge", "RidgeCV", "KernelRidgeCV"),
        objective=r"\min_f \sum_i w_i \, |y_i - f(x_i)|^2 + \alpha \, \|f\|^2",
        when=(
            "A numeric target. Start with `Ridge`; if `KernelRidge` with a Gaussian kernel is not "
            "clearly better under nested cross-validation, there is no useful non-linear structure "
            "to find."
        ),
        cost=(
            "Linear: one pass over the rows, n d^2 flops. Kernel: n^2 d for the Gram matrix and "
            "n^3/3 for its Cholesky factor while it fits in memory; beyond that, n m per step "
            "with m centres. `kg.estimate(model, n, d)` says which, before the work."
        ),
        limits=(
            "Squared loss: one gross outlier moves the fit. The penalty sees the scale of the "
            "columns: standardise first. `KernelRidge` has no intercept unless "
            "`fit_intercept=True`, as in scikit-learn."
        ),
        sources=(
            "Machine Learning Cookbook, chapters 17, 23, B.3, B.4, C.3",
            "A First Encounter with Machine Learning, chapter 10",
        ),
    ),
    Page(
        slug="svm",
        title="Support vector machines, linear and with kernels",
        names=("LinearSVC", "SVC", "LinearSVR", "SVR"),
        objective=r"\min_{w, b} \tfrac12 \|w\|^2 + \sum_i C_i \, \xi_i^k, \quad "
        r"y_i (\langle w, \varphi(x_i) \rangle + b) \ge 1 - \xi_i, \quad \xi_i \ge 0",
        when=(
            "Classes with a margin between them, or targets that a tube of half-width epsilon "
            "should hold. Start with `LinearSVC`; take `SVC` with a Gaussian kernel if it is "
            "clearly better and there are up to some hundred thousand rows."
        ),
        cost=(
            "Linear: a scatter of the rows, n d^2, and a dozen reads of them, in blocks or on a "
            "cluster. Kernel: the kernel rows of the support vectors, n n_SV d, in whatever "
            "memory is allowed."
        ),
        limits=(
            "The penalty sees the scale of the columns: standardise first. Values far from a "
            "decision are not probabilities; `probability=True` calibrates them. `LinearSVC` "
            "penalises the intercept, as scikit-learn's does, unless told otherwise."
        ),
        sources=(
            "Machine Learning Cookbook, chapters 20, 21",
            "A First Encounter with Machine Learning, chapters 8, 9, appendix A",
            "Lecture notes, lectures 24 to 26",
        ),
    ),
    Page(
        slug="pca",
        title="Principal components and kernel principal components",
        names=("PCA", "KernelPCA"),
        objective=r"\max_{W' W = I} \operatorname{tr}(W' S W), \quad "
        r"S = \tfrac1n \sum_i (x_i - \bar x)(x_i - \bar x)'",
        when=(
            "To look at data, to compress or denoise it, to remove a strong nuisance direction. "
            "The kernel twin when the structure is curved, or when there are more columns than "
            "rows (with the linear kernel the answer is the same)."
        ),
        cost=(
            "Tall data: one pass, n d^2. Wide data: the Gram matrix of the rows, n^2 d. Large or "
            "sparse data: a few products with the centred rows. Kernel: the Gram matrix and some "
            "block products with it; never a full eigendecomposition for a few components."
        ),
        limits=(
            "Directions of large variance need not matter for a target. One gross outlier turns "
            "the first direction. Signs are a convention. Kernel components have no loadings."
        ),
        sources=(
            "Machine Learning Cookbook, chapters 7, 8, A.3, B.1",
            "A First Encounter with Machine Learning, chapter 12",
        ),
    ),
    Page(
        slug="cca",
        title="Canonical correlations and kernel canonical correlations",
        names=("CCA", "KernelCCA", "MultiviewCCA"),
        objective=r"\max_{A, B} \operatorname{tr}(A' C_{xy} B) \quad \text{s.t.} \quad "
        r"A'(C_x + \alpha I)A = I, \; B'(C_y + \alpha I)B = I",
        when=(
            "Two measurements of the same rows (two languages, two sensors, a picture and its "
            "text): which combinations of the columns say the same thing in both?"
        ),
        cost=(
            "Linear: one pass over the rows and one small SVD gives all pairs. Kernel: two "
            "Cholesky factors of order n and a few products; `approximation='nystroem'` for many "
            "rows."
        ),
        limits=(
            "With as many columns as rows every two views agree perfectly: regularise. Training "
            "correlations are optimistic: use held-out rows and `permutation_test`."
        ),
        sources=(
            "Machine Learning Cookbook, chapters 10, 11, B.2",
            "A First Encounter with Machine Learning, chapter 14",
        ),
    ),
    Page(
        slug="fisher",
        title="Fisher's discriminant and its kernel twin",
        names=("FisherDiscriminant", "KernelFisherDiscriminant"),
        objective=r"\max_W \operatorname{tr}\left((W'(S_W + \alpha I)W)^{-1} W' S_B W\right)",
        when=(
            "Classes, and the question which directions tell them apart: for a picture of the "
            "classes, and for a classifier that is right when classes are roughly Gaussian with "
            "the same shape."
        ),
        cost=(
            "Linear: one pass over the rows, n d^2. Kernel: one Cholesky factor of order n; "
            "`approximation='nystroem'` for many rows."
        ),
        limits=(
            "At most one direction fewer than classes. With more columns than rows set `alpha` or "
            "`shrinkage`. Classes of different shape want `rule='per_class'`."
        ),
        sources=(
            "Machine Learning Cookbook, chapters 16, C.1",
            "A First Encounter with Machine Learning, chapter 13",
        ),
    ),
    Page(
        slug="gaussian_process",
        title="Gaussian processes",
        names=("GaussianProcessRegressor", "GaussianProcessClassifier"),
        objective=r"\max_\theta \; -\tfrac12 y' C_\theta^{-1} y - \tfrac12 \log |C_\theta|, \quad "
        r"C_\theta = K_\theta + \operatorname{diag}(\text{noise})",
        when=(
            "Predictions that must say how sure they are, and up to some ten thousand rows. The "
            "mean is kernel ridge regression; the marginal likelihood finds the kernel's widths "
            "and the noise without cross-validation."
        ),
        cost=(
            "n^3 flops for each evaluation of the likelihood with its gradient, in the memory of "
            "one kernel matrix, some tens of evaluations; `approximation='nystroem'` takes n m^2 "
            "with m inducing points."
        ),
        limits=(
            "Gaussian noise: one gross outlier bends the curve. Variances are right only as far "
            "as the kernel is; far from the data they return to the prior's. The likelihood can "
            "have several maxima: use `n_restarts_optimizer`."
        ),
        sources=(
            "Machine Learning Cookbook, chapter 23",
            "A First Encounter with Machine Learning, chapter 10",
        ),
    ),
    Page(
        slug="feature_maps",
        title="Feature maps: a kernel method as its linear twin",
        names=("FourierFeatures", "Nystroem", "KitchenSinksRegressor", "KitchenSinksClassifier"),
        objective=r"k(x, y) \approx \langle \varphi(x), \varphi(y) \rangle, \quad "
        r"\varphi(x) \in \mathbb{R}^D",
        when=(
            "When there are too many rows for a Gram matrix: a linear method on the features is "
            "the kernel method, block by block, also on a cluster."
        ),
        cost="n d D for the features and n D^2 for a ridge regression on them; never all at once.",
        limits=(
            "The error of random features falls like one over the square root of their number; "
            "`approximation_error` tells it on your data. Nystroem landmarks adapt to the data "
            "and usually need fewer."
        ),
        sources=("Machine Learning Cookbook, chapter 24",),
    ),
    Page(
        slug="kernels",
        title="Kernels and their algebra",
        names=(
            "Linear",
            "Polynomial",
            "AllSubsets",
            "Gaussian",
            "Laplacian",
            "Matern",
            "RationalQuadratic",
            "Chi2",
            "Precomputed",
            "FromCallable",
            "OnColumns",
            "Stretched",
            "White",
        ),
        objective=r"k(x, y) = \langle \varphi(x), \varphi(y) \rangle",
        when=(
            "The Gaussian kernel with the median rule is the default. Sums say 'either is "
            "similar', products 'both are'; `OnColumns` gives each group of columns its own."
        ),
        cost="n^2 d for a Gram matrix; `k.matmul` multiplies with it without storing it.",
        limits="A kernel must be positive semi-definite: `kilogram.kernels.check_psd` tells.",
        sources=(
            "Machine Learning Cookbook, appendix A",
            "A First Encounter with Machine Learning, appendix B",
        ),
    ),
)

PUBLIC: dict[str, str] = {
    # regression
    "Ridge": "kilogram.models.regression.ridge",
    "KernelRidge": "kilogram.models.regression.kernel_ridge",
    "RidgeCV": "kilogram.models.regression.ridge_cv",
    "KernelRidgeCV": "kilogram.models.regression.kernel_ridge_cv",
    "GaussianProcessRegressor": "kilogram.models.regression.process",
    # classification and regression with margins
    "SVC": "kilogram.models.classification.svm",
    "LinearSVC": "kilogram.models.classification.svm_linear",
    "SVR": "kilogram.models.regression.svr",
    "LinearSVR": "kilogram.models.regression.svr_linear",
    # subspaces
    "PCA": "kilogram.models.subspace.pca",
    "KernelPCA": "kilogram.models.subspace.kernel_pca",
    "CCA": "kilogram.models.subspace.cca",
    "KernelCCA": "kilogram.models.subspace.kernel_cca",
    "MultiviewCCA": "kilogram.models.subspace.multiview",
    # classification
    "FisherDiscriminant": "kilogram.models.classification.fisher",
    "KernelFisherDiscriminant": "kilogram.models.classification.kernel_fisher",
    "GaussianProcessClassifier": "kilogram.models.classification.process",
    # feature maps
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
    # rows of any size, and what a fit will cost
    "open_rows": "kilogram.arrays.rows_files",
    "estimate": "kilogram.base.estimate",
    # from a table and a question to an answer
    "cook": "kilogram.kitchen",
}


def page_of(name: str) -> Page | None:
    """The page on which a public name is told."""
    return next((page for page in PAGES if name in page.names), None)
