"""
A signal of few spikes, found by matching pursuit
=================================================

Orthogonal matching pursuit takes the column that correlates most with the residual, fits again,
and repeats. From 100 measurements of a signal of length 256 it finds all twelve spikes.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(2)
signal = np.zeros(256)
places = rng.choice(256, 12, replace=False)
signal[places] = rng.choice([-1, 1], 12) * rng.uniform(1, 3, 12)
A = rng.standard_normal((100, 256)) / 10
y = A @ signal + 0.01 * rng.standard_normal(100)

model = kg.OrthogonalMatchingPursuit(n_nonzero_coefs=12).fit(A, y)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.vlines(places, 0, signal[places], color="#56B4E9", lw=4, label="signal")
found = np.flatnonzero(model.coef_)
ax.plot(found, model.coef_[found], "o", color="#D55E00", ms=5, label="found")
ax.axhline(0, color="#8a8a96", lw=0.8)
ax.set(xlabel="position", ylabel="height")
ax.legend(frameon=False)
plt.show()
