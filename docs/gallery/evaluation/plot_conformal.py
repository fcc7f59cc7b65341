"""
Intervals for any model
=======================

A forest predicts numbers without an interval. CV+ gives it one from the errors of
cross-validation, that holds the wanted fraction of new rows whatever the model is.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg
from kilogram.evaluation import cv_plus

rng = np.random.default_rng(0)
x = rng.uniform(0, 6, 150)[:, None]
y = np.sin(x[:, 0]) + 0.25 * rng.standard_normal(150)
found = cv_plus(kg.RandomForestRegressor(40, min_samples_leaf=5, random_state=0), x, y)
kg.PredictionBandDisplay.from_estimator(found, x, y, coverage=0.9, eps=0.0)

new = rng.uniform(0, 6, 1000)[:, None]
low, high = found.interval(new, coverage=0.9)
truth = np.sin(new[:, 0]) + 0.25 * rng.standard_normal(1000)
print(f"{np.mean((low <= truth) & (truth <= high)):.1%} of 1 000 new rows lie inside")
plt.show()
