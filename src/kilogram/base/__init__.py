"""The estimator contract: validation, parameter constraints, limits, progress, warnings."""

from kilogram.base.budget import Budget
from kilogram.base.estimate import Estimate, estimate
from kilogram.base.estimator import Estimator, as_written
from kilogram.base.laws import Laws, Twin
from kilogram.base.validation.validate import ValidatedData
from kilogram.base.warnings import ConvergenceWarning, MemoryFallbackWarning, warn_if_unfinished

__all__ = [
    "Budget",
    "ConvergenceWarning",
    "Estimate",
    "Estimator",
    "Laws",
    "MemoryFallbackWarning",
    "Twin",
    "ValidatedData",
    "as_written",
    "estimate",
    "warn_if_unfinished",
]
