"""What holds for every test."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def same_draws(request, monkeypatch):
    """A generator of a test module starts anew in every test, whatever ran before it."""
    for name, value in list(vars(request.module).items()):
        if isinstance(value, np.random.Generator):
            monkeypatch.setattr(request.module, name, np.random.default_rng(1))
