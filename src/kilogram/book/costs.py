"""What the methods of a page cost on this machine, by `kg.estimate`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import isclass
from typing import Any

from kilogram.base.estimate import Estimate, estimate
from kilogram.registry import PUBLIC, pages

ROWS = (1_000, 100_000, 10_000_000)
COLUMNS = 20  # a usual width, our choice; the page names it


@cache
def page_costs(slug: str) -> dict[str, Any]:
    """Time and memory of every estimator of the page for three sizes of the data.

    Methods for which there is no estimate (functions, or estimators that need an argument) are
    left out.
    """
    names = next((page.names for page in pages() if page.slug == slug), ())
    found = [(name, _costs(name)) for name in names]
    return {
        "rows": list(ROWS),
        "columns": COLUMNS,
        "methods": [{"name": name, "costs": costs} for name, costs in found if costs],
    }


def _costs(name: str) -> list[dict[str, Any]]:
    kind = getattr(import_module(PUBLIC[name]), name)
    if not isclass(kind):
        return []
    try:
        return [_shown(estimate(kind(), n=n, d=COLUMNS)) for n in ROWS]
    except (TypeError, NotImplementedError, ValueError):
        return []


def _shown(cost: Estimate) -> dict[str, Any]:
    return {
        "seconds": float(f"{cost.seconds:.2g}"),
        "bytes": float(f"{cost.bytes:.2g}"),
        "fits": bool(cost.fits),
        "method": cost.method,
    }
