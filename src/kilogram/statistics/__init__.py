"""Statistics: frozen values made from a block of rows and added with `+`."""

from kilogram.statistics.counts import Counts
from kilogram.statistics.moments import JointMoments, Moments
from kilogram.statistics.triangle import Triangle

__all__ = ["Counts", "JointMoments", "Moments", "Triangle"]
