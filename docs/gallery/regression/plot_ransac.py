"""
RANSAC: the largest set of rows that agree
==========================================

Half of the rows belong to no line at all. RANSAC fits lines to small random subsets and keeps
the one that most rows agree with.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 200)[:, None]
y = 2 + 0.8 * x[:, 0] + 0.3 * rng.standard_normal(200)
y[100:] = rng.uniform(0, 14, 100)

model = kg.RANSACRegressor(random_state=0).fit(x, y)
squares = kg.LinearRegression().fit(x, y)
ends = np.array([[0.0], [10.0]])
figure, ax = plt.subplots(layout="constrained")
inside = model.inlier_mask_
ax.scatter(x[~inside], y[~inside], s=16, color="#b4b4be", label="left out")
ax.scatter(x[inside], y[inside], s=16, color="#56B4E9", label="agree with the line")
ax.plot(ends, model.predict(ends), color="#0072B2", lw=2, label="RANSAC")
ax.plot(ends, squares.predict(ends), color="#D55E00", lw=2, label="least squares")
ax.legend(frameon=False, loc="lower center", ncols=4, bbox_to_anchor=(0.5, 1))
ax.set(xlabel="x", ylabel="y")
plt.show()
