import pickle

import numpy as np
import pandas as pd
import pytest

from kilogram.arrays.rows import reduce_rows
from kilogram.statistics import Counts
from tests.optional import torch

LABELS = np.array(["b", "a", "longer", "a", "b", "a"])


def as_dict(counts):
    return dict(zip(counts.classes.tolist(), counts.counts.tolist(), strict=True))


@pytest.mark.parametrize("block_rows", [None, 1, 2, 5])
def test_blocks_whose_classes_differ(block_rows):
    found = reduce_rows(Counts.of, LABELS, block_rows=block_rows)
    assert as_dict(found) == {"a": 3, "b": 2, "longer": 1}
    assert found.weight == 6
    np.testing.assert_allclose(found.priors(), [1 / 2, 1 / 3, 1 / 6])


def test_weights():
    w = np.array([1, 0.5, 2, 0, 1, 1])
    found = reduce_rows(Counts.of, LABELS, w, block_rows=2)
    assert as_dict(found) == {"a": 1.5, "b": 2, "longer": 2}
    assert as_dict(Counts.of(LABELS, np.full(6, 3))) == as_dict(Counts.of(np.repeat(LABELS, 3)))


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (lambda: torch.asarray([2, 0, 2]), {0: 1, 2: 2}),
        (np.array([True, False, True]), {False: 1, True: 2}),
        ([1.5, 1.5], {1.5: 2}),
        (pd.Series(["x", "y", "x"]), {"x": 2, "y": 1}),
        (np.array(["x", "y", "x"], dtype=object), {"x": 2, "y": 1}),
    ],
)
def test_labels_of_every_type(labels, wanted):
    labels = labels() if callable(labels) else labels  # made in the test, which may skip
    assert as_dict(reduce_rows(Counts.of, labels)) == wanted


def test_it_travels_and_sums():
    one = Counts.of(LABELS)
    assert as_dict(pickle.loads(pickle.dumps(one))) == as_dict(one)
    assert as_dict(sum([one, one])) == {"a": 6, "b": 4, "longer": 2}
    with pytest.raises(TypeError):
        one + 1
