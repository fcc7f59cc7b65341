"""
A circle among outliers
=======================

A quarter of the points are noise. The algebraic fit minimises the wrong distance and the
geometric one follows the outliers; the robust fit finds the arc.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
t = rng.uniform(0, np.pi, 60)
points = 3 * np.c_[np.cos(t), np.sin(t)] + 0.1 * rng.standard_normal((60, 2))
points[:15] = rng.uniform(-6, 6, (15, 2))

figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
ax.scatter(*points.T, s=16, color="#2b2b33")
s = np.linspace(0, 2 * np.pi, 200)
for method, colour in (("algebraic", "#8a8a96"), ("geometric", "#D55E00"), ("robust", "#0072B2")):
    found = kg.fit_circle(points, method)
    x, y = found.center[:, None] + found.radius * np.array([np.cos(s), np.sin(s)])
    ax.plot(x, y, color=colour, lw=2, label=f"{method}, r = {found.radius:.2f}")
ax.set(aspect="equal", xlim=(-7, 7), ylim=(-7, 7))
ax.legend(frameon=False, fontsize=9)
plt.show()
