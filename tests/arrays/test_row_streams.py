import numpy as np
import pytest

import kilogram as kg
from kilogram.arrays.row_streams import RowStream, as_rows
from kilogram.arrays.rows import (
    column_count,
    map_rows,
    reduce_rows,
    row_count,
    sample_rows,
    take_rows,
)
from kilogram.statistics import JointMoments, Moments
from tests.optional import torch

rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(50, 3)), rng.normal(size=50), rng.random(50)
TRIPLES = [(X[i : i + 12], y[i : i + 12], w[i : i + 12]) for i in range(0, 50, 12)]


def assert_whole(found):
    np.testing.assert_allclose(found.cross, JointMoments.of(X, y, w).cross, rtol=1e-10)


def test_blocks_that_hold_targets_and_weights():
    assert_whole(reduce_rows(JointMoments.of, TRIPLES))
    assert_whole(reduce_rows(JointMoments.of, TRIPLES, block_rows=5))
    assert_whole(reduce_rows(JointMoments.of, lambda: iter(TRIPLES)))


def test_as_rows_takes_blocks_apart():
    rows, targets, weights = as_rows(TRIPLES)
    assert row_count(rows) == 50
    assert column_count(rows) == 3
    for block_rows in (None, 5):
        found = reduce_rows(JointMoments.of, rows, targets, weights, block_rows=block_rows)
        assert_whole(found)
    alone = reduce_rows(Moments.of, rows, weights)  # y is not mistaken for the weights
    np.testing.assert_allclose(alone.mean, Moments.of(X, w).mean)
    np.testing.assert_array_equal(np.asarray(targets), y)


def test_as_rows_leaves_the_rest_alone():
    assert as_rows(X, y)[0] is X
    pairs = [(a, b) for a, b, _ in TRIPLES]
    rows, targets, weights = as_rows(pairs, None, w)
    assert_whole(reduce_rows(JointMoments.of, rows, targets, weights))
    rows, targets, weights = as_rows([a for a, _, _ in TRIPLES], y, w)
    assert_whole(reduce_rows(JointMoments.of, rows, targets, weights))


def test_targets_given_twice():
    with pytest.raises(ValueError, match="y was given twice"):
        as_rows(TRIPLES, y)


def test_tuples_beside_arguments_are_refused():
    with pytest.raises(ValueError, match="as_rows"):
        reduce_rows(JointMoments.of, TRIPLES, y)


def test_members_of_different_length():
    with pytest.raises(ValueError, match="block 1: its members differ in length"):
        reduce_rows(JointMoments.of, [TRIPLES[0], (X[:3], y[:2], w[:3])])


def test_a_one_shot_iterator_is_read_once():
    rows, targets, weights = as_rows(iter(TRIPLES))
    assert column_count(rows) == 3  # looked at, not lost
    assert_whole(reduce_rows(JointMoments.of, rows, targets, weights))
    with pytest.raises(ValueError, match="already read and can only be read once"):
        reduce_rows(JointMoments.of, rows, targets, weights)


def test_a_bare_iterator_is_not_looked_at():
    with pytest.raises(ValueError, match="as_rows"):
        column_count(iter(TRIPLES))
    with pytest.raises(ValueError, match="one-shot"):
        row_count(as_rows(iter([X]))[0])
    assert_whole(reduce_rows(JointMoments.of, iter(TRIPLES)))


def test_a_mapped_one_shot_iterator_is_read_once():
    lazy = map_rows(np.exp, iter([X]))
    np.testing.assert_array_equal(np.asarray(lazy), np.exp(X))
    with pytest.raises(ValueError, match="only be read once"):
        np.asarray(lazy)


def test_sample_of_a_one_shot_iterator():
    drawn = sample_rows(iter([X[:20], X[20:]]), 10, np.random.default_rng(0))
    assert drawn.shape == (10, 3)
    assert len({tuple(r) for r in drawn} & {tuple(r) for r in X}) == 10
    assert sample_rows(iter([X]), 99, np.random.default_rng(0)).shape == (50, 3)


def test_the_reservoir_is_fair():
    hits = np.zeros(20)
    for seed in range(400):
        blocks = iter([np.arange(0.0, 7.0)[:, None], np.arange(7.0, 20.0)[:, None]])
        hits[sample_rows(blocks, 5, np.random.default_rng(seed))[:, 0].astype(int)] += 1
    # each row is kept with probability 1/4: mean 100, deviation 8.7
    assert np.abs(hits - 100).max() < 45


def test_blocks_that_are_no_rows():
    with pytest.raises(TypeError, match="a block of rows must be an array of rows, got str"):
        reduce_rows(Moments.of, iter(["abc"]))
    with pytest.raises(TypeError, match="iterable of blocks"):
        RowStream(3)


def test_an_endless_source_is_read_as_it_comes():
    def endless():
        while True:
            yield X

    def stop_at(x):
        stop_at.seen += 1
        if stop_at.seen == 5:
            raise KeyboardInterrupt
        return Moments.of(x)

    stop_at.seen = 0
    with pytest.raises(KeyboardInterrupt):
        reduce_rows(stop_at, endless)
    assert stop_at.seen == 5


def test_a_data_loader():
    dataset = torch.utils.data.TensorDataset(*(torch.asarray(a) for a in (X, y, w)))
    loader = torch.utils.data.DataLoader(dataset, batch_size=12)
    rows, targets, weights = as_rows(loader)
    for _ in range(2):
        assert_whole(reduce_rows(JointMoments.of, rows, targets, weights))


def test_a_sample_of_rows_that_come_with_their_targets():
    rows, _, _ = as_rows(TRIPLES)
    wanted = sample_rows(X, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(sample_rows(rows, 10, np.random.default_rng(0)), wanted)
    np.testing.assert_array_equal(sample_rows(TRIPLES, 10, np.random.default_rng(0)), wanted)
    once, _, _ = as_rows(iter(TRIPLES))
    assert sample_rows(once, 10, np.random.default_rng(0)).shape == (10, 3)
    assert take_rows(rows, np.empty(0, int)).shape == (0, 3)


def test_a_lazy_result_can_be_used_block_by_block():
    from kilogram.arrays.rows import map_rows

    blocks = [np.ones((3, 2)), np.zeros((2, 2))]
    lazy = map_rows(lambda b: b.sum(axis=1), blocks)
    assert [b.tolist() for b in lazy] == [[2.0, 2.0, 2.0], [0.0, 0.0]]
    assert [b.tolist() for b in lazy] == [[2.0, 2.0, 2.0], [0.0, 0.0]]  # as often as asked
    assert np.asarray(lazy).shape == (5,)


@pytest.mark.parametrize("targets", [False, True])
def test_single_rows_in_place_of_blocks(targets):
    rows = ((row, 1.0) for row in np.eye(4)) if targets else (row for row in np.eye(4))
    with pytest.raises((ValueError, TypeError), match=r"blocks of rows|a block of rows"):
        kg.Ridge().fit(rows, None if targets else np.arange(4.0))
