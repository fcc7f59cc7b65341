"""Gaussian process classification by Laplace's approximation.

Objective    max_theta  log p(y | X, theta),   f ~ GP(0, k_theta),   P(y = 1 | f) = 1 / (1 + e^-f)

The posterior of f is nearly normal around its mode; the mode is found by Newton's method, the
kernel's parameters by the gradient of the approximate likelihood
(`kilogram.solvers.likelihood.laplace`). The probability of a class is the mean of the logistic
function under the normal f at the new row, so it is less sure the farther the data. More than two
classes are each class against the rest, or pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse
from kilogram.arrays.rows import is_streamed
from kilogram.base import Budget, Estimator, Laws
from kilogram.base.estimate import Estimate, within
from kilogram.base.labels import distinct_classes, enter_labels, largest
from kilogram.base.progress import ticking, with_callbacks
from kilogram.kernels import Gaussian
from kilogram.models.classification.fisher import counted_rows
from kilogram.models.classification.process_machines import (
    Machine,
    Settings,
    fit_machine,
    locked,
    log_odds,
    probability,
    questions,
    votes,
)
from kilogram.models.regression.process_fit import check_search, say_how_it_ended
from kilogram.models.regression.process_kernels import named_kernel
from kilogram.operators.memory_plan import choose_road, human_bytes, rates


class GaussianProcessClassifier(ClassifierMixin, Estimator):
    """Gaussian process classification, with kernel parameters of largest marginal likelihood.

    Drop-in for scikit-learn's: the same parameters, its kernels or Kilogram's.

    Parameters
    ----------
    kernel : Kernel, str, a kernel of scikit-learn or None, default=None
        Covariance of the prior. None is `1.0 * Gaussian(1.0)`, not tuned.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How parameters are tuned; None keeps them. A callable takes the function to minimise,
        `initial_theta` and `bounds`, and returns theta and the value there.
    n_restarts_optimizer : int, default=0
        Further starts, drawn within the bounds.
    max_iter_predict : int, default=100
        Most steps of Newton's method for the mode.
    warm_start : bool, default=False
        Start Newton's method at the mode of the last fit, if the rows are as many.
    copy_X_train : bool, default=True
        Keep a copy of the rows rather than the rows given.
    random_state : int, RandomState or None, default=None
        For the restarts.
    multi_class : {"one_vs_rest", "one_vs_one"}, default="one_vs_rest"
        How more than two classes are told apart; pairs have no probabilities.
    n_jobs : int or None, default=None
        Two-class processes fitted at once, in threads.
    bounds : pair, "fixed", dict or None, default=None
        Bounds of the parameters of a Kilogram kernel, for all or by path; None is (1e-5, 1e5).
    max_time : float or None, default=None
        Seconds after which the best parameters so far are kept.
    max_memory : int, str or None, default=None
        Most memory for the matrices of order n.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    kernel_ : kernel with the parameters found; a list of them for more than two classes.
    log_marginal_likelihood_value_ : float
        Its approximate log-likelihood; the mean for more than two classes.
    X_train_ : the rows.
    n_iter_ : int
        Evaluations of the likelihood, all processes together.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : names of the columns, if X had any.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> X = np.random.default_rng(0).standard_normal((80, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = kg.GaussianProcessClassifier(1.0 * kg.Gaussian(1.0)).fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, 1.0]])
    array([ True, False])
    >>> model.predict_proba([[1.0, 1.0], [50.0, 50.0]])[:, 1].round(1)  # unsure far away
    array([0.8, 0.5])
    """

    laws = Laws(
        backend="works on NumPy arrays in float64, which the likelihood's gradient needs",
        block="all rows meet in one covariance matrix",
        budget=True,
        budget_example={"optimizer": "fmin_l_bfgs_b"},
        textbook="the texts tell Gaussian processes for regression only",
        example={"kernel": 1.5 * Gaussian(2.0), "optimizer": None},
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_predict: int = 100,
        warm_start: bool = False,
        copy_X_train: bool = True,
        random_state: Any = None,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
        bounds: Any = None,
        max_time: float | None = None,
        max_memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.bounds = bounds
        self.max_time = max_time
        self.max_memory = max_memory

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianProcessClassifier:
        """Tune the kernel on X (n, d) and labels y (n,), and find the mode of the posterior.

        A weight multiplies the log-likelihood of its row: an integer weight is the row given that
        often.

        Returns
        -------
        self
        """
        budget = Budget(self.max_time, self.max_memory)
        rng = check_search(self.optimizer, self.n_restarts_optimizer, self.random_state)
        given, y, w = counted_rows(*enter_labels(self, X, y, sample_weight))
        self.classes_ = distinct_classes(y)
        self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
        asked = questions(codes, self.n_classes_, self.multi_class)
        self._check_memory(len(codes), len(asked), budget)
        X = _double(given)
        X = X.copy() if self.copy_X_train and X is given else X
        w = np.ones(len(codes)) if w is None else w.astype(np.float64)
        starts = self._starts(asked)
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(asked))
        with ticking(self, "likelihood", budget.deadline) as tick:
            settings = Settings(
                self.kernel,
                self.bounds,
                self.optimizer,
                self.n_restarts_optimizer,
                self.max_iter_predict,
                locked(tick),
            )
            self._machines: list[Machine] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(fit_machine)(X, question, w, settings, start, int(seed))
                for question, start, seed in zip(asked, starts, seeds, strict=True)
            )
        self._store(X)
        return self

    def _starts(self, asked: list) -> list:
        """Where Newton's method begins, for each question."""
        last = getattr(self, "_machines", []) if self.warm_start else []
        if len(last) != len(asked):
            return [None] * len(asked)
        pairs = zip(last, asked, strict=True)
        return [m.mode.g if len(m.mode.g) == len(q.y) else None for m, q in pairs]

    def _check_memory(self, n: int, count: int, budget: Budget) -> None:
        road = choose_road(n, 1, "float64", max_memory=budget.bytes, copies=1.1 + count)
        if not road.stores:
            raise MemoryError(
                f"GaussianProcessClassifier holds {1 + count} matrices of order {n:,}, "
                f"{human_bytes(8 * (1 + count) * n * n)}, and {human_bytes(budget.bytes)} are "
                "allowed: fit on fewer rows, raise max_memory, or take a KitchenSinksClassifier."
            )

    def _store(self, X: Any) -> None:
        machines = self._machines
        kernels = [named_kernel(self.kernel, m.tuning) for m in machines]
        self.X_train_ = X
        self.kernel_ = kernels[0] if len(kernels) == 1 else kernels
        self.log_marginal_likelihood_value_ = float(np.mean([m.mode.value for m in machines]))
        self.n_iter_ = max(1, sum(m.found.n_iter for m in machines))
        self.converged_ = all(m.found.converged for m in machines)
        for machine in machines:
            say_how_it_ended(type(self).__name__, machine.found, machine.tuning)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at the rows of X, (m,) each; of two classes only."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {self.n_classes_} classes."
            )
        return self._machines[0].latent(_double(self._enter(X, reset=False).X))

    def _probabilities(self, X: Any) -> np.ndarray:
        """The answer of every machine, P(class 1), (m, questions)."""
        check_is_fitted(self)
        X = _double(self._enter(X, reset=False).X)
        return np.stack([probability(*m.latent(X)) for m in self._machines], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second class, (m,), or of each class against the rest, (m, K); for pairs
        the duels won by each class. The largest is the prediction."""
        odds = log_odds(self._probabilities(X))
        if self.n_classes_ == 2:
            return odds[:, 0]
        return votes(odds, self.n_classes_) if self.multi_class == "one_vs_one" else odds

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, (m,)."""
        scores = self.decision_function(X)
        return largest(scores, self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (m, K), uncertainty of f averaged over."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. "
                "Use one_vs_rest mode instead."
            )
        p = self._probabilities(X)
        if self.n_classes_ == 2:
            return np.concatenate([1.0 - p, p], axis=1)
        total = np.sum(p, axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The approximate log-likelihood at theta, the logarithms of the free parameters (None:
        those found), and its gradient if asked for.

        For more than two classes the mean over the processes; theta is one for all of them, or all
        of theirs one after another.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        theta, count = np.asarray(theta, dtype=np.float64), len(self._machines)
        p = len(self._machines[0].tuning.free)
        if theta.shape not in ((p,), (p * count,)):
            raise ValueError(
                f"Shape of theta must be either {p} or {p * count}. Obtained theta with shape "
                f"{theta.shape[0]}."
            )
        shared = theta.shape == (p,)
        parts = [theta] * count if shared else np.split(theta, count)
        found = [
            m.likelihood(part, self.max_iter_predict)
            for m, part in zip(self._machines, parts, strict=True)
        ]
        value = float(np.mean([v for v, _ in found]))
        if not eval_gradient:
            return value
        slopes = np.asarray([g for _, g in found])
        return value, slopes.mean(axis=0) if shared else slopes.reshape(-1) / count

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        evaluations = 1 if self.optimizer is None else 20
        work = evaluations * (6 * n**3 / 6 + n**3 / 3 + n * n * d) / rates(8).multiply_adds
        return within(self, n, d, "Newton steps with a Cholesky factor each", work, 16 * n * n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _double(X: Any) -> Any:
    X = np.asarray(X) if is_streamed(X) else X
    return X.tocsr().astype(np.float64) if is_sparse(X) else X.astype(np.float64, copy=False)
