"""A cache of preprocessed columns that recipes share.

In a fold the linear recipe and its kernel version are fitted to the same rows, and most of their
preprocessing is the same. `TransformCache` is the `memory` of their pipelines: what was fitted on
the same cells with the same parameters is reused. It holds the last few, and at most `MOST_BYTES`;
cells with text are not cached, since the two recipes treat text differently.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import joblib
import numpy as np

MOST, MOST_BYTES = 6, 64 << 20


class TransformCache:
    """A memory as scikit-learn's pipelines take it; a copy of it is itself."""

    def __init__(self) -> None:
        self.held: OrderedDict[str, tuple[Any, Any]] = OrderedDict()

    def cache(self, func: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
        """The function that fits a transformer, asked only for what is not held."""
        return partial(self._found, func)

    def _found(self, fit: Any, transformer: Any, X: Any, y: Any, *rest: Any, **more: Any) -> Any:
        if not isinstance(X, np.ndarray) or X.dtype == object or X.nbytes > MOST_BYTES:
            return fit(transformer, X, y, *rest, **more)
        key = str(joblib.hash((transformer, X)))  # nothing that is shared looks at y
        if key not in self.held:
            self._keep(key, fit(transformer, X, y, *rest, **more))
        self.held.move_to_end(key)
        return self.held[key]

    def _keep(self, key: str, made: tuple[Any, Any]) -> None:
        self.held[key] = made
        while len(self.held) > 1 and (len(self.held) > MOST or self._bytes() > MOST_BYTES):
            self.held.popitem(last=False)

    def _bytes(self) -> int:
        return sum(getattr(columns, "nbytes", 0) for columns, _ in self.held.values())

    def __deepcopy__(self, memo: Any) -> TransformCache:
        return self
