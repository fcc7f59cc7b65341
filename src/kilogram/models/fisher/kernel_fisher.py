"""Kernel Fisher discriminant: Fisher's discriminant in feature space, in n unknowns.

Objective    max_w  <w, S_B w> / <w, (S_W + alpha I) w>       over  w = sum_i a_i (phi(x_i) - mean)

The span of the solutions is the same whether S_W or the total S_T = S_W + S_B is inverted, because
S_B has no directions but the class means. So kernel ridge regression of the K centred class
indicators gives it,

    (K_c + W alpha I) A = Z,      K_c the centred kernel matrix, Z_ic = [c_i = c] - W_c / W,

one Cholesky factor of order n; within that span of K functions F = K_c A the Fisher problem is
K by K. Penalised is the norm |w|^2 = a'K a, so the linear kernel gives the linear discriminant;
the text's beta I on the coefficients a is another method without a linear version. In print the
between scatter subtracts one kappa kappa' per class where it must subtract N of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.linalg import cholesky_solve
from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_count
from kilogram.base import Budget, Estimator, Laws, as_written
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Dictionary,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.estimate import Estimate
from kilogram.base.gaussian_rule import GaussianRule, number_of_directions
from kilogram.base.generative import counted_rows
from kilogram.base.labels import codes_of, distinct_classes, validate_labels
from kilogram.kernels import Kernel, Precomputed, as_kernel
from kilogram.kernels.row_pairs import wide
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.fisher.fisher import FisherDiscriminant, directions
from kilogram.operators.centred import KernelMeans, centre
from kilogram.operators.cost import rates
from kilogram.operators.memory_plan import plan_storage
from kilogram.solvers.eigen.canonical import whitener
from kilogram.solvers.eigen.kernel_view import ridged_factor, view_scores


def span_of_means(K: Any, Z: Any, w: Any, alpha: float) -> tuple[Any, Any, KernelMeans]:
    """A (n, C) with F = K_c A spanning the discriminants, F itself, and the kernel's means.

    Weights w (n,), positive, or None.
    """
    xp = namespace(K)
    total = float(K.shape[0]) if w is None else float(xp.sum(w))
    means = KernelMeans.of(K, w)
    K = centre(K, means)
    root = xp.ones((K.shape[0], 1), dtype=K.dtype, device=K.device)
    if w is not None:
        root = xp.sqrt(w)[:, None]
        K *= root
        K *= root.T
    L = ridged_factor(K, total * alpha)
    A = cholesky_solve(L, root * Z)
    # K_c A = Z - W alpha A, both sides divided by the roots of the weights
    return root * A, Z - total * alpha * A / root, means


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, Estimator
):
    """Fisher's discriminant in the space of a kernel, regularised.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions to keep; None keeps all n_classes - 1.
    kernel : str, Kernel or callable, default="linear"
        The kernel.
    alpha : float, default=1e-3
        Ridge on the within-class covariance of the features, greater than 0.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    priors : (n_classes,) or None, default=None
        Class probabilities; None uses the class frequencies.
    rule : {"shared", "per_class"}, default="shared"
        One covariance for all classes in the projected space, or one for each.
    approximation : {None, "nystroem"}, default=None
        "nystroem": Fisher's discriminant on Nystroem features, for many rows.
    n_features : int, default=500
        Number of landmarks of the approximation.
    max_memory : int, str or None, default=None
        Memory limit for the kernel matrix.
    random_state : int, RandomState or None, default=None
        Seed or generator for the landmarks.

    Attributes
    ----------
    classes_ : (n_classes,)
        Class labels, sorted.
    priors_ : (n_classes,)
        Class probabilities used.
    dual_coef_ : (n, n_components)
        Coefficients of the training rows.
    eigenvalues_ : (n_components,)
        Value of the objective for each direction.
    X_fit_ : training rows.
    kernel_ : Kernel
        With its parameters set from the data.

    Examples
    --------
    >>> import kilogram as kg
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    >>> model = kg.KernelFisherDiscriminant(kernel=kg.Gaussian(sigma=0.5)).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    laws = Laws(
        block="the exact solution needs all rows in one kernel matrix; see approximation",
        example={"kernel": "rbf", "gamma": 0.3, "alpha": 0.01},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | Null(),
        # without a penalty every labelling is separable
        "alpha": Real(0.0, np.inf, "neither"),
        "kernel_params": Dictionary() | Null(),
        "priors": ArrayLike() | Null(),
        "rule": OneOf("shared", "per_class"),
        "approximation": OneOf("nystroem") | Null(),
        "n_features": Integer(1),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        alpha: float = 1e-3,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        priors: Any = None,
        rule: str = "shared",
        approximation: str | None = None,
        n_features: int = 500,
        max_memory: int | str | None = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.priors = priors
        self.rule = rule
        self.approximation = approximation
        self.n_features = n_features
        self.max_memory = max_memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Find the discriminants of the classes y of the rows X.

        Returns
        -------
        self
        """
        budget = Budget(None, self.max_memory)
        validated = validate_labels(self, X, y, sample_weight, min_samples=2)
        X, y, w = counted_rows(*validated)
        if is_streamed(X) and self.approximation is None:
            raise ValueError(
                "KernelFisherDiscriminant needs all rows in memory for its kernel matrix. Set "
                "approximation='nystroem' for Dask collections, Parquet files and iterators of "
                "blocks, or gather the rows in an array."
            )
        self.classes_ = distinct_classes(y)
        self.kernel_ = self._resolved_kernel(X)
        if self.approximation is not None:
            self._fit_features(X, y, w)
        else:
            self._check_memory(X.shape[0], budget)
            self._fit_exact(X, y, w)
        return self

    def _resolved_kernel(self, X: Any) -> Kernel:
        """The kernel with its parameters set from the data."""
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        if not isinstance(kernel, Precomputed) and not is_streamed(X):
            self._ensure_squares(X)
        return kernel.resolve(X)

    def _check_memory(self, n: int, budget: Budget) -> None:
        plan = plan_storage(n, 1, "float64", max_memory=budget.bytes, copies=1.1)
        if not plan.stores:
            raise MemoryError(
                f"KernelFisherDiscriminant stores a kernel matrix of {n:,} rows, "
                f"{human_bytes(8 * n * n)}, and {human_bytes(budget.bytes)} are allowed: set "
                "approximation='nystroem'."
            )

    def _fit_exact(self, X: Any, y: Any, w: Any) -> None:
        codes, C = codes_of(y, self.classes_), len(self.classes_)
        k = number_of_directions(self.n_components, C, X.shape[0] - 1)
        K = self.kernel_(wide(X))
        xp = namespace(K)
        members = like(np.eye(C)[codes], K)  # (n, C), one 1 in every row
        rows = xp.ones_like(members[:, 0]) if w is None else like(w, K)
        counts = rows @ members
        Z = members - counts / xp.sum(counts)
        A, F, means = span_of_means(K, Z, None if w is None else rows, float(self.alpha))
        W, centres = self._small_problem(A, F, members, rows, counts, k)
        self.dual_coef_, self.X_fit_, self.means_ = A @ W, X, means
        self._n_features_out = k
        self._finish(to_numpy(centres), to_numpy(counts), F @ W, y, w)

    def _small_problem(
        self, A: Any, F: Any, members: Any, rows: Any, counts: Any, k: int
    ) -> tuple[Any, Any]:
        """Fisher's problem in the span of C functions; the norm is A'K_c A = A'F."""
        total = namespace(counts).sum(counts)
        centres = ((members * rows[:, None]).T @ F) / counts[:, None]
        away = F - members @ centres
        within_span = (away * (rows / total)[:, None]).T @ away + self.alpha * (A.T @ F)
        T = whitener((within_span + within_span.T) / 2)
        W, self.eigenvalues_ = directions(T, centres, counts / total, k)
        return W, centres @ W

    def _finish(self, centres: Any, counts: Any, scores: Any, y: Any, w: Any) -> None:
        if self.rule == "shared":
            self.rule_ = GaussianRule.shared(self.classes_, centres, counts, self.priors)
        else:
            self.rule_ = GaussianRule.per_class(self.classes_, scores, y, w, self.priors)
        self.priors_ = self.rule_.priors

    def _fit_features(self, X: Any, y: Any, w: Any) -> None:
        m = min(int(self.n_features), row_count(X))
        basis = Nystroem(self.kernel_, n_components=m, random_state=self.random_state)
        self.map_ = basis.fit(X)
        linear = FisherDiscriminant(
            self.n_components, alpha=self.alpha, priors=self.priors, rule=self.rule
        )
        self.linear_ = linear.fit(map_rows(as_written(self.map_), X), y, sample_weight=w)
        self.eigenvalues_, self.priors_ = linear.eigenvalues_, linear.priors_
        self.rule_ = linear.rule_
        self._n_features_out = linear.scalings_.shape[1]

    def transform(self, X: Any) -> Any:
        """Scores of the rows, (n, n_components)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X
        if self.approximation is not None:
            return as_written(self.linear_)(map_rows(as_written(self.map_), X))
        return view_scores(self.kernel_, X, self.X_fit_, self.dual_coef_, self.means_)

    def decision_function(self, X: Any) -> Any:
        """Log-probability of each class up to a constant, (n, K); two classes: their difference."""
        scores = as_written(self)(X)
        return map_rows(self.rule_.decision, scores)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        scores = as_written(self)(X)
        return map_rows(self.rule_.predict, scores)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities under Gaussian classes in the projected space, (n, K)."""
        scores = as_written(self)(X)
        return map_rows(self.rule_.probabilities, scores)

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = (n**3 / 6 + n * n * d / 2) / rates(8).multiply_adds
        return self._costs(n, d, "one Cholesky factor", work, 8 * n * n)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
