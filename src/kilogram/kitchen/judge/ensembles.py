"""The ensemble of the evaluated recipes, evaluated like each of them.

Nothing is fitted: held-out predictions of the recipes are averaged. The weights for the rows of one
outer fold come from the other folds of its repetition (along time: from those before it), so that
no row has a part in the weights it is predicted with. Weights of the final model come from all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kilogram.evaluation.nested import Fold, Nested
from kilogram.evaluation.probability_scaling import fit_scaling
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.pooled_scores import repetitions
from kilogram.kitchen.measures import BALANCED, TINY, Measure, of_predictions, quick
from kilogram.kitchen.recipes.ensemble import (
    EnsembleClassifier,
    EnsembleRegressor,
    greedy_weights,
    scaled,
)
from kilogram.kitchen.recipes.recipe import Recipe

FEWEST = 2  # one recipe is no ensemble


def ensemble(judged: tuple[EvaluatedRecipe, ...]) -> EvaluatedRecipe | None:
    """The ensemble of all recipes better than the baseline; None where there are fewer than two."""
    baseline = judged[0]
    members = [one for one in judged[1:] if one.over_baseline(baseline).verdict == "better"]
    if len(members) < FEWEST:
        return None
    folds = _folds(members)
    unfitted = _combined(members, *_weights(members, range(len(members[0].nested.folds))))
    named = ", ".join(one.name for one in members)
    recipe = Recipe("ensemble", "Ensemble", "Weighted mean of other recipes "
                    f"({named}); weights by greedy selection on held-out predictions.",
                    Pipeline([("model", unfitted)]))  # fmt: skip
    first = members[0]
    return EvaluatedRecipe(recipe, Nested(folds), first.measure, first.y, first.along)


def _folds(members: list[EvaluatedRecipe]) -> tuple[Fold, ...]:
    first = members[0]
    found: list[Fold] = []
    later = "moments" in (first.along or {})
    for places in repetitions(first.nested.folds):
        for k in places:
            rest = [j for j in places if (j < k if later else j != k)]
            found.append(_fold(members, k, rest))
    return tuple(found)


def _fold(members: list[EvaluatedRecipe], k: int, rest: list[int]) -> Fold:
    """Fold k, predicted with the weights that the other folds select."""
    measure, y = members[0].measure, members[0].y
    weights, scales = _weights(members, rest)
    mine = [one.nested.folds[k] for one in members]
    prediction, decision = _mean(members, [k], weights, scales)
    score = quick(of_predictions(measure))
    inner = None
    if rest:
        truth = np.concatenate([y[mine_.test] for mine_ in _folds_at(members[0], rest)])
        inner = float(score(truth, _mean(members, rest, weights, scales)[0]))
    model: Any = None
    if all(fold.model is not None for fold in mine):
        combined = _combined(members, weights, scales)
        classes = np.arange(0 if decision is None else decision.shape[1])
        model = Pipeline([("model", combined.with_fitted([f.model for f in mine], classes))])
    used = {one.name: float(w) for one, w in zip(members, weights, strict=True) if w > 0}
    return replace(
        mine[0], score=float(score(y[mine[0].test], prediction)), inner_score=inner, winner=used,
        prediction=prediction, decision=decision, model=model, tried=1,
        stopped_at=min((f.stopped_at for f in mine if f.stopped_at), default=0),
        seconds=sum(f.seconds for f, w in zip(mine, weights, strict=True) if w > 0),
    )  # fmt: skip


def _folds_at(one: EvaluatedRecipe, places: Any) -> list[Fold]:
    return [one.nested.folds[j] for j in places]


def _weights(members: list[EvaluatedRecipe], places: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights and scales by the held-out predictions of these folds; equal ones without folds."""
    places = list(places)
    equal = np.full(len(members), 1 / len(members))
    if not places:
        return equal, np.ones(len(members))
    measure, y = members[0].measure, members[0].y
    truth = np.concatenate([y[fold.test] for fold in _folds_at(members[0], places)])
    if measure.task == "regression":
        predictions = [
            np.concatenate([f.prediction for f in _folds_at(one, places)]) for one in members
        ]
        score = quick(measure)
        return greedy_weights(lambda f: -measure.sign * score(truth, f), predictions), np.ones(
            len(members)
        )
    decisions = [np.concatenate([_decision(f) for f in _folds_at(one, places)]) for one in members]
    scales = np.array([fit_scaling(F, truth).scale for F in decisions])
    P = [scaled(F, float(s)) for F, s in zip(decisions, scales, strict=True)]
    return greedy_weights(_log_loss(truth, measure), P), scales


def _log_loss(truth: np.ndarray, measure: Measure) -> Any:
    """Smoother than errors counted; each class weighs the same where the measure says so."""
    weight = np.ones(len(truth))
    if measure.name in BALANCED:
        counts = np.bincount(truth)
        weight = len(truth) / (np.count_nonzero(counts) * np.maximum(counts, 1))[truth]

    def loss(P: np.ndarray) -> float:
        return float(-np.mean(weight * np.log(np.maximum(P[np.arange(len(truth)), truth], TINY))))

    return loss


def _mean(
    members: list[EvaluatedRecipe], places: list[int], weights: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Predictions of these folds, and decision values of classes."""
    if members[0].measure.task == "regression":
        each = [np.concatenate([f.prediction for f in _folds_at(one, places)]) for one in members]
        return np.tensordot(weights, each, axes=1), None
    P = sum(w * scaled(np.concatenate([_decision(f) for f in _folds_at(one, places)]), float(s))
            for one, w, s in zip(members, weights, scales, strict=True))  # fmt: skip
    P = np.asarray(P)
    return np.argmax(P, axis=1), np.log(np.maximum(P, TINY))


def _decision(fold: Fold) -> np.ndarray:
    assert fold.decision is not None
    return fold.decision


def _combined(
    members: list[EvaluatedRecipe], weights: np.ndarray, scales: np.ndarray
) -> EnsembleRegressor | EnsembleClassifier:
    """The unfitted ensemble."""
    recipes = [(one.name, one.recipe.pipeline) for one in members]
    if members[0].measure.task == "regression":
        return EnsembleRegressor(recipes, weights.tolist())
    return EnsembleClassifier(recipes, weights.tolist(), scales.tolist())
