"""
A growth curve and its two bands
================================

Yield of a pasture against growing time (Ratkowsky 1983), fitted with a logistic curve. The
inner band holds the curve, the outer one new observations.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

time = np.array([9, 14, 21, 28, 42, 57, 63, 70, 79.0])[:, None]
yields = np.array([8.93, 10.8, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08])


def growth(x, size, shift, rate):
    return size / (1 + np.exp(shift - rate * x))


model = kg.NonlinearRegression(growth, [100, 1, 0.1]).fit(time, yields)
print(model.summary())
bands = kg.PredictionBandDisplay.from_estimator(model, time, yields, feature_names=["growing time"])
bands.ax_.set_ylabel("yield")
plt.show()
