"""BLAS is limited while a team runs and restored afterwards, with several Python threads too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kilogram import native
from kilogram.native import threads


def counts():
    return [library.get_num_threads() for library in threads.blas_libraries()]


def test_limited_and_restored():
    before = counts()
    with threads.serial_blas():
        assert set(counts()) == {1}
        with threads.serial_blas():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before


def test_restored_after_an_error():
    before = counts()
    with pytest.raises(ZeroDivisionError), threads.serial_blas():
        _ = 1 / 0
    assert counts() == before


def test_openmp_limit_is_respected():
    with threadpool_limits(1, user_api="openmp"):
        assert threads.n_threads() == 1


def test_calls_from_many_threads():
    before = counts()
    X = np.random.default_rng(0).normal(size=(400, 30))
    exact = native.kernel_block("gaussian", X, X, (0.1,))
    with ThreadPoolExecutor(4) as pool:
        for K in pool.map(lambda _: native.kernel_block("gaussian", X, X, (0.1,)), range(40)):
            np.testing.assert_array_equal(K, exact)
    assert counts() == before


def test_unknown_level():
    with pytest.raises(ValueError, match="no simd level 'mmx'"):
        native.set_simd_level("mmx")


def test_numpy_integers_are_thread_counts():
    """ctypes refuses them: n_jobs=np.int64(1) used to fail."""
    from kilogram.arrays.threads import blas_threads

    before = counts()
    with blas_threads(np.int64(1)):
        assert set(counts()) == {1}
    assert counts() == before
    assert threads.thread_count(np.int64(2)) == 2
    assert threads.thread_count(np.int32(-1)) == threads.n_threads() == threads.thread_count(None)
