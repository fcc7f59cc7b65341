import array_api_compat.numpy
import array_api_strict
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from kilogram.arrays.namespace import (
    float_dtype,
    is_array,
    is_dask,
    is_numpy,
    is_sparse,
    like,
    namespace,
    sum_dtype,
    to_numpy,
)
from tests.optional import torch

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "x", [X, X.tolist(), None, 2.0, np.float64(1), scipy.sparse.csr_array(X), pd.DataFrame(X)]
)
def test_what_is_worked_on_in_numpy(x):
    assert namespace(x) is array_api_compat.numpy


def test_other_libraries_speak_for_themselves():
    assert namespace(array_api_strict.asarray(X)) is array_api_strict
    found = namespace(torch.asarray(X), None, 1.0)
    assert found.__name__ == "array_api_compat.torch"


def test_two_libraries_in_one_call_are_refused():
    with pytest.raises(TypeError, match=r"different libraries.*numpy and torch"):
        namespace(X, torch.asarray(X))


def test_kinds():
    assert is_numpy(X)
    assert not is_numpy(torch.asarray(X))
    assert is_array(torch.asarray(X))
    assert not is_array(X.tolist())
    assert is_sparse(scipy.sparse.csc_matrix(X))
    assert not is_dask(X)


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
def test_to_numpy_brings_arrays_home(device):
    away = array_api_strict.asarray(X, device=array_api_strict.Device(device))
    np.testing.assert_array_equal(to_numpy(away), X)
    assert like(X, away).device == away.device


def test_to_numpy_of_the_rest():
    tensor = torch.asarray(X).requires_grad_()
    np.testing.assert_array_equal(to_numpy(tensor), X)
    np.testing.assert_array_equal(to_numpy(X.tolist()), X)
    S = scipy.sparse.csr_array(X)
    assert to_numpy(S) is S
    assert to_numpy(None) is None


@pytest.mark.parametrize("ref", [np.float32, torch.float32, array_api_strict.float32])
@pytest.mark.parametrize("make", [np.asarray, torch.asarray, array_api_strict.asarray])
def test_like_takes_library_and_float_type_but_leaves_integers(ref, make):
    library = {np.float32: np, torch.float32: torch}.get(ref, array_api_strict)
    target = library.zeros((2, 2), dtype=ref)
    moved = like(make(X), target)
    assert type(moved) is type(target)
    assert moved.dtype == ref
    np.testing.assert_array_equal(to_numpy(moved), X.astype(np.float32))
    counted = like(make(np.arange(3)), target)
    assert type(counted) is type(target)
    assert to_numpy(counted).dtype == np.int64


def test_like_of_a_list_and_a_strided_view():
    assert like([1.0, 2.0], torch.zeros(1)).dtype == torch.float32
    np.testing.assert_array_equal(like(X[::-1], torch.zeros(1)).numpy(), X[::-1])


def test_float_types():
    xp = namespace(X)
    assert float_dtype(X.astype(np.float32), xp) == np.float32
    assert float_dtype(X.astype(np.int8), xp) == np.float64
    assert float_dtype(X.tolist(), xp) == np.float64
    assert sum_dtype(X.astype(np.float32), xp) == np.float64
    single = torch.asarray(X, dtype=torch.float32)
    assert float_dtype(single, namespace(single)) == torch.float32
    assert sum_dtype(single, namespace(single)) == torch.float64


def test_float_type_of_a_device_without_float64():
    poor = array_api_strict.asarray(
        X, dtype=array_api_strict.float32, device=array_api_strict.Device("no_float64")
    )
    assert sum_dtype(poor, namespace(poor)) == array_api_strict.float32
