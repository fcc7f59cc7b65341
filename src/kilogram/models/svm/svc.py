"""Support vector classification with kernels; `linear_svc` has the linear version.

Objective    min_{w, b}  1/2 |w|^2 + sum_i C_i xi_i^k
             y_i (<w, phi(x_i)> + b) >= 1 - xi_i,  xi_i >= 0

Dual         min_a  1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) - sum_i a_i,   sum_i a_i y_i = 0
             k = 1: 0 <= a_i <= C_i;    k = 2: 0 <= a_i, with 1/(2 C_i) added to k(x_i, x_i)

Decision     f(x) = sum_i a_i y_i k(x_i, x) + b

KKT          a_i = 0: y_i f(x_i) >= 1;   0 < a_i < C_i: y_i f(x_i) = 1;   a_i = C_i: y_i f(x_i) <= 1

b is the mean over the free support vectors (0 < a_i < C_i) only; with none of them, the middle of
the feasible interval. C = inf is the hard margin, an error where no hyperplane separates.

References: Cortes and Vapnik 1995; Platt 1998; Fan, Chen and Lin 2005.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from kilogram.arrays.namespace import to_numpy
from kilogram.arrays.rows import map_rows
from kilogram.base import Laws
from kilogram.base.constraints import Boolean, Constraint, Dictionary, Null, OneOf, RandomState
from kilogram.base.fitted import check_is_fitted
from kilogram.base.labels import class_weights, distinct_classes, largest, validate_labels
from kilogram.base.random_state import as_generator
from kilogram.kernels import Precomputed
from kilogram.models.svm.kernel_machine import KernelMachine, SMOSettings, in_memory
from kilogram.models.svm.multiclass import one_vs_rest_values, packed, unpacked, votes
from kilogram.models.svm.probability import class_probabilities, cross_validated_calibration
from kilogram.models.svm.svc_solver import (
    FittedMachines,
    LabelledRows,
    PenalisedRows,
    drop_weightless,
    fit_binary_problems,
    penalties,
    primal_objective,
)


def _has_probability(model: SVC) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba is available with probability=True only")
    return True


class SVC(ClassifierMixin, KernelMachine):
    """Support vector classifier with any kernel, by multi-threaded block SMO.

    Minimises ``1/2 |w|^2 + sum_i C_i xi_i^slack`` over hyperplanes in the feature space of the
    kernel. Takes scikit-learn's parameters and reaches its optimum; those from `slack` on are
    Kilogram's.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of a margin violation, greater than 0; inf is the hard margin. The penalty of row i
        is C times its sample weight times the weight of its class.
    kernel : str, Kernel or callable, default="rbf"
        A name as in scikit-learn, "precomputed", a Kilogram kernel, or a function of two tables
        of rows that returns their kernel matrix.
    degree : int, default=3
        Degree of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels given by name that have one: 1 / (d var(X)) with rows counted by their
        weights, 1 / d, or the number. A Kernel object has its own parameters.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid".
    shrinking : bool, default=True
        Where many support vectors are free, leave all other rows out of the gradient until a set
        of twice as many is solved. The solution meets `tol` on all rows either way.
    probability : bool, default=False
        Also calibrate probabilities, on decision values of a five-fold cross-validation. With
        more than two classes `predict` then returns the most probable class.
    tol : float, default=1e-3
        Largest violation of the KKT conditions at the end.
    cache_size : float, default=200
        Megabytes for kernel rows, at least; without `max_memory` more is taken if it is free.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for the classes.
    verbose : bool, default=False
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    max_iter : int, default=-1
        Largest number of pair steps of a binary machine; -1 is max(10 million, 100 n).
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of the decision values of one-vs-one machines: one per class or one per pair.
    break_ties : bool, default=False
        Among classes with equally many votes, predict the one with the largest decision value
        instead of the first.
    random_state : int, RandomState or None, default=None
        Seed or generator for the folds of `probability`.
    slack : {1, 2}, default=1
        Power of the slack: the hinge, or its square.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one, as in scikit-learn, or one-vs-rest.
    warm_start : bool, default=False
        Start from the dual point of the previous fit, if it was on as many rows and classes.
    max_time : float or None, default=None
        Seconds after which the fit stops with the solution reached.
    max_memory : int, str or None, default=None
        Bytes, or a string such as "4GiB", that the fit may use.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C for the classes.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, class by class.
    support_vectors_ : array of shape (n_SV, d)
        Those rows, in the library of X; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV) or (n_machines, n_SV)
        a_i y_i; for several classes in scikit-learn's layout, or one row per class with "ovr".
    coef_ : ndarray of shape (n_machines, d)
        Coefficients w; for the linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        Intercept b.
    kernel_ : Kernel
        The kernel with the values of its parameters.
    fit_status_ : int
        0 if every machine met `tol`, else 1.
    n_iter_ : ndarray of shape (n_machines,)
        Number of SMO steps on pairs of variables.
    objective_ : float
        The objective at the solution, summed over the machines.
    dual_gap_ : float
        Duality gap, summed over the machines: an upper bound of the distance to the optimum.
    kkt_violation_ : float
        Largest violation of the KKT conditions (the KKT residual of the certificate).
    shape_fit_ : tuple
        Shape of the training rows.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import SVC
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    >>> model.support_
    array([0, 2], dtype=int32)
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **KernelMachine.parameter_constraints,
        "probability": Boolean(),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
        "decision_function_shape": OneOf("ovo", "ovr"),
        "break_ties": Boolean(),
        "random_state": RandomState(),
        "multi_class": OneOf("ovo", "ovr"),
    }
    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget=True,
        example={"tol": 1e-10, "gamma": 0.2},  # "scale" depends on the origin, hence on shifts
        budget_example={"tol": 1e-10},
        rtol=1e-6,
    )

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        slack: int = 1,
        multi_class: str = "ovo",
        warm_start: bool = False,
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.slack = slack
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.max_time = max_time
        self.max_memory = max_memory

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> LabelledRows:
        X, y, w = in_memory(validate_labels(self, X, y, sample_weight, reset=reset))
        y = to_numpy(y)
        if reset:
            self.classes_ = distinct_classes(y)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, y)
        return LabelledRows(X, np.searchsorted(self.classes_, y), to_numpy(w))

    def _weighted_rows(self, rows: LabelledRows) -> PenalisedRows:
        C = penalties(self.C, rows, self.class_weight_)
        return drop_weightless(rows, C, self.classes_)

    def _solve(
        self, settings: SMOSettings, rows: LabelledRows, factors: Sequence[float]
    ) -> list[FittedMachines]:
        active = self._weighted_rows(rows)
        start = getattr(self, "_start", None) if self.warm_start else None
        at_once = self.max_time is None and not hasattr(self, "_skl_callbacks")
        found = fit_binary_problems(
            settings, active, self.multi_class, factors, start, at_once=at_once
        )
        if not self.probability:
            return found
        seed = int(as_generator(self.random_state).integers(2**31))
        return [
            fitted._replace(
                calibration=cross_validated_calibration(
                    active._replace(C=factor * active.C),
                    settings,
                    self.multi_class,
                    seed,
                    at_once=at_once,
                )
            )
            for fitted, factor in zip(found, factors, strict=True)
        ]

    def _store(self, fitted: FittedMachines, rows: LabelledRows) -> None:
        k = len(self.classes_)
        self.__dict__.pop("calibration_", None)  # of an earlier fit with probability=True
        if self.probability:
            self.calibration_ = fitted.calibration
        support = np.nonzero(np.any(fitted.coef != 0, axis=1))[0]
        support = support[np.argsort(rows.codes[support], kind="stable")]
        codes = rows.codes[support]
        self._store_support(rows.X, support)
        self.n_support_ = np.bincount(codes, minlength=k).astype(np.int32)
        self.dual_coef_ = packed(fitted.coef[support], codes, k, self.multi_class)
        self.intercept_ = fitted.bias
        self.n_iter_ = np.maximum(fitted.steps, 1).astype(np.int32)
        self.fit_status_ = 0 if fitted.summary.converged else 1
        self.objective_, self.dual_gap_ = fitted.objective, fitted.gap
        self.kkt_violation_ = fitted.violation
        self.shape_fit_ = tuple(rows.X.shape)
        self._start = fitted.start if self.warm_start else None

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
        rows = self._validate_rows(X, y, sample_weight, reset=False)
        active = self._weighted_rows(rows)
        values = to_numpy(self._machine_values(active.X)).astype(np.float64)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        if isinstance(self.kernel_, Precomputed):
            KV = to_numpy(rows.X)[self.support_][:, self.support_] @ V
        else:
            KV = to_numpy(self.kernel_.matmul(self.support_vectors_, None, V))
        norms = np.sum(V * KV, axis=0)
        return primal_objective(values, norms, active, self.multi_class, int(self.slack))

    def _machine_values(self, X: Any) -> Any:
        """Decision values of all binary machines, (n, machines)."""
        check_is_fitted(self)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        return self._values(X, V, self.intercept_)

    def decision_function(self, X: Any) -> Any:
        """Decision values of the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        values : array of shape (m,), (m, n_classes) or (m, n_classes * (n_classes - 1) / 2)
            With two classes, positive for the second.
        """
        k = len(getattr(self, "classes_", ()))
        values = self._machine_values(X)
        if k == 2:
            return map_rows(lambda v: v[:, 0], values)
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return values
        return map_rows(lambda v: one_vs_rest_values(v, k), values)

    def predict(self, X: Any) -> Any:
        """The class of each row of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        y : array of shape (m,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return map_rows(self._decide, self._machine_values(X))

    def _decide(self, values: Any) -> np.ndarray:
        """Classes from the values of all machines."""
        values, k = to_numpy(values), len(self.classes_)
        if k == 2:
            return largest(values[:, 0], self.classes_)
        if hasattr(self, "calibration_"):
            return self.classes_[np.argmax(self._probabilities(values), axis=1)]
        if self.multi_class == "ovr":
            return largest(values, self.classes_)
        score = one_vs_rest_values if self.break_ties else votes
        return self.classes_[np.argmax(score(values, k), axis=1)]

    def _probabilities(self, values: Any) -> np.ndarray:
        p = self.calibration_.pairwise(to_numpy(values).astype(np.float64))
        return class_probabilities(p, len(self.classes_), self.multi_class)

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, (m, n_classes); the largest is that of `predict`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        p : ndarray of shape (m, n_classes)
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False. Call fit "
                "again with probability=True."
            )
        return map_rows(self._probabilities, self._machine_values(X))

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (m, d)

        Returns
        -------
        log_p : ndarray of shape (m, n_classes)
        """
        return map_rows(np.log, self.predict_proba(X))

    @property
    def coef_(self) -> Any:
        """w of the binary machines, (machines, d), for the linear kernel."""
        check_is_fitted(self)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        return self._linear_coef(V)
