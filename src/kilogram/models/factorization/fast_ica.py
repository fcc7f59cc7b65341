"""Independent component analysis: the sources that were mixed, known by not being Gaussian.

Model        x - m = A s,  the entries of s independent, of variance 1
Objective    min_M  sum_k H(s_k) - log |det M|,     s = M (x - m)       the dependence left

White rows z = L^-1/2 V'(x - m), with covariance V L V', leave M = W L^-1/2 V' with W a rotation:
the determinant is constant, and of the entropies the Gaussian's is the largest. So

    max_W  sum_k J(w_k'z),     J(u) ~ (E G(u) - E G(Gaussian))^2,     W W' = I

FastICA finds the extrema of E G by Newton's method, w <- E g(w'z) z - E g'(w'z) w, symmetrically or
one direction after the other. Sign and order of the sources are not determined, and two Gaussian
sources cannot be distinguished. Sums over the rows are all it needs: blocks, streams and Dask do.

References: Comon 1994; Hyvarinen and Oja 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, reduce_rows
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Dictionary,
    Function,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.projection import Projection, owned_copy, storage_reference
from kilogram.base.random_state import as_generator
from kilogram.base.validation.validate import validate_inverse_input
from kilogram.models.factorization.whitening import (
    Whitening,
    block_sums,
    contrast_of,
    whitening,
)
from kilogram.native.factorization import CONTRASTS
from kilogram.operators.cost import rates
from kilogram.solvers.factorization.fast_ica import ALGORITHMS, Contrast
from kilogram.statistics import Moments

SINGLE = 0.01 * float(np.finfo(np.float32).max)


class FastICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Independent component analysis by FastICA.

    Minimises ``sum_k H(s_k) - log |det M|`` over M, the dependence that is left between the sources
    s = M (x - m); on white rows M is a rotation, and the sources are made as non-Gaussian as
    possible.
    Takes scikit-learn's parameters; with sample weights, sparse rows, device arrays, streamed rows
    and Dask.

    Parameters
    ----------
    n_components : int or None, default=None
        Sources to find; None is all, as many as the rows have directions.
    algorithm : {"parallel", "deflation"}, default="parallel"
        All sources together, or one after the other.
    whiten : {"unit-variance", "arbitrary-variance", False}, default="unit-variance"
        Sources of variance 1, of variance 1 / n, or rows that are white already.
    fun : {"logcosh", "exp", "cube"} or callable, default="logcosh"
        The contrast G: log cosh(a u) / a for most sources, -exp(-u^2 / 2) for heavy tails and
        outliers, u^4 / 4 (kurtosis). A function of u (k, n) returns g(u) and the means of g'(u).
    fun_args : dict or None, default=None
        {"alpha": a} with a between 1 and 2, or arguments for the function.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        Ends when |w_new'w_old| of every direction is 1 up to this.
    w_init : array of shape (n_components, n_components) or None, default=None
        The first rotation; random where None.
    whiten_solver : {"svd", "eigh"}, default="svd"
        For compatibility with scikit-learn; white rows come from the moments in either case.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    max_time : float or None, default=None
        Time limit in seconds; the fit then stops with the best result so far.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        M: the sources are M (x - m).
    mixing_ : array of shape (d, n_components)
        A, the pseudo-inverse of `components_`.
    mean_ : array of shape (d,)
        Means of the features.
    whitening_ : array of shape (n_components, d)
        Before the rotation, scaled as in scikit-learn: L^-1/2 V' / sqrt(n).
    negentropy_ : array of shape (n_components,)
        (E G(s_k) - E G(Gaussian))^2, for the named contrasts: how far from Gaussian a source is.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PCA : Uncorrelated directions, which do not separate what was mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import FastICA
    >>> rng = np.random.default_rng(0)
    >>> S = np.c_[rng.uniform(-1, 1, 2000), rng.laplace(size=2000)]
    >>> X = S @ np.array([[1.0, 0.5], [0.3, 1.0]])
    >>> found = FastICA(random_state=0).fit_transform(X)
    >>> np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1).round(2)
    array([1., 1.])
    """

    laws: ClassVar[Laws] = Laws(
        budget=True,
        example={"n_components": 3, "random_state": 0, "max_iter": 2000, "tol": 1e-12},
        rtol=1e-5,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | Null(),
        "algorithm": OneOf(*ALGORITHMS),
        "whiten": OneOf("unit-variance", "arbitrary-variance", False),
        "fun": OneOf(*CONTRASTS) | Function(),
        "fun_args": Dictionary() | Null(),
        "max_iter": Integer(1),
        "tol": Real(0, closed="left"),
        "w_init": ArrayLike() | Null(),
        "whiten_solver": OneOf("svd", "eigh"),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: str = "parallel",
        whiten: Any = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: Any = None,
        whiten_solver: str = "svd",
        random_state: Any = None,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.random_state = random_state
        self.max_time = max_time

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the sources of the rows X (n, d); y is ignored."""
        budget = Budget(self.max_time, None)
        X, _, s = self._validate(X, None, sample_weight, finite=False, min_samples=2)
        contrast = contrast_of(self.fun, self.fun_args)
        moments = reduce_rows(Moments.of, X, s)
        self._ensure_finite(moments.scatter, X)
        self._ensure_felt(X, namespace(moments.scatter).linalg.trace(moments.scatter), np.float64)
        white = whitening(moments, self.n_components, bool(self.whiten))
        if str(getattr(X, "dtype", "")).endswith("float32") and np.abs(white.K).max() > SINGLE:
            raise ValueError(
                "FastICA: the variances of X are too small to whiten it in float32. "
                "Multiply X by a large number first."
            )
        sums = self._sums(X, s, white, contrast)
        run = ALGORITHMS[self.algorithm]
        with ticking(self, "iteration", budget.deadline) as tick:
            found = run(sums, self._first(len(white.K)), int(self.max_iter), float(self.tol), tick)
        last = sums(found.value)
        if not callable(contrast.fun):
            self.negentropy_ = (last.value / last.weight - contrast.of_gaussian()) ** 2
        self._keep(X, white, found.value)
        self.n_iter_ = found.n_iter
        warn_if_unfinished(
            type(self).__name__, found, "Raise max_iter, max_time or tol, or ask for fewer sources."
        )
        return self

    def _sums(self, X: Any, s: Any, white: Whitening, contrast: Contrast) -> Any:
        """Directions -> sums over the rows; white rows are kept where they fit in memory."""
        sums = partial(block_sums, contrast=contrast)
        if is_streamed(X):
            return lambda W: reduce_rows(partial(sums, M=W, white=white), X, s)
        Z = map_rows(white, X)
        return lambda W: reduce_rows(partial(sums, M=W), Z, s)

    def _first(self, k: int) -> np.ndarray:
        if self.w_init is None:
            return np.asarray(as_generator(self.random_state).standard_normal((k, k)))
        W = np.asarray(to_numpy(self.w_init), dtype=np.float64)
        if W.shape != (k, k):
            raise ValueError(
                f"w_init has invalid shape -- should be {(k, k)}, got {W.shape}: one row and one "
                "column for every source."
            )
        if not np.isfinite(W).all() or np.linalg.matrix_rank(W) < k:
            raise ValueError("w_init must be finite and of full rank.")
        return W

    def _keep(self, X: Any, white: Whitening, W: np.ndarray) -> None:
        ref, root = storage_reference(X), white.weight**0.5
        scale = root if self.whiten == "arbitrary-variance" else 1.0
        self.components_ = owned_copy(W @ white.K / scale, ref)
        self.mixing_ = owned_copy(white.back @ W.T * scale, ref)
        self._far = white.far
        self._n_features_out = len(W)
        if self.whiten:
            self.mean_ = owned_copy(white.mean, ref)
            self.whitening_ = owned_copy(white.K / root, ref)

    def transform(self, X: Any, copy: bool = True) -> Any:
        """The sources of rows, M (x - m): (n, n_components). `copy` is scikit-learn's; X stays."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=False).X
        M = self.components_
        S = map_rows(Projection(self._centre(), M, None, self._far), X)
        if not is_streamed(X):
            self._ensure_finite(S, X)
        return S

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:
        """The rows that have these sources: m + A s, (n, d)."""
        check_is_fitted(self)
        A = self.mixing_
        X = validate_inverse_input(self, X, A.shape[1], "sources", "sources")
        return map_rows(partial(_mixed, A=A, m=self._centre()), X)

    def _centre(self) -> Any:
        return self.mean_ if self.whiten else 0.0 * self.mixing_[:, 0]

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        k = min(n, d) if self.n_components is None else self.n_components
        work = (n * d * d + 20.0 * 2 * n * k * (k + 8)) / rates(size).multiply_adds
        return self._costs(n, d, "20 iterations on white rows", work, size * n * (d + k))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mixed(block: Any, A: Any, m: Any) -> Any:
    return block @ like(A, block).T + like(m, block)
