"""Features: from the columns of a layout to one array of numbers, fitted inside the folds.

    numbers   numeric, ordinal, date, time  -> gaps filled and marked -> scaled
    words     categorical                   -> one column per word, rare ones share one
    text      free text, one at a time      -> terms counted or hashed -> weighted -> compressed
    images    paths of pictures             -> histograms of oriented gradients, or any network

`Plan` holds every choice, `featurise` makes the ColumnTransformer (`featurise_for_trees` the one
for trees), `grid` lists what a search may try and `start` where a plan stands on it. The parts are
scikit-learn's wherever it has one.
"""

from kilogram.kitchen.featurise.dates import DateParts
from kilogram.kitchen.featurise.images import HOG, NetworkFeatures
from kilogram.kitchen.featurise.numbers import Numbers, Scaled
from kilogram.kitchen.featurise.plan import Plan, featurise, featurise_for_trees, grid, start
from kilogram.kitchen.featurise.text import Compressed, TermCounts, TermWeights

__all__ = [
    "HOG", "Compressed", "DateParts", "NetworkFeatures", "Numbers", "Plan", "Scaled", "TermCounts",
    "TermWeights", "featurise", "featurise_for_trees", "grid", "start",
]  # fmt: skip
