"""Trees where classes are many or small."""

import numpy as np
import pytest

from kilogram.kitchen.recipes import tree_search
from kilogram.kitchen.recipes.tree_search import TreeSearchClassifier


@pytest.mark.parametrize(("kind", "classes"), [("boosting", 4), ("forest", 40)])
def test_classes_too_small_for_rows_kept_aside(kind, classes, monkeypatch):
    """Boosting keeps a tenth aside, which cannot hold every class: it is not asked to."""
    monkeypatch.setattr(tree_search, "SHORT", 100)
    monkeypatch.setattr(tree_search, "ROUNDS", [5])
    monkeypatch.setattr(tree_search, "START", tree_search.START | {"max_iter": 5})
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), 6)
    y = np.concatenate([y, np.zeros(300 - len(y), dtype=int)])
    X = rng.normal(size=(300, 2)) + y[:, None]
    found = TreeSearchClassifier(kind, trials=1).fit(X, y)
    assert np.mean(found.predict(X) == y) > 0.7
