"""Gaussian process classification by Laplace's approximation.

Objective    max_theta  log p(y | X, theta),   f ~ GP(0, k_theta),   P(y = 1 | f) = 1 / (1 + e^-f)

The posterior of f is nearly normal around its mode; the mode is found by Newton's method, the
kernel's parameters by the gradient of the approximate likelihood
(`solvers.gaussian_process.laplace`). The probability of a class is the mean of the logistic
function under the normal f at the new row, so it is nearer to 1/2 the farther the data. More than
two classes are one-vs-rest or one-vs-one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.memory import human_bytes
from kilogram.arrays.namespace import is_sparse, like
from kilogram.base import Budget, Estimator, Laws
from kilogram.base.constraints import (
    Boolean,
    Constraint,
    Function,
    Integer,
    Null,
    OneOf,
    RandomState,
)
from kilogram.base.estimate import Estimate
from kilogram.base.generative import counted_rows
from kilogram.base.host_rows import as_float64
from kilogram.base.labels import distinct_classes, largest, validate_labels
from kilogram.base.progress import ticking, with_callbacks
from kilogram.base.random_state import as_generator
from kilogram.kernels import Gaussian
from kilogram.models.gaussian_process.binary_problems import (
    BinaryProcess,
    BinaryTask,
    LaplaceSettings,
    binary_tasks,
    fit_process,
    log_odds,
    probability,
    thread_safe_tick,
    votes,
)
from kilogram.models.gaussian_process.fitting import check_in_memory, warn_about_search
from kilogram.models.gaussian_process.kernel_translation import named_kernel
from kilogram.operators.cost import rates
from kilogram.operators.memory_plan import plan_storage


class GaussianProcessClassifier(ClassifierMixin, Estimator):
    """Gaussian process classification, with kernel parameters of largest marginal likelihood.

    Drop-in for scikit-learn's: the same parameters, its kernels or Kilogram's. Rows must be in
    memory.

    Parameters
    ----------
    kernel : Kernel, str, a kernel of scikit-learn or None, default=None
        Covariance of the prior. None is `1.0 * Gaussian(1.0)`, not tuned.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How parameters are tuned; None keeps them. A callable takes the function to minimise,
        `initial_theta` and `bounds`, and returns theta and the value there.
    n_restarts_optimizer : int, default=0
        Number of further starting points, drawn within the bounds.
    max_iter_predict : int, default=100
        Largest number of Newton iterations for the mode.
    warm_start : bool, default=False
        Start Newton's method at the mode of the last fit, if the rows are as many.
    copy_X_train : bool, default=True
        Keep a copy of the rows rather than the rows given.
    random_state : int, RandomState or None, default=None
        Seed or generator for the restarts.
    multi_class : {"one_vs_rest", "one_vs_one"}, default="one_vs_rest"
        Binary problems for more than two classes; "one_vs_one" has no probabilities.
    n_jobs : int or None, default=None
        Number of binary processes fitted in parallel threads.
    bounds : pair, "fixed", dict or None, default=None
        Bounds of the parameters of a Kilogram kernel, for all or by path; None is (1e-5, 1e5).
    max_time : float or None, default=None
        Seconds after which the best parameters found so far are used.
    max_memory : int, str or None, default=None
        Memory limit for the matrices of order n.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    n_classes_ : int
        Number of classes; a list of them for several outputs.
    kernel_ : kernel of the kind that was given, or list of kernels
        The kernel with its fitted parameters; a list of them for more than two classes.
    log_marginal_likelihood_value_ : float
        Its approximate log-likelihood; the mean for more than two classes.
    X_train_ : the rows.
    n_iter_ : int
        Evaluations of the likelihood, all processes together.
    converged_ : bool
        Whether the fit converged.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : names of the columns, if X had any.
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np, kilogram as kg
    >>> X = np.random.default_rng(0).standard_normal((80, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = kg.GaussianProcessClassifier(1.0 * kg.Gaussian(1.0)).fit(X, y)
    >>> model.predict([[1.0, 1.0], [-1.0, 1.0]])
    array([ True, False])
    >>> model.predict_proba([[1.0, 1.0], [50.0, 50.0]])[:, 1].round(1)  # 1/2 far from the data
    array([0.8, 0.5])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "optimizer": OneOf("fmin_l_bfgs_b") | Function() | Null(),
        "n_restarts_optimizer": Integer(0),
        "max_iter_predict": Integer(1),
        "warm_start": Boolean(),
        "copy_X_train": Boolean(),
        "random_state": RandomState(),
        "multi_class": OneOf("one_vs_rest", "one_vs_one"),
        "n_jobs": Integer() | Null(),
    }
    laws = Laws(
        block="the covariance matrix needs all rows in memory",
        budget=True,
        budget_example={"optimizer": "fmin_l_bfgs_b"},
        textbook="the texts treat Gaussian processes for regression only",
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
        check_in_memory(type(self).__name__, X)
        given, y, w = counted_rows(*validate_labels(self, X, y, sample_weight))
        self.classes_ = distinct_classes(y)
        self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
        tasks = binary_tasks(codes, self.n_classes_, self.multi_class)
        n_jobs = None if self.n_jobs is None else int(self.n_jobs)
        self._check_memory(
            len(codes), len(tasks), min(effective_n_jobs(n_jobs), len(tasks)), budget
        )
        X = _double(given)
        X = X.copy() if self.copy_X_train and X is given else X
        w = np.ones(len(codes)) if w is None else as_float64(w)
        starts = self._starts(tasks)
        seeds = as_generator(self.random_state).integers(2**31, size=len(tasks))
        with ticking(self, "likelihood", budget.deadline) as tick:
            settings = LaplaceSettings(
                self.kernel,
                self.bounds,
                self.optimizer,
                int(self.n_restarts_optimizer),
                int(self.max_iter_predict),
                thread_safe_tick(tick),
                budget.deadline,
            )
            self._machines: list[BinaryProcess] = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(fit_process)(X, task, w, settings, start, int(seed))
                for task, start, seed in zip(tasks, starts, seeds, strict=True)
            )
        self._store(X)
        return self

    def _starts(self, tasks: list[BinaryTask]) -> list:
        """Start of Newton's method for each binary task: the last mode, with `warm_start`."""
        last = getattr(self, "_machines", []) if self.warm_start else []
        if len(last) != len(tasks):
            return [None] * len(tasks)
        pairs = zip(last, tasks, strict=True)
        return [m.mode.g if len(m.mode.g) == len(q.y) else None for m, q in pairs]

    def _check_memory(self, n: int, count: int, jobs: int, budget: Budget) -> None:
        """A factor is kept for every binary process, and a kernel matrix for every running one."""
        matrices = count + jobs
        plan = plan_storage(n, 1, "float64", max_memory=budget.bytes, copies=0.1 + matrices)
        if not plan.stores:
            raise MemoryError(
                f"GaussianProcessClassifier needs {matrices} matrices of order {n:,}, "
                f"{human_bytes(8 * matrices * n * n)}, and max_memory is "
                f"{human_bytes(budget.bytes)}. Fit on fewer rows, raise max_memory, or use a "
                "KitchenSinksClassifier."
            )

    def _store(self, X: Any) -> None:
        machines = self._machines
        kernels = [named_kernel(self.kernel, m.tuning) for m in machines]
        self.X_train_ = X
        self.kernel_ = kernels[0] if len(kernels) == 1 else kernels
        self.log_marginal_likelihood_value_ = np.mean([m.mode.value for m in machines])
        self.n_iter_ = max(1, sum(m.found.n_iter for m in machines))
        self.converged_ = all(m.found.converged for m in machines)
        for machine in machines:
            warn_about_search(type(self).__name__, machine.found, machine.tuning)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at the rows of X, (m,) each; of two classes only."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {self.n_classes_} classes."
            )
        return self._machines[0].latent(_double(self._validate(X, reset=False).X))

    def _probabilities(self, X: Any) -> np.ndarray:
        """P(positive class) of every binary process, (m, processes)."""
        check_is_fitted(self)
        X = _double(self._validate(X, reset=False).X)
        return np.stack([probability(*m.latent(X)) for m in self._machines], axis=1)

    def _scores(self, X: Any) -> np.ndarray:
        """Log-odds of the second class, (m,), or of each class against the rest, (m, K); one-vs-one
        votes. The largest is the prediction. Private: scikit-learn's has no decision_function."""
        odds = log_odds(self._probabilities(X))
        if self.n_classes_ == 2:
            return odds[:, 0]
        return votes(odds, self.n_classes_) if self.multi_class == "one_vs_one" else odds

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, (m,)."""
        return largest(self._scores(X), self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (m, K), averaged over the posterior of f."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. "
                "Use one_vs_rest mode instead."
            )
        p = self._probabilities(X)
        if self.n_classes_ == 2:
            return like(np.concatenate([1.0 - p, p], axis=1), X)
        total = np.sum(p, axis=1, keepdims=True)
        found = np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
        return like(found, X)

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
        value = np.mean([v for v, _ in found])
        if not eval_gradient:
            return value
        slopes = np.asarray([g for _, g in found])
        return value, slopes.mean(axis=0) if shared else slopes.reshape(-1) / count

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        evaluations = 1 if self.optimizer is None else 20
        work = evaluations * (6 * n**3 / 6 + n**3 / 3 + n * n * d) / rates(8).multiply_adds
        return self._costs(n, d, "Newton steps with a Cholesky factor each", work, 16 * n * n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _double(X: Any) -> Any:
    """Rows in float64 on the host, which the gradient of the likelihood needs."""
    return X.tocsr().astype(np.float64) if is_sparse(X) else as_float64(X)
