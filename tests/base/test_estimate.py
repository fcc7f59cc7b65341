"""Costs foretold: what they say, and what cannot be asked."""

import numpy as np
import pytest

import kilogram as kg
from kilogram.base.estimate import human_seconds
from kilogram.operators.cost import bandwidth
from kilogram.operators.memory_plan import plan_storage


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


def test_data_may_stand_for_their_size():
    X = np.zeros((200, 3))
    of_sizes, of_data = kg.estimate(kg.Ridge(), 200, 3), kg.estimate(kg.Ridge(), X)
    assert (of_data.n, of_data.d) == (200, 3)
    assert of_data.bytes == of_sizes.bytes
    with pytest.raises(TypeError, match=r"kg.estimate\(model, X\)"):
        kg.estimate(kg.Ridge(), 200)


def test_products_with_a_stored_matrix_take_the_time_of_reading_it():
    """Of 60 products with 57 MB the multiply-adds alone would be a tenth of the time."""
    one = plan_storage(20_000, 5, "float32", columns=700, products=1)
    sixty = plan_storage(20_000, 5, "float32", columns=700, products=60)
    read = 59 * 20_000 * 700 * 4 / bandwidth()
    assert sixty.seconds - one.seconds == pytest.approx(read, rel=1e-6)
