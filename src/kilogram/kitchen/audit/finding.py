"""Findings of an audit: stable codes, severities, evidence, and what to do.

serious   the score would be invalid: `kg cook` stops unless the code is accepted
warning   the score may be misleading
note      for information
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from kilogram.kitchen.errors import KitchenError, quoted

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "note")


@dataclass(frozen=True)
class FindingType:
    """A type of finding: its title, why it matters, and what to do."""

    title: str
    why: str
    do: str


CODES: dict[str, FindingType] = {
    "KG-A01": FindingType(
        "missing values",
        "Imputed values are estimates, and missingness may depend on the target.",
        "Missing values are imputed with the median and marked by an indicator; leave out a column "
        "that is mostly missing with --drop.",
    ),
    "KG-A02": FindingType(
        "constant column",
        "It carries no information.",
        "Nothing: it is left out.",
    ),
    "KG-A03": FindingType(
        "duplicate columns",
        "A copy adds no information; it divides the importance of a column.",
        "Keep one of them: --drop the other.",
    ),
    "KG-A04": FindingType(
        "duplicate rows",
        "A row that is in both the training and the test set is memorised, not predicted: the "
        "score is optimistic.",
        "Remove the copies (--drop-duplicates). If they are independent observations that happen "
        "to be equal, --accept KG-A04.",
    ),
    "KG-A05": FindingType(
        "near-duplicate rows",
        "Repeated measurements of one subject in several folds are memorised like duplicates.",
        "If they belong together, name the column that identifies them: --group COLUMN. Otherwise "
        "--accept KG-A05.",
    ),
    "KG-A06": FindingType(
        "identifier",
        "It is different for every new row, so nothing learnt from it generalises.",
        "Nothing: it is left out. If it predicts the target, the file is sorted or was collected "
        "in parts: find out how.",
    ),
    "KG-A07": FindingType(
        "target leakage",
        "A single column that predicts this well is usually the target under another name, or is "
        "known only after the target.",
        "Find out whether each column named here is known at prediction time. --drop those that "
        "are not; if all are known, --accept KG-A07.",
    ),
    "KG-A08": FindingType(
        "informative missing values",
        "Whether the value is missing depends on the target: it was probably recorded after the "
        "target was known.",
        "--drop the column, or --accept KG-A08 if it is missing at prediction time in the same "
        "way.",
    ),
    "KG-A09": FindingType(
        "grouped rows",
        "With rows of the same subject in the training and the test set, a model can recognise the "
        "subject instead of predicting.",
        "Use --group COLUMN: folds are then split between groups. If new rows will come from the "
        "same groups, --accept KG-A09.",
    ),
    "KG-A10": FindingType(
        "time-ordered rows",
        "With random folds the model is trained on rows that come after those it is tested on.",
        "Use --time COLUMN: it is then tested on later rows only. If values between the rows are "
        "to be predicted, --accept KG-A10.",
    ),
    "KG-A11": FindingType(
        "values from the future",
        "The column holds values that are known only after the time of the row.",
        "--drop it, or shift it so that every row holds what was known at its time.",
    ),
    "KG-A12": FindingType(
        "class imbalance",
        "Always predicting the frequent class has a high accuracy, and few rows decide about the "
        "rare class.",
        "Use balanced accuracy (the default when one class holds most rows).",
    ),
    "KG-A13": FindingType(
        "very small classes",
        "A class that is not in every fold can be neither learnt nor evaluated.",
        "Such classes are left out. Merge them, or collect more of them.",
    ),
    "KG-A14": FindingType(
        "few rows",
        "With few rows, or more columns than rows, some model always fits by chance.",
        "Rely on the interval, not the score; collect more rows, or leave out columns from prior "
        "knowledge.",
    ),
    "KG-A15": FindingType(
        "distribution shift",
        "The score holds for rows from the distribution of the training rows, not for others.",
        "Find out what changed. Train on rows like those to be predicted.",
    ),
    "KG-A16": FindingType(
        "rows in both tables",
        "Training rows cannot be used to evaluate a model.",
        "Remove them from one of the tables.",
    ),
    "KG-A17": FindingType(
        "preprocessing on all rows",
        "Scaling, encoding or oversampling on the whole table leaks information from the test rows "
        "into the training rows.",
        "Use the raw table: columns are scaled and encoded, and classes balanced, inside each "
        "fold. If the preprocessing did not use the target of new rows, --accept KG-A17.",
    ),
    "KG-A18": FindingType(
        "unreadable numbers",
        "A numeric column has cells that are not numbers, or numbers in another unit.",
        "These cells count as missing. Mend them in the table, or use --categorical COLUMN if the "
        "words are categories.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """A finding: code, severity, columns, and the evidence as text and as numbers."""

    code: str
    severity: Severity
    evidence: str
    columns: tuple[str, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)
    settled: bool = False  # what there was to do has been done

    @property
    def title(self) -> str:
        return CODES[self.code].title

    @property
    def why(self) -> str:
        return CODES[self.code].why

    @property
    def do(self) -> str:
        return "Nothing: the folds keep them apart." if self.settled else CODES[self.code].do


def findings_text(findings: Iterable[Finding]) -> str:
    """Codes, evidence and advice, two lines for each finding."""
    return "\n".join(f"  {f.code} {f.title}: {f.evidence}\n         {f.do}" for f in findings)


@dataclass(frozen=True)
class Audit:
    """The findings about a table, most serious first; `accepted` codes do not stop `kg cook`.

    `not_checked` are the codes that the time limit left out, in whole or in part.
    """

    table: str
    target: str | None
    rows: int
    columns: tuple[Any, ...]
    findings: tuple[Finding, ...]
    accepted: tuple[str, ...] = ()
    sampled_rows: int | None = None
    notes: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The serious findings that are not accepted; they stop `kg cook`."""
        return tuple(
            f for f in self.findings if f.severity == "serious" and f.code not in self.accepted
        )

    def of(self, code: str) -> tuple[Finding, ...]:
        """The findings of one code."""
        return tuple(f for f in self.findings if f.code == code)

    def refuse(self) -> None:
        """Raise the serious findings as one error."""
        if not self.serious:
            return
        raise KitchenError(
            "The audit found data leakage that would invalidate the score.\n"
            f"{findings_text(self.serious)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """All findings as plain values."""
        return {
            "schema": "kilogram audit 1",
            "table": self.table,
            "target": self.target,
            "rows": self.rows,
            "rows_looked_at": self.sampled_rows or self.rows,
            "accepted": list(self.accepted),
            "serious": len(self.serious),
            "columns": [asdict(c) | {"levels": list(c.levels)} for c in self.columns],
            "notes": list(self.notes),
            "not_checked": list(self.not_checked),
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
    """Codes in upper case, or an error for one that does not exist."""
    found = tuple(code.upper() for code in codes)
    unknown = [code for code in found if code not in CODES]
    if unknown:
        raise KitchenError(
            f"There is no finding {quoted(unknown)}. Codes are KG-A01 to {max(CODES)}."
        )
    return found
