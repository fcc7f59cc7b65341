"""Streaming input of the kernel Fisher discriminant: advice, or the approximation."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_circles

import kilogram as kg

X, Y = make_circles(90, noise=0.05, factor=0.4, random_state=0)
DASK = (da.from_array(X, chunks=(30, 2)), da.from_array(Y, chunks=30))
BLOCKS = ([(X[i : i + 30], Y[i : i + 30]) for i in range(0, 90, 30)], None)


@pytest.mark.parametrize("rows", [DASK, BLOCKS], ids=["dask", "blocks"])
def test_the_exact_solution_advises_the_approximation(rows):
    with pytest.raises(ValueError, match="approximation='nystroem'"):
        kg.KernelFisherDiscriminant(kernel="rbf").fit(*rows)


@pytest.mark.parametrize("rows", [DASK, BLOCKS], ids=["dask", "blocks"])
def test_the_approximation_streams(rows):
    params = {"kernel": "rbf", "approximation": "nystroem", "n_features": 90, "random_state": 0}
    streamed = kg.KernelFisherDiscriminant(**params).fit(*rows)
    in_memory = kg.KernelFisherDiscriminant(**params).fit(X, Y)
    np.testing.assert_array_equal(streamed.predict(X), in_memory.predict(X))
    assert streamed.score(X, Y) == 1.0
