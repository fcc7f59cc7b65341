"""Random fits: an estimator, its parameters, data of some shape and scale in some container.

A case is drawn from one seed, so a failure is repeated by `python -m tests.fuzz --seed N --n 1`,
also with `--name`, which still holds when more estimators are registered.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from kilogram.base.constraints import (
    AnyOf,
    Boolean,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from tests.fuzz.values import VALUES as PARAMETERS
from tests.laws.cases import ESTIMATORS, make

#: Values that most parameters must refuse, in place of a drawn one.
WRONG = (-1, 0, math.nan, math.inf, "wrong", None, [], True, 2.5, {}, np.array([1.0, 2.0]), object)
CHANCE_WRONG = 0.06
LARGEST = 8  # of integer parameters: a fit stays small

SHAPES = ("plain", "plain", "plain", "wide", "two rows", "one row", "many rows")
VALUES = (
    *("plain",) * 5,
    *("counts", "duplicates", "constant column", "zeros", "collinear", "outlier", "huge", "tiny"),
    *("nan", "inf", "offset"),
)
CONTAINERS = (
    *("C", "C", "F", "strided", "reversed", "read-only"),
    *("frame", "nullable frame", "csr", "csc", "coo", "list", "blocks", "torch"),
    *("arrow frame", "polars", "strict"),
)
#: What containers and targets need; where it is missing, such a case is one of plain arrays.
LIBRARIES = {
    "frame": ("pandas",),
    "nullable frame": ("pandas",),
    "arrow frame": ("pandas", "pyarrow"),
    "polars": ("polars",),
    "torch": ("torch",),
    "strict": ("array_api_strict",),
    "series": ("pandas",),
}
TARGETS = ("array", "array", "array", "list", "series", "column", "two columns", "like X")
DTYPES = ("float64", "float64", "float32", "int64", "bool", "float16", "object")


@dataclass(frozen=True)
class Case:
    """One fit. X is plain NumPy; `put` puts it in its container."""

    seed: int
    name: str
    params: dict[str, Any]
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    w: np.ndarray | None = field(repr=False)
    container: str
    shape: str
    values: str
    dtype: str
    weights: str
    target: str
    valid_params: bool

    @property
    def finite(self) -> bool:
        return self.values not in ("nan", "inf")

    @property
    def may_overwrite(self) -> bool:
        """Whether a parameter allows the fit to write into X."""
        return any(self.params.get(name) is False for name in ("copy", "copy_X"))

    @property
    def has_digits(self) -> bool:
        """Whether sums of X in its own precision have correct digits: not far from zero."""
        return not (self.values == "offset" and self.dtype == "float32")

    @property
    def well_posed(self) -> bool:
        """Whether the memory order must not matter even to an iterative or a discrete method."""
        return self.values == "plain" and self.shape == "plain" and self.dtype == "float64"


def draw_case(seed: int, name: str | None = None) -> Case:
    """The case of a seed, of one estimator or of any."""
    rng = np.random.default_rng(seed)
    if name is None:
        name = str(np.random.default_rng([seed, 1]).choice(list(ESTIMATORS)))
    shape, values, container = (str(rng.choice(a)) for a in (SHAPES, VALUES, CONTAINERS))
    dtype = str(rng.choice(DTYPES))
    X = _features(rng, name, shape, values)
    if dtype in ("int64", "bool"):
        values = values if values not in ("nan", "inf", "huge", "tiny", "offset") else "plain"
        X = np.round(np.clip(np.nan_to_num(X), -100, 100))
    params, valid = draw_parameters(rng, name, X.shape[1])
    if _is_pairwise(name, params):
        X = _pairwise(X, params)
    weights = str(rng.choice(["none", "none", "plain", "zeros", "negative", "one"]))
    target = str(rng.choice(TARGETS))
    y = _targets(rng, name, X, dtype, target)
    with np.errstate(all="ignore"):
        X = X.astype(dtype)
    if dtype == "float16" and not np.isfinite(X.astype(float)).all() and values != "nan":
        values = "inf"
    return Case(
        seed, name, params, X, y, _weights(rng, len(X), weights), container, shape, values, dtype,
        weights, target, valid,
    )  # fmt: skip


def _is_pairwise(name: str, params: dict[str, Any]) -> bool:
    """Whether the parameters ask for a matrix of kernel values or distances."""
    try:
        return bool(get_tags(make(name, **params)).input_tags.pairwise)
    except (AttributeError, TypeError, ValueError):  # wrong parameters, which the fit must refuse
        return False


def _pairwise(X: np.ndarray, params: dict[str, Any]) -> np.ndarray:
    """Distances between the rows of X, or a Gaussian kernel of them."""
    with np.errstate(all="ignore"):
        D = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(-1))
        return D if params.get("metric") == "precomputed" else np.exp(-D)


def _features(rng: np.random.Generator, name: str, shape: str, values: str) -> np.ndarray:
    n, d = {"wide": (7, 12), "two rows": (2, 3), "one row": (1, 3), "many rows": (300, 3)}.get(
        shape, (int(rng.integers(20, 50)), int(rng.integers(1, 6)))
    )
    X = rng.standard_normal((n, d)) + 0.3
    tags = get_tags(make(name)).input_tags
    if tags.categorical or tags.positive_only:
        X = np.floor(2 * np.abs(X)) if tags.categorical else np.abs(X)
    i, j = int(rng.integers(n)), int(rng.integers(d))
    match values:
        case "counts":
            X = np.floor(2 * np.abs(X))
        case "duplicates":
            X = X[rng.integers(0, max(n // 4, 1), n)]
        case "constant column":
            X[:, j] = 1.5
        case "zeros":
            X[:] = 0
        case "collinear":
            X[:, j] = X[:, 0]
        case "outlier":
            X[i, j] = 1e9
        case "huge":
            X *= 1e160
        case "tiny":
            X *= 1e-160
        case "nan":
            X[i, j] = np.nan
        case "inf":
            X[i, j] = np.inf
        case "offset":
            X += 1e7
    return X


def _targets(
    rng: np.random.Generator, name: str, X: np.ndarray, dtype: str, target: str
) -> np.ndarray:
    n, tags = len(X), get_tags(make(name))
    if is_classifier(make(name)):
        labels = rng.integers(0, int(rng.integers(2, 4)), n)
        kind = rng.integers(4)
        if kind == 0:
            return np.array(["north", "south", "west"])[labels]
        return labels.astype(bool) if kind == 1 else labels
    scale = float(rng.choice([1, 1, 1, 0, 1e-100, 1e100]))
    y = scale * (np.nan_to_num(np.clip(X[:, 0], -9, 9)) + 0.1 * rng.standard_normal(n))
    if tags.target_tags.positive_only:
        y = np.floor(3 * np.abs(y)) if rng.random() < 0.3 else np.abs(y)
    if rng.random() < 0.1:
        y[rng.random(n) < 0.8] = 0  # mostly zeros
    if target == "two columns" and tags.target_tags.multi_output:
        y = np.column_stack([y, rng.permutation(y)])
    return y.astype("float32") if dtype == "float32" and abs(scale) in (0, 1) else y


def _weights(rng: np.random.Generator, n: int, kind: str) -> np.ndarray | None:
    if kind == "none":
        return None
    w = rng.random(n) + 0.1
    if kind == "zeros":
        w[rng.random(n) < 0.3] = 0
    if kind == "negative":
        w[0] = -1
    return np.ones(n) if kind == "one" else w


def draw_parameters(rng: np.random.Generator, name: str, d: int) -> tuple[dict[str, Any], bool]:
    """Changes to the example of an estimator, for rows of width d; and whether all are allowed."""
    cls = ESTIMATORS[name]
    params = dict(cls.laws.example)
    known = make(name).get_params(deep=False)
    valid = True
    chance = float(rng.choice([0.0, 0.1, 0.3]))  # of a change to each parameter
    for parameter in known:
        constraint = cls.parameter_constraints.get(parameter)
        draw = rng.random()
        if draw < CHANCE_WRONG * chance / 0.3:
            params[parameter] = WRONG[int(rng.integers(len(WRONG)))]
        elif draw > chance:
            continue
        elif parameter in PARAMETERS and (constraint is None or rng.random() < 0.5):
            params[parameter] = PARAMETERS[parameter](rng, d)
        elif constraint is not None:
            params[parameter] = draw_value(rng, constraint, known[parameter])
        if constraint is not None and parameter in params:
            valid = valid and constraint.accepts(params[parameter])
    if "random_state" in known and params.get("random_state") is None:
        params["random_state"] = 0  # two fits of a case are compared
    return params, valid


def draw_value(rng: np.random.Generator, constraint: Constraint, known: Any) -> Any:
    """A value that the constraint accepts; the known one where none can be drawn."""
    if isinstance(constraint, AnyOf):
        return draw_value(
            rng, constraint.options[int(rng.integers(len(constraint.options)))], known
        )
    if isinstance(constraint, Integer):
        low = int(max(constraint.low, -LARGEST)) + (constraint.closed in ("right", "neither"))
        value = int(rng.integers(low, int(min(constraint.high, max(low, 1) + LARGEST)) + 1))
        return np.int64(value) if rng.random() < 0.3 else value
    if isinstance(constraint, Real):
        return _draw_real(rng, constraint)
    if isinstance(constraint, OneOf):
        return constraint.values[int(rng.integers(len(constraint.values)))]
    if isinstance(constraint, Boolean):
        return bool(rng.integers(2))
    if isinstance(constraint, RandomState):
        return int(rng.integers(5))
    return None if isinstance(constraint, Null) else known


def _draw_real(rng: np.random.Generator, constraint: Real) -> Any:
    if math.isinf(constraint.low) or math.isinf(constraint.high):
        low = constraint.low if math.isfinite(constraint.low) else 0.0
        value = low + 10.0 ** rng.uniform(-6, 3)
    else:
        value = rng.uniform(constraint.low, constraint.high)
    ends = [e for e in (constraint.low, constraint.high) if math.isfinite(e)]
    if ends and rng.random() < 0.2:
        value = ends[int(rng.integers(len(ends)))]
    value = np.float32(value) if rng.random() < 0.2 else float(value)
    return value if constraint.accepts(value) else 0.5 * (constraint.low + min(constraint.high, 1))


@cache
def library(name: str) -> ModuleType | None:
    """The library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def left_out() -> dict[str, str]:
    """The containers that cannot be made here -> the first library that is missing."""
    missing = {
        container: [name for name in names if library(name) is None]
        for container, names in LIBRARIES.items()
    }
    return {container: names[0] for container, names in missing.items() if names}


def put(X: np.ndarray, container: str) -> Any:
    """X in its container; what the container cannot hold stays an array."""
    plain = X.dtype.kind in "fiu" and X.dtype != np.float16
    if container in left_out():
        return X.copy()
    match container:
        case "F":
            return np.asfortranarray(X)
        case "strided":
            wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
            wide[::2, 1::3] = X
            return wide[::2, 1::3]
        case "reversed":
            return X[::-1, ::-1].copy()[::-1, ::-1]
        case "read-only":
            X = X.copy()
            X.flags.writeable = False
            return X
        case "frame" | "nullable frame" | "arrow frame":
            return _pandas_frame(X, container if plain else "frame")
        case "polars" if X.dtype not in (object, np.float16):
            names = [f"x{j}" for j in range(X.shape[1])]
            return importlib.import_module("polars").DataFrame(X, schema=names)
        case "csr" | "csc" | "coo" if plain:
            return {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}[container](X)
        case "torch" if X.dtype != object:
            return _on_device(X)
        case "strict" if X.dtype not in (object, np.float16):
            return importlib.import_module("array_api_strict").asarray(X.copy())
        case "list":
            return X.tolist()
        case "blocks" if plain and len(X) > 2:
            return [X[: len(X) // 2], X[len(X) // 2 :]]
    return X.copy()


def _pandas_frame(X: np.ndarray, container: str) -> Any:
    """A frame of NumPy columns, of pandas' nullable ones or of Arrow's."""
    frame = importlib.import_module("pandas").DataFrame(X.copy())
    if container == "arrow frame":
        return frame.astype({"f": "double[pyarrow]", "i": "int64[pyarrow]"}[X.dtype.kind])
    if container == "nullable frame":
        return frame.astype("Float64") if X.dtype.kind == "f" else frame.convert_dtypes()
    return frame


def put_target(y: np.ndarray, target: str, container: str) -> Any:
    """y in its container, which may be that of X."""
    match target:
        case "list":
            return y.tolist()
        case "series" if y.ndim == 1 and (pandas := library("pandas")):
            return pandas.Series(y, index=range(5, 5 + len(y)))
        case "column" if y.ndim == 1:
            return y[:, None].copy()
        case "like X" if container == "torch" and library("torch") and y.dtype.kind in "fiub":
            return _on_device(y)
        case "like X":
            return np.asfortranarray(y[::-1].copy()[::-1])
    return y.copy()


def _on_device(a: np.ndarray) -> Any:
    """A tensor, on the GPU if there is one."""
    torch = importlib.import_module("torch")
    return torch.asarray(a.copy(), device="cuda" if torch.cuda.is_available() else "cpu")
