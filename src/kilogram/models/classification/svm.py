"""Support vector classification with kernels; the linear twin is told in svm_linear.py.

Objective    min_{w, b}  1/2 |w|^2 + sum_i C_i xi_i^k
             y_i (<w, phi(x_i)> + b) >= 1 - xi_i,  xi_i >= 0

Dual         min_a  1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) - sum_i a_i,   sum_i a_i y_i = 0
             k = 1: 0 <= a_i <= C_i;    k = 2: 0 <= a_i, with 1/(2 C_i) added to k(x_i, x_i)

Decision     f(x) = sum_i a_i y_i k(x_i, x) + b

KKT          a_i = 0: y_i f(x_i) >= 1;   0 < a_i < C_i: y_i f(x_i) = 1;   a_i = C_i: y_i f(x_i) <= 1

b is the mean over the free support vectors (0 < a_i < C_i) only; with none of them, the middle of
the interval left. C = inf is the hard margin, refused where no plane separates.

References: Cortes and Vapnik 1995; Platt 1998; Fan, Chen and Lin 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import to_numpy
from kilogram.base import Laws
from kilogram.base.labels import distinct_classes, enter_labels
from kilogram.kernels import Precomputed
from kilogram.models.classification.svm_fit import (
    Fitted,
    Labelled,
    drop_weightless,
    fit_duels_along,
    penalties,
    primal_objective,
)
from kilogram.models.classification.svm_kernel import Setting, in_memory
from kilogram.models.classification.svm_machines import packed, unpacked
from kilogram.models.classification.svm_predict import KernelClassifier
from kilogram.models.classification.svm_probability import cross_fitted


def check_choices(model: Any) -> None:
    """Parameters that are one of a few words."""
    choices = {"multi_class": ("ovo", "ovr"), "decision_function_shape": ("ovo", "ovr")}
    for name, allowed in choices.items():
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}.")


class SVC(KernelClassifier):
    """Support vector classifier with any kernel, by multi-threaded block SMO.

    Minimises ``1/2 |w|^2 + sum_i C_i xi_i^slack`` over planes in the space of the kernel, with
    scikit-learn's parameters and answers; those from `slack` on are Kilogram's.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violated margin, greater than 0; inf asks for a hard margin. The penalty of row
        i is C times its sample weight times the weight of its class.
    kernel : str, Kernel or callable, default="rbf"
        A name as in scikit-learn, "precomputed", a Kilogram kernel, or a function of two tables
        of rows that returns their kernel matrix.
    degree : int, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels given by name that have one: 1 / (d var(X)) with rows counted by their
        weights, 1 / d, or the number. A Kernel object carries its own.
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    shrinking : bool, default=True
        Where many support vectors are free, leave all other rows out of the gradient until a set
        of twice as many is solved. The answer meets `tol` on all rows either way.
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
        Kept for scikit-learn's signature: progress is told to callbacks (`set_callbacks`).
    max_iter : int, default=-1
        Most pair steps of a machine; -1 is max(10 million, 100 n).
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of the decision values of one-against-one machines: one per class or one per pair.
    break_ties : bool, default=False
        Among classes with equally many votes, take the one with the largest decision value
        instead of the first.
    random_state : int, RandomState or None, default=None
        For the folds of `probability`.
    slack : {1, 2}, default=1
        Power of the slack: the hinge, or its square.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One machine per pair of classes, as scikit-learn does, or one per class.
    warm_start : bool, default=False
        Start from the dual point of the previous fit, if it was on as many rows and classes.
    max_time : float or None, default=None
        Seconds after which the fit stops with the model it has.
    max_memory : int, str or None, default=None
        Bytes, or text such as "4GiB", that the fit may use.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, class by class.
    support_vectors_ : array of shape (n_SV, d)
        Those rows, in the library of X; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV) or (n_machines, n_SV)
        a_i y_i; for several classes in scikit-learn's layout, or one row per class with "ovr".
    coef_ : ndarray of shape (n_machines, d)
        w, for the linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        b.
    kernel_ : Kernel
        The kernel with its numbers.
    fit_status_ : int
        0 if every machine met `tol`, else 1.
    n_iter_ : ndarray of shape (n_machines,)
        Pair steps.
    objective_ : float
        The objective at the solution, summed over the machines.
    dual_gap_ : float
        How far it is above the dual at most, summed over the machines.
    kkt_violation_ : float
        The largest violation of the KKT conditions.
    shape_fit_ : tuple
        Shape of X.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

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

    laws: ClassVar[Laws] = Laws(
        objective=True,
        budget=True,
        example={"tol": 1e-10, "gamma": 0.2},  # "scale" looks at the origin, hence at shifts
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

    def _enter_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Labelled:
        check_choices(self)
        X, y, w = in_memory(enter_labels(self, X, y, sample_weight, reset=reset))
        y = to_numpy(y)
        if reset:
            self.classes_ = distinct_classes(y)
            self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return Labelled(X, np.searchsorted(self.classes_, y), to_numpy(w))

    def _machines(self, setting: Setting, rows: Labelled, factors: Sequence[float]) -> list[Fitted]:
        active = drop_weightless(rows, penalties(self.C, rows, self.class_weight_), self.classes_)
        start = getattr(self, "_start", None) if self.warm_start else None
        found = fit_duels_along(setting, active, self, factors, start)
        if self.probability:
            actives = [active._replace(C=factor * active.C) for factor in factors]
            slopes = [cross_fitted(self, one, setting) for one in actives]
            found = [f._replace(slopes=s) for f, s in zip(found, slopes, strict=True)]
        return found

    def _keep(self, fitted: Fitted, rows: Labelled) -> None:
        k = len(self.classes_)
        if self.probability:
            self.calibration_ = fitted.slopes
        support = np.nonzero(np.any(fitted.coef != 0, axis=1))[0]
        support = support[np.argsort(rows.codes[support], kind="stable")]
        codes = rows.codes[support]
        self._keep_support(rows.X, support)
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
        rows = self._enter_rows(X, y, sample_weight, reset=False)
        active = drop_weightless(rows, penalties(self.C, rows, self.class_weight_), self.classes_)
        values = to_numpy(self._machine_values(active.X)).astype(np.float64)
        V = unpacked(self.dual_coef_, self.n_support_, self.multi_class)
        if isinstance(self.kernel_, Precomputed):
            KV = to_numpy(rows.X)[self.support_][:, self.support_] @ V
        else:
            KV = to_numpy(self.kernel_.matmul(self.support_vectors_, None, V))
        return primal_objective(values, np.sum(V * KV, axis=0), active, self)
