"""Costs foretold: what they say, and what cannot be asked."""

import pytest

import kilogram as kg
from kilogram.base.estimate import human_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1e-9, "0.1 ms"), (0.0123, "12 ms"), (3.21, "3.2 s"), (600.0, "10 min"), (1e4, "2.78 h")],
)
def test_seconds_are_written_as_people_do(seconds, text):
    assert human_seconds(seconds) == text


def test_a_class_or_a_stranger_cannot_be_asked():
    with pytest.raises(TypeError, match="Ridge is a class"):
        kg.estimate(kg.Ridge, 10, 3)
    with pytest.raises(TypeError, match="takes a Kilogram model"):
        kg.estimate("ridge", 10, 3)


def test_a_matrix_that_is_not_stored_names_its_blocks():
    cost = kg.estimate(kg.KernelPCA(2, kernel="rbf", max_memory="1MiB"), 2000, 3)
    assert not cost.fits
    assert "blocks" in cost.reason or cost.method == "blocked"
