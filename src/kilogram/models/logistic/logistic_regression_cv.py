"""Regularisation path of logistic regression, and C by cross-validation.

From the strongest penalty to the weakest each fit starts at the last solution: neighbours on the
path are close, so a fit takes a few iterations. The folds are those of scikit-learn's splitters;
the score is the mean log-likelihood of held-out rows unless `scoring` is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from kilogram.arrays.namespace import is_numpy, is_sparse, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import (
    ArrayLike,
    Boolean,
    Constraint,
    Dictionary,
    HasMethods,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.folds import split_rows
from kilogram.base.labels import distinct_classes, validate_labels
from kilogram.base.parameters import numbers
from kilogram.models.logistic.logistic_regression import LogisticRegression
from kilogram.models.logistic.predictor import LogisticPredictor


class LogisticPath(NamedTuple):
    """Along Cs: coefficients (m, t, d), intercepts (m, t), objectives (m,), iterations (m,)."""

    Cs: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    steps: np.ndarray


def grid_of(Cs: Any) -> np.ndarray:
    """Values of C in increasing order; an integer is that many from 1e-4 to 1e4."""
    count = Integer(1).accepts(Cs)
    grid = np.logspace(-4, 4, int(Cs)) if count else np.sort(np.atleast_1d(numbers(Cs, "Cs")))
    if (np.ndim(Cs) == 0 and not count) or grid.ndim != 1 or not (len(grid) and (grid > 0).all()):
        raise ValueError(
            "Cs must be an integer of at least 1 or array-like of floats greater than 0, "
            f"got {Cs!r}."
        )
    return grid


def logistic_path(
    X: Any, y: Any, *, Cs: Any = 10, sample_weight: Any = None, **params: Any
) -> LogisticPath:
    """Logistic regression for every C, each fit warm-started from the one before.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
    y : array-like of shape (n,)
    Cs : int or array-like, default=10
        How many values of C between 1e-4 and 1e4, or the values.
    sample_weight : float or array-like of shape (n,), default=None
    **params
        Other parameters of `LogisticRegression`.

    Returns
    -------
    LogisticPath

    Examples
    --------
    >>> from kilogram import logistic_path
    >>> path = logistic_path([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1], Cs=[0.1, 1.0])
    >>> path.coefs.shape
    (2, 1, 1)
    """
    grid, model, found = grid_of(Cs), LogisticRegression(**params, warm_start=True), []
    for C in grid:
        model.set_params(C=float(C)).fit(X, y, sample_weight)
        kept = (to_numpy(model.coef_), to_numpy(model.intercept_))
        found.append((*kept, model.objective_, int(model.n_iter_[0])))
    coefs, intercepts, objectives, steps = zip(*found, strict=True)
    return LogisticPath(
        grid, np.stack(coefs), np.stack(intercepts), np.array(objectives), np.array(steps)
    )


class LogisticRegressionCV(LogisticPredictor):
    """Logistic regression with C (and l1_ratio) chosen by cross-validation.

    Takes scikit-learn's parameters. The default score is the log-likelihood of held-out rows, which
    also assesses the probabilities; scikit-learn's is the accuracy. `scoring` overrides it.

    Parameters
    ----------
    Cs : int or array-like, default=10
        How many values of C between 1e-4 and 1e4, or the values.
    l1_ratios : array-like or None, default=None
        Values of `l1_ratio` to try; None: 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    cv : int, splitter, iterable or None, default=None
        Folds or splitter; None is five stratified folds.
    dual : bool, default=False
        For compatibility with scikit-learn: both forms have one optimum.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        As in `LogisticRegression`, where `l1_ratios` takes its place.
    scoring : str, callable or None, default=None
        Score by which values are compared, and that of `score`; None: the mean log-probability of
        the true classes ("neg_log_loss") to compare, the accuracy for `score`.
    solver : str, default="lbfgs"
        As in `LogisticRegression`.
    tol : float, default=1e-4
        Largest entry of the gradient of the mean loss at the end of each fit.
    max_iter : int, default=100
        Maximum number of iterations of each fit.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes.
    refit : bool, default=True
        Fit all rows with the best values; False averages the coefficients of the folds.
    intercept_scaling : float, default=1.0
        Used only with `solver="liblinear"`, as in `LogisticRegression`.
    random_state : int, RandomState or None, default=None
        For compatibility with scikit-learn: nothing is drawn.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: threads work inside each fit.
    verbose : int, default=0
        For compatibility with scikit-learn.
    use_legacy_attributes : bool, default=False
        Store `C_`, `l1_ratio_`, `scores_`, `coefs_paths_` and `n_iter_` in the shapes of
        scikit-learn before 1.8: C and l1_ratio once per class, scores and paths in dictionaries
        with the classes as keys.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    C_, l1_ratio_ : float
        The best values.
    Cs_, l1_ratios_ : ndarrays of shape (n_cs,) and (n_ratios,)
        The values tried, C from the smallest.
    scores_ : ndarray of shape (n_folds, n_ratios, n_cs)
        Of the rows held out; larger is better.
    coefs_paths_ : ndarray of shape (n_folds, n_ratios, n_cs, n_machines, d + 1)
        Coefficients of each fit, the offset last; d without an offset. One machine for two
        classes, else one for each class.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the decision or regression function.
    n_iter_ : ndarray of shape (n_folds, n_ratios, n_cs)
        Iterations, each fit warm-started from the one before it along Cs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    LogisticRegression : One value of C.
    logistic_path : The path itself.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import LogisticRegressionCV
    >>> X = np.arange(40.0)[:, None]
    >>> model = LogisticRegressionCV(Cs=3, cv=4).fit(X, X[:, 0] > 19)
    >>> model.predict([[3.0], [35.0]])
    array([False,  True])
    """

    # their types are those of scikit-learn before 1.8 with use_legacy_attributes
    C_: Any
    l1_ratio_: Any
    scores_: Any
    coefs_paths_: Any

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "Cs": Integer(1) | ArrayLike(),
        "l1_ratios": ArrayLike() | Null(),
        "fit_intercept": Boolean(),
        "cv": Integer(2)
        | HasMethods(("split", "get_n_splits"), "a splitter")
        | ArrayLike()
        | Null(),
        "solver": LogisticRegression.parameter_constraints["solver"],
        "tol": Real(0, closed="left"),
        "max_iter": Integer(0),
        "class_weight": Dictionary() | OneOf("balanced") | Null(),
        "refit": Boolean(),
        "intercept_scaling": Real(0, closed="neither"),
        "random_state": RandomState(),
        "n_jobs": Integer() | Null(),
        "verbose": Boolean() | Integer(0),
        "dual": Boolean(),
        "penalty": OneOf("deprecated", "l1", "l2", "elasticnet"),
        "use_legacy_attributes": Boolean(),
    }
    laws: ClassVar[Laws] = Laws(
        weight="folds are cut from rows: copies of a row may fall on both sides of a cut",
        permutation="the order of the rows cuts the folds",
        block="folds are cut from rows in memory",
        partial_fit="the folds need all rows at once",
        backend="folds are cut and fitted on the host",
        textbook="the textbook version of LogisticRegression, once for every C",
        example={"Cs": 3, "cv": 3, "tol": 1e-9},
        rtol=1e-6,
    )

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = None,
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        use_legacy_attributes: bool = False,
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.use_legacy_attributes = use_legacy_attributes

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Score every C on every fold and keep the best.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        if is_streamed(X):
            raise ValueError(
                "LogisticRegressionCV needs the rows in memory, to split them into folds. Use "
                "LogisticRegression, or logistic_path with held-out rows."
            )
        X, y, w = validate_labels(self, X, y, sample_weight)
        X = X if is_numpy(X) or is_sparse(X) else to_numpy(X)
        X, w = X.tocsr() if is_sparse(X) else X, None if w is None else to_numpy(w)
        self.classes_ = distinct_classes(y)
        self.Cs_ = grid_of(self.Cs)
        self.l1_ratios_ = self._ratios()
        folds = split_rows(self.cv, X, y, classifier=is_classifier(self))
        self._check_folds(y, [train for train, _ in folds])
        found = [self._fold(X, y, w, train, test) for train, test in folds]
        self.scores_ = np.stack([f[0] for f in found])
        self.n_iter_ = np.stack([f[1] for f in found])
        self.coefs_paths_ = np.stack([self._paths(f[2], f[3]) for f in found])
        best = np.unravel_index(np.argmax(self.scores_.mean(axis=0)), self.scores_.shape[1:])
        self.l1_ratio_, self.C_ = float(self.l1_ratios_[best[0]]), float(self.Cs_[best[1]])
        if self.refit:
            model = self._model(self.l1_ratio_).set_params(C=self.C_).fit(X, y, w)
            self.coef_, self.intercept_ = model.coef_, model.intercept_
        else:
            self.coef_ = np.mean([f[2][best][0] for f in found], axis=0)
            self.intercept_ = np.mean([f[2][best][1] for f in found], axis=0)
        if self.use_legacy_attributes:
            self._store_legacy_attributes()
        return self

    def _ratios(self) -> np.ndarray:
        """The values of l1_ratio to try; scikit-learn's deprecated `penalty` fixes them."""
        if self.penalty in ("l1", "l2"):
            return np.array([1.0 if self.penalty == "l1" else 0.0])
        if self.l1_ratios is None:
            return np.array([0.0])
        ratios = np.ravel(numbers(self.l1_ratios, "l1_ratios"))
        if not len(ratios):
            raise ValueError(f"l1_ratios must have at least one value, got {self.l1_ratios!r}.")
        return ratios

    def _paths(self, kept: dict, classes: np.ndarray) -> np.ndarray:
        """Coefficients (n_ratios, n_cs, t, d + 1) of one fold; NaN for classes it lacks."""
        shape = (len(self.l1_ratios_), len(self.Cs_))
        machines = 1 if len(self.classes_) == 2 else len(self.classes_)
        at = np.arange(1) if machines == 1 else np.searchsorted(self.classes_, classes)
        width = self.n_features_in_ + bool(self.fit_intercept)
        found = np.full((*shape, machines, width), np.nan)
        for (a, b), (W, offset) in kept.items():
            rows = np.column_stack([W, offset])[:, :width]
            # of two classes left of more, one machine is known: half of it for each class
            found[a, b, at] = rows if len(rows) == len(at) else np.vstack([-rows, rows]) / 2
        return found

    def _store_legacy_attributes(self) -> None:
        """The shapes of scikit-learn before 1.8."""
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        several = self.l1_ratios is not None and self.penalty not in ("l1", "l2")

        def arranged(grid: np.ndarray) -> np.ndarray:
            """(n_folds, n_ratios, n_cs, ...) -> (n_folds, n_cs[, n_ratios], ...)."""
            return np.swapaxes(grid, 1, 2) if several else grid[:, 0]

        self.C_ = np.full(len(labels), self.C_)
        self.l1_ratio_ = np.full(len(labels), self.l1_ratio_)
        scores, paths = arranged(self.scores_), arranged(self.coefs_paths_)
        self.scores_ = dict.fromkeys(labels.tolist(), scores)
        self.coefs_paths_ = {label: paths[..., k, :] for k, label in enumerate(labels.tolist())}
        self.n_iter_ = arranged(self.n_iter_)[None]

    def _check_folds(self, y: np.ndarray, trains: list[Any]) -> None:
        """Raise where the training rows of a fold lack classes."""
        for train in trains:
            lost = np.setdiff1d(self.classes_, y[train])
            if len(lost) and (not self.refit or len(self.classes_) - len(lost) < 2):
                needs = "two classes" if self.refit else "all classes (refit=False averages)"
                raise ValueError(
                    f"LogisticRegressionCV needs {needs} in the training rows of every fold, and "
                    f"one has no row of {lost.tolist()}. Use fewer folds, or StratifiedKFold."
                )

    def _model(self, ratio: float) -> LogisticRegression:
        return LogisticRegression(
            dual=self.dual,
            l1_ratio=float(ratio),
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            class_weight=self.class_weight,
            solver=self.solver,
            max_iter=self.max_iter,
            warm_start=True,
        )

    def _fold(
        self, X: Any, y: Any, w: Any, train: Any, test: Any
    ) -> tuple[Any, Any, dict, np.ndarray]:
        """Scores and iterations (n_ratios, n_cs) of one fold, coefficients, and its classes."""
        scorer = get_scorer("neg_log_loss" if self.scoring is None else self.scoring)
        shape = (len(self.l1_ratios_), len(self.Cs_))
        scores, steps, kept = np.empty(shape), np.empty(shape, dtype=int), {}
        weights = None if w is None else w[train]
        for a, ratio in enumerate(self.l1_ratios_):
            model = self._model(ratio)
            for b, C in enumerate(self.Cs_):
                model.set_params(C=float(C)).fit(X[train], y[train], weights)
                extra = {} if w is None else {"sample_weight": w[test]}
                if self.scoring is None:
                    scores[a, b] = _log_likelihood(model, X[test], y[test], extra)
                else:
                    scores[a, b] = scorer(model, X[test], y[test], **extra)
                steps[a, b] = int(model.n_iter_[0])
                kept[a, b] = (model.coef_, model.intercept_)
        return scores, steps, kept, model.classes_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of `scoring` on X and y; without it, the accuracy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (m, d)
        y : array-like of shape (m,)
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        score : float
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return get_scorer(self.scoring or "accuracy")(self, X, y, **weights)


def _log_likelihood(model: LogisticRegression, X: Any, y: Any, extra: dict) -> float:
    """Weighted mean log-probability of the true classes; 1e-15 for classes the fold lacks."""
    at = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    logs = model.predict_log_proba(X)[np.arange(len(y)), at]
    logs = np.where(model.classes_[at] == y, logs, np.log(1e-15))
    weights = extra.get("sample_weight")
    if weights is not None and not np.sum(weights) > 0:
        raise ValueError(
            "LogisticRegressionCV: all rows of a test fold have weight zero, so that it has no "
            "score. Use fewer folds (cv), or leave out rows without weight."
        )
    return float(np.average(logs, weights=weights))
