"""Non-negative matrix factorisation: rows as sums of parts.

Objective    min_{W >= 0, H >= 0}  D(X, W H) + a_W p(W) + a_H p(H),    X (n, d), W (n, k), H (k, d)

    Frobenius   D = 1/2 sum_ij (x_ij - (WH)_ij)^2                        Gaussian noise
    Poisson     D = sum_ij x_ij log(x_ij / (WH)_ij) - x_ij + (WH)_ij     counts

The half matters: with it the gradients are W'WH - W'X and WHH' - XH', as the texts print them.
Multiplicative steps (Lee and Seung 1999) are gradient steps of length H / (W'WH), so what is
positive stays positive and what is 0 stays 0:

    H <- H * (W'X) / (W'WH)        H <- H * (W'(X / WH)) / (W'1)         then W, with the new H

`solver="cd"` minimises over one column of W, then of H, exactly, which ends far sooner. D never
rises, and ends in a local minimum: the start matters. Normalised, the Poisson factors are PLSA's
p(z|x) and p(word|z), and its steps EM's. Missing entries are filled by WH as it stands (EM).

References: Paatero and Tapper 1994; Lee and Seung 1999; Cichocki and Phan 2009; Ang and Gillis
2019; Mairal et al. 2010 (online).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import is_streamed, map_rows, row_count
from kilogram.base import Budget, Estimate, Estimator, Laws, warn_if_unfinished
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
from kilogram.base.projection import owned_copy
from kilogram.base.random_state import as_generator
from kilogram.base.validation.validate import validate_inverse_input
from kilogram.models.factorization.nmf_fitting import (
    About,
    block_loadings,
    check_loss,
    final_losses,
    given_factors,
    initial_factors,
    inspect_rows,
    loss_of,
    losses,
    rebuilt,
)
from kilogram.models.factorization.nmf_online import batch_step
from kilogram.models.factorization.nmf_updates import UpdateSettings, rules
from kilogram.operators.cost import rates
from kilogram.solvers.factorization.nmf import Plan, alternate
from kilogram.solvers.factorization.nmf_initialization import NAMES, Start
from kilogram.solvers.factorization.nmf_tables import table


class NMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Non-negative matrix factorisation, X ~ W H.

    Minimises ``1/2 |X - W H|^2`` (or the Poisson divergence) and penalties over W >= 0 and H >= 0.
    Takes scikit-learn's parameters; with sample weights, missing entries, `partial_fit`, sparse
    rows (never made dense), device arrays, streamed rows and Dask.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        The number k of parts; "auto" is that of H where it is given, else the number of columns.
        See `nmf_rank` for a choice by entries held out.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "acol", "custom"} or None, default=None
        Where to begin: random; from singular vectors (zeros kept, filled with the mean, or with
        small random numbers); means of random rows; W and H given to `fit_transform`, such as
        the centres of a `KMeans` for H. None is "nndsvda", or "random" where k exceeds min(n, d).
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent, or multiplicative updates.
    beta_loss : {"frobenius", "kullback-leibler"}, 2 or 1, default="frobenius"
        Squares, or the Poisson likelihood (for solver="mu").
    tol : float, default=1e-4
        "cd" ends when the projected gradient is this fraction of the first one; "mu" when the
        loss falls by less than this fraction of the first within ten iterations.
    max_iter : int, default=200
        Maximum number of iterations.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.
    alpha_W : float, default=0.0
        Penalty on W, multiplied by the number of columns.
    alpha_H : float or "same", default="same"
        Penalty on H, multiplied by the number (weight) of the rows. Penalise both factors or none:
        a penalty on one can be scaled away. With one on W alone, the components are found without
        it and have length 1, and the loadings are penalised.
    l1_ratio : float, default=0.0
        Fraction of the penalty on sums; the rest is on squares.
    verbose : int, default=0
        For compatibility with scikit-learn; progress goes through callbacks.
    shuffle : bool, default=False
        For compatibility with scikit-learn; the order of coordinates is fixed.
    missing : {"error", "em"}, default="error"
        What NaN in X means: an error, or an entry left out of the objective.
    forget_factor : float, default=0.7
        What a batch of `partial_fit` leaves of the sums over those before it; 1 forgets nothing.
    max_time : float or None, default=None
        Time limit in seconds; the fit then stops with the best result so far.

    Attributes
    ----------
    components_ : array of shape (k, d)
        Components H, also called parts.
    reconstruction_err_ : float
        sqrt(2 D): for "frobenius" the norm of X - WH.
    objective_ : float
        D and the penalties, with the best loadings for these parts.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    PCA : The best X ~ W H without the signs, in order of importance.
    nmf_rank : How many parts, by entries held out.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import NMF
    >>> X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [2.0, 3.0, 4.0]])
    >>> model = NMF(2, random_state=0, tol=1e-8, max_iter=1000).fit(X)
    >>> W = model.transform(X)
    >>> np.abs(X - W @ model.components_).max().round(4)
    np.float64(0.0)
    """

    laws: ClassVar[Laws] = Laws(
        shift="not centred: what is non-negative has its own origin",
        partial_fit="an online step: what comes later meets other parts, so the order counts",
        objective=True,
        budget=True,
        example={"n_components": 3, "max_iter": 2000, "tol": 1e-5},
        rtol=1e-4,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1) | OneOf("auto") | Null(),
        "init": OneOf("custom", *NAMES) | Null(),
        "solver": OneOf("cd", "mu"),
        "beta_loss": OneOf("frobenius", "kullback-leibler") | Real(1, 1) | Real(2, 2),
        "tol": Real(0, closed="left"),
        "max_iter": Integer(1),
        "random_state": RandomState(),
        "alpha_W": Real(0, closed="left"),
        "alpha_H": Real(0, closed="left") | OneOf("same"),
        "l1_ratio": Real(0, 1),
        "verbose": Integer(0) | Boolean(),
        "shuffle": Boolean(),
        "missing": OneOf("error", "em"),
        "forget_factor": Real(0, 1, closed="right"),
    }

    _sums: Any

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: str | None = None,
        solver: str = "cd",
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
        missing: str = "error",
        forget_factor: float = 0.7,
        max_time: float | None = None,
    ):
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle
        self.missing = missing
        self.forget_factor = forget_factor
        self.max_time = max_time

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, W: Any = None, H: Any = None
    ) -> Self:
        """Find the parts of the rows X (n, d); y is ignored."""
        self._fit(X, y, sample_weight, W, H)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, W: Any = None, H: Any = None
    ) -> Any:
        """Fit, and the loadings W (n, k) of the training rows.

        W and H are where to begin, for init="custom".
        """
        X, W = self._fit(X, y, sample_weight, W, H)
        return self._loadings(X) if W is None else W

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, W: Any, H: Any) -> Any:
        budget = Budget(self.max_time, None)
        check_loss(self.beta_loss, self.solver)
        X, _, s = self._validate(X, None, sample_weight, finite=False)
        about = inspect_rows(self, X, s, allow_missing=self.missing == "em")
        began = self._initial_factors(X, s, about, W, H)
        k = len(began.H)
        self._rules = rules(self._settings(), about, k, X)
        first = about.put(np.asarray(began.H, dtype=about.dtype))
        loadings = began.W if is_streamed(X) or is_sparse(X) else like(began.W, X)
        rows = table(X, loadings, s, about.missing > 0)
        plan = Plan(
            self._rules.rows,
            self._rules.columns,
            about.squares,
            int(self.max_iter),
            float(self.tol),
            about.missing > 0,
        )
        with ticking(self, "iteration", budget.deadline) as tick:
            found = alternate(rows, first, plan, tick)
        self.components_ = owned_copy(self._rules.scaled(found.value), None)
        self.n_components_ = self._n_features_out = k
        self.n_iter_, self._sums = found.n_iter, None
        W = self._measure(X, s, about)
        warn_if_unfinished(
            type(self).__name__, found, "Raise max_iter, max_time or tol to let it finish."
        )
        return X, W

    def _initial_factors(self, X: Any, s: Any, about: About, W: Any, H: Any) -> Start:
        """The factors to begin with: those given, or made by `init`."""
        k = None if self.n_components in (None, "auto") else int(self.n_components)
        if self.init == "custom":
            return given_factors(W, H, row_count(X), about.d, k)
        if W is not None or H is not None:
            raise ValueError(f"W and H are for init='custom', but init is {self.init!r}.")
        rng = as_generator(self.random_state)
        return initial_factors(self.init, X, s, about.d if k is None else k, about, rng)

    def _settings(self) -> UpdateSettings:
        alpha_H = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        return UpdateSettings(
            loss_of(self.beta_loss), self.solver, self.alpha_W, alpha_H, self.l1_ratio
        )

    def _measure(self, X: Any, s: Any, about: About) -> Any:
        """The loss with the best loadings for the parts found; those loadings, where at hand."""
        fit, extra, W = final_losses(
            X, s, self.components_, self._rules.final, about, self.missing == "em"
        )
        self.reconstruction_err_ = np.float64(np.sqrt(2 * max(fit, 0.0)))
        self.objective_ = float(fit + extra) + self._penalty()
        if not is_streamed(X):
            self._ensure_finite(np.array([self.objective_]), X)
        return W

    def _penalty(self) -> float:
        H, rule = np.asarray(to_numpy(self.components_)), self._rules.columns
        return float(rule.l1 * H.sum() + 0.5 * rule.l2 * (H * H).sum())

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One online step with a batch of rows: their loadings, then better parts.

        The first batch chooses where to begin, so let it have more rows than there are parts.
        """
        check_loss(self.beta_loss, self.solver)
        first = not hasattr(self, "components_")
        X, _, s = self._validate(X, None, sample_weight, finite=False, reset=first)
        about = inspect_rows(self, X, s, allow_missing=self.missing == "em")
        if first or not to_numpy(self.components_).any():  # of rows of zeros nothing is learnt
            began = self._initial_factors(X, s, about, None, None)
            self.components_ = about.put(np.asarray(began.H, dtype=about.dtype))
            self.n_components_ = self._n_features_out = len(began.H)
            self._rules = rules(self._settings(), about, len(began.H))
            self._sums, self.n_iter_ = None, 0
        self.components_, self._sums = batch_step(
            X,
            s,
            self.components_,
            self._rules,
            self._sums,
            forget_factor=float(self.forget_factor),
            missing=self.missing == "em",
        )
        self.n_iter_ += 1
        return self

    def transform(self, X: Any) -> Any:
        """The loadings of rows: the best w >= 0 for the parts as they are, (n, k)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False, finite=False).X
        return map_rows(self._checked_loadings, X) if is_streamed(X) else self._checked_loadings(X)

    def _checked_loadings(self, X: Any) -> Any:
        """The loadings of rows, or of a block of them, that may have any entries."""
        if X.shape[0]:
            inspect_rows(self, X, None, allow_missing=self.missing == "em")
        return self._loadings(X)

    def _loadings(self, X: Any) -> Any:
        rule, holes = self._rules.final, self.missing == "em"
        loadings = partial(block_loadings, H=self.components_, rule=rule, missing=holes)
        return map_rows(loadings, X)

    def inverse_transform(self, X: Any) -> Any:
        """The rows that have these loadings: W H, (n, d)."""
        check_is_fitted(self)
        H, k = self.components_, self.n_components_
        X = validate_inverse_input(self, X, k, "loadings", "parts", sparse=True)
        return map_rows(partial(rebuilt, H=H), X)

    def objective(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """D and the penalties, with the best loadings of these rows."""
        check_is_fitted(self)
        X, _, s = self._validate(X, None, sample_weight, reset=False, finite=False)
        rule, holes = self._rules.final, self.missing == "em"
        return float(losses(X, s, self.components_, rule, holes).sum()) + self._penalty()

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size = 4 if dtype == "float32" else 8
        k = d if self.n_components in (None, "auto") else int(self.n_components)
        work = 50.0 * 4.0 * n * d * k / rates(size).multiply_adds / 2
        return self._costs(n, d, "50 alternating updates", work, size * (n * d + (n + d) * k))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "em"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
