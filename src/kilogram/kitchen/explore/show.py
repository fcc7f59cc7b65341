"""An exploration as a page, as a card of a notebook, and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kilogram.kitchen.explore.plots import plots
from kilogram.kitchen.formatting import figure, seconds
from kilogram.kitchen.report.facts import versions
from kilogram.kitchen.report.overview import column_plot
from kilogram.kitchen.report.templates import render

if TYPE_CHECKING:
    from kilogram.kitchen.explore.exploration import Exploration

MAX_COLUMNS, MAX_PAIRS = 120, 15


def as_html(found: Exploration) -> bytes:
    """The page as the content of a file; nothing is loaded from elsewhere."""
    return render("explore.html", **_context(found), plots=plots(found))


def as_card(found: Exploration) -> str:
    """The sentences and a map, for a notebook."""
    chosen = [p for p in plots(found) if p.name in ("components", "dependence")]
    return render("explain_card.html", sentences=found.sentences, plots=chosen[:2]).decode()


def _context(found: Exploration) -> dict[str, Any]:
    strong = [pair for pair in found.dependence.pairs if pair.significant]
    return {
        "found": found, "versions": versions(), "cards": cards(found),
        "columns": [(one, column_plot(one)) for one in found.columns[:MAX_COLUMNS]],
        "columns_more": max(0, len(found.columns) - MAX_COLUMNS),
        "pairs": strong[:MAX_PAIRS], "pairs_more": max(0, len(strong) - MAX_PAIRS),
    }  # fmt: skip


def cards(found: Exploration) -> list[tuple[str, str, str]]:
    """Key figures: name, value, explanation."""
    used = [one for one in found.columns if one.used]
    cells = sum(one.rows for one in used)
    lost = sum(one.missing for one in used) / cells if cells else 0.0
    shown = [("rows", f"{found.n_rows:,}", f"{len(used)} of {len(found.columns)} columns used"),
             ("missing cells", f"{100 * lost:.2g}%",
              f"in {sum(one.missing > 0 for one in used)} of {len(used)} columns")]  # fmt: skip
    pairs = found.dependence.pairs
    if pairs:
        strong = sum(pair.significant for pair in pairs)
        shown.append(("dependent pairs", f"{strong:,}", f"of {len(pairs):,} pairs of columns"))
    if found.components is not None:
        shown.append(("components", str(found.components.beyond),
                      "beyond those of shuffled columns"))  # fmt: skip
    if found.clusters is not None:
        some = found.clusters.found
        value = str(found.clusters.choice.k) if some else "none"
        how = "as in evenly spread rows"
        if found.clusters.of_single_columns:
            how = "of single columns"
        elif some:
            how = f"silhouette {figure(found.clusters.silhouette, 2)}"
        shown.append(("clusters", value, how))
    if found.outliers is not None:
        shown.append(("outlying rows", f"{len(found.outliers.rows):,}",
                      "beyond a Gaussian distribution"))  # fmt: skip
    return shown


def show(found: Exploration, screen: Console) -> None:
    """The exploration in the terminal."""
    for k, sentence in enumerate(found.sentences):
        screen.print(sentence, style="bold" if k == 0 else "", markup=False, highlight=False)
    for note in found.notes:
        screen.print(note, style="yellow", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("column", "type", "values"):
        table.add_column(name)
    table.add_column("missing", justify="right")
    for one in found.columns[:40]:
        lost = f"{one.missing:,}" if one.missing else "–"
        table.add_row(Text(one.name), one.kind, Text(one.words), lost,
                      style="" if one.used else "dim")  # fmt: skip
    screen.print()
    screen.print(table)
    profiles = found.clusters.profiles if found.clusters is not None else ()
    if profiles or found.outlying:
        screen.print()
    for k, group in enumerate(profiles):
        marks = "; ".join(group.marks) or "near the mean in every column"
        screen.print(f"cluster {k + 1}, {group.rows:,} rows: {marks}", markup=False,
                     highlight=False)  # fmt: skip
    for row in found.outlying[:5]:
        cells = "; ".join(row.cells) or "an unusual combination"
        screen.print(f"row {row.row}: {cells} (factor {figure(row.factor, 2)})", markup=False,
                     highlight=False, style="dim")  # fmt: skip
    screen.print()
    screen.print(f"Computed in {seconds(found.seconds)}.", style="dim")
