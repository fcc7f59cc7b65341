"""Kernel PCA: PCA of phi(x), seen through k(x, y) = <phi(x), phi(y)> alone.

Objective    max_v  sum_i w_i <v, phi(x_i) - mu>^2   subject to  |v| = 1, each v orthogonal to the
             ones before;  mu = sum_i w_i phi(x_i) / sum_i w_i

Dual         v = sum_i a_i (phi(x_i) - mu).  With K_c the kernel matrix of the centred features and
             D = diag(w):   D^1/2 K_c D^1/2 u = lambda u,     a = D^1/2 u / sqrt(lambda)
Scores       z(x) = sum_i a_i k_c(x_i, x)       new rows are centred with the training means
             of the training rows: sqrt(lambda) u_i / sqrt(w_i), of variance lambda / sum w

With k(x, y) = <x, y> this is PCA. The division by sqrt(lambda) makes |v| = 1 (the cookbook leaves
it out, and the centring with it). On features that approximate k the same objective is PCA's, a sum
over rows, and takes streams and clusters.

References: Schoelkopf, Smola and Mueller 1998; preimages.py for the way back.
"""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Real
from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed
from kilogram.arrays.threads import blas_threads
from kilogram.base import Budget, Estimate, Estimator, Laws, as_written, warn_if_unfinished
from kilogram.base.progress import ticking, with_callbacks
from kilogram.kernels import Kernel, Precomputed
from kilogram.kernels.pairs import dense
from kilogram.models.subspace import kernel_pca_roads as roads
from kilogram.models.subspace.kernel_pca_params import (
    check_parameters,
    check_rows,
    expected_cost,
    jobs,
    kept_values,
    own_rows,
    pca_of_features,
    search_of,
)
from kilogram.models.subspace.kernel_projection import KernelSubspace
from kilogram.models.subspace.preimages import ridge_weights
from kilogram.models.subspace.projection import signed, stored
from kilogram.solvers.solution import Solution


class KernelPCA(ClassNamePrefixFeaturesOutMixin, KernelSubspace, TransformerMixin, Estimator):
    """PCA after a non-linear map that is known by its kernel alone.

    Maximises ``sum_i w_i <v, phi(x_i) - mu>^2`` over orthonormal v in the feature space of the
    kernel. Takes scikit-learn's parameters and gives its answers up to sign; the leading components
    are found without a full eigendecomposition, with the kernel matrix stored while it fits in
    memory and recomputed in blocks beyond.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None keeps all with an eigenvalue above zero.
    kernel : str, Kernel or callable, default="linear"
        The kernel by name ("linear", "poly", "rbf", "sigmoid", "cosine", "precomputed", ...), as
        an object such as `Gaussian(sigma=1.0)`, or a function of two rows.
    gamma : float or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    degree : float, default=3
        Degree of a polynomial kernel given by name.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels given by name.
    kernel_params : dict, default=None
        Further parameters of a kernel given by name, or keyword arguments of a callable.
    alpha : float, default=1.0
        Penalty of the ridge regression that learns the way back.
    fit_inverse_transform : bool, default=False
        Learn the way back to the input space in `fit`.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" finds all pairs, "arpack" the leading ones by block Lanczos, "randomized" by a fixed
        number of products. "auto" chooses between the first two, and solves the linear kernel in
        the coordinates of the columns where these are fewer.
    tol : float, default=0
        Largest residual relative to its eigenvalue, for Lanczos; 0 is as far as the precision goes.
    max_iter : int or None, default=None
        Most steps of Lanczos; each is one product of the kernel matrix with 16 to 32 vectors.
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized": "auto" is 7 for few components, 4 otherwise.
    remove_zero_eig : bool, default=False
        Drop components whose eigenvalue is zero, also when `n_components` is given.
    random_state : int, RandomState or None, default=None
        Seed of the random start of the solvers and of the approximations.
    copy_X : bool, default=True
        Keep a copy of the training rows, so that they may be changed afterwards.
    n_jobs : int or None, default=None
        Threads of the matrix products; None is all.
    approximation : {None, "nystroem", "fourier"}, default=None
        Replace the kernel by features: PCA of `phi(x)`, block by block, for any number of rows,
        Dask and streams. "fourier" needs a stationary kernel.
    n_features : int, default=1000
        Number of features of the approximation.
    preimage : {"ridge", "fixed_point"}, default="ridge"
        The way back: learned by ridge regression, or iterated (Gaussian kernel only).
    max_time : float or None, default=None
        Seconds after which an iterative solver stops where it is, with a warning.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") the kernel matrix may take; in blocks, and anew each time, beyond.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues of the centred (and weighted) kernel matrix, largest first.
    eigenvectors_ : array of shape (n, n_components)
        Its eigenvectors, times the roots of the weights if there are any; divided by the roots of
        the eigenvalues they are the dual axes. Without an approximation only.
    X_fit_ : array of shape (n, d)
        The training rows. Without an approximation only.
    gamma_ : float
        The rate of the kernel, 1 / d unless given.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    kernel_means_ : KernelMeans
        The training means that new rows are centred with. Without an approximation only.
    feature_map_ : Nystroem or FourierFeatures
        The approximation of the kernel, if one was asked for.
    mean_, components_ : arrays of shape (n_features,) and (n_components, n_features)
        Mean and principal axes of the features of the approximation.
    dual_coef_, X_transformed_fit_ : arrays of shape (n, d) and (n, n_components)
        The learned way back and the scores it was learned from, with `fit_inverse_transform`.
    solver_ : str
        The road taken: "features", "dense", "krylov", "randomized" or the approximation.
    n_iter_ : int
        Steps of an iterative solver; 0 for a direct one.
    converged_ : bool
        Whether its tolerance was met.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had any.

    See Also
    --------
    PCA : The linear twin.

    Examples
    --------
    Two circles, one inside the other, are apart on the first component:

    >>> import numpy as np
    >>> from kilogram import Gaussian, KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.vstack([0.5 * circle, 2.0 * circle])
    >>> z = KernelPCA(1, kernel=Gaussian(sigma=1.0)).fit_transform(X)[:, 0]
    >>> bool(min(z[:50].max(), z[50:].max()) < max(z[:50].min(), z[50:].min()))
    True
    """

    laws: ClassVar[Laws] = Laws(
        block="exact kernel PCA compares all rows; streams need an approximation (test_kernel_pca)",
        budget=True,
        example={"n_components": 3, "kernel": "rbf"},
        budget_example={"eigen_solver": "arpack"},
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        approximation: str | None = None,
        n_features: int = 1000,
        preimage: str = "ridge",
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.approximation = approximation
        self.n_features = n_features
        self.preimage = preimage
        self.max_time = max_time
        self.max_memory = max_memory

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the principal components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The kernel matrix (n, n) if the kernel is precomputed. Dask and streamed rows need an
            approximation.
        y : ignored
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        kernel = check_parameters(self)
        budget = Budget(self.max_time, self.max_memory)
        given = X
        X, _, w = self._enter(X, None, sample_weight)
        threads = nullcontext() if self.n_jobs is None else blas_threads(jobs(self.n_jobs))
        with threads, ticking(self, "step", budget.deadline) as tick:
            if self.approximation is None:
                self._fit_exact(kernel, X, w, search_of(self, budget, tick))
                self._keep_rows(X, given, w)
            else:
                self._fit_features(kernel, X, w)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the principal components and return the scores of the rows on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        Z : array of shape (n, n_components)
        """
        self.fit(X, sample_weight=sample_weight)
        if self.approximation is not None or sample_weight is not None:
            return as_written(self)(X)
        return self.eigenvectors_ * namespace(self.eigenvalues_).sqrt(self.eigenvalues_)

    def _fit_exact(self, kernel: Kernel, X: Any, w: Any, search: roads.Search) -> None:
        """The eigenpairs of the centred kernel matrix."""
        check_rows(self, kernel, X)
        self.kernel_ = kernel.resolve(X)
        found = roads.decompose(self.kernel_, X, w, self.n_components, search)
        self.eigenvalues_ = kept_values(self, found.values)
        self.eigenvectors_ = roads.oriented(found.vectors[:, : self.eigenvalues_.shape[0]], w)
        self.kernel_means_, self.solver_ = found.means, found.road
        self._finish(found.found)

    def _keep_rows(self, X: Any, given: Any, w: Any) -> None:
        """The training rows, and the way back to them if it is wanted."""
        self._keep_training(own_rows(self, X, given))
        if self.fit_inverse_transform:
            Z = self.X_transformed_fit_ = self._training_scores()
            self.dual_coef_ = ridge_weights(self.kernel_, Z, dense(X), w, self.alpha)

    def _fit_features(self, kernel: Kernel, X: Any, w: Any) -> None:
        """PCA of the features, from their moments."""
        phi, found = pca_of_features(self, kernel, X, w)
        values = kept_values(self, found.values)
        ref = None if is_streamed(X) or is_sparse(X) else X
        self.eigenvalues_, self.mean_ = stored(values, ref), stored(found.mean, ref)
        self.components_ = stored(signed(found.directions[: values.shape[0], :]), ref)
        self.feature_map_, self.kernel_, self.solver_ = phi, phi.kernel_, str(self.approximation)
        self._finish(found.found)

    def _finish(self, found: Solution) -> None:
        own = getattr(self.kernel_, "gamma", None) if self.gamma is None else self.gamma
        self.gamma_ = own if isinstance(own, Real) else 1.0 / self.n_features_in_
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        warn_if_unfinished("KernelPCA", found, "Raise max_time or max_iter, or a larger tol.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.sparse, tags.input_tags.pairwise = True, given
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        return expected_cost(self, n, d, dtype)
