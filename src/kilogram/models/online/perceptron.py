"""Rosenblatt's perceptron: an update on every misclassified row, none otherwise.

Error    E(w) = -sum_{i wrong} y_i <w, x_i>          step    w <- w + eta y x

Separable classes are separated after at most (R / gamma)^2 mistakes (R the longest row, gamma the
margin; from w = 0), others never: the last w then depends on the order. Two remedies use all weight
vectors: `average` predicts with their mean, "voted" with a vote of each, weighted by the number of
rows it classified correctly (Freund and Schapire 1999). Variants in the textbooks:

    passes      all rows in shuffled order, again and again (scikit-learn's)
    mistakes    a random one of the misclassified rows, until there is none
    draws       max_iter single rows drawn at random, w = 1/d at first, steps eta / step

References: Rosenblatt 1958; Novikoff 1962; Freund and Schapire 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import like, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import Boolean, Constraint, Integer, Null, OneOf, Real
from kilogram.base.progress import Tick
from kilogram.base.random_state import as_generator
from kilogram.models.online.online_classifier import ONLINE_LAWS, OnlinePredictor
from kilogram.models.online.training import OnlineSource, overflows, squares_overflow
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online import (
    OnlineData,
    OnlineMachines,
    StepSchedule,
    UpdateRule,
    one_pass,
)


class Perceptron(OnlinePredictor):
    """Linear classifier that is updated on misclassified rows only.

    Takes scikit-learn's parameters; `variant`, `average` and `max_time` are Kilogram's. Rows in
    blocks are shuffled within a block only: shuffle rows that are sorted by class beforehand.

    Parameters
    ----------
    penalty : {"l2", None}, default=None
        "l2" adds alpha / 2 |w|^2. For "l1" and "elasticnet" use LogisticRegression(l1_ratio=...).
    alpha : float, default=0.0001
        Strength of the penalty, if there is one.
    l1_ratio : float, default=0.15
        For compatibility with scikit-learn; it belongs to "elasticnet".
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    max_iter : int, default=1000
        Maximum number of passes; of steps for the variants "mistakes" and "draws".
    tol : float or None, default=1e-3
        Stop when the mean loss has not decreased by this for `n_iter_no_change` passes.
    shuffle : bool, default=True
        Draw a new order of the rows for each pass.
    verbose : int, default=0
        For compatibility with scikit-learn: progress is reported to callbacks (`set_callbacks`).
    eta0 : float, default=1
        Step size.
    n_jobs : int or None, default=None
        For compatibility with scikit-learn: all one-vs-rest classifiers are updated together.
    random_state : int, RandomState or None, default=0
        Seed or generator of the random draws; an int gives the same result every time.
    early_stopping : bool, default=False
        Stop by the accuracy on held-out rows instead of the training loss.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `early_stopping`.
    n_iter_no_change : int, default=5
        Number of epochs without improvement after which the fit stops.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same.
    warm_start : bool, default=False
        Start from the solution of the previous fit.
    variant : {"passes", "mistakes", "draws"}, default="passes"
        The order of updates (see the module).
    average : bool or "voted", default=False
        True: the mean of all weight vectors; "voted": a weighted vote of each (all are stored, so
        for small data).
    max_time : float or None, default=None
        Seconds after which the fit stops with the weights reached.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        Coefficients of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the decision or regression function.
    n_iter_ : int
        Number of passes (or steps).
    loss_ : float
        Mean loss over the training rows at the end of the fit.
    t_ : float
        Number of steps.
    voters_ : list of (W, b, votes)
        Weight vectors, offsets and votes, with average="voted".
    n_features_in_ : int
        Number of features seen in `fit`.

    Examples
    --------
    >>> from kilogram import Perceptron
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> Perceptron().fit(X, y).predict([[-3.0], [0.5]])
    array([0, 1])
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **OnlinePredictor.parameter_constraints,
        "penalty": OneOf("l2") | Null(),
        "l1_ratio": Real(0, 1),
        "verbose": Boolean() | Integer(0),
        "n_jobs": Integer() | Null(),
        "early_stopping": Boolean(),
        "validation_fraction": Real(0, 1, closed="neither"),
        "variant": OneOf("passes", "mistakes", "draws"),
        "average": Boolean() | OneOf("voted"),
    }
    laws: ClassVar[Laws] = replace(
        ONLINE_LAWS,
        budget_example={"tol": None, "max_iter": 100_000},
        example={"random_state": 0, "max_iter": 50, "tol": None},
    )
    loss = "perceptron"
    tau, power, batch_size = 1.0, 0.0, 1

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        variant: str = "passes",
        average: bool | str = False,
        max_time: float | None = None,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.variant = variant
        self.average = average
        self.max_time = max_time

    def _rule(self) -> UpdateRule:
        l2 = float(self.alpha) if self.penalty == "l2" else 0.0
        return UpdateRule(
            "perceptron", StepSchedule(float(self.eta0), 1.0, 0.0, l2), bool(self.fit_intercept)
        )

    def _machines(self, source: OnlineSource, d: int, *, fresh: bool) -> OnlineMachines:
        self.__dict__.pop("voters_", None)  # weight vectors of an earlier fit
        return super()._machines(source, d, fresh=fresh)

    def _run(self, source: OnlineSource, machines: OnlineMachines, tick: Tick) -> Solution:
        plain = self.variant == "passes" and self.average != "voted" and not self.early_stopping
        if plain:
            return super()._run(source, machines, tick)
        if is_streamed(source.X):
            raise ValueError(
                "variant='mistakes' or 'draws', average='voted' and early_stopping need X in "
                "memory. Use variant='passes' and average=True for rows in blocks."
            )
        data, rng = next(source.blocks()), as_generator(self.random_state)
        if overflows(data):
            raise squares_overflow()
        if self.variant == "draws":
            return self._draws(data, machines, rng)
        if self.variant == "mistakes":
            return self._mistakes(data, machines, rng, tick)
        if self.average == "voted":
            return self._voted(data, machines, rng, tick)
        return self._early_stopped(data, machines, rng, tick)

    def _draws(self, data: OnlineData, machines: OnlineMachines, rng: Any) -> Solution:
        """Variant B: w = 1/d, step sizes eta / 1, eta / 2, ..."""
        machines.W[:] = 1.0 / machines.W.shape[1]
        rule = self._rule()
        rule = rule._replace(pace=rule.pace._replace(power=1.0))
        order = rng.integers(data.X.shape[0], size=int(self.max_iter))
        loss, _ = one_pass(data, order, rule, machines)
        return Solution(machines, len(order), loss / len(order))

    def _mistakes(
        self, data: OnlineData, machines: OnlineMachines, rng: Any, tick: Tick
    ) -> Solution:
        """Variant A: a random one of the misclassified rows, until there is none."""
        rule, wrong = self._rule(), 0
        for step in range(1, int(self.max_iter) + 1):
            bad = np.nonzero(_is_wrong(data, machines))[0]
            wrong = len(bad)
            if wrong == 0:
                return Solution(machines, step, 0.0)
            one_pass(data, bad[rng.integers(wrong)][None], rule, machines)
            if tick(step, None):
                why = f"max_time is reached; {wrong} rows are misclassified."
                return Solution(machines, step, None, False, why)
        why = f"max_iter is reached; {wrong} rows are misclassified (the classes may overlap)."
        return Solution(machines, step, None, False, why)

    def _voted(self, data: OnlineData, machines: OnlineMachines, rng: Any, tick: Tick) -> Solution:
        """All weight vectors, each with the number of rows it classified correctly."""
        self.voters_: list[tuple[np.ndarray, np.ndarray, int]] = []
        rule, n = self._rule(), data.X.shape[0]
        votes, message = 0, "max_iter is reached; some rows are misclassified."
        for step in range(1, int(self.max_iter) + 1):
            mistakes = 0
            for i in rng.permutation(n) if self.shuffle else range(n):
                before = (machines.W.copy(), machines.b.copy())
                moved = one_pass(data, np.array([i]), rule, machines)[1]
                if moved:
                    self.voters_.append((*before, votes))
                    votes, mistakes = 0, mistakes + 1
                votes += 1
            if mistakes == 0 or (self.tol is not None and step > self.n_iter_no_change):
                message = ""
                break
            if tick(step, float(mistakes)):
                message = "max_time is reached."
                break
        self.voters_.append((machines.W.copy(), machines.b.copy(), votes))
        return Solution(machines, step, mistakes / n, not message, message)

    def _early_stopped(
        self, data: OnlineData, machines: OnlineMachines, rng: Any, tick: Tick
    ) -> Solution:
        """Passes over the training rows while the accuracy on the held-out rows increases."""
        n, rule = data.X.shape[0], self._rule()
        order = rng.permutation(n)
        n_test = max(1, int(self.validation_fraction * n))
        test, train = order[:n_test], order[n_test:]
        part = OnlineData(data.X[test], data.codes[test], None)
        best, idle, kept, step = -1.0, 0, (machines.W.copy(), machines.b.copy()), 0
        while step < int(self.max_iter) and idle < self.n_iter_no_change:
            one_pass(data, rng.permutation(train), rule, machines)
            score, step = 1.0 - float(np.mean(_is_wrong(part, machines, joint=True))), step + 1
            idle = idle + 1 if score < best + float(self.tol or 0.0) else 0
            if score > best:
                best, kept = score, (machines.W.copy(), machines.b.copy())
            if tick(step, score):
                break
        machines.W[:], machines.b[:] = kept
        return Solution(machines, step, 1.0 - best)

    def _machine(self) -> Callable[[Any], Any]:
        """Linear values; with average="voted" the votes for less those against."""
        if not hasattr(self, "voters_"):
            return super()._machine()
        voters = self.voters_

        def votes(block: Any) -> Any:
            rows = to_numpy(block)
            total: Any = 0.0
            for W, b, lasted in voters:
                total = total + lasted * np.where(np.asarray(rows @ W.T) + b > 0, 1.0, -1.0)
            return like(total, block)

        return votes


def _is_wrong(data: OnlineData, machines: OnlineMachines, *, joint: bool = False) -> np.ndarray:
    """Rows misclassified by some one-vs-rest classifier; `joint`: by the largest value."""
    F = np.asarray(data.X @ machines.W.T) + machines.b
    if F.shape[1] == 1:
        return np.where(data.codes == 1, F[:, 0], -F[:, 0]) <= 0
    if joint:
        return np.argmax(F, axis=1) != data.codes
    own = data.codes[:, None] == np.arange(F.shape[1])
    return np.any(np.where(own, F, -F) <= 0, axis=1)
