"""Plots of the predictions on held-out rows: agreement and errors, of numbers and of classes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from sklearn.metrics import confusion_matrix, roc_curve

from kilogram.evaluation.calibration import Reliability
from kilogram.kitchen.formatting import ends, figure, percent
from kilogram.kitchen.judge.prediction_checks import RankingQuality
from kilogram.kitchen.report.sentences import in_words
from kilogram.kitchen.report.svg import INK, Plot, drawing, inline, light_axes, short
from kilogram.kitchen.result import CookResult

MAX_POINTS = 1200  # keeps the report below 2 MB
MAX_CLASSES = 12  # of a confusion matrix that one can read: our choice


def prediction_plots(cooked: CookResult) -> list[Plot]:
    """The plots that fit the task."""
    if cooked.measure.task == "regression":
        return [scatter(cooked), residuals(cooked)]
    found = [confusion(cooked)]
    if cooked.evidence.trust.ranking is not None:
        found += [roc(cooked, cooked.evidence.trust.ranking)]
    if cooked.evidence.trust.calibration is not None:
        found += [probabilities(cooked, cooked.evidence.trust.calibration)]
    return found


def of_recipe(cooked: CookResult) -> str:
    """Which recipe a plot is of."""
    return in_words(cooked.shown)


def scatter(cooked: CookResult) -> Plot:
    found = cooked.evidence.held_out
    few = _thinned(len(found.truth))
    truth, prediction = found.truth[few], found.prediction[few]
    with drawing() as fig:
        ax = fig.subplots()
        every = np.concatenate([found.truth, found.prediction])
        margin = 0.04 * float(np.ptp(every)) or 1.0
        ends = np.array([every.min() - margin, every.max() + margin])
        half = cooked.evidence.trust.range.half if cooked.evidence.trust.range else 0.0
        ax.fill_between(ends, ends - half, ends + half, color=INK["soft"], alpha=0.1, lw=0)
        ax.plot(ends, ends, color=INK["soft"], lw=1)
        ax.plot(
            truth,
            prediction,
            "o",
            color=INK.get(cooked.shown.name, INK["good"]),
            ms=3,
            alpha=0.45,
            mew=0,
        )
        ax.set_xlabel(f"{short(cooked.question.target)}, observed")
        ax.set_ylabel("predicted")
        ax.set_xlim(*ends)
        ax.set_ylim(*ends)
        light_axes(ax)
        band = f"; the band is the 90 % prediction interval, ±{figure(half)}" if half else ""
        r = float(np.corrcoef(found.truth, found.prediction)[0, 1])
        alt = (
            f"Scatter of predicted against observed {cooked.question.target} for "
            f"{len(truth)} held-out rows; correlation {figure(r)}."
        )
        return Plot(
            "predictions",
            "Predicted against observed",
            f"Each point is a held-out row ({of_recipe(cooked)}{_sampled(few, found.truth)}). On "
            f"the line the prediction is exact{band}.",
            alt,
            inline(fig, "predictions", alt),
        )


def residuals(cooked: CookResult) -> Plot:
    found = cooked.evidence.held_out
    error = found.truth - found.prediction
    few = _thinned(len(error))
    with drawing() as fig:
        ax = fig.subplots()
        ax.axhline(0, color=INK["soft"], lw=1)
        colour = INK.get(cooked.shown.name, INK["good"])
        ax.plot(found.prediction[few], error[few], "o", color=colour, ms=3,
                alpha=0.35, mew=0)  # fmt: skip
        at, (lower, middle, upper) = _running(found.prediction, error)
        ax.fill_between(at, lower, upper, color=INK["ink"], alpha=0.12, lw=0)
        ax.plot(at, middle, color=INK["ink"], lw=1.6)
        ax.set_xlabel("predicted")
        ax.set_ylabel("residual")
        light_axes(ax)
        half = figure(float(np.median(np.abs(error))))
        tenth = figure(float(np.quantile(np.abs(error), 0.9)))
        alt = (
            f"Residuals against predictions with a running median and quartile band: half of the "
            f"absolute errors are below {half}, 90 % below {tenth}."
        )
        return Plot(
            "errors",
            "Residuals",
            f"Observed minus predicted. The median absolute error is {half}, the 90 % quantile "
            f"{tenth}. A running median (line) that bends away from zero means structure the "
            "recipe missed; an interquartile band that widens means unequal variance.",
            alt,
            inline(fig, "errors", alt),
        )


def confusion(cooked: CookResult) -> Plot:
    found, classes = cooked.evidence.held_out, cooked.question.classes
    counts = confusion_matrix(found.truth, found.prediction, labels=range(len(classes)))
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES])
    fraction = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [short(classes[k], 14) for k in kept]
    with drawing(height=max(2.4, min(4.4, 1.2 + 0.4 * len(names)))) as fig:
        every = np.ix_(kept, kept)
        _cells(fig.subplots(), fraction[every], counts[every], names)
        hit = ", ".join(f"{classes[k]} {percent(fraction[k, k])}" for k in kept)
        less = len(classes) - len(kept)
        more = f" The {MAX_CLASSES} largest of {len(classes)} classes are shown." if less else ""
        alt = f"Recall by class: {hit}."
        return Plot(
            "predictions",
            "Confusion matrix",
            f"Each row is an observed class, with the number and the fraction of its held-out rows "
            f"that are predicted as each class ({of_recipe(cooked)}).{more}",
            alt,
            inline(fig, "predictions", alt),
        )


def _cells(ax: Axes, fraction: np.ndarray, counts: np.ndarray, names: list[str]) -> None:
    """The table of counts and fractions: the diagonal in one colour, errors in another."""
    few = len(names) <= 6
    for i, j in np.ndindex(fraction.shape):
        colour, part = INK["good" if i == j else "kernel"], float(fraction[i, j])
        ax.add_patch(
            Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=colour, alpha=0.06 + 0.6 * part, lw=0)
        )
        if few or part >= 0.05:
            text = f"{counts[i, j]:,}\n{part:.0%}" if few else f"{100 * part:.0f}"
            ax.text(j, i, text, ha="center", va="center", size=9 if few else 7)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    turn = 0 if len(names) <= 3 else 40
    ax.set_xticks(range(len(names)), names, rotation=turn, ha="right" if turn else "center")
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("observed")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def roc(cooked: CookResult, ranking: RankingQuality) -> Plot:
    found, classes = cooked.evidence.held_out, cooked.question.classes
    false, true, _ = roc_curve(found.truth, found.margin)
    area = f"{figure(ranking.roc.mean)} ({ends(ranking.roc)})"
    if len(false) > MAX_POINTS:
        few = np.linspace(0, len(false) - 1, MAX_POINTS).astype(int)
        false, true = false[few], true[few]
    at = found.prediction == 1
    here = (float(np.mean(at[found.truth == 0])), float(np.mean(at[found.truth == 1])))
    with drawing() as fig:
        ax = fig.subplots()
        ax.plot([0, 1], [0, 1], color=INK["soft"], lw=1, ls=":")
        ax.fill_between(
            false, true, color=INK.get(cooked.shown.name, INK["good"]), alpha=0.12, lw=0
        )
        ax.plot(false, true, color=INK.get(cooked.shown.name, INK["good"]), lw=2)
        ax.plot(*here, "o", color=INK["ink"], ms=6, mec=INK["raised"])
        ax.annotate("this model", here, (8, -10), textcoords="offset points", size=8)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel(f"true positive rate ({short(classes[1], 20)})")
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.yaxis.set_major_formatter("{x:.0%}")
        light_axes(ax)
        alt = f"ROC curve of held-out rows, area {area}."
        return Plot(
            "errors",
            "ROC curve",
            f"Area under the curve {area}; 0.5 is random guessing, 1 is perfect. The dot is the "
            f"model at its own threshold: true positive rate {percent(here[1])} for "
            f"{classes[1]!r}, false positive rate {percent(here[0])}.",
            alt,
            inline(fig, "errors", alt),
        )


def probabilities(cooked: CookResult, found: Reliability) -> Plot:
    """Predicted probability and observed frequency, bin by bin."""
    two = len(cooked.question.classes) == 2
    what = f"probability of {cooked.question.classes[1] if two else 'the prediction'}"
    values = np.array([b.predicted for b in found.bins])
    true = np.array([b.observed for b in found.bins])
    ends = np.array([[b.low, b.high] for b in found.bins]).T
    with drawing() as fig:
        ax = fig.subplots()
        colour = INK.get(cooked.shown.name, INK["good"])
        ax.plot([0, 1], [0, 1], color=INK["soft"], lw=1, ls=":")
        ax.vlines(values, *ends, color=colour, lw=1.4, alpha=0.6)
        ax.plot(values, true, "o-", color=colour, ms=5, lw=1.6)
        ax.set_xlabel(short(f"predicted {what}", 44))
        ax.set_ylabel("observed frequency")
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.yaxis.set_major_formatter("{x:.0%}")
        most = min(1.0, 1.1 * max(float(values.max()), float(ends.max())))
        least = max(0.0, min(float(values.min()), float(ends.min())) - 0.1 * most)
        ax.set_xlim(least, most)  # probabilities of a rare class lie near 0
        ax.set_ylim(least, most)
        light_axes(ax)
        pairs = "; ".join(
            f"predicted {percent(a)}, observed {percent(b)}"
            for a, b in zip(values, true, strict=True)
        )
        alt = f"Reliability diagram with {len(values)} bins: {pairs}."
        return Plot(
            "probabilities",
            "Reliability diagram",
            f"On the dotted line probabilities are calibrated. Expected calibration error "
            f"{figure(found.calibration_error)}; Brier score {figure(found.brier)}, "
            f"{figure(found.uncertainty)} for always predicting the frequency. Bars: 95 % "
            f"intervals ({of_recipe(cooked)}).",
            alt,
            inline(fig, "probabilities", alt),
        )


def _running(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slices of equally many x: their means (s,), and quartiles (3, s) of y in them."""
    order = np.argsort(x, kind="stable")
    slices = [part for part in np.array_split(order, min(12, max(2, len(x) // 15))) if len(part)]
    at = np.array([x[part].mean() for part in slices])
    q = np.array([np.quantile(y[part], [0.25, 0.5, 0.75]) for part in slices])
    return at, q.T


def _thinned(count: int) -> np.ndarray:
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.random.default_rng(0).choice(count, MAX_POINTS, replace=False)


def _sampled(few: np.ndarray, rows: np.ndarray) -> str:
    return f", {len(few):,} of {len(rows):,} rows" if len(few) < len(rows) else ""
