"""
Errors in both variables
========================

If x is measured with an error too, least squares makes the slope too small. Total least squares
minimises the distance to the line.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
true = rng.uniform(-3, 3, 300)
x = true[:, None] + 0.8 * rng.standard_normal((300, 1))
y = true + 0.8 * rng.standard_normal(300)  # slope 1

ends = np.array([[-4.0], [4.0]])
figure, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
ax.scatter(x, y, s=12, color="#2b2b33", alpha=0.5, linewidths=0)
for model, colour in ((kg.LinearRegression(), "#D55E00"), (kg.TotalLeastSquares(), "#0072B2")):
    model.fit(x, y)
    name = f"{type(model).__name__}, slope {np.ravel(model.coef_)[0]:.2f}"
    ax.plot(ends, model.predict(ends), color=colour, lw=2, label=name)
ax.legend(frameon=False)
ax.set(xlabel="x", ylabel="y", aspect="equal")
plt.show()
