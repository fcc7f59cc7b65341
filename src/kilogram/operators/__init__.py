"""Kernel matrices as linear maps: stored, blocked, centred, shifted, or low rank."""

from kilogram.operators.centred import Centred, CentredCross, KernelMeans, centre
from kilogram.operators.gram import Gram
from kilogram.operators.half_gram import HalfGram, half_bytes
from kilogram.operators.low_rank import LowRank
from kilogram.operators.memory_plan import Road, choose_road, memory_limit
from kilogram.operators.operator import Operator
from kilogram.operators.shifted import Shifted

__all__ = [
    "Centred",
    "CentredCross",
    "Gram",
    "HalfGram",
    "KernelMeans",
    "LowRank",
    "Operator",
    "Road",
    "Shifted",
    "centre",
    "choose_road",
    "half_bytes",
    "memory_limit",
]
