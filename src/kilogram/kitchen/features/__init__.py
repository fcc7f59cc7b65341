"""Features: from the columns of a layout to one array of numbers, fitted inside the folds.

    numbers   numeric, ordinal, date, time  -> missing values imputed and marked -> scaled
    words     categorical                   -> one-hot, rare categories share a column
    text      free text, one at a time      -> terms counted or hashed -> weighted -> truncated SVD
    images    paths of images               -> histograms of oriented gradients, or any network

`FeatureSettings` holds the settings, `featurise` makes the ColumnTransformer (`featurise_for_trees`
the one for trees), `grid` is the search space and `start` the point of the settings in it. The
parts are scikit-learn's wherever it has one.
"""

from kilogram.kitchen.features.dates import DateParts
from kilogram.kitchen.features.images import HOG, NetworkFeatures
from kilogram.kitchen.features.numbers import ColumnScaler, FloatColumns
from kilogram.kitchen.features.plan import (
    FeatureSettings,
    featurise,
    featurise_for_trees,
    grid,
    start,
)
from kilogram.kitchen.features.text import DenseComponents, TermCounts, TermWeights

__all__ = [
    "HOG", "ColumnScaler", "DateParts", "DenseComponents", "FeatureSettings", "FloatColumns",
    "NetworkFeatures", "TermCounts", "TermWeights", "featurise", "featurise_for_trees", "grid",
    "start",
]  # fmt: skip
