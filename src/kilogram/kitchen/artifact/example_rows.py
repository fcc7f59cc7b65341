"""A sample of the training rows in the model file.

Explanations show training rows near a new one, and an export is checked on rows. A uniform sample
of at most `MAX_ROWS` rows and about `MAX_BYTES` is kept: cells as the pipeline gets them, and their
targets. The model card mentions them. Where no row may be passed on, cook with `examples=False`;
explanations then need the table itself.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

MAX_ROWS = 300  # a mean over so many is known to 6 % of the spread; enough for neighbours
MAX_BYTES = 300_000  # keeps model files small where cells are long: 1 kB a row


def sample(X: np.ndarray, y: np.ndarray, *, seed: int = 0) -> dict[str, Any]:
    """A sample of (n, d) cells and (n,) targets as plain arrays and one text."""
    rows = _drawn(X, seed)
    cells, words = X[rows], {}
    if X.dtype == object:
        words = {k: [str(c) for c in cells[:, k]] for k in range(X.shape[1]) if _is_text(X[:, k])}
        cells = cells.copy()
        cells[:, list(words)] = 0.0
    return {"cells": cells.astype(np.float64), "words": json.dumps(words), "y": y[rows]}


def stored_examples(use: dict[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """The cells and targets that were kept, or None."""
    if "examples" not in use:
        return None
    kept = use["examples"]
    words = {int(k): column for k, column in json.loads(kept["words"]).items()}
    cells = kept["cells"]
    if words:
        cells = cells.astype(object)
        for k, column in words.items():
            cells[:, k] = column
    return cells, kept["y"]


def _drawn(X: np.ndarray, seed: int) -> np.ndarray:
    """Indices of the rows to keep: `MAX_ROWS`, fewer if they hold long texts."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:MAX_ROWS]
    sizes = np.cumsum([sum(len(c) if isinstance(c, str) else 8 for c in X[r]) for r in rows])
    return np.sort(rows[: max(1, int(np.sum(sizes <= MAX_BYTES)))])


def _is_text(column: np.ndarray) -> bool:
    return isinstance(column[0], str)
