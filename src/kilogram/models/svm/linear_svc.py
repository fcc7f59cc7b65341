"""Linear support vector classification; `svc` has the kernel version.

Objective    min_w  1/2 |w~|^2 + sum_i C_i loss(1 - y_i <w~, x~_i>),    x~ = [x, intercept_scaling]

    loss(m) = max(0, m)^2    squared hinge, Newton's method on the active rows
              max(0, m)      hinge, through smoothed hinges, or in the dual

The intercept is the coefficient of a constant column and penalised with the others, as in LIBLINEAR
and scikit-learn (a larger `intercept_scaling` weakens that); `penalize_intercept=False` leaves it
free, and the machine is then `SVC` with the linear kernel. More than two classes are one-vs-rest.
penalty="l1" replaces 1/2 |w~|^2 by sum_j |w~_j|.

`linear_solvers` chooses the solver. The gradient and Hessian are sums over rows, so the same Newton
steps run on blocks, on Dask and on device arrays.

References: Keerthi and DeCoste 2005; Hsieh et al. 2008; Fan et al. 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.base import Laws, Twin, ValidatedData
from kilogram.base.constraints import Constraint, Dictionary, Null, OneOf
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import class_weights, distinct_classes, signs, validate_labels
from kilogram.base.linear import LinearClassifier
from kilogram.functions.hinge_losses import Hinge
from kilogram.models.svm.linear_machine import LinearMachine
from kilogram.models.svm.linear_solvers import (
    LinearSolution,
    fit_in_memory,
    fit_streaming,
    in_arrays,
)
from kilogram.solvers.newton.newton import GapStop

LOSSES = {"squared_hinge": Hinge(), "hinge": Hinge().smoothed(0.5)}


class LinearSVC(LinearClassifier, LinearMachine):
    """Linear support vector classifier for many rows.

    Minimises ``1/2 |w|^2 + sum_i C_i loss(1 - y_i f(x_i))``. Takes scikit-learn's parameters and
    reaches its optimum by multi-threaded Newton steps; `penalize_intercept`,
    `warm_start` and `max_time` are Kilogram's.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        Penalty of the coefficients; "l1" makes many of them zero and goes with the squared hinge.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of the margin violations.
    dual : bool or "auto", default="auto"
        True: dual coordinate descent; False: Newton's method in the primal; "auto": the dual for
        the hinge with more than 3 000 features and, at first, with up to 20 000 rows. The optimum
        is the same.
    tol : float, default=1e-4
        Largest duality gap at the end, relative to the objective.
    C : float, default=1.0
        Penalty of a margin violation, greater than 0; times the weights of the row and its class.
    multi_class : {"ovr"}, default="ovr"
        For compatibility with scikit-learn; classes are fitted one against the rest.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1
        The constant column that carries the intercept.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes.
    verbose : int, default=0
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    random_state : int, RandomState or None, default=None
        Order of the rows in dual coordinate descent.
    max_iter : int, default=1000
        Largest number of Newton steps, or passes of coordinate descent, of a machine.
    penalize_intercept : bool, default=True
        False leaves the intercept out of the penalty.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C for the classes.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the decision or regression function.
    n_iter_ : int
        Maximum number of iterations of a machine.
    objective_ : float
        The objective at the solution, summed over the machines.
    dual_gap_ : float
        Duality gap, summed over the machines: an upper bound of the distance to the optimum.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    SVC : The same with any kernel.
    LinearSVR : Regression.

    Examples
    --------
    >>> from kilogram import LinearSVC
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> model = LinearSVC().fit(X, y)
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **LinearMachine.parameter_constraints,
        "penalty": OneOf("l1", "l2"),
        "loss": OneOf("squared_hinge", "hinge"),
        "multi_class": OneOf("ovr"),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        twin=Twin(
            "SVC",
            kernel_params={"slack": 2, "multi_class": "ovr", "tol": 1e-10},
            linear_params={"penalize_intercept": False},
        ),
        shift="the intercept is penalised, as in scikit-learn, so the origin matters",
        objective=True,
        budget=True,
        example={"tol": 1e-14},
        budget_example={"loss": "hinge"},
        rtol=1e-6,
    )

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        warm_start: bool = False,
        max_time: float | None = None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.warm_start = warm_start
        self.max_time = max_time

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> ValidatedData:
        if self.penalty == "l1" and (
            self.loss != "squared_hinge" or (self.dual != "auto" and self.dual)
        ):
            raise ValueError(
                "penalty='l1' needs loss='squared_hinge' and dual=False or 'auto', got "
                f"loss={self.loss!r} and dual={self.dual!r}."
            )
        data = validate_labels(self, X, y, sample_weight)
        self.classes_ = distinct_classes(data.y)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, data.y)
        return data

    def _solve(
        self, rows: ValidatedData, stop: GapStop, factors: Sequence[float]
    ) -> list[LinearSolution]:
        X, y, w = rows
        loss, t = LOSSES[self.loss], 1 if len(self.classes_) == 2 else len(self.classes_)
        settings = self._linear_settings()
        if in_arrays(X):
            Y, C = signs(y, self.classes_), self._row_penalties(to_numpy(y), w)
            start = self._start(t, X.shape[1])
            return fit_in_memory(settings, X, Y, C, loss, stop, start, factors)
        if self.penalty == "l1":
            raise ValueError("penalty='l1' needs the rows in memory as NumPy or SciPy arrays.")

        def prepare(block: Any, labels: Any, weights: Any) -> tuple[Any, Any]:
            Y = signs(labels, self.classes_)
            C = np.repeat(self._row_penalties(to_numpy(labels), weights)[:, None], t, axis=1)
            return (Y, C) if is_sparse(block) else (like(Y, block), like(C, block))

        return fit_streaming(settings, rows, prepare, loss, t, stop, factors)

    def _row_penalties(self, y: Any, w: Any) -> np.ndarray:
        """C_i of the rows."""
        C = float(self.C) * self.class_weight_[np.searchsorted(self.classes_, y)]
        return C if w is None else C * to_numpy(w).astype(np.float64)

    def objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the fitted machines on the rows given, summed over the machines.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        value : float
        """
        check_is_fitted(self)
        X, y, w = validate_labels(self, X, y, sample_weight, reset=False)
        f = to_numpy(self.decision_function(X)).astype(np.float64).reshape(len(y), -1)
        loss = LOSSES[self.loss].limit(signs(y, self.classes_), f)
        settings = self._linear_settings()
        penalty = settings.penalties(self.coef_.shape[1])
        b = np.asarray(self.intercept_, dtype=np.float64) / (settings.constant or 1.0)
        W = np.column_stack([self._dense_coef(), b]).astype(np.float64)
        size = np.abs(W) @ penalty if self.penalty == "l1" else 0.5 * (W * W) @ penalty
        return float(np.sum(size) + np.sum(self._row_penalties(y, w) @ loss))
