"""One random generator for a fit, from what scikit-learn calls a random state."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def as_generator(random_state: Any) -> np.random.Generator:
    """A Generator from None, a seed, a RandomState or a Generator; equal seeds, equal draws."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
