"""
The area of a cloud, measured by a circle around the origin
===========================================================

A simple algorithm: the area of a cloud is that of the smallest circle around the origin that holds
all its points. It measures where the cloud lies, not how large it is. Subtracting the mean helps,
dividing the columns by their standard deviations helps again (the area found there is multiplied
back by the two deviations).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 2)) * [3, 0.3] + [10, 5]
centred = X - X.mean(axis=0)
scaled = StandardScaler().fit_transform(X)
# of a normal cloud the ellipse that holds 99 % of it, chi-squared with two degrees of freedom
truth = np.pi * 9.21 * np.sqrt(np.linalg.det(np.cov(X.T)))

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, Z, units) in zip(
    axes,
    [("as it is", X, 1.0), ("centred", centred, 1.0), ("scaled", scaled, np.prod(X.std(axis=0)))],
    strict=True,
):
    radius = np.linalg.norm(Z, axis=1).max()
    area = np.pi * radius**2 * units
    print(f"{name:10s} area {area:8.1f}, ellipse of 99 % {truth:.1f}")
    ax.scatter(*Z.T, s=6, alpha=0.5)
    ax.add_patch(plt.Circle((0, 0), radius, fill=False, color="tab:red"))
    ax.plot(0, 0, "+", color="tab:red", ms=12)
    ax.set(title=f"{name}: circle {area:.0f}, ellipse of 99 % {truth:.0f}", aspect="equal")
    ax.set(xlim=(-1.1 * radius, 1.1 * radius), ylim=(-1.1 * radius, 1.1 * radius))
plt.show()
