"""Figures of robust.md: stars, stack loss, a circle among outliers, a growth curve with bands."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

HERE = Path(__file__).parent
INK, BLUE, RED, GREY = "#2b2b33", "#1d4ed8", "#c2410c", "#9a9aa6"

# Rousseeuw and Leroy 1987: log temperature and log light of 47 stars of the cluster CYG OB1
TEMPERATURE = [
    4.37, 4.56, 4.26, 4.56, 4.30, 4.46, 3.84, 4.57, 4.26, 4.37, 3.49, 4.43, 4.48, 4.01, 4.29, 4.42,
    4.23, 4.42, 4.23, 3.49, 4.29, 4.29, 4.42, 4.49, 4.38, 4.42, 4.29, 4.38, 4.22, 3.48, 4.38, 4.56,
    4.45, 3.49, 4.23, 4.62, 4.53, 4.45, 4.53, 4.43, 4.38, 4.45, 4.50, 4.45, 4.55, 4.45, 4.42,
]  # fmt: skip
LIGHT = [
    5.23, 5.74, 4.93, 5.74, 5.19, 5.46, 4.65, 5.27, 5.57, 5.12, 5.73, 5.45, 5.42, 4.05, 4.26, 4.58,
    3.94, 4.18, 4.18, 5.89, 4.38, 4.22, 4.42, 4.85, 5.02, 4.66, 4.66, 4.90, 4.39, 6.05, 4.42, 5.10,
    5.22, 6.29, 4.34, 5.62, 5.10, 5.22, 5.18, 5.57, 4.62, 5.06, 5.34, 5.34, 5.54, 4.98, 4.50,
]  # fmt: skip


def stars() -> None:
    X, y = np.array(TEMPERATURE)[:, None], np.array(LIGHT)
    robust = kg.RobustRegressor(n_starts=2000).fit(X, y)
    plain = kg.LinearRegression().fit(X, y)
    print(robust.summary())
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.scatter(X[:, 0], y, s=16, c=np.where(robust.outliers_, RED, INK))
    grid = np.linspace(3.4, 4.7, 2)[:, None]
    left.plot(grid, plain.predict(grid), color=GREY, label="least squares")
    left.plot(grid, robust.predict(grid), color=BLUE, label="MM-estimate")
    left.set(xlabel="log temperature", ylabel="log light", ylim=(3.5, 6.6))
    left.legend()
    kg.outlier_report(robust, X, y).plot(right)
    figure.savefig(HERE / "stars.png", dpi=110)


def circle() -> None:
    rng = np.random.default_rng(0)
    t = rng.uniform(0, np.pi, 60)
    P = 3 * np.c_[np.cos(t), np.sin(t)] + 0.1 * rng.standard_normal((60, 2))
    P[:15] = rng.uniform(-6, 6, (15, 2))
    figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axes.scatter(*P.T, s=14, color=INK)
    s = np.linspace(0, 2 * np.pi, 200)
    for method, colour in (("algebraic", GREY), ("geometric", RED), ("robust", BLUE)):
        found = kg.fit_circle(P, method)
        print(method, found.center.round(2), round(found.radius, 2))
        x, y = found.center[:, None] + found.radius * np.array([np.cos(s), np.sin(s)])
        axes.plot(x, y, color=colour, label=f"{method}, r = {found.radius:.2f}")
    axes.set(aspect="equal", xlim=(-7, 7), ylim=(-7, 7))
    axes.legend(fontsize=8)
    figure.savefig(HERE / "circle.png", dpi=110)


def growth(x: np.ndarray, size: float, shift: float, rate: float) -> np.ndarray:
    return size / (1 + np.exp(shift - rate * x))


def curve() -> None:
    # Ratkowsky 1983: yield of a pasture against its growing time
    x = np.array([9, 14, 21, 28, 42, 57, 63, 70, 79], dtype=float)[:, None]
    y = np.array([8.93, 10.8, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08])
    model = kg.NonlinearRegression(growth, [100, 1, 0.1]).fit(x, y)
    print(model.summary())
    grid = np.linspace(0, 95, 200)[:, None]
    figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    axes.fill_between(grid[:, 0], *model.prediction_band(grid), color=BLUE, alpha=0.12,
                      label="95 % of new observations")  # fmt: skip
    axes.fill_between(grid[:, 0], *model.confidence_band(grid), color=BLUE, alpha=0.3,
                      label="95 % band of the curve")  # fmt: skip
    axes.plot(grid, model.predict(grid), color=BLUE)
    axes.scatter(x, y, color=INK, s=16, zorder=3)
    axes.set(xlabel="time", ylabel="yield")
    axes.legend(fontsize=8, loc="upper left")
    figure.savefig(HERE / "growth.png", dpi=110)


if __name__ == "__main__":
    stars()
    circle()
    curve()
