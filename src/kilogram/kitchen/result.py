"""What `cook` found: the data behind the report, the model card and the terminal output.

`CookResult` holds values only. The report, the plots and the files are made from it; `Cooked`,
which `cook` returns, adds the methods that write them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kilogram.kitchen.artifact.model import Model
from kilogram.kitchen.artifact.partial_dependence import PartialDependence
from kilogram.kitchen.audit import Audit
from kilogram.kitchen.judge.collect_evidence import Evidence
from kilogram.kitchen.judge.compare import EvaluatedRecipe
from kilogram.kitchen.judge.journal import Journal
from kilogram.kitchen.judge.selection import best_above_baseline
from kilogram.kitchen.measures import Measure
from kilogram.kitchen.question import Question
from kilogram.kitchen.read.table import Table
from kilogram.kitchen.settings import Settings


@dataclass(frozen=True, repr=False)
class CookResult:
    """The evaluated recipes, the evidence about them, and the fitted model.

    Attributes
    ----------
    judged : tuple of EvaluatedRecipe
        All recipes, the baseline first, then from the simplest to the most flexible.
    chosen : EvaluatedRecipe
        The simplest recipe within one standard error of the best.
    kept : EvaluatedRecipe
        The recipe of `model`: the chosen one unless `keep` asked for another.
    verdict : tuple of str
        The conclusion in three sentences.
    rows : (n,) positions in the table of the rows that were used
    effects : partial dependence of the most important columns
    planned_folds : outer folds without a time limit
    stopped_at : how far searches and evidence went where the time limit ended them
    """

    table: Table
    question: Question
    measure: Measure
    measure_reason: str
    judged: tuple[EvaluatedRecipe, ...]
    chosen: EvaluatedRecipe
    kept: EvaluatedRecipe
    verdict: tuple[str, str, str]
    evidence: Evidence
    model: Model
    settings: Settings
    notes: tuple[str, ...]
    audit: Audit
    seconds: float
    made: float = field(default_factory=time.time)
    reading: Mapping[str, Any] = field(default_factory=dict)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    effects: tuple[PartialDependence, ...] = ()
    planned_folds: int = 0
    stopped_at: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    journal: Journal = field(default_factory=lambda: Journal(None, ""))

    def predict(self, source: Any) -> np.ndarray:
        """Predictions of the model for a path or data frame."""
        return self.model.predict(source)

    @property
    def shown(self) -> EvaluatedRecipe:
        """The recipe of the plots: the chosen one, or the best one above the baseline."""
        if self.chosen.name != "baseline":
            return self.chosen
        return best_above_baseline(self.judged)

    def __repr__(self) -> str:
        return "\n".join(self.verdict)
