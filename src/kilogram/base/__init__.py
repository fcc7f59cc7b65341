"""The estimator contract: validation at the door, budgets, progress, one kind of warning."""

from kilogram.base.budget import Budget
from kilogram.base.door import Door
from kilogram.base.estimate import Estimate, estimate
from kilogram.base.estimator import Estimator, as_written
from kilogram.base.laws import Laws, Twin
from kilogram.base.warnings import ConvergenceWarning, MemoryRoadWarning, warn_if_unfinished

__all__ = [
    "Budget",
    "ConvergenceWarning",
    "Door",
    "Estimate",
    "Estimator",
    "Laws",
    "MemoryRoadWarning",
    "Twin",
    "as_written",
    "estimate",
    "warn_if_unfinished",
]
