"""
Searching for informative projections
=====================================

Principal components find the direction of largest variance. Other directions are informative in
other ways: heavy tails, two modes. Each is a number computed from a projection, an index, and
projection pursuit searches the direction that makes it largest.
"""

import matplotlib.pyplot as plt
import numpy as np

from kilogram.textbook.projection_pursuit import INDICES, pursue
from kilogram.textbook.state import run

rng = np.random.default_rng(0)
n = 1500
X = rng.standard_normal((n, 6)) * [3.0, 2.5, 2.0, 1.5, 1.0, 1.0]
X[:, 4] = 0.5 * rng.choice([-1, 1], n) + 0.1 * rng.standard_normal(n)  # two modes, small variance
X[:, 5] = 0.3 * rng.laplace(size=n)  # heavy tails
rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
X = X @ rotation.T

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
for ax, (name, index) in zip(axes, INDICES.items(), strict=True):
    s = run(pursue(X, index, np.random.default_rng(1), starts=4))
    source = int(np.abs(rotation.T @ s["w"]).argmax())
    print(f"{name:10s} {s.objective:6.2f} along hidden column {source}")
    ax.hist(s["y"], bins=60)
    ax.set(title=f"{name}: {s.objective:.2f}, hidden column {source}", xlabel="projection")
axes[0].set_ylabel("rows")
plt.show()
