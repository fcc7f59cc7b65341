"""Law: streams are validated block by block: a late block with NaN or infinity is refused.

Rows in memory are checked on input. Rows that come in blocks are checked as they are read,
whichever method reads them; where NaN stands for a missing value, infinity is what is refused.
"""

import itertools
import re
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor

from kilogram.arrays.row_streams import RowStream
from tests.laws.cases import ESTIMATORS, allows_nan, data, fit, make, target_for

USES = (
    "predict",
    "transform",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "score_samples",
    "score",
    "apply",
    "denoise",
    "reconstruction_error",
    "inverse_transform",
)
CUTS = (0, 20, 40, 60)
READS_NO_ROWS = {  # in `fit`
    "MajorityClassifier",
    "PolynomialFeatures",
    "FourierFeatures",
    "HaarFeatures",
    "HOGFeatures",
}


def in_chunks(X):
    return da.from_array(X, chunks=(20, 3))


def in_blocks(X):
    return [X[a:b] for a, b in itertools.pairwise(CUTS)]


def used(model, use, rows, y):
    """All answers of one method, read to the last block."""
    targets = (y,) if use == "score" and (is_classifier(model) or is_regressor(model)) else ()
    found = getattr(model, use)(rows, *targets)
    return [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]


def uses_of(model, X, y, streamed):
    """The methods that answer these rows when they stream; the others refuse streams by name."""
    for use in USES:
        if not hasattr(model, use):
            continue
        rows = X
        if use == "inverse_transform":
            rows = np.asarray(model.transform(X))
        try:
            used(model, use, streamed(rows), y)
        except (TypeError, ValueError):
            continue
        yield use, rows.copy()


def refused(call):
    """Whether the rows of a call are refused, and by the right name."""
    try:
        call()
    except ValueError as error:
        return re.search("contains (NaN|infinity)|NaN or inf|categories", str(error)) is not None
    return False


@pytest.mark.parametrize("streamed", [in_chunks, in_blocks])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_not_finite_in_a_late_block(name, streamed):
    X, y = data(CUTS[-1], name=name)
    model = make(name)
    y = target_for(model, y)
    model = fit(model, X, y)
    answered = []
    for use, rows in uses_of(model, X, y, streamed):
        rows[-1, 0] = np.inf if allows_nan(name) else np.nan
        if not refused(partial(used, model, use, streamed(rows), y)):
            answered.append(use)
    assert answered == []


@pytest.mark.parametrize("streamed", [in_chunks, in_blocks])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_not_finite_in_a_late_block_of_a_fit(name, streamed):
    X, y = data(CUTS[-1], name=name)
    y = target_for(make(name), y)

    def fitted(X):
        if streamed is in_chunks:
            return make(name).fit(in_chunks(X), da.from_array(y, chunks=20))
        return make(name).fit(list(zip(in_blocks(X), in_blocks(y), strict=True)))

    try:
        fitted(X)
    except Exception:
        if make(name).laws.block is True:
            raise
        return  # needs all rows in memory, as its laws say
    X[-1, 0] = np.inf if allows_nan(name) else np.nan
    assert refused(partial(fitted, X)) != (name in READS_NO_ROWS)


def test_the_position_is_reported():
    """The column by its name; the row is known within its block only."""
    X = pd.DataFrame(data(40)[0], columns=list("abcde"))
    model = make("PCA").fit(X)
    rows = X.to_numpy().copy()
    rows[33, 2] = np.nan
    with pytest.raises(ValueError, match="first in row 13 of column 'c' of a block of 20 rows"):
        np.asarray(model.transform([rows[:20], rows[20:]]))


def test_a_watched_iterator_is_still_read_once():
    X, y = data(40)
    model = make("Ridge").fit(X, y)
    rows = RowStream(iter([X[:20], X[20:]]))
    np.testing.assert_allclose(np.asarray(model.predict(rows)), model.predict(X))
    with pytest.raises(ValueError, match="already read"):
        np.asarray(model.predict(rows))
