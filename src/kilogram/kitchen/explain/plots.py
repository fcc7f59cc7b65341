"""The plots of an explanation: importance with intervals, and partial dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from kilogram.kitchen.artifact.model import measure_of
from kilogram.kitchen.formatting import signed
from kilogram.kitchen.measures import of_predictions
from kilogram.kitchen.report.dependence_plots import dependence_plots
from kilogram.kitchen.report.svg import INK, Plot, drawing, inline, short

if TYPE_CHECKING:
    from kilogram.kitchen.explain.explanation import Explanation

TOP = 15  # bars that a reader compares: our choice, as in `report.plots`


def explanation_plots(found: Explanation) -> list[Plot]:
    """All plots, in reading order."""
    return [of_importance(found), *dependence_plots(found.dependences, found.model.target)]


def of_importance(found: Explanation) -> Plot:
    used, matters = found.model.layout.used, found.importance
    best = list(zip(matters.columns, matters.losses, strict=True))[:TOP]
    colour = INK.get(str(found.model.about.get("recipe")), INK["linear"])
    known = matters.known
    unit = of_predictions(measure_of(found.model)).title if known else "change of the predictions"
    with drawing(height=max(2.0, 0.9 + 0.25 * len(best))) as fig:
        ax = fig.subplots()
        for k, (_, loss) in enumerate(reversed(best)):
            ax.plot([loss.low, loss.high], [k, k], color=colour, lw=3, solid_capstyle="round",
                    alpha=1.0 if loss.low > 0 else 0.35)  # fmt: skip
            ax.plot(loss.mean, k, "o", color=colour, ms=7, mec=INK["raised"], mew=1.2)
        ax.axvline(0, color=INK["soft"], lw=0.8)
        ax.set_yticks(range(len(best)), [short(used[k].name, 24) for k, _ in reversed(best)])
        ax.set_ylim(-0.6, len(best) - 0.4)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"loss of {unit} when permuted" if known else
                      "change of the predictions when permuted")  # fmt: skip
        ax.grid(axis="x")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        values = ", ".join(f"{used[k].name} {signed(loss.mean)}" for k, loss in best[:6])
        alt = f"Permutation importance with 95 % intervals, largest first: {values}."
        more = (
            f" The {TOP} largest of {len(matters.columns)}." if len(matters.columns) > TOP else ""
        )
        return Plot(
            "importance", "Permutation importance",
            "Mean loss with its 95 % interval; faint where the interval includes zero. It shows "
            f"what this model uses, not what causes "
            f"{found.model.target}.{more}",
            alt, inline(fig, "importance", alt),
        )  # fmt: skip
