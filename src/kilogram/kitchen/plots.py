"""The pictures of the report, each one question.

scores      how good is each recipe, and how sure is that?
answers     where do predictions and truth agree?   (numbers: scatter; classes: table)
errors      is anything left in the errors?         (two classes: the ROC curve)
columns     which inputs does the model use?
learning    would more rows help?
tuning      what did the search see, and did it promise too much?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from kilogram.evaluation.learning import LearningCurve
from kilogram.kitchen.evidence import Importance, Tuning
from kilogram.kitchen.plots_answers import of_answers, shown
from kilogram.kitchen.svg import INK, Picture, drawing, inline, log_ticks, short, sober
from kilogram.kitchen.words import between, figure, signed

if TYPE_CHECKING:
    from kilogram.kitchen.cook import Cooked

TOP = 12
# A score that falls by less is as good as untouched.
LEAST_LOSS = 1e-3


def pictures(cooked: Cooked) -> list[Picture]:
    """All pictures there is evidence for, in reading order."""
    found = [scores(cooked), *of_answers(cooked)]
    if cooked.evidence.importance is not None:
        found.append(columns(cooked, cooked.evidence.importance))
    if cooked.evidence.learning is not None:
        found.append(learning(cooked, cooked.evidence.learning))
    found.append(tuning(cooked))
    return found


def scores(cooked: Cooked) -> Picture:
    measure = cooked.measure
    with drawing(height=2.4) as fig:
        ax = fig.subplots()
        for k, one in enumerate(reversed(cooked.judged)):
            colour, s = INK[one.name], one.score
            folds = one.nested.scores
            ax.plot(folds, np.full(len(folds), k) - 0.22, "|", color=colour, ms=6, alpha=0.6)
            ax.plot([s.low, s.high], [k, k], color=colour, lw=3, solid_capstyle="round")
            ax.plot(s.mean, k, "o", color=colour, ms=8, mec=INK["raised"], mew=1.5)
            ax.annotate(figure(s.mean), (s.mean, k), (0, 9), textcoords="offset points",
                        ha="center", weight="bold")  # fmt: skip
        names = [one.recipe.title for one in reversed(cooked.judged)]
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(-0.5, len(names) - 0.4)
        ax.set_xlabel(f"{measure.title} on held-out rows")
        ax.grid(axis="x")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.tick_params(axis="y", length=0)
        said = "; ".join(
            f"{one.recipe.title} {figure(one.score.mean)} ({between(one.score)})"
            for one in cooked.judged
        )
        return Picture(
            "scores",
            "How good, and how sure",
            f"Mean {measure.title} with its 95 % interval; the small marks are the folds. "
            f"{measure.title.capitalize()}: {measure.meaning}.",
            f"{measure.title} of the recipes with 95 % intervals: {said}.",
            inline(fig, "scores", said),
        )


def columns(cooked: Cooked, found: Importance) -> Picture:
    best = found.order[:TOP]
    with drawing(height=max(2.2, 0.9 + 0.23 * len(best))) as fig:
        ax = fig.subplots()
        for k, column in enumerate(reversed(best)):
            loss = found.losses[column]
            ax.barh(k, found.typical[column], color=INK[cooked.shown.name], alpha=0.75, height=0.62)
            ax.plot([loss.min(), loss.max()], [k, k], color=INK["ink"], lw=1.2)
        ax.axvline(0, color=INK["soft"], lw=0.8)
        ax.set_yticks(range(len(best)), [short(found.columns[c], 22) for c in reversed(best)])
        ax.tick_params(axis="y", length=0)
        longest = float(max(found.typical[best].max(), LEAST_LOSS))
        ax.set_xlim(max(-longest, min(0.0, found.losses[best].min())) - 0.02 * longest,
                    min(2.0 * longest, found.losses[best].max()) + 0.05 * longest)  # fmt: skip
        ax.set_xlabel(f"{cooked.measure.title} lost when the column is shuffled")
        ax.grid(axis="x")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        said = ", ".join(f"{found.columns[c]} {signed(found.typical[c])}" for c in best[:5])
        rest = len(found.columns) - len(best)
        more = f" The {TOP} largest of {len(found.columns)}." if rest > 0 else ""
        more += f" {found.skipped} columns were not looked at." if found.skipped else ""
        if found.typical[best].max() < LEAST_LOSS:
            more += " None is missed alone: others tell what it tells."
        alt = f"Score lost when a column is shuffled, most important first: {said}."
        return Picture(
            "columns",
            "Which inputs it uses",
            f"Loss of score on held-out rows ({shown(cooked)}); bars: the middle fold, lines: all "
            f"of them. This is what the model uses, not what causes {cooked.question.target}; "
            f"columns that tell the same story share or hide their part.{more}",
            alt,
            inline(fig, "columns", alt),
        )


def learning(cooked: Cooked, found: LearningCurve) -> Picture:
    mean, low, high = found.scores.mean(1), found.scores.min(1), found.scores.max(1)
    with drawing() as fig:
        ax = fig.subplots()
        colour = INK[cooked.shown.name]
        ax.fill_between(found.sizes, low, high, color=colour, alpha=0.15, lw=0)
        ax.plot(found.sizes, mean, "o-", color=colour, ms=5, lw=2)
        ax.set_xscale("log", base=2)
        ax.set_xticks(found.sizes, [f"{size:,}" for size in found.sizes])
        ax.minorticks_off()
        ax.set_xlabel("rows learnt from")
        ax.set_ylabel(cooked.measure.title)
        sober(ax)
        more = found.more_rows()
        alt = f"Learning curve: {', '.join(figure(m) for m in mean)} at {list(found.sizes)} rows."
        return Picture(
            "learning",
            "Would more rows help?",
            f"The last doubling of the rows brought {signed(more.last.mean)} "
            f"({between(more.last, sign=True)}): more rows {more.verdict}. Line: mean over the "
            f"folds; band: all of them ({shown(cooked)}).",
            alt,
            inline(fig, "learning", alt),
        )


def tuning(cooked: Cooked) -> Picture:
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
            sober(ax)
        axes[0].set_ylim(worst - 0.1 * (best - worst), best + 0.12 * (best - worst) + 1e-6)
        axes[0].set_ylabel(cooked.measure.title)
        said = "; ".join(
            f"{by_name[p.recipe].recipe.title}: best {figure(float(np.nanmax(p.path)))} while "
            f"tuning, {figure(by_name[p.recipe].score.mean)} on held-out rows" for p in paths
        )  # fmt: skip
        widths = next((p.widths for p in paths if p.widths), ())
        lines = (
            f" One line per kernel width, from {min(widths)} (faint) to {max(widths)} (strong) "
            "times the median distance; of many rows, those worth trying." if widths else ""
        )  # fmt: skip
        titles = {name: one.recipe.title for name, one in by_name.items()}
        read = _read(paths, titles)
        return Picture(
            "tuning",
            "What tuning promised",
            "Leave-one-out score by penalty, as the search saw it; dashed: the score on held-out "
            f"rows. Lines above the dashed one promise too much.{lines}{read}",
            f"Tuning curves. {said}.{read}",
            inline(fig, "tuning", said),
        )


def _read(paths: tuple[Tuning, ...], titles: dict[str, str]) -> str:
    """By which rule the classes of the lines are read, where there was a choice."""
    if not any(p.by_fisher for p in paths):
        return ""
    folds = "; ".join(f"{titles[p.recipe].lower()} in {p.by_fisher} of {p.folds}" for p in paths)
    return (
        " Where Fisher's rule is right more often than the largest value, it reads the classes and"
        f" the lines are its own (folds: {folds}); the penalty was chosen by the largest value."
    )
