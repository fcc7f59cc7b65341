"""
Stackloss: days that least squares hides
========================================

Ammonia lost on 21 days of a plant (Brownlee 1965). A few days do not follow the others and pull
the plane of least squares so far that no residual exceeds 2.5 standard deviations: they mask each
other. The MM-estimate shows days 4 and 21. Least trimmed squares, which fits the better half of the
days, also shows days 1 and 3, whose features are extreme, and two days at the limit.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

X = np.array([
    [80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70],
    [27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20],
    [89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91],
], dtype=float).T  # fmt: skip
y = np.array(
    [42, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15], dtype=float
)
day = np.arange(1, len(y) + 1)

squares = kg.LinearRegression().fit(X, y)
spread = np.sqrt(np.sum((y - squares.predict(X)) ** 2) / (len(y) - X.shape[1] - 1))
robust = kg.RobustRegressor(n_starts=6000).fit(X, y)
trimmed = kg.LeastTrimmedSquares(n_starts=6000).fit(X, y)
panels = {
    "least squares": (y - squares.predict(X)) / spread,
    "MM-estimate": (y - robust.predict(X)) / robust.scale_,
    "least trimmed squares": (y - trimmed.predict(X)) / trimmed.scale_,
}

figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, (name, residuals) in zip(axes, panels.items(), strict=True):
    far = np.abs(residuals) > 2.5
    ax.axhspan(-2.5, 2.5, color="#8a8a96", alpha=0.15, lw=0)
    ax.vlines(day, 0, residuals, color=np.where(far, "#D55E00", "#2b2b33"), lw=1)
    ax.scatter(day, residuals, s=18, c=np.where(far, "#D55E00", "#2b2b33"))
    for at in np.flatnonzero(far):
        side = (0, 6 if residuals[at] > 0 else -15)
        ax.annotate(
            day[at], (day[at], residuals[at]), side, textcoords="offset points", ha="center"
        )
    ax.set(title=name, xlabel="day", xlim=(0, 22), ylim=(-10, 10))
axes[0].set_ylabel("residual / scale")
for name, model in (("least squares", squares), ("MM", robust), ("trimmed", trimmed)):
    print(f"{name:14s}", np.round([model.intercept_, *model.coef_], 3))
plt.show()
