"""An audit in the terminal: findings, evidence, why they matter, what to do."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kilogram.kitchen.errors import quoted

if TYPE_CHECKING:
    from kilogram.kitchen.audit.finding import Audit, Finding

_STYLES = {"serious": "bold red", "warning": "yellow", "note": "dim"}
_LISTED = 40  # columns; a screen or two


def show(audit: Audit, console: Console) -> None:
    """Print the audit."""
    about = f" for {audit.target!r}" if audit.target else ""
    console.print(f"{audit.table}{about}: {audit.rows:,} rows, {len(audit.columns)} input columns",
                  style="bold", markup=False, highlight=False)  # fmt: skip
    if audit.sampled_rows is not None:
        console.print(f"The checks used a random sample of {audit.sampled_rows:,} rows.",
                      style="dim")  # fmt: skip
    for note in audit.notes:
        console.print(note, style="dim", markup=False, highlight=False)
    console.print()
    console.print(_kinds(audit))
    console.print()
    for finding in audit.findings:
        _show_finding(finding, audit, console)
    console.print(verdict(audit), style="bold", markup=False, highlight=False)


def verdict(audit: Audit) -> str:
    """The conclusion of the audit."""
    counts = {kind: sum(f.severity == kind for f in audit.findings) for kind in ("warning", "note")}
    tail = ", ".join(f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items())
    accepted = [f.code for f in audit.findings
                if f.severity == "serious" and f.code in audit.accepted]  # fmt: skip
    if accepted:
        tail += f", accepted: {', '.join(sorted(set(accepted)))}"
    left = ""
    if audit.not_checked:
        left = (f" The time limit left out checks of {', '.join(audit.not_checked)}"
                ": increase --max-time.")  # fmt: skip
    if not audit.serious:
        so_far = " in the checks that were made" if left else ""
        return f"No serious findings{so_far} ({tail}).{left}"
    codes = sorted({f.code for f in audit.serious})
    return f"{len(audit.serious)} serious: {', '.join(codes)} ({tail}). kg cook would stop.{left}"


def _kinds(audit: Audit) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("column", "type", "reason"):
        table.add_column(name)
    table.add_column("missing", justify="right")
    for column in audit.columns[:_LISTED]:
        table.add_row(
            Text(column.name), Text(column.kind), Text(column.reason),
            f"{column.missing:,}" if column.missing else "",
            style="" if column.used else "dim",
        )  # fmt: skip
    if len(audit.columns) > _LISTED:
        table.add_row(f"… {len(audit.columns) - _LISTED} more", "", "", "", style="dim")
    return table


def _show_finding(finding: Finding, audit: Audit, console: Console) -> None:
    accepted = finding.severity == "serious" and finding.code in audit.accepted
    head = Text.assemble(
        (f"{finding.code} ", "bold"),
        (finding.severity + (", accepted" if accepted else ""), _STYLES[finding.severity]),
        f"  {finding.title}",
    )
    console.print(head)
    lines = Table.grid(padding=(0, 1))
    lines.add_column(width=11, justify="right", style="dim")
    lines.add_column()
    lines.add_row("", Text(finding.evidence))
    if finding.severity != "note":
        lines.add_row("why", Text(finding.why))
        lines.add_row("what to do", Text(finding.do))
    console.print(lines)
    console.print()


def as_text(audit: Audit, width: int = 100) -> str:
    """The audit as plain text."""
    stream = io.StringIO()
    show(audit, Console(file=stream, width=width, no_color=True, highlight=False))
    return stream.getvalue()


def summary(audit: Audit) -> str:
    """One line for `kg cook`: the titles of what was found, with the columns concerned."""
    shown: dict[tuple[str, str], list[str]] = {}
    for finding in audit.findings:
        if finding.severity != "note":
            shown.setdefault((finding.code, finding.title), []).extend(finding.columns)
    if not shown:
        return "Audit: no warnings."
    found = [
        f"{title} ({code}{': ' + quoted(list(dict.fromkeys(names)), 3) if names else ''})"
        for (code, title), names in shown.items()
    ]
    return f"Audit: {', '.join(found)}. See kg audit for details."
