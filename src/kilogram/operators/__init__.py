"""Kernel matrices as linear operators: stored, blocked, half stored, centred, shifted, scaled."""

from kilogram.operators.centred import Centred, CentredCross, KernelMeans, centre
from kilogram.operators.gram import Gram
from kilogram.operators.half_stored_gram import HalfGram, half_bytes
from kilogram.operators.memory_plan import StoragePlan, plan_storage
from kilogram.operators.operator import Operator, OutOfTime
from kilogram.operators.scaled import DiagonallyScaled, scaled
from kilogram.operators.shifted import Shifted

__all__ = [
    "Centred",
    "CentredCross",
    "DiagonallyScaled",
    "Gram",
    "HalfGram",
    "KernelMeans",
    "Operator",
    "OutOfTime",
    "Shifted",
    "StoragePlan",
    "centre",
    "half_bytes",
    "plan_storage",
    "scaled",
]
