"""What must hold for a random fit: no leaked exception, no silent NaN, no changed input."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from kilogram.arrays.namespace import to_numpy
from tests.fuzz.cases import Case, put, put_target
from tests.laws.cases import has_signs, laws, make

ALLOWED = (ValueError, TypeError, MemoryError, NotImplementedError)
#: Messages of NumPy, SciPy and the native core, which tell a user nothing about the input.
LEAKS = (
    "incompatible function arguments", "could not be broadcast", "unsupported operand",
    "zero-size array", "cannot reshape", "array element with a sequence", "has no attribute",
    "object is not", "must be real number", "unexpected keyword", "Singular matrix", "infs or NaNs",
    "not supported between instances", "positional argument", "cannot unpack", "ufunc",
    "Unable to allocate", "index out of range", "out of bounds", "KeyError", "NoneType",
    "can't convert", "cannot convert float", "not subscriptable", "truth value", "setting an array",
    "SVD did not converge", "Eigenvalues did not converge", "-th leading minor", "illegal value",
)  # fmt: skip
SECONDS = 60
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


class Hang(Exception):
    """A fit took longer than any fit of this size may."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise Hang after so many seconds of processor time, as other work on the machine does not
    count; in the main thread, where signals arrive.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def problems(case: Case) -> list[str]:
    """What is wrong with one fit and its predictions; nothing, if all is well."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught, time_limit(SECONDS):
        warnings.simplefilter("always")
        try:
            _examine(case, found)
        except Hang:
            found.append(f"took more than {SECONDS} s")
        except Exception as error:
            found.extend(_leak(error))
    leaked = {
        f"{w.category.__name__}: {w.message} ({w.filename.rpartition('kilogram/')[2]})"
        for w in caught
        if (w.category is RuntimeWarning and " encountered in " in str(w.message))  # NumPy's own
        or issubclass(w.category, np.exceptions.ComplexWarning)
    }
    return found + sorted(leaked)


def _leak(error: Exception) -> list[str]:
    text = str(error)
    if not isinstance(error, ALLOWED):
        return [f"raised {type(error).__name__}: {text:.150}"]
    if not text or any(leak in text for leak in LEAKS):
        return [f"raised an unclear {type(error).__name__}: {text:.150}"]
    return []


def _examine(case: Case, found: list[str]) -> None:
    X, y = put(case.X, case.container), put_target(case.y, case.target, case.container)
    weights = {} if case.w is None else {"sample_weight": case.w.copy()}
    before = _bytes(X), _bytes(y)
    model = make(case.name, **case.params)
    if not _takes_weights(model):
        weights = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **weights)
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if not case.valid_params:
        found.append("accepted a parameter that its constraint excludes")
    if (_bytes(X) != before[0] and not case.may_overwrite) or _bytes(y) != before[1]:
        found.append("changed its input")
    answers = _answers(model, X, case, found)
    if case.container == "blocks" or not answers or not case.has_digits or case.may_overwrite:
        return
    other = _other_order(X)
    for method, values in _answers(model, other, case, found).items():
        if not _close(values, answers[method], 1e-6, model, case):
            found.append(f"{method} depends on the memory order of its input")
    finished = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
    finished = finished and case.params.get("max_time") is None
    if case.well_posed and finished and case.container != "list":
        again = make(case.name, **case.params).fit(other, y, **weights)
        for method, values in _answers(again, X, case, found).items():
            if not _close(values, answers[method], max(laws(case.name).rtol, 1e-5), model, case):
                found.append(f"fit depends on the memory order of its input ({method})")


def _answers(model: Any, X: Any, case: Case, found: list[str]) -> dict[str, np.ndarray]:
    """What the methods of a model say of the rows; NaN in it is a problem."""
    answers = {}
    for method in METHODS:
        if not hasattr(model, method):
            continue
        try:
            values = getattr(model, method)(X)
        except ALLOWED as error:
            found.extend(_leak(error))
            continue
        if sp.issparse(values):
            values = values.toarray()
        streamed = case.container == "blocks" and not hasattr(values, "shape")
        values = np.concatenate(list(values)) if streamed else np.asarray(to_numpy(values))
        if values.dtype.kind == "f" and case.finite and np.isnan(values).any():
            found.append(f"{method} gave NaN")
        finite = values.dtype.kind != "f" or not np.isinf(values).any()
        if method == "predict" and case.finite and not finite and not is_classifier(model):
            found.append("predict gave infinity")
        answers[method] = values
    return answers


def _takes_weights(model: Any) -> bool:
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(model, "sample_weight"))


def _other_order(X: Any) -> Any:
    if sp.issparse(X):
        return X.tocsr() if X.format == "csc" else X.tocsc()
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X) if not X.flags.c_contiguous else np.asfortranarray(X)
    return X


def _bytes(X: Any) -> Any:
    if not isinstance(X, (np.ndarray, list)) and not sp.issparse(X):
        X = to_numpy(X)
    if isinstance(X, sp.coo_array):
        return X.data.tobytes(), *(a.tobytes() for a in X.coords)
    if sp.issparse(X):
        return X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()
    if isinstance(X, list):
        return [a.tobytes() if isinstance(a, np.ndarray) else repr(a) for a in X]
    return (
        np.asarray(X).tobytes() if np.asarray(X).dtype != object else repr(np.asarray(X).tolist())
    )


def _close(got: np.ndarray, want: np.ndarray, rtol: float, model: Any, case: Case) -> bool:
    if got.shape != want.shape:
        return False
    if want.dtype.kind not in "fc":
        return bool(np.mean(got == want) > 0.9)  # ties and values at a border
    narrow = want.dtype.itemsize < 8
    finite = np.isfinite(want) & np.isfinite(got)
    if not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return False
    if has_signs(model) and not is_classifier(model):
        got, want = np.abs(got), np.abs(want)
    scale = float(np.max(np.abs(want[finite]), initial=0.0))
    gap = float(np.max(np.abs(got[finite] - want[finite]), initial=0.0))
    # of rows that are all equal, distances from their mean and centred kernels are rounding
    least = 1e-12 if case.values in ("zeros", "tiny") or _all_equal(case.X) else 0.0
    return gap <= max(rtol, 1e-3 if narrow else 0.0) * scale + least


def _all_equal(X: np.ndarray) -> bool:
    """Whether the rows are copies of one of moderate size, whose rounding is far below 1e-12."""
    return bool((X[0] == X).all()) and np.abs(X.astype(float)).max() < 100
