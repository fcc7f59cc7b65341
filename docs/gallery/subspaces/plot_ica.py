"""
Two signals, unmixed
====================

Two microphones record two sources, each a different mixture. Independent components give the
sources back, up to sign and scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

t = np.linspace(0, 8, 1500)
sources = np.c_[np.sin(3 * t), np.sign(np.cos(5 * t))]
mixed = sources @ np.array([[1.0, 0.6], [0.5, 1.0]]) + 0.05 * np.random.default_rng(0).normal(
    size=sources.shape
)
found = kg.FastICA(2, random_state=0).fit_transform(mixed)

figure, axes = plt.subplots(3, 2, figsize=(9, 4.4), sharex=True, layout="constrained")
for row, (name, signals) in zip(
    axes, {"source": sources, "recorded": mixed, "found": found}.items()
):
    for ax, signal, colour in zip(row, signals.T, ("#0072B2", "#D55E00")):
        ax.plot(t, signal, color=colour, lw=1)
        ax.set(yticks=[], ylabel=name if ax is row[0] else "")
plt.show()
