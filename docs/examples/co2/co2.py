"""Draw the figures of co2.md: a Gaussian process takes the Mauna Loa record apart and goes on.

Run with KILOGRAM_DATA=folder, the folder that holds timeseries/co2_mauna_loa_monthly.csv.gz.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import kilogram as kg
from kilogram.kernels import Kernel

HERE = Path(__file__).parent
BLUE, RED, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "#222222"
TODAY = 2004.0  # what comes later is kept from the model


def record() -> tuple[np.ndarray, np.ndarray]:
    """Monthly means since 1958: the date in years, and parts per million."""
    path = Path(os.environ.get("KILOGRAM_DATA", "data")) / "timeseries/co2_mauna_loa_monthly.csv.gz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing. Set KILOGRAM_DATA to a folder with "
            "timeseries/co2_mauna_loa_monthly.csv.gz: NOAA's monthly means, a header and the "
            "columns year, month, decimal_date, average (empty where missing), interpolated."
        )
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    seen = ~np.isnan(table[:, 3])
    return table[seen, 2], table[seen, 3]


def clock(t: np.ndarray) -> np.ndarray:
    """Years since 1958, and the hand of the year's clock: equal dates of all years meet there."""
    return np.column_stack([t - 1958, np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])


def covariance(trend: kg.Gaussian | kg.Matern) -> Kernel:
    """A long trend, a season that changes slowly, weather of some months, and noise."""
    years, hand = [0], [1, 2]
    season = kg.OnColumns(kg.Gaussian(sigma=90.0), years) * kg.OnColumns(kg.Gaussian(1.0), hand)
    weather = kg.OnColumns(kg.Matern(nu=1.5, length_scale=1.0), years)
    return 2500.0 * kg.OnColumns(trend, years) + 6.0 * season + 0.4 * weather + kg.White(0.04)


def parts(model: kg.GaussianProcessRegressor, X: np.ndarray) -> list[np.ndarray]:
    """The mean of each term of the sum: its covariance with the data times the same weights."""
    terms, rest = [], model.kernel_.left  # a sum of two, whose left is again a sum
    while hasattr(rest, "right"):
        terms, rest = [rest.right, *terms], rest.left
    return [term(X, model.X_train_) @ model.alpha_ for term in [rest, *terms]]


def save(figure: plt.Figure, name: str) -> None:
    """As a PNG of 128 colours, sharp enough for a wall and still small."""
    figure.set_dpi(150)
    FigureCanvasAgg(figure).draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(HERE / name, optimize=True)


def draw_parts(model: kg.GaussianProcessRegressor, t: np.ndarray, y: np.ndarray) -> None:
    then = t < TODAY
    trend, season, weather = parts(model, clock(t[then]))
    figure, axes = plt.subplots(4, 1, figsize=(8, 8), sharex=True, layout="constrained",
                                height_ratios=[2, 1, 1, 1])  # fmt: skip
    middle = y[then].mean()
    axes[0].plot(t[then], y[then], ".", ms=3, color=BLACK, label="monthly mean")
    axes[0].plot(t[then], middle + trend, color=RED, lw=2, label="trend")
    axes[0].legend(frameon=False)
    left = y[then] - middle - trend - season - weather
    names = ("season", BLUE, season), ("some months", GREEN, weather), ("noise", BLACK, left)
    for ax, (name, colour, values) in zip(axes[1:], names, strict=True):
        ax.plot(t[then], values, color=colour, lw=1)
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
        ax.set_ylabel(f"{name} (ppm)")
    axes[0].set_ylabel("CO$_2$ (ppm)")
    axes[-1].set_xlabel("year")
    save(figure, "parts.png")


def draw_forecasts(models: dict[str, kg.GaussianProcessRegressor], t: np.ndarray,
                   y: np.ndarray) -> None:  # fmt: skip
    """Fifteen years nobody had seen, by models between which the past cannot decide."""
    middle, later = y[t < TODAY].mean(), t >= TODAY
    ahead = np.arange(TODAY, 2026, 1 / 24)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        mean, std = model.predict(clock(ahead), return_std=True)
        ax.fill_between(ahead, middle + mean - 1.96 * std, middle + mean + 1.96 * std,
                        color=BLUE, alpha=0.25, lw=0, label="95 % interval")  # fmt: skip
        ax.plot(ahead, middle + mean, color=BLUE, lw=1.2, label="forecast")
        ax.plot(t[~later], y[~later], ".", ms=3, color="0.55", label="used for the fit")
        ax.plot(t[later], y[later], ".", ms=3.5, color=RED, label="came later")
        mean, std = model.predict(clock(t[later]), return_std=True)
        inside = np.mean(np.abs(y[later] - middle - mean) < 1.96 * std)
        fit = model.log_marginal_likelihood_value_
        label = f"{name}\nlog-likelihood {fit:.1f}; {inside:.0%} of what came later inside"
        ax.set_title(label, fontsize=11)
        ax.set(xlim=(1994, 2026), ylim=(350, 440), xlabel="year")
        print(label, model.kernel_, sep="\n")
    axes[0].set_ylabel("CO$_2$ (ppm)")
    axes[0].legend(frameon=False, loc="upper left", markerscale=2)
    save(figure, "forecast.png")


def main() -> None:
    t, y = record()
    then = t < TODAY
    trends = {
        "trend with a Gaussian kernel": kg.Gaussian(sigma=50.0),
        "trend with a Matérn 5/2 kernel": kg.Matern(nu=2.5, length_scale=50.0),
    }
    X, rest = clock(t[then]), y[then] - y[then].mean()
    models = {
        name: kg.GaussianProcessRegressor(covariance(trend)).fit(X, rest)
        for name, trend in trends.items()
    }
    draw_parts(models["trend with a Matérn 5/2 kernel"], t, y)
    draw_forecasts(models, t, y)


if __name__ == "__main__":
    main()
