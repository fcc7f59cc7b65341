"""Rejection cascades (Viola and Jones 2001): most negatives leave after a few stumps.

Stage s is AdaBoost of stumps, f_s(x) = sum_t beta_t g_t(x) with g_t = -1 or +1, and passes
f_s(x) >= c_s on to the next; a row is positive if it passes all. c_s is the largest threshold that
passes a fraction min_tpr of the positives, and the stage grows until at most max_fpr of the
negatives pass, both on held-out rows that reached it; a stage that misses this has the size at
which the fewest pass. The next stage is trained on what passed.
With T stages the whole has at least min_tpr^T of the positives and at most max_fpr^T of the
negatives where all stages meet their targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, like, to_numpy
from kilogram.arrays.rows import map_rows
from kilogram.base import Estimator, Laws
from kilogram.base.constraints import Boolean, Constraint, Integer, OneOf, RandomState, Real
from kilogram.base.labels import codes_of, distinct_classes, largest
from kilogram.base.random_state import as_generator
from kilogram.models.boosting.adaboost_rounds import adaboost_rounds
from kilogram.models.boosting.stumps import DecisionStump, stump_learner
from kilogram.models.boosting.validated_rows import dense_rows, labelled_rows

DRAWN = "held-out rows are drawn by their place"


@dataclass(frozen=True)
class CascadeStage:
    """One stage: stumps (k, 4) = feature, threshold, left vote, right vote; weights beta (k,)."""

    stumps: np.ndarray
    weights: np.ndarray
    threshold: float
    tpr: float  # of the held-out positives that reached this stage
    fpr: float

    def scores(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """f of some rows, added up in the order of the fit: its ties stay ties."""
        f = np.zeros(len(rows))
        for stump, beta in zip(self.stumps, self.weights, strict=True):
            f += beta * votes(X[rows, int(stump[0])], stump)
        return f


def votes(column: np.ndarray, stump: np.ndarray) -> np.ndarray:
    """-1 or +1 of values of the stump's feature."""
    return np.where(column <= stump[1], stump[2], stump[3])


def stump_row(made: DecisionStump) -> np.ndarray:
    """Feature, threshold, left and right vote; a constant stump has everything on its left."""
    assert made.stump is not None
    column, threshold = made.stump.column, made.stump.threshold
    if column < 0:
        column, threshold = 0, np.inf
    return np.array([column, threshold, 2.0 * made.stump.left - 1, 2.0 * made.stump.right - 1])


@dataclass(frozen=True)
class StageRules:
    """Targets and budget of a stage."""

    min_tpr: float
    max_fpr: float
    max_stumps: int
    balanced: bool
    gini: bool

    def grow(
        self, X: np.ndarray, y: np.ndarray, held: np.ndarray, held_y: np.ndarray
    ) -> CascadeStage | None:
        """The stage on rows X and y in {0, 1}; None where no stump is better than chance."""
        size = np.bincount(y, minlength=2)[y] if self.balanced else np.ones(len(y))
        learner = stump_learner(X, y, np.arange(2), gini=self.gini)
        f = np.zeros(len(held))
        stumps: list[np.ndarray] = []
        weights: list[float] = []
        best: tuple[float, float, float, int] | None = None  # fpr, tpr, threshold, stumps
        for found in islice(adaboost_rounds(learner, y, 1 / size, 2, 1.0), self.max_stumps):
            stumps.append(stump_row(found.learner))
            weights.append(found.alpha / 2)
            f += weights[-1] * votes(held[:, int(stumps[-1][0])], stumps[-1])
            threshold = float(np.quantile(f[held_y == 1], 1 - self.min_tpr, method="lower"))
            tpr, fpr = (float((f[held_y == k] >= threshold).mean()) for k in (1, 0))
            if best is None or fpr < best[0]:
                best = fpr, tpr, threshold, len(stumps)
            if fpr <= self.max_fpr:
                break
        if best is None:
            return None
        fpr, tpr, threshold, kept = best
        return CascadeStage(np.array(stumps[:kept]), np.array(weights[:kept]), threshold, tpr, fpr)


def held_out_rows(y: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Whether each row is held out: a fraction of either class, at least one row."""
    held = np.zeros(len(y), dtype=bool)
    for k in (0, 1):
        rows = np.flatnonzero(y == k)
        if len(rows) < 2:
            raise ValueError(
                "A class has n_samples = 1 row, which cannot be in the training and the held-out "
                "rows. Give more rows, or set validation_fraction=0."
            )
        size = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        held[rng.permutation(rows)[:size]] = True
    return held


def evaluate(stages: list[CascadeStage], X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores (n,), positive for rows that pass every stage, and stumps evaluated (n,)."""
    passed, cost, margin = (np.zeros(len(X)) for _ in range(3))
    rows = np.arange(len(X))
    for stage in stages:
        above = stage.scores(X, rows) - stage.threshold
        cost[rows] += len(stage.weights)
        margin[rows] = above / stage.weights.sum()  # in [-2, 2]
        rows = rows[above >= 0]
        passed[rows] += 1
    return passed - len(stages) + 1 + margin / 2, cost


class CascadeClassifier(ClassifierMixin, Estimator):
    """Cascade of boosted stumps that rejects most negatives early: for rare positives.

    The second class (of the sorted two) is the positive one. The cost of a row is
    the number of stumps that are evaluated until it is rejected.

    Parameters
    ----------
    min_tpr : float, default=0.995
        The least fraction of held-out positives that every stage passes on.
    max_fpr : float, default=0.5
        A stage grows until at most this fraction of the held-out negatives passes.
    max_stages : int, default=10
        Maximum number of stages. The fit ends early where no negatives are left, or where a
        further stage would reject none.
    max_stumps : int, default=100
        Maximum number of stumps per stage; of one that misses max_fpr with them as many are kept as
        pass on the fewest held-out negatives (see `stage_fpr_`).
    validation_fraction : float, default=0.25
        Fraction of each class that is held out; 0 takes the training rows for both.
    balanced : bool, default=True
        Stages start with half of the weight on either class; otherwise with equal rows.
    criterion : {"gini", "error"}, default="gini"
        The criterion of the stumps, as in `AdaBoostClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the choice of the held-out rows.

    Attributes
    ----------
    stages_ : list of CascadeStage
        Each has `stumps` (feature, threshold, left and right vote), `weights`, `threshold`, and
        `tpr` and `fpr` of the held-out rows that reached it.
    thresholds_ : ndarray of shape (n_stages,)
        Threshold of each stage.
    stage_tpr_, stage_fpr_ : ndarray of shape (n_stages,)
        True and false positive rate of each stage on the held-out rows that reach it.
    n_features_used_ : ndarray of shape (n_stages,)
        Number of different features in each stage.
    tpr_, fpr_ : float
        Of the whole cascade on the held-out rows. The thresholds were chosen on these: new rows
        may do slightly worse.
    mean_cost_ : float
        Mean number of stumps evaluated for a held-out row.
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HaarFeatures : Features of image windows.
    AdaBoostClassifier : One stage, also for more classes.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import CascadeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    >>> y = (X ** 2).sum(axis=1) < 0.25
    >>> model = CascadeClassifier(min_tpr=0.98, random_state=0).fit(X, y)
    >>> stumps = sum(len(stage.stumps) for stage in model.stages_)
    >>> bool(model.tpr_ > 0.8 and model.fpr_ < 0.1 and model.mean_cost_ < stumps / 2)
    True
    """

    classes_: np.ndarray
    laws: ClassVar[Laws] = Laws(
        weight="takes no weights: " + DRAWN,
        permutation=DRAWN,
        example={"max_stages": 3, "max_stumps": 5, "random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "min_tpr": Real(0.0, 1.0, "right"),
        "max_fpr": Real(0.0, 1.0, "left"),
        "max_stages": Integer(1),
        "max_stumps": Integer(1),
        "validation_fraction": Real(0.0, 1.0, "left"),
        "balanced": Boolean(),
        "criterion": OneOf("gini", "error"),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        min_tpr: float = 0.995,
        max_fpr: float = 0.5,
        max_stages: int = 10,
        max_stumps: int = 100,
        validation_fraction: float = 0.25,
        balanced: bool = True,
        criterion: str = "gini",
        random_state: Any = None,
    ):
        self.min_tpr = min_tpr
        self.max_fpr = max_fpr
        self.max_stages = max_stages
        self.max_stumps = max_stumps
        self.validation_fraction = validation_fraction
        self.balanced = balanced
        self.criterion = criterion
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on rows X and labels y of two classes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        X, y, _ = labelled_rows(self, X, y, None)
        classes = distinct_classes(y)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y has {len(classes)} classes."
            )
        codes = codes_of(y, classes)
        if self.validation_fraction > 0:
            rng = as_generator(self.random_state)
            held = held_out_rows(codes, float(self.validation_fraction), rng)
            train, test = (X[~held], codes[~held]), (X[held], codes[held])
        else:
            train = test = (X, codes)
        stages = self._stages(*train, *test)
        scores, cost = evaluate(stages, test[0])
        self.classes_, self.stages_ = classes, stages
        self.thresholds_ = np.array([stage.threshold for stage in stages])
        self.stage_tpr_ = np.array([stage.tpr for stage in stages])
        self.stage_fpr_ = np.array([stage.fpr for stage in stages])
        self.n_features_used_ = np.array([len(np.unique(s.stumps[:, 0])) for s in stages])
        self.tpr_, self.fpr_ = (float((scores[test[1] == k] > 0).mean()) for k in (1, 0))
        self.mean_cost_ = float(cost.mean())
        return self

    def _stages(
        self, X: np.ndarray, y: np.ndarray, held: np.ndarray, held_y: np.ndarray
    ) -> list[CascadeStage]:
        """Stages, each on the rows that passed those before it."""
        rules = StageRules(
            float(self.min_tpr),
            float(self.max_fpr),
            int(self.max_stumps),
            bool(self.balanced),
            self.criterion == "gini",
        )
        stages: list[CascadeStage] = []
        while len(stages) < self.max_stages and all(len(np.unique(c)) == 2 for c in (y, held_y)):
            stage = rules.grow(X, y, held, held_y)
            if stage is None or (stages and stage.fpr == 1):
                break
            stages.append(stage)
            keep, held_keep = (evaluate([stage], rows)[0] > 0 for rows in (X, held))
            X, y, held, held_y = X[keep], y[keep], held[held_keep], held_y[held_keep]
        if not stages:
            raise ValueError(
                "The first stump is not better than chance on the training rows, so there is "
                "nothing to boost. Give features that tell the classes apart."
            )
        return stages

    def decision_function(self, X: Any) -> Any:
        """Scores (n,), positive for rows that pass every stage.

        A row that is rejected after s of S stages has s - S + 1 + m / 2 with m < 0 the margin of
        the last one evaluated, a fraction of its votes: later rejections score higher.
        """
        check_is_fitted(self)

        def scores(block: Any) -> Any:
            found = evaluate(self.stages_, dense_rows(self, block))[0]
            return found if is_sparse(block) else like(found, block)

        return map_rows(scores, self._validate(X, reset=False).X)

    def predict(self, X: Any) -> Any:
        """The second class for rows that pass every stage, (n,)."""
        check_is_fitted(self)
        return map_rows(
            lambda s: largest(np.asarray(to_numpy(s)), self.classes_), self.decision_function(X)
        )

    def evaluation_cost(self, X: Any) -> Any:
        """Number of stumps evaluated for each row, (n,), integers."""
        check_is_fitted(self)
        return map_rows(
            lambda block: evaluate(self.stages_, dense_rows(self, block))[1].astype(np.int64),
            self._validate(X, reset=False).X,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
