"""The plots of the report.

scores      score of each recipe with its 95 % interval
predictions predicted against observed        (regression: scatter; classes: confusion matrix)
errors      residuals against predictions     (two classes: the ROC curve)
columns     permutation importance of the columns
learning    learning curve
tuning      score by penalty during tuning, compared with the score on held-out rows
"""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from kilogram.evaluation.learning_curves import LearningCurve
from kilogram.kitchen.formatting import ends, figure, sentence_case, signed
from kilogram.kitchen.judge.evidence import HeldOutImportance, Tuning
from kilogram.kitchen.measures import of_predictions
from kilogram.kitchen.report.prediction_plots import of_recipe, prediction_plots
from kilogram.kitchen.report.svg import INK, Plot, drawing, inline, light_axes, log_ticks, short
from kilogram.kitchen.result import CookResult

TOP = 12  # bars that a reader compares: our choice; a plot of 3.7 inches
# A baseline further from the recipes than this many times their range is an arrow at the edge: on
# the axis the recipes would share less than a third.
AWAY = 2.0
# A loss of score below this counts as none: our choice; scores are shown with three digits.
LEAST_LOSS = 1e-3


def plots(cooked: CookResult) -> list[Plot]:
    """All plots that the evidence allows, in reading order."""
    found = [scores(cooked), *prediction_plots(cooked)]
    matters = cooked.evidence.importance
    if matters is not None and matters.typical.max() >= LEAST_LOSS:
        found.append(columns(cooked, matters))
    if cooked.evidence.learning is not None:
        found.append(learning(cooked, cooked.evidence.learning))
    if any(np.isfinite(one.path).sum() > 1 for one in cooked.evidence.tuning):
        found.append(tuning(cooked))
    return found


def scores(cooked: CookResult) -> Plot:
    measure = cooked.measure
    with drawing(height=max(2.4, 0.6 + 0.36 * len(cooked.judged))) as fig:
        ax = fig.subplots()
        away = _baseline_away(cooked)
        for k, one in enumerate(reversed(cooked.judged)):
            colour, s = INK.get(one.name, INK["good"]), one.score
            at, marker = (s.mean, "o") if away is None or k < len(cooked.judged) - 1 else away
            if marker == "o":
                folds = one.pooled.parts
                ax.plot(folds, np.full(len(folds), k) - 0.22, "|", color=colour, ms=6, alpha=0.6)
                ax.plot([s.low, s.high], [k, k], color=colour, lw=3, solid_capstyle="round")
            ax.plot(at, k, marker, color=colour, ms=8, mec=INK["raised"], mew=1.5)
            ax.annotate(figure(s.mean), (at, k), (0, 9), textcoords="offset points",
                        ha="center", weight="bold")  # fmt: skip
        if away is None:
            ax.axvline(cooked.judged[0].score.mean, color=INK["soft"], lw=0.8, ls=":")
        ax.margins(x=0.09)  # for the numbers above the outermost points
        names = [one.recipe.title for one in reversed(cooked.judged)]
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(-0.5, len(names) - 0.4)
        ax.set_xlabel(f"{measure.title} on held-out rows")
        ax.grid(axis="x")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.tick_params(axis="y", length=0)
        values = "; ".join(
            f"{one.recipe.title} {figure(one.score.mean)} ({ends(one.score)})"
            for one in cooked.judged
        )
        of_baseline = "dotted: the baseline" if away is None else "the baseline lies further out"
        return Plot(
            "scores",
            "Scores of the recipes",
            f"{sentence_case(measure.title)} of the pooled predictions with its 95 % interval; "
            f"small marks: the outer folds; {of_baseline}. {sentence_case(measure.title)}: "
            f"{measure.meaning}.",
            f"{measure.title} of the recipes with 95 % intervals: {values}.",
            inline(fig, "scores", values),
        )


def _baseline_away(cooked: CookResult) -> tuple[float, str] | None:
    """Where an arrow stands for a baseline so far off that the recipes would not be told apart."""
    baseline, *others = (one.score for one in cooked.judged)
    parts = [one.pooled.parts for one in cooked.judged[1:]]
    low = min(min(s.low for s in others), *(float(p.min()) for p in parts))
    high = max(max(s.high for s in others), *(float(p.max()) for p in parts))
    if low - baseline.mean > AWAY * (high - low):
        return low - 0.1 * (high - low), "<"
    if baseline.mean - high > AWAY * (high - low):
        return high + 0.1 * (high - low), ">"
    return None


def columns(cooked: CookResult, found: HeldOutImportance) -> Plot:
    best = found.order[:TOP]
    with drawing(height=max(2.2, 0.9 + 0.23 * len(best))) as fig:
        ax = fig.subplots()
        for k, column in enumerate(reversed(best)):
            loss = found.losses[column]
            ax.barh(
                k,
                found.typical[column],
                color=INK.get(cooked.shown.name, INK["good"]),
                alpha=0.75,
                height=0.62,
            )
            ax.plot([loss.min(), loss.max()], [k, k], color=INK["ink"], lw=1.2)
        ax.axvline(0, color=INK["soft"], lw=0.8)
        ax.set_yticks(range(len(best)), [short(found.columns[c], 22) for c in reversed(best)])
        ax.tick_params(axis="y", length=0)
        longest = float(max(found.typical[best].max(), LEAST_LOSS))
        ax.set_xlim(max(-longest, min(0.0, found.losses[best].min())) - 0.02 * longest,
                    min(2.0 * longest, found.losses[best].max()) + 0.05 * longest)  # fmt: skip
        ax.set_xlabel(f"loss of {of_predictions(cooked.measure).title} when permuted")
        ax.grid(axis="x")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        values = ", ".join(f"{found.columns[c]} {signed(found.typical[c])}" for c in best[:5])
        rest = len(found.columns) - len(best)
        more = f" The {TOP} largest of {len(found.columns)}." if rest > 0 else ""
        more += f" {found.skipped} columns were not tested." if found.skipped else ""
        alt = f"Permutation importance, most important column first: {values}."
        return Plot(
            "columns",
            "Permutation importance",
            f"Loss of score on held-out rows when the values of a column are permuted "
            f"({of_recipe(cooked)}). Bars: median of the folds; lines: their range. It shows what "
            f"the model uses, not what causes {cooked.question.target}; correlated columns share "
            f"their importance.{more}",
            alt,
            inline(fig, "columns", alt),
        )


def learning(cooked: CookResult, found: LearningCurve) -> Plot:
    # a fold's contribution to a pooled score may lie beyond what a score can be
    mean, low = found.scores.mean(1), found.scores.min(1)
    high = np.minimum(found.scores.max(1), of_predictions(cooked.measure).high)
    with drawing() as fig:
        ax = fig.subplots()
        colour = INK.get(cooked.shown.name, INK["good"])
        ax.fill_between(found.sizes, low, high, color=colour, alpha=0.15, lw=0)
        ax.plot(found.sizes, mean, "o-", color=colour, ms=5, lw=2)
        ax.set_xscale("log", base=2)
        ax.set_xticks(found.sizes, [f"{size:,}" for size in found.sizes])
        ax.minorticks_off()
        ax.set_xlabel("training rows")
        ax.set_ylabel(of_predictions(cooked.measure).title)
        light_axes(ax)
        alt = f"Learning curve: {', '.join(figure(m) for m in mean)} at {list(found.sizes)} rows."
        return Plot(
            "learning",
            "Learning curve",
            f"{sentence_case(of_predictions(cooked.measure).title)} on held-out rows by the number "
            f"of training rows. Line: mean of the folds; band: their range ({of_recipe(cooked)}).",
            alt,
            inline(fig, "learning", alt),
        )


def tuning(cooked: CookResult) -> Plot:
    by_name = {one.name: one for one in cooked.judged}
    paths = cooked.evidence.tuning
    with drawing() as fig:
        axes = fig.subplots(1, len(paths), sharey=True, squeeze=False)[0]
        best = max(float(np.nanmax(p.path)) for p in paths)
        worst = min(float(np.nanmedian(p.path)) for p in paths)
        for ax, path in zip(axes, paths, strict=True):
            colour, outer = INK[path.recipe], by_name[path.recipe].score.mean
            for k, line in enumerate(path.path):
                strength = 0.35 + 0.65 * (k + 1) / len(path.path)
                ax.plot(path.alphas, line, color=colour, alpha=strength, lw=1.6)
            ax.axhline(outer, color=INK["ink"], lw=1, ls="--")
            log_ticks(ax)
            ax.set_title(by_name[path.recipe].recipe.title)
            ax.set_xlabel("penalty")
            light_axes(ax)
        axes[0].set_ylim(worst - 0.1 * (best - worst), best + 0.12 * (best - worst) + 1e-6)
        axes[0].set_ylabel(cooked.measure.title)
        values = "; ".join(
            f"{by_name[p.recipe].recipe.title}: best {figure(float(np.nanmax(p.path)))} while "
            f"tuning, {figure(by_name[p.recipe].score.mean)} on held-out rows" for p in paths
        )  # fmt: skip
        widths = next((p.widths for p in paths if p.widths), ())
        lines = (
            f" One line per kernel width, from {min(widths)} (faint) to {max(widths)} (strong) "
            "times the median distance; with many rows, only promising widths." if widths else ""
        )  # fmt: skip
        titles = {name: one.recipe.title for name, one in by_name.items()}
        read = _decision_rule_note(paths, titles)
        above = (" Where a line is above the dashed one, the tuning score is optimistic."
                 if cooked.settings.time is None else "")  # fmt: skip
        return Plot(
            "tuning",
            "Score by penalty during tuning",
            "Score by penalty, as used for tuning; dashed: score on held-out rows."
            f"{above}{lines}{read}",
            f"Tuning curves. {values}.{read}",
            inline(fig, "tuning", values),
        )


def _decision_rule_note(paths: tuple[Tuning, ...], titles: dict[str, str]) -> str:
    """In how many folds Fisher's discriminant rule replaced the largest value."""
    if not any(p.by_fisher for p in paths):
        return ""
    folds = "; ".join(f"{titles[p.recipe].lower()} in {p.by_fisher} of {p.folds}" for p in paths)
    return (
        " Classes are assigned by the largest value, or by Fisher's discriminant rule where that is"
        f" more accurate (folds: {folds}); the penalty was selected with the largest value."
    )
