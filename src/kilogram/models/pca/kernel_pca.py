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

References: Schoelkopf, Smola and Mueller 1998; preimages.py for the inverse map.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from numbers import Real as RealNumber
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kilogram.arrays.namespace import is_numpy, is_sparse, namespace
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.arrays.threads import blas_threads, n_threads
from kilogram.base import Budget, Estimate, Estimator, Laws, as_written, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.projection import KernelProjection, linear_projection, owned_copy, signed
from kilogram.base.random_state import as_generator
from kilogram.base.warnings import warn_memory_fallback
from kilogram.kernels import Gaussian, Kernel, Linear, Precomputed, as_kernel, is_precomputed
from kilogram.kernels.row_pairs import dense
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.pca.kernel_projection import BLOCK_ENTRIES, KernelSubspace, feature_block
from kilogram.models.pca.preimages import ridge_weights
from kilogram.models.pca.solvers import Spectrum, SpectrumSearch, primal
from kilogram.operators.cost import rates
from kilogram.operators.memory_plan import plan_storage
from kilogram.solvers.eigen import prefers_full
from kilogram.solvers.eigen.kernel_components import (
    FULL_COPIES,
    SOLVERS,
    EigenSearch,
    dual_axes,
    fix_signs,
    kernel_components,
    positive_part,
)
from kilogram.solvers.eigen.leading import block_width
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments


class KernelPCA(ClassNamePrefixFeaturesOutMixin, KernelSubspace, TransformerMixin, Estimator):
    """Principal component analysis in the feature space of a kernel.

    Maximises ``sum_i w_i <v, phi(x_i) - mu>^2`` over orthonormal v in the feature space of the
    kernel. Takes scikit-learn's parameters and gives its scores up to sign; the leading components
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
        Penalty of the ridge regression behind `inverse_transform`.
    fit_inverse_transform : bool, default=False
        Fit the map from scores back to the input space.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" finds all pairs, "arpack" the leading ones by block Lanczos, "randomized" by a fixed
        number of products. "auto" chooses between the first two, and solves the linear kernel in
        the coordinates of the columns where these are fewer.
    tol : float, default=0
        Largest residual relative to its eigenvalue, for Lanczos; 0 is as far as the precision goes.
    max_iter : int or None, default=None
        Most iterations of Lanczos; each is one product of the kernel matrix with 16 to 32 vectors.
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
        How `inverse_transform` works: ridge regression, or a fixed-point iteration (Gaussian kernel
        only).
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
        The ridge regression from scores to rows and its scores, with `fit_inverse_transform`.
    solver_ : str
        The solver used: "features", "dense", "krylov", "randomized" or the approximation.
    n_iter_ : int
        Iterations of an iterative solver; 0 for a direct one.
    converged_ : bool
        Whether the solver met its tolerance.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PCA : The linear version.

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
        rtol=1e-6,  # eigenvectors: rounding over the gap between neighbouring eigenvalues
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | Null(),
        "kernel_params": Dictionary() | Null(),
        "alpha": Real(0, closed="left"),
        "fit_inverse_transform": Boolean(),
        "eigen_solver": OneOf(*SOLVERS),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1) | Null(),
        "iterated_power": Integer(0) | OneOf("auto"),
        "remove_zero_eig": Boolean(),
        "random_state": RandomState(),
        "copy_X": Boolean(),
        "n_jobs": Integer() | Null(),
        "approximation": OneOf("nystroem", "fourier") | Null(),
        "n_features": Integer(1),
        "preimage": OneOf("ridge", "fixed_point"),
    }

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
        budget = Budget(self.max_time, self.max_memory)
        given = X
        X, _, w = self._validate(X, None, sample_weight)
        kernel = self._checked_kernel()
        threads = nullcontext() if self.n_jobs is None else blas_threads(_thread_count(self.n_jobs))
        with threads, ticking(self, "iteration", budget.deadline) as tick:
            if self.approximation is None:
                self._check_rows(kernel, X)
                self._fit_exact(kernel, X, given, w, self._search(budget, tick))
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

    def _checked_kernel(self) -> Kernel:
        """The kernel as an object; parameters that exclude each other are refused."""
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        inverse = self.fit_inverse_transform or self.preimage == "fixed_point"
        if inverse and isinstance(kernel, Precomputed):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if inverse and self.approximation is not None:
            raise ValueError(
                "inverse_transform needs the training rows: approximation must be None with "
                "fit_inverse_transform=True or preimage='fixed_point'."
            )
        if self.preimage == "fixed_point" and not isinstance(kernel, Gaussian):
            raise ValueError(
                f"preimage='fixed_point' needs the Gaussian kernel, got {kernel!r}: use "
                "preimage='ridge'."
            )
        return kernel

    def _check_rows(self, kernel: Kernel, X: Any) -> None:
        """Refuse rows that exact kernel PCA cannot take."""
        if is_streamed(X):
            raise ValueError(
                "exact kernel PCA compares all rows with each other: rows that come in blocks need "
                "approximation='nystroem' or 'fourier'."
            )
        n, k = X.shape[0], self.n_components
        if isinstance(kernel, Precomputed) and X.shape[1] != n:
            raise ValueError(f"Precomputed matrix must be a square matrix. Input is {X.shape}.")
        if k is not None and k > n:
            raise ValueError(f"n_components={k} must be at most n_samples = {n}.")
        if not isinstance(kernel, Precomputed):
            self._ensure_squares(X)
            self._ensure_felt(X)

    def _search(self, budget: Budget, tick: Any) -> EigenSearch:
        return EigenSearch(
            self.eigen_solver,
            float(self.tol),
            self.max_iter,
            self.iterated_power,
            rng=lambda: as_generator(self.random_state),
            callback=tick,
            deadline=budget.deadline,
            max_memory=self.max_memory,
            announce=lambda sentence: warn_memory_fallback("KernelPCA", sentence),
        )

    def _fit_exact(self, kernel: Kernel, X: Any, given: Any, w: Any, search: EigenSearch) -> None:
        """The eigenpairs of the centred kernel matrix, and the inverse map if it is wanted."""
        kernel = kernel.resolve(X)
        found = kernel_components(kernel, X, w, self.n_components, search)
        values = self._kept_values(found.values)
        vectors = fix_signs(found.vectors[:, : values.shape[0]], w)
        copied = self.copy_X and not isinstance(kernel, Precomputed)
        rows = _own_rows(X, given) if copied else X
        axes, means = dual_axes(values, vectors), found.means
        linear = (
            linear_projection(rows, means.weights, axes) if isinstance(kernel, Linear) else None
        )
        if self.fit_inverse_transform:
            scores = (linear or KernelProjection(kernel, rows, means, axes))(rows)
            inverse = ridge_weights(kernel, scores, dense(X), w, self.alpha)
            self.X_transformed_fit_, self.dual_coef_ = scores, inverse
        self.kernel_, self.kernel_means_, self.solver_ = kernel, means, found.solver
        self.eigenvalues_, self.eigenvectors_, self.X_fit_ = values, vectors, rows
        self._linear = linear
        self._finish(found.found)

    def _fit_features(self, kernel: Kernel, X: Any, w: Any) -> None:
        """PCA of the features, from their moments."""
        made = Nystroem if self.approximation == "nystroem" else FourierFeatures
        phi = made(kernel, int(self.n_features), random_state=self.random_state).fit(X)
        found = self._pca_of_features(as_written(phi), X, w)
        values = self._kept_values(found.values)
        ref = None if is_streamed(X) or is_sparse(X) else X
        self.eigenvalues_, self.mean_ = owned_copy(values, ref), owned_copy(found.mean, ref)
        self.components_ = owned_copy(signed(found.directions[: values.shape[0], :]), ref)
        self.feature_map_, self.kernel_, self.solver_ = phi, phi.kernel_, str(self.approximation)
        self._finish(found.found)

    def _pca_of_features(self, features: Any, X: Any, w: Any) -> Spectrum:
        def moments(block: Any, v: Any = None) -> Moments:
            return Moments.of(features(block), v)

        sums = reduce_rows(moments, X, w, block_rows=feature_block(int(self.n_features)))
        m = sums.mean.shape[0]
        k = m if self.n_components is None else min(m, self.n_components)
        return primal(sums, k, SpectrumSearch(), round(sums.weight))

    def _kept_values(self, values: Any) -> Any:
        """The eigenvalues that stay: those above zero, where zeros are not wanted."""
        values = positive_part(values)
        if self.n_components is not None and not self.remove_zero_eig:
            return values
        xp = namespace(values)
        return values[: int(xp.sum(xp.astype(values > 0, xp.int64)))]

    def _finish(self, found: Solution) -> None:
        own = getattr(self.kernel_, "gamma", None) if self.gamma is None else self.gamma
        self.gamma_ = own if isinstance(own, RealNumber) else 1.0 / self.n_features_in_
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        warn_if_unfinished("KernelPCA", found, "Raise max_time or max_iter, or a larger tol.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.pairwise = True, is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k = None if self.n_components is None else min(n, self.n_components)
        if self.approximation is not None:
            m = min(self.n_features, n)
            seconds = (n * m * (d + m / 2) + 4.5 * m**3) / rates(
                4 if dtype == "float32" else 8
            ).multiply_adds
            size = 8.0 * (3 * m * m + BLOCK_ENTRIES)
            return self._costs(n, d, self.approximation, seconds, size)
        full = prefers_full(n, k)
        plan = plan_storage(
            n,
            d,
            dtype,
            max_memory=self.max_memory,
            copies=FULL_COPIES if full else 1.0,
            products=0 if full else 10,
            outputs=block_width(k or n, n),
            flops=4.5 * n**3 if full else 0.0,
        )
        fits = plan.fits and (plan.stores or not full)
        return Estimate("KernelPCA", n, d, plan.name, plan.seconds, plan.bytes, fits, plan.reason)


def _thread_count(n_jobs: int) -> int:
    """Threads meant by scikit-learn's n_jobs: -1 is all, -2 all but one."""
    return int(n_jobs) if n_jobs > 0 else max(1, n_threads() + 1 + int(n_jobs))


def _own_rows(X: Any, given: Any) -> Any:
    """The training rows, copied if they share memory with what was `given`."""
    shared = X is given or (is_numpy(X) and is_numpy(given) and np.may_share_memory(X, given))
    if not shared:
        return X
    return X.copy() if is_sparse(X) else namespace(X).asarray(X, copy=True)
