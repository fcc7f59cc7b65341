"""What `explore` found: values only, with the methods that write them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kilogram.kitchen.audit import Audit
from kilogram.kitchen.explore.dependence import Dependence
from kilogram.kitchen.explore.structure import FoundClusters, FoundComponents, Outliers
from kilogram.kitchen.explore.topics import TextTopics
from kilogram.kitchen.features.columns import Layout
from kilogram.kitchen.files import write_files
from kilogram.kitchen.formatting import json_values
from kilogram.kitchen.report.overview import ColumnSummary

SCHEMA = "kilogram exploration 1"


@dataclass(frozen=True)
class OutlyingRow:
    """A row far from its neighbours: its position, its factor, and its most unusual cells."""

    row: int
    factor: float
    cells: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """The columns of a table, their dependence, and the structure of its rows.

    `sentences` are the summary; `rows` indexes the rows that components, clusters and outliers
    were computed from.

    Attributes
    ----------
    columns : tuple of ColumnSummary
    dependence : Dependence
    components, clusters, outliers : or None where the table has too few rows or columns
    topics : tuple of TextTopics
    audit : Audit
    labels : (rows,) cluster of each of `rows`; all 0 without structure
    """

    table: str
    n_rows: int
    sentences: tuple[str, ...]
    columns: tuple[ColumnSummary, ...]
    layout: Layout
    cells: np.ndarray
    rows: np.ndarray
    dependence: Dependence
    components: FoundComponents | None
    names: tuple[str, ...]
    kernel_map: np.ndarray | None
    map_rows: np.ndarray
    clusters: FoundClusters | None
    outliers: Outliers | None
    outlying: tuple[OutlyingRow, ...]
    topics: tuple[TextTopics, ...]
    audit: Audit
    notes: tuple[str, ...]
    command: str
    seconds: float

    @property
    def labels(self) -> np.ndarray:
        if self.clusters is None:
            return np.zeros(len(self.rows), dtype=int)
        return self.clusters.labels

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write exploration.html and exploration.json, both or none."""
        from kilogram.kitchen.explore.show import as_html

        files = {"exploration.html": as_html(self), "exploration.json": self.as_json()}
        return dict(zip(files, write_files(Path(folder), files), strict=True))

    def as_json(self) -> bytes:
        """All numbers of the page."""
        return json.dumps(json_values(self.as_dict()), indent=1, ensure_ascii=False,
                          allow_nan=False).encode()  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The exploration as plain values."""
        return {
            "schema": SCHEMA, "table": self.table, "rows": self.n_rows,
            "summary": list(self.sentences),
            "columns": [one.as_dict() for one in self.columns],
            "dependence": {
                "rows": self.dependence.rows, "columns_skipped": self.dependence.skipped,
                "pairs": [asdict(p) | {"significant": p.significant, "beyond_monotone": p.bent}
                          for p in self.dependence.pairs],
                "missingness": [asdict(pair) for pair in self.dependence.missing],
            },
            "components": _components(self),
            "clusters": _clusters(self.clusters),
            "outliers": None if self.outliers is None else {
                "limit": self.outliers.limit, "count": len(self.outliers.rows),
                "rows": [asdict(one) for one in self.outlying],
            },
            "topics": [asdict(one) for one in self.topics],
            "audit": self.audit.as_dict()["findings"],
            "notes": list(self.notes), "command": self.command, "seconds": self.seconds,
        }  # fmt: skip

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        from kilogram.kitchen.explore.show import as_card

        return as_card(self)


def _components(found: Exploration) -> dict[str, Any] | None:
    one = found.components
    if one is None:
        return None
    return {
        "beyond_shuffled_columns": one.beyond, "variance": one.fractions,
        "variance_of_shuffled_columns": one.usual, "features": list(found.names),
        "loadings": one.loadings[: max(2, one.beyond)],
    }  # fmt: skip


def _clusters(found: FoundClusters | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "structure": found.found, "k": found.choice.k, "verdict": found.choice.verdict,
        "choices": found.choice.choices, "silhouette": found.silhouette,
        "silhouettes_of_shuffled_columns": list(found.shuffled),
        "of_single_columns": found.of_single_columns,
        "profiles": [asdict(one) for one in found.profiles],
    }  # fmt: skip
