"""Proximity of rows in a forest: the fraction of trees in which two rows share a leaf."""

from __future__ import annotations

import numpy as np


def leaf_proximity(
    leaves: np.ndarray, others: np.ndarray, counts: np.ndarray | None = None
) -> np.ndarray:
    """(n, m) from leaves (n, trees) and (m, trees); pairs count where both are in `counts`."""
    shared = np.zeros((len(leaves), len(others)))
    trees = np.zeros_like(shared) if counts is not None else None
    for t in range(leaves.shape[1]):
        same = leaves[:, t, None] == others[None, :, t]
        if counts is None or trees is None:
            shared += same
            continue
        both = counts[:, t, None] & counts[None, :, t]
        shared += same & both
        trees += both
    if trees is None:
        return shared / leaves.shape[1]
    with np.errstate(invalid="ignore"):
        return shared / trees
