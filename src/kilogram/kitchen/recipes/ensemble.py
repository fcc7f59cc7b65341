"""A weighted mean of recipes: of their predictions, or of their class probabilities.

Weights come from greedy selection: starting from nothing, the recipe that most improves the mean
on held-out predictions is added again and again; its weight is the fraction of times it was added
(Caruana, Niculescu-Mizil, Crew and Ksikes 2004). Decision values of a classifier become
probabilities by a scale of its own before they are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from kilogram.evaluation.grouped_fits import fit_rows
from kilogram.evaluation.nested import stopped_at
from kilogram.evaluation.probability_scaling import TemperatureScaling, as_columns
from kilogram.evaluation.search import Search
from kilogram.kitchen.measures import TINY
from kilogram.kitchen.recipes.library_models import class_scores

ROUNDS = 25  # a weight is then known to 1/25, finer than folds can tell
# A round must improve the loss by this fraction of it: less shows in no digit of the report.
LEAST = 1e-4


def greedy_weights(
    loss: Callable[[np.ndarray], float], members: Sequence[np.ndarray], rounds: int = ROUNDS
) -> np.ndarray:
    """(m,) weights that sum to 1, for (n, ...) predictions of each member.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> greedy_weights(lambda f: float(np.mean((f - y) ** 2)), [y + 1, y - 1])
    array([0.5, 0.5])
    """
    counts = np.zeros(len(members), dtype=int)
    total = np.zeros_like(members[0], dtype=float)
    best, chosen = np.inf, counts.copy()
    for _ in range(rounds):
        losses = [loss((total + one) / (counts.sum() + 1)) for one in members]
        k = int(np.argmin(losses))
        counts[k] += 1
        total = total + members[k]
        if losses[k] < best - LEAST * abs(best if np.isfinite(best) else 0.0):
            best, chosen = losses[k], counts.copy()
    return chosen / chosen.sum()


class Ensemble(BaseEstimator):
    """Base of the ensembles of classifiers and regressors.

    Parameters
    ----------
    members : list of (name, estimator)
        Recipes: pipelines or searches for one.
    weights : sequence of float
        One for each member; those with weight 0 are not fitted.

    Attributes
    ----------
    members_ : the fitted members of positive weight
    weights_ : their weights
    best_params_ : weight by name
    stopped_at_ : points after which a limit ended the search of a member, by name
    """

    def __init__(self, members: Any = (), weights: Sequence[float] = ()):
        self.members = members
        self.weights = weights

    def fit(self, X: Any, y: Any, groups: Any = None, moments: Any = None) -> Self:
        """Fit every member of positive weight, along groups or times where they are given."""
        given = {"groups": groups, "moments": moments}
        along = {name: np.asarray(v) for name, v in given.items() if v is not None}
        fitted = [
            fit_rows(clone(member), X, y, along or None) if weight > 0 else None
            for (_, member), weight in zip(self.members, self.weights, strict=True)
        ]
        names = [name for name, _ in self.members]
        self.stopped_at_ = {name: stopped_at(one) for name, one in zip(names, fitted, strict=True)
                            if one is not None and stopped_at(one)}  # fmt: skip
        return self.with_fitted(fitted, np.unique(y))

    def with_fitted(self, members: Sequence[Any], classes: np.ndarray) -> Self:
        """The ensemble of members that have been fitted; None for those of weight 0."""
        kept = [k for k, weight in enumerate(self.weights) if weight > 0]
        self.members_ = [_pipeline(members[k]) for k in kept]
        self.weights_ = np.array([self.weights[k] for k in kept], dtype=float)
        self.best_params_ = {self.members[k][0]: float(self.weights[k]) for k in kept}
        self._finish(kept, classes)
        return self

    def _finish(self, kept: list[int], classes: np.ndarray) -> None:
        """Fitted attributes that a subclass adds."""

    def __getstate__(self) -> dict[str, Any]:
        """Without the unfitted members: a file holds what predicts."""
        state = {name: value for name, value in super().__getstate__().items()
                 if name != "stopped_at_"}  # fmt: skip
        return state | {"members": ()}


def _pipeline(model: BaseEstimator) -> BaseEstimator:
    found = model.best_estimator_ if isinstance(model, Search) else model
    return found.set_params(memory=None)


class EnsembleRegressor(RegressorMixin, Ensemble):
    """The weighted mean of predictions. Parameters: see Ensemble."""

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "members_")
        return np.tensordot(self.weights_, [m.predict(X) for m in self.members_], axes=1)


class EnsembleClassifier(ClassifierMixin, Ensemble):
    """The weighted mean of probabilities; `scales` make decision values of a member into them."""

    def __init__(self, members: Any = (), weights: Sequence[float] = (),
                 scales: Sequence[float] = ()):  # fmt: skip
        super().__init__(members, weights)
        self.scales = scales

    def _finish(self, kept: list[int], classes: np.ndarray) -> None:
        self.classes_ = classes
        self.scales_ = np.array([self.scales[k] for k in kept], dtype=float)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) probabilities."""
        check_is_fitted(self, "members_")
        P = np.zeros((len(X), len(self.classes_)))
        for member, weight, scale in zip(self.members_, self.weights_, self.scales_, strict=True):
            F = as_columns(class_scores(member, X))
            known = np.searchsorted(self.classes_, member.classes_)
            P[:, known] += weight * scaled(F, float(scale))
        return P

    def decision_function(self, X: Any) -> np.ndarray:
        """(n, classes) logarithms of the probabilities; of two classes their difference (n,)."""
        F = np.log(np.maximum(self.predict_proba(X), TINY))
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def scaled(F: np.ndarray, scale: float) -> np.ndarray:
    """Probabilities of (n, classes) decision values."""
    return TemperatureScaling(scale, np.zeros(F.shape[1])).probabilities(F)
