"""
A trend and a season, taken apart
=================================

A sum of kernels is a sum of functions. Here a smooth trend and a yearly season explain a
series, and the forecast goes on with both.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
t = np.arange(0, 8, 1 / 12)
y = 0.4 * t + 0.05 * t**2 + np.sin(2 * np.pi * t) + 0.15 * rng.standard_normal(len(t))


def clock(t):
    """The date, and the hand of the year's clock."""
    return np.c_[t, np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)]


trend = 20.0 * kg.OnColumns(kg.Gaussian(8.0), [0])
season = 1.0 * kg.OnColumns(kg.Gaussian(1.5), [1, 2])
model = kg.GaussianProcessRegressor(trend + season + kg.White(0.05)).fit(clock(t), y - y.mean())

ahead = np.arange(0, 11, 1 / 24)
mean, std = model.predict(clock(ahead), return_std=True)
display = kg.PredictionBandDisplay.from_predictions(
    ahead, y.mean() + mean, y.mean() + mean - 1.96 * std, y.mean() + mean + 1.96 * std
)
display.ax_.plot(t, y, ".", color="#2b2b33")
display.ax_.set(xlabel="year", ylabel="value")
plt.show()
