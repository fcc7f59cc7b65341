"""Principal component analysis; its kernel version is in kernel_pca.py.

Objective    max_V  tr(V S V')   subject to  V V' = I,     S = sum_i w_i (x_i - m)(x_i - m)'

Solution     S v = lambda v: the rows of V are the eigenvectors of the largest eigenvalues;
             the variance along v is lambda / (W - 1), W = sum_i w_i.
Scores       z = V (x - m)               uncorrelated, of variance lambda / (W - 1)
Back         x ~ m + V'z                 the same V minimises the squared error of this, which is
                                         the sum of the eigenvalues left out
Whitened     z / sqrt(variance)          covariance I

S is a sum over rows, so one block, many blocks, `partial_fit` and a Dask cluster reach the same V;
solver_choice.py chooses the solver when S is too large; missing_values.py treats missing values.

References: Pearson 1901; Hotelling 1933; Tipping and Bishop 1999.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import is_streamed, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, Twin, warn_if_unfinished
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.projection import LinearSubspace, owned_copy, signed, storage_reference
from kilogram.base.random_state import as_generator
from kilogram.models.pca.probabilistic import PCADensity
from kilogram.models.pca.solver_choice import (
    AUTO_TOL,
    NAMES,
    PCAProblem,
    choose,
    components_asked,
    cost,
    decompose,
    effective_row_count,
    final_count,
    spectrum_so_far,
)
from kilogram.models.pca.solvers import Spectrum, SpectrumSearch, WeightedRows
from kilogram.operators.cost import rates
from kilogram.statistics import Moments


class PCA(ClassNamePrefixFeaturesOutMixin, LinearSubspace, PCADensity, TransformerMixin, Estimator):
    """Principal component analysis: the orthogonal directions of largest variance.

    Maximises ``tr(V S V')`` over orthonormal V, with S the scatter matrix of the centred rows.
    Takes scikit-learn's parameters and gives its components and signs; for arrays of any library of
    the array API, sparse matrices (never made dense), data frames, memory maps, Parquet files,
    iterables of blocks and Dask collections.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        How many components to keep: a number; the fewest that explain more than this fraction of
        the variance, for a float between 0 and 1; the most probable number ("mle", Minka's
        evidence); or all, min(n, d) of them.
    copy : bool, default=True
        For compatibility with scikit-learn: X is never overwritten, so there is nothing to copy.
    whiten : bool, default=False
        Divide the scores by their standard deviations.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        How the axes are computed; `solver_` is the solver used.

        - "auto": by shape. The smaller of the d x d scatter matrix and the n x n matrix of inner
          products; block Lanczos on products with X where both would be large, or X is sparse;
        - "full": SVD of the centred rows through QR, block by block. Slower; small variances keep
          their digits where the scatter matrix would square the condition number;
        - "covariance_eigh": the d x d scatter matrix, whatever the shape;
        - "arpack": Lanczos to the tolerance `tol`;
        - "randomized": subspace iteration with `iterated_power` passes over the rows.
    tol : float, default=0.0
        Largest residual of a component relative to its variance, for Lanczos ("arpack"; "auto" asks
        for no more than 1e-6). 0 is as far as the precision goes. For `missing="em"`: the smallest
        gain in log-likelihood per value that is worth a further iteration (0: 1e-9).
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized": "auto" is 7 for few components, 4 otherwise.
    n_oversamples : int, default=10
        Random vectors of "randomized" beyond the number of components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How "randomized" keeps its vectors apart between passes; "auto" is "QR".
    random_state : int, RandomState or None, default=None
        Seed of the random vectors that "arpack" and "randomized" start from.
    missing : {"error", "em"}, default="error"
        What NaN in X means: an error, or a value to be integrated out (probabilistic PCA by EM),
        in `fit` and in every later use. Needs fewer components than columns.
    max_time : float or None, default=None
        Seconds after which an iterative solver stops where it is, with a warning.
    max_memory : int, str or None, default=None
        Bytes ("4GiB") that square matrices may take; Lanczos takes over where they would not fit.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        The principal axes V, largest variance first; their largest loading is positive.
    explained_variance_ : array of shape (n_components,)
        The variances along them, with divisor n - 1 (total weight - 1).
    explained_variance_ratio_ : array of shape (n_components,)
        Their fractions of the total variance.
    singular_values_ : array of shape (n_components,)
        The singular values of the centred rows: roots of the eigenvalues of S.
    mean_ : array of shape (d,)
        The mean of the rows.
    n_components_ : int
        The number of components kept.
    n_samples_ : int
        The number of rows seen, counted with their weights.
    noise_variance_ : float
        The mean variance of the directions left out.
    solver_ : str
        The solver used: "primal", "dual", "krylov", "randomized", "svd" or "em".
    n_iter_ : int
        Iterations of an iterative solver; 0 for a direct one.
    converged_ : bool
        Whether the tolerance was met.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Notes
    -----
    Weights count rows: a weight of 2 is the row twice, so they must sum to more than 1.

    See Also
    --------
    KernelPCA : The same objective after a non-linear map, in the coordinates of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import PCA
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> model = PCA().fit(X)
    >>> model.components_.round(3)
    array([[1., 0.],
           [0., 1.]])
    >>> model.explained_variance_ratio_
    array([0.8, 0.2])
    >>> float(PCA(1).fit(X).reconstruction_error(X).sum())
    2.0

    Missing values are replaced by what is expected given the others:

    >>> X = np.outer([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, -1.0])
    >>> X[2, 1] = np.nan
    >>> model = PCA(1, missing="em").fit(X)
    >>> model.denoise(X)[2].round(3)
    array([ 3.,  6., -3.])
    """

    laws: ClassVar[Laws] = Laws(
        twin=Twin(
            "KernelPCA", kernel_params={"n_components": 3}, linear_params={"n_components": 3}
        ),
        partial_fit=True,
        budget="the iterative solvers are for more columns than this law has; see test_pca.py",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(0) | Real(0, 1, closed="neither") | OneOf("mle") | Null(),
        "copy": Boolean(),
        "whiten": Boolean(),
        "svd_solver": OneOf("auto", *NAMES),
        "tol": Real(0, closed="left"),
        "iterated_power": Integer(0) | OneOf("auto"),
        "n_oversamples": Integer(1),
        "power_iteration_normalizer": OneOf("auto", "QR", "LU", "none"),
        "random_state": RandomState(),
        "missing": OneOf("error", "em"),
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        missing: str = "error",
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.missing = missing
        self.max_time = max_time
        self.max_memory = max_memory

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the principal axes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        y : ignored
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the principal axes and return the scores of the rows on them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        y : ignored
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        Z : array of shape (n, n_components)
        """
        return self._scores(self._fit(X, sample_weight))

    def _fit(self, X: Any, sample_weight: Any) -> Any:
        """Fit, and return the validated rows."""
        budget = Budget(self.max_time, self.max_memory)
        X, _, w = self._validate(X, None, sample_weight, finite=False, min_samples=2)
        with ticking(self, "iteration", budget.deadline) as tick:
            spectrum = decompose(self._problem(WeightedRows(X, w), budget, tick))
        self.__dict__.pop("moments_", None)  # they belong to rows of earlier calls
        self._remember(spectrum, X)
        return X

    def _problem(self, rows: WeightedRows, budget: Budget, tick: Any) -> PCAProblem:
        tol = float(self.tol)
        search = SpectrumSearch(
            tol=max(tol, AUTO_TOL) if self.svd_solver == "auto" else tol,
            n_oversamples=int(self.n_oversamples),
            n_iter=self.iterated_power,
            normaliser=self.power_iteration_normalizer,
            rng=lambda: as_generator(self.random_state),  # few solvers need one
            callback=tick,
            deadline=budget.deadline,
        )
        return PCAProblem(
            rows,
            self.n_components,
            self.svd_solver,
            search,
            self._allows_missing,
            memory=lambda: budget.bytes,
            ensure_finite=lambda statistic: self._ensure_finite(statistic, rows.X),
            ensure_squares=lambda: self._ensure_known_squares(rows.X),
        )

    def _ensure_known_squares(self, X: Any) -> None:
        """Refuse rows whose known values are finite, but whose squares are not."""
        if not (is_streamed(X) or is_sparse(X)):
            xp = namespace(X)
            self._ensure_squares(xp.where(xp.isnan(X), xp.zeros_like(X), X))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen by earlier calls of `partial_fit` and decompose them all.

        Only the moments of the rows are kept (`moments_`), so any number of rows may pass. Until
        there are as many rows as components asked for, there are fewer components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        first = self._begins_anew("moments_", "components_")
        X, _, w = self._validate(X, None, sample_weight, finite=False, reset=first)
        new = reduce_rows(Moments.of, X, w)
        self._ensure_finite(new.scatter, X)
        rows = effective_row_count(X, w) + (0 if first else self.n_samples_)
        self.moments_: Moments = new if first else self.moments_ + new
        found = spectrum_so_far(self.n_components, self.svd_solver, self.moments_, rows, X)
        self._remember(found, X)
        return self

    def _remember(self, found: Spectrum, X: Any) -> None:
        """Store the spectrum, in the library and float type of the rows."""
        self._ensure_felt(X, found.total)
        freedom = found.weight - 1
        if freedom <= 0 and not hasattr(self, "moments_"):
            raise ValueError(
                f"the weights sum to {found.weight:g}, but they count rows and must sum to more "
                "than 1: multiply them by a number (by n, if they sum to 1)."
            )
        ref = storage_reference(X)
        k = final_count(self.n_components, found)
        values = found.values[:k]
        side = min(int(found.mean.shape[0]), found.rows)
        rest = max(found.total - float(namespace(values).sum(values)), 0.0)
        variance = 1.0 / freedom if freedom > 0 else 0.0
        self.mean_ = owned_copy(found.mean, ref)
        self.components_ = signed(owned_copy(found.directions[:k, :], ref))
        self.explained_variance_ = owned_copy(values * variance, ref)
        self.explained_variance_ratio_ = owned_copy(values / (found.total or 1.0), ref)
        self.singular_values_ = owned_copy(namespace(values).sqrt(values), ref)
        self.noise_variance_ = rest * variance / (side - k) if k < side else 0.0
        self.n_components_, self.n_samples_, self.solver_ = k, found.rows, found.solver
        self.n_iter_, self.converged_ = found.found.n_iter, found.found.converged
        warn_if_unfinished("PCA", found.found, "Raise max_time, or ask for a larger tol.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._allows_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        k = components_asked(self.n_components, n, d, self.svd_solver)
        memory = Budget(None, self.max_memory).bytes
        solver = NAMES.get(self.svd_solver) or choose(n, d, k, sparse=False, memory=lambda: memory)
        work, used = cost(solver, n, d, k or min(n, d))
        seconds = work / rates(4 if dtype == "float32" else 8).multiply_adds
        return self._costs(n, d, solver, seconds, used)
