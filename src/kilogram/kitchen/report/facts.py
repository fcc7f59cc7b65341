"""The report as JSON: every number in it, and the settings needed to reproduce them."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from kilogram.evaluation.intervals import Comparison
from kilogram.kitchen.formatting import json_values
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.prediction_checks import PredictionChecks
from kilogram.kitchen.result import CookResult

SCHEMA = "kilogram report 1"


def as_json(cooked: CookResult) -> bytes:
    """The facts as strict JSON: NaN and infinity become null."""
    return json.dumps(
        json_values(facts(cooked)), indent=1, allow_nan=False, ensure_ascii=False
    ).encode()


def facts(cooked: CookResult) -> dict[str, Any]:
    """All results as plain values."""
    baseline = cooked.judged[0]
    return {
        "schema": SCHEMA,
        "made": datetime.fromtimestamp(cooked.made, UTC).isoformat(timespec="seconds"),
        "conclusion": list(cooked.verdict),
        "table": {
            "name": cooked.table.name,
            "rows": cooked.table.data.num_rows,
            "columns": cooked.table.data.num_columns,
        },
        "target": cooked.question.target,
        "task": {"name": cooked.question.task, "reason": cooked.question.reason},
        "classes": list(cooked.question.classes),
        "measure": {"name": cooked.measure.name, "reason": cooked.measure_reason},
        "rows_judged": len(cooked.judged[0].y),
        "chosen": cooked.chosen.name,
        "model": {"recipe": cooked.kept.name, **cooked.model.about},
        "recipes": [_recipe(one, baseline) for one in cooked.judged],
        "comparisons": _comparisons(cooked.judged),
        "columns": [_column(column) for column in cooked.model.layout.columns],
        "audit": cooked.audit.as_dict()["findings"],
        "importance": _importance(cooked),
        "learning": _learning(cooked),
        "trust": _trust(cooked.evidence.trust),
        "notes": list(cooked.notes),
        "settings": asdict(cooked.settings),
        "seconds": cooked.seconds,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Versions of the software."""
    names = ("kilogram", "numpy", "scipy", "scikit-learn", "pyarrow")
    found = {"python": platform.python_version(), "platform": sys.platform}
    return found | {name: _version(name) for name in names}


def _version(name: str) -> str:
    if name == "kilogram":
        from kilogram import __version__

        return __version__
    return version(name)


def _recipe(one: EvaluatedRecipe, baseline: EvaluatedRecipe) -> dict[str, Any]:
    nested = one.nested
    return {
        "name": one.name,
        "about": one.recipe.about,
        "score": asdict(one.score),
        "other_measures": {name: asdict(interval) for name, interval in one.side().items()},
        "gain_over_baseline": None if one is baseline else _comparison(one.over_baseline(baseline)),
        "optimism": one.optimism,
        "stability": nested.stability,
        "seconds": one.seconds,
        "candidates": candidates(one),
        "folds": [
            {
                "score": part,
                "inner_score": fold.inner_score,
                "winner": fold.winner,
                "train_rows": len(fold.train),
                "test_rows": len(fold.test),
                "seconds": fold.seconds,
            }
            for part, fold in zip(one.pooled.parts, nested.folds, strict=True)
        ],
    }


def candidates(one: EvaluatedRecipe) -> int:
    """Parameter settings tried in a fold: those of the preprocessing times those of the model."""
    last = one.first_round[0].model[-1]
    own = int(getattr(last, "tried_", getattr(last, "path_", np.empty(1)).size))
    return own * max(fold.tried for fold in one.nested.folds)


def _comparisons(judged: tuple[EvaluatedRecipe, ...]) -> list[dict[str, Any]]:
    pairs = [(one, other) for k, one in enumerate(judged) for other in judged[:k]]
    return [
        {"recipe": one.name, "against": other.name, **_comparison(one.against(other))}
        for one, other in pairs
    ]


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "difference": asdict(found.difference),
        "p_value": found.p_value,
        "verdict": found.verdict,
    }


def _column(column: Any) -> dict[str, Any]:
    return asdict(column) | {"levels": list(column.levels), "used": column.used}


def _importance(cooked: CookResult) -> list[dict[str, Any]] | None:
    found = cooked.evidence.importance
    if found is None:
        return None
    return [
        {"column": found.columns[k], "loss": found.typical[k], "folds": found.losses[k]}
        for k in found.order
    ]


def _learning(cooked: CookResult) -> list[dict[str, Any]] | None:
    found = cooked.evidence.learning
    if found is None:
        return None
    return [{"rows": n, "scores": s} for n, s in zip(found.sizes, found.scores, strict=True)]


def _trust(found: PredictionChecks) -> dict[str, Any]:
    checks: dict[str, Any] = {
        "chance": {"p_value": found.chance.p_value, "shuffles": len(found.chance.shuffled),
                   "score": found.chance.score, "chance": found.chance.chance},
        "more_rows": None if found.more_rows is None else asdict(found.more_rows),
        "intervals": None if found.range is None else asdict(found.range),
        "quantile": None if found.quantile is None else asdict(found.quantile),
        "classes": [
            asdict(c) | {"precision": c.precision, "recall": c.recall} for c in found.classes
        ],
        "subgroups": [
            {"column": g.column, "group": g.found.name, "verdict": g.found.verdict,
             "rows": g.found.count, "loss": g.found.loss,
             "difference": asdict(g.found.difference), "p_value": g.found.p_value}
            for g in found.groups
        ],
    }  # fmt: skip
    if found.ranking is not None:
        ranking = found.ranking
        costs = [{"false_alarm": a, "miss": b, **asdict(t)} for a, b, t in ranking.costs]
        checks["ranking"] = {"roc_area": asdict(ranking.roc), "fraction": ranking.fraction,
                           "average_precision": asdict(ranking.precision),
                           "thresholds": costs}  # fmt: skip
    if found.calibration is not None:
        one = found.calibration
        checks["calibration"] = {
            "error": one.calibration_error, "brier": one.brier, "reliability": one.reliability,
            "resolution": one.resolution, "uncertainty": one.uncertainty,
            "bins": [asdict(b) for b in one.bins],
        }  # fmt: skip
    return checks
