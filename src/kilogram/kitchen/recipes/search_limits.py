"""Searches that end after a given number of points instead of a time.

What a time limit cuts depends on the speed of the machine. `recipe.toml` records how far each
search went, and a run of that recipe ends it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from kilogram.evaluation.nested import stopped_at
from kilogram.evaluation.search import Search
from kilogram.kitchen.recipes.ensemble import Ensemble
from kilogram.kitchen.recipes.tree_search import TreeSearch


def ended_at(pipeline: Any, points: int) -> Any:
    """A recipe whose search ends after so many points, 0 for all of them, whatever the time.

    Of an ensemble the searches of all members do.
    """
    found = clone(pipeline)
    search = _last(found)
    if isinstance(search, Search | TreeSearch):
        search.set_params(max_time=None, max_trials=points or None)
    if isinstance(search, Ensemble):
        search.set_params(members=[(name, ended_at(one, points)) for name, one in search.members])
    return found


def on_all_rows(pipeline: Any, name: str, points: Mapping[str, int]) -> Any:
    """A recipe, or the members of an ensemble, with the searches that `points` names ended so."""
    found = clone(pipeline)
    ensemble = _last(found)
    if isinstance(ensemble, Ensemble):
        members = [(one, on_all_rows(member, one, points)) for one, member in ensemble.members]
        ensemble.set_params(members=members)
    elif name in points:
        found = ended_at(found, points[name])
    return found


def stops_on_all_rows(model: BaseEstimator, name: str) -> dict[str, int]:
    """Recipe -> points after which a limit ended its search, of a model fitted on all rows."""
    if isinstance(_last(model), Ensemble):
        return dict(_last(model).stopped_at_)
    points = stopped_at(model)
    return {name: points} if points else {}


def _last(model: BaseEstimator) -> Any:
    return model[-1] if isinstance(model, Pipeline) else model
