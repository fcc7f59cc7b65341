"""Rosenblatt's perceptron: a step on every mistake, no step otherwise.

Error    E(w) = -sum_{i wrong} y_i <w, x_i>          step    w <- w + eta y x

Separable classes are separated after at most (R / gamma)^2 mistakes (R the longest row, gamma the
margin; from w = 0), others never: the last w then depends on the order. Two remedies keep all
weight vectors on the way: `average` answers with their mean, "voted" lets each vote, as often as it
survived (Freund and Schapire 1999). Printed variants:

    passes      all rows in shuffled order, again and again (scikit-learn's)
    mistakes    a random one of the rows that are wrong now, until none is
    draws       max_iter single rows drawn at random, w = 1/d at first, steps eta / step

References: Rosenblatt 1958; Novikoff 1962; Freund and Schapire 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from kilogram.arrays.namespace import like, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.progress import Tick
from kilogram.models.classification.online import ONLINE_LAWS, OnlinePredictor
from kilogram.models.classification.online_fit import Source, run_passes
from kilogram.solvers.solution import Solution
from kilogram.solvers.stochastic.online import Data, Machines, Pace, Rule, one_pass

VARIANTS = ("passes", "mistakes", "draws")


class Perceptron(OnlinePredictor):
    """Linear classifier that learns from its mistakes only.

    Takes scikit-learn's parameters; `variant`, `average` and `max_time` are Kilogram's. Rows that
    come in blocks are shuffled within a block only: blocks sorted by class mislead.

    Parameters
    ----------
    penalty : {"l2", None}, default=None
        "l2" adds alpha / 2 |w|^2. For "l1" and "elasticnet" use LogisticRegression(l1_ratio=...).
    alpha : float, default=0.0001
        Strength of the penalty, if there is one.
    l1_ratio : float, default=0.15
        Kept for scikit-learn's signature; it belongs to "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most passes; for the variants "mistakes" and "draws" most steps.
    tol : float or None, default=1e-3
        Stop when the mean loss has not fallen by this for `n_iter_no_change` passes.
    shuffle : bool, default=True
    verbose : int, default=0
        Kept for scikit-learn's signature: progress is told to callbacks (`set_callbacks`).
    eta0 : float, default=1
        Step size.
    n_jobs : int or None, default=None
        Kept for scikit-learn's signature: all machines take their steps together.
    random_state : int, RandomState or None, default=0
    early_stopping : bool, default=False
        Watch the accuracy on held-out rows instead of the loss on those passed.
    validation_fraction : float, default=0.1
        Share of the rows held out for that.
    n_iter_no_change : int, default=5
    class_weight : dict, "balanced" or None, default=None
    warm_start : bool, default=False
    variant : {"passes", "mistakes", "draws"}, default="passes"
        How rows are met (see the page).
    average : bool or "voted", default=False
        True: the mean of all weight vectors; "voted": each votes as often as it survived a row
        (kept one by one, so for small data).
    max_time : float or None, default=None
        Seconds after which the fit stops with the model it has.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : int
        Passes (or steps) made.
    loss_ : float
    t_ : float
        Steps taken.
    voters_ : list of (W, b, votes)
        With average="voted".
    n_features_in_ : int

    Examples
    --------
    >>> from kilogram import Perceptron
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> Perceptron().fit(X, y).predict([[-3.0], [0.5]])
    array([0, 1])
    """

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

    def _rule(self) -> Rule:
        if self.penalty not in (None, "l2"):
            raise ValueError(
                f"penalty must be 'l2' or None, got {self.penalty!r}: for absolute values use "
                "LogisticRegression(l1_ratio=...), which finds their optimum."
            )
        l2 = float(self.alpha) if self.penalty == "l2" else 0.0
        return Rule("perceptron", Pace(float(self.eta0), 1.0, 0.0, l2), bool(self.fit_intercept))

    def _machines(self, source: Source, d: int, *, fresh: bool) -> Machines:
        self.__dict__.pop("voters_", None)  # they voted on what an earlier call had learned
        return super()._machines(source, d, fresh=fresh)

    def _run(self, source: Source, machines: Machines, tick: Tick) -> Solution:
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {self.variant!r}.")
        if self.average not in (False, True, "voted"):
            raise ValueError(f"average must be False, True or 'voted', got {self.average!r}.")
        if self.early_stopping and not 0 < self.validation_fraction < 1:
            raise ValueError(
                "validation_fraction must lie between 0 and 1, for rows to learn from and rows to "
                f"hold out; got {self.validation_fraction!r}."
            )
        plain = self.variant == "passes" and self.average != "voted" and not self.early_stopping
        if plain:
            return run_passes(self, source, machines, self._rule(), tick)[1]
        if is_streamed(source.X):
            raise ValueError(
                "the variants, the vote and early stopping meet rows in any order: they need X in "
                "memory. Use variant='passes' and average=True for rows that come in blocks."
            )
        data, rng = next(source.blocks()), check_random_state(self.random_state)
        if self.variant == "draws":
            return self._draws(data, machines, rng)
        if self.variant == "mistakes":
            return self._mistakes(data, machines, rng, tick)
        if self.average == "voted":
            return self._voted(data, machines, rng, tick)
        return self._watched(data, machines, rng, tick)

    def _draws(self, data: Data, machines: Machines, rng: Any) -> Solution:
        """Variant B: w = 1/d, step sizes eta / 1, eta / 2, ..."""
        machines.W[:] = 1.0 / machines.W.shape[1]
        rule = self._rule()
        rule = rule._replace(pace=rule.pace._replace(power=1.0))
        order = rng.randint(data.X.shape[0], size=int(self.max_iter))
        loss, _ = one_pass(data, order, rule, machines)
        return Solution(machines, len(order), loss / len(order))

    def _mistakes(self, data: Data, machines: Machines, rng: Any, tick: Tick) -> Solution:
        """Variant A: a random one of the rows that are wrong now, until none is."""
        rule, wrong = self._rule(), 0
        for step in range(1, int(self.max_iter) + 1):
            bad = np.nonzero(_is_wrong(data, machines))[0]
            wrong = len(bad)
            if wrong == 0:
                return Solution(machines, step, 0.0)
            one_pass(data, bad[rng.randint(wrong)][None], rule, machines)
            if tick(step, None):
                return Solution(machines, step, None, False, f"the time is up; {wrong} are wrong.")
        why = f"max_iter is reached and {wrong} rows are wrong: no plane may separate the classes."
        return Solution(machines, step, None, False, why)

    def _voted(self, data: Data, machines: Machines, rng: Any, tick: Tick) -> Solution:
        """Every weight vector on the way, with the number of rows it survived."""
        self.voters_: list[tuple[np.ndarray, np.ndarray, int]] = []
        rule, n = self._rule(), data.X.shape[0]
        votes, message = 0, "max_iter is reached; rows are still wrong."
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
                message = "the time is up."
                break
        self.voters_.append((machines.W.copy(), machines.b.copy(), votes))
        return Solution(machines, step, mistakes / n, not message, message)

    def _watched(self, data: Data, machines: Machines, rng: Any, tick: Tick) -> Solution:
        """Passes over some rows while the accuracy on the others rises."""
        n, rule = data.X.shape[0], self._rule()
        order = rng.permutation(n)
        held = max(1, int(self.validation_fraction * n))
        test, train = order[:held], order[held:]
        part = Data(data.X[test], data.codes[test], None)
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
        """As ever; of voters, the votes for less those against."""
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


def _is_wrong(data: Data, machines: Machines, *, joint: bool = False) -> np.ndarray:
    """Rows that some machine has on the wrong side; `joint`: that get the wrong class."""
    F = np.asarray(data.X @ machines.W.T) + machines.b
    if F.shape[1] == 1:
        return np.where(data.codes == 1, F[:, 0], -F[:, 0]) <= 0
    if joint:
        return np.argmax(F, axis=1) != data.codes
    own = data.codes[:, None] == np.arange(F.shape[1])
    return np.any(np.where(own, F, -F) <= 0, axis=1)
