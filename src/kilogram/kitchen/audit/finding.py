"""What an audit finds: codes that stay, severities, evidence, and what to do about it.

serious   the score would be wrong: `kg cook` stops unless the code is accepted
warning   the score may mislead: read it
note      good to know
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from kilogram.kitchen.errors import KitchenError, some

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class Code:
    """A kind of finding: its title, why it matters, and what to do."""

    title: str
    why: str
    do: str


CODES: dict[str, Code] = {
    "KG-A01": Code(
        "missing values",
        "Filled-in cells are guesses, and a gap may itself depend on the answer.",
        "Gaps are filled with the median and marked by a column of their own; drop a column that "
        "is mostly gaps with --drop.",
    ),
    "KG-A02": Code(
        "a column with one value",
        "It cannot tell one row from another.",
        "Nothing: it is left out.",
    ),
    "KG-A03": Code(
        "columns that say the same",
        "A copy adds no knowledge; it splits the importance of a column in two.",
        "Keep one of them: --drop the other.",
    ),
    "KG-A04": Code(
        "duplicate rows",
        "A row that is learnt from and tested on is remembered, not predicted: scores come out "
        "too high.",
        "Remove the copies (--drop-duplicates). If they are separate cases that happen to be "
        "equal, --accept KG-A04.",
    ),
    "KG-A05": Code(
        "nearly equal rows",
        "Repeated measurements of one thing in several folds are remembered like copies.",
        "If they belong together, name the column that says so: --group COLUMN. Else --accept "
        "KG-A05.",
    ),
    "KG-A06": Code(
        "a name or number of the row",
        "It is new for every new row, so nothing learnt from it can be used.",
        "Nothing: it is left out. If it predicts the target, the file is sorted or was collected "
        "in parts: ask how.",
    ),
    "KG-A07": Code(
        "a column that gives the answer away",
        "A single column that predicts this well is mostly the target in disguise, or is known "
        "only once the answer is.",
        "Ask whether it is known at the time of predicting. If not, --drop it; if so, --accept "
        "KG-A07.",
    ),
    "KG-A08": Code(
        "gaps that give the answer away",
        "Whether the cell is filled depends on the target: it was written after the answer was "
        "known.",
        "--drop the column, or --accept KG-A08 if the gap is there at the time of predicting too.",
    ),
    "KG-A09": Code(
        "rows that belong together",
        "With the same person or thing in training and test rows, a model can recognise it "
        "instead of predicting.",
        "Say --group COLUMN: folds are then cut between groups. If new rows will come from the "
        "same groups, --accept KG-A09.",
    ),
    "KG-A10": Code(
        "rows in time order",
        "With folds drawn at random the model learns from rows that come after those it is "
        "tested on.",
        "Say --time COLUMN: it is then tested on later rows only. If the gaps between rows are to "
        "be filled, --accept KG-A10.",
    ),
    "KG-A11": Code(
        "values from the future",
        "The column holds what is only known later than the row it stands in.",
        "--drop it, or shift it so that every row holds what was known by then.",
    ),
    "KG-A12": Code(
        "one class is rare",
        "Always answering the frequent class looks good, and few rows decide about the rare one.",
        "Judge by balanced accuracy (chosen by itself when one class holds most rows).",
    ),
    "KG-A13": Code(
        "classes with very few rows",
        "A class that is not in every fold can be neither learnt nor judged.",
        "Such classes are left out. Merge them, or collect more of them.",
    ),
    "KG-A14": Code(
        "few rows",
        "With few rows, or more columns than rows, something always fits by luck.",
        "Trust the interval, not the score; collect more rows, or drop columns beforehand by "
        "what you know.",
    ),
    "KG-A15": Code(
        "the other table is different",
        "A model is judged on rows like those it was cooked from; on others its score does not "
        "hold.",
        "Find out what changed. Cook from rows like those to be predicted.",
    ),
    "KG-A16": Code(
        "rows in both tables",
        "Rows that were learnt from say nothing about new ones.",
        "Remove them from one of the tables.",
    ),
    "KG-A17": Code(
        "worked out from all rows",
        "A scale, an encoding or new rows that were made from the whole table carry what is to be "
        "predicted into the rows it is predicted from.",
        "Cook the raw table: columns are scaled and encoded, and classes balanced, inside each "
        "fold. If what was done knows nothing of the answers of new rows, --accept KG-A17.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """One thing found: where, how bad, and the evidence in words and in numbers."""

    code: str
    severity: Severity
    evidence: str
    columns: tuple[str, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return CODES[self.code].title

    @property
    def why(self) -> str:
        return CODES[self.code].why

    @property
    def do(self) -> str:
        return CODES[self.code].do


@dataclass(frozen=True)
class Audit:
    """The findings about a table, worst first; `accepted` codes do not stop anything.

    `not_looked_for` are the codes that the time limit left out, in whole or in part.
    """

    table: str
    target: str | None
    rows: int
    columns: tuple[Any, ...]
    findings: tuple[Finding, ...]
    accepted: tuple[str, ...] = ()
    looked_at: int | None = None
    notes: tuple[str, ...] = ()
    not_looked_for: tuple[str, ...] = ()

    @property
    def serious(self) -> tuple[Finding, ...]:
        """What stops `kg cook`: serious and not accepted."""
        return tuple(
            f for f in self.findings if f.severity == "serious" and f.code not in self.accepted
        )

    def of(self, code: str) -> tuple[Finding, ...]:
        """The findings of one code."""
        return tuple(f for f in self.findings if f.code == code)

    def refuse(self) -> None:
        """Raise what is serious as one error."""
        if not self.serious:
            return
        told = "\n".join(
            f"  {f.code} {f.title}: {f.evidence}\n         {f.do}" for f in self.serious
        )
        raise KitchenError(f"The audit found what would make the score a lie.\n{told}")

    def as_dict(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "schema": "kilogram audit 1",
            "table": self.table,
            "target": self.target,
            "rows": self.rows,
            "rows_looked_at": self.looked_at or self.rows,
            "accepted": list(self.accepted),
            "serious": len(self.serious),
            "columns": [asdict(c) | {"levels": list(c.levels)} for c in self.columns],
            "notes": list(self.notes),
            "not_looked_for": list(self.not_looked_for),
            "findings": [
                {
                    "code": f.code, "severity": f.severity, "title": f.title,
                    "columns": list(f.columns), "evidence": f.evidence, "why": f.why, "do": f.do,
                    "accepted": f.code in self.accepted, "numbers": f.numbers,
                }
                for f in self.findings
            ],
        }  # fmt: skip

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        from kilogram.kitchen.audit.show import as_text

        return as_text(self)


def check_codes(codes: Collection[str]) -> tuple[str, ...]:
    """Codes as they are written here, or an error for one that does not exist."""
    found = tuple(code.upper() for code in codes)
    unknown = [code for code in found if code not in CODES]
    if unknown:
        raise KitchenError(
            f"There is no finding {some(unknown)}. Codes are KG-A01 to {max(CODES)}."
        )
    return found
