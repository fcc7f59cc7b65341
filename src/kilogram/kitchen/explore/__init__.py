"""A table without a target: distributions, dependence, components, clusters, outliers, topics.

explore(table)   -> Exploration, the summary in sentences and all numbers
.save(folder)    exploration.html and exploration.json
"""

from kilogram.kitchen.explore.exploration import Exploration
from kilogram.kitchen.explore.run import explore

__all__ = ["Exploration", "explore"]
