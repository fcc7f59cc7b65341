"""skops archives, written and read within limits; nothing in them is executed.

An archive is a ZIP file of arrays and a `schema.json` that describes the objects. Before skops sees
it, it is read within limits and written again in memory:

    bytes     members are decompressed a piece at a time, so that a size that was declared too small
              cannot make the reader allocate what the archive really unpacks to
    nodes     the schema may have `MAX_NODES` nodes and `MAX_DEPTH` levels, references to earlier
              nodes followed: the time to visit nested ones is exponential in their number
    types     only scikit-learn's own, plain arrays, and those of `TRUSTED_TYPES`
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib import import_module
from typing import Any

# Arrays of numbers compress little: an archive that unpacks to more than this is refused.
MAX_RATIO, HARMLESS_BYTES = 50, 64 << 20
# The model of a table with 2,000 columns of 50 levels has 210,000 nodes.
MAX_NODES, MAX_DEPTH = 2_000_000, 100
_PIECE = 1 << 20  # bytes unpacked between two checks of the limit: 1 MiB, a millisecond
_ADAPTERS = tuple(
    f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask")
)
# Our types, and plain array types; scikit-learn's own types are known to skops.
TRUSTED_TYPES = frozenset(
    {
        "kilogram.functions.boosting_losses.BoostingLoss",
        "kilogram.kernels.gaussian.Gaussian",
        "kilogram.kitchen.costs.CostScore",
        "kilogram.kitchen.features.dates.DateParts",
        "kilogram.kitchen.features.images.HOG",
        "kilogram.kitchen.features.numbers.ColumnScaler",
        "kilogram.kitchen.features.numbers.FloatColumns",
        "kilogram.kitchen.features.text.DenseComponents",
        "kilogram.kitchen.features.text.TermCounts",
        "kilogram.kitchen.features.text.TermWeights",
        "kilogram.kitchen.recipes.cumulative_logit.CumulativeLogit",
        "kilogram.kitchen.recipes.ensemble.EnsembleClassifier",
        "kilogram.kitchen.recipes.ensemble.EnsembleRegressor",
        "kilogram.kitchen.recipes.ridge_search.RidgeSearchClassifier",
        "kilogram.kitchen.recipes.ridge_search.RidgeSearchRegressor",
        "kilogram.kitchen.recipes.library_models.RareClassFolds",
        "kilogram.kitchen.recipes.tree_search.TreeSearchClassifier",
        "kilogram.kitchen.recipes.tree_search.TreeSearchRegressor",
        "kilogram.models.boosting.hist_gradient_boosting.HistGradientBoostingClassifier",
        "kilogram.models.boosting.hist_gradient_boosting.HistGradientBoostingRegressor",
        "kilogram.models.features.nystroem.Nystroem",
        "kilogram.models.logistic.logistic_regression_cv.LogisticRegressionCV",
        "kilogram.models.naive_bayes.gaussian.GaussianNB",
        "kilogram.models.neighbors.classification.KNeighborsClassifier",
        "kilogram.models.neighbors.regression.KNeighborsRegressor",
        "kilogram.models.neural.classifier.MLPClassifier",
        "kilogram.models.neural.regressor.MLPRegressor",
        "kilogram.models.ridge.kernel_ridge.KernelRidge",
        "kilogram.models.ridge.ridge.Ridge",
        "kilogram.models.glm.tweedie.PoissonRegressor",
        "kilogram.models.robust.huber.HuberRegressor",
        "kilogram.models.robust.quantile.QuantileRegressor",
        "kilogram.models.sparse.elastic_net_cv.ElasticNetCV",
        "kilogram.models.sparse.elastic_net_cv.LassoCV",
        "kilogram.models.svm.svc.SVC",
        "kilogram.models.svm.svr.SVR",
        "kilogram.solvers.boosting.ensemble.BoostedTrees",
        "kilogram.statistics.class_variances.ClassVariances",
        "numpy.dtype",
    }
)


class ArchiveError(ValueError):
    """An archive that is damaged, or that was not written by `dumps`."""


class ArchiveBombError(ArchiveError):
    """An archive that unpacks to far more than its size."""


class UntrustedTypesError(ArchiveError):
    """An archive with types that no model of ours has; `types` are their names."""

    def __init__(self, types: list[str]):
        super().__init__(f"untrusted types: {', '.join(types)}")
        self.types = types


def dumps(value: Any) -> bytes:
    """A value as the content of an archive."""
    return skops().dumps(value)


def loads(content: bytes) -> Any:
    """The value in an archive, or an `ArchiveError`."""
    try:
        checked = _checked(content)
        unknown = set(skops().get_untrusted_types(data=checked)) - TRUSTED_TYPES
    except ArchiveError:
        raise
    except Exception as error:  # whatever a foreign archive makes its reader fail with
        raise ArchiveError(f"the archive cannot be read: {error}") from error
    if unknown:
        raise UntrustedTypesError(sorted(unknown))
    try:
        return skops().loads(checked, trusted=sorted(TRUSTED_TYPES))
    except Exception as error:
        raise ArchiveError(f"the archive cannot be loaded: {error}") from error


def _checked(content: bytes) -> bytes:
    """An uncompressed copy of the archive, made of members read within the limits."""
    members = _members(content)
    if "schema.json" not in members:
        raise ArchiveError("the archive has no schema")
    _check_nodes(json.loads(members["schema.json"]))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return stream.getvalue()


def _members(content: bytes) -> dict[str, bytes]:
    """The members of a ZIP file, decompressed until the limit is reached."""
    most = HARMLESS_BYTES + MAX_RATIO * len(content)
    found: dict[str, bytes] = {}
    size = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if member.filename in found:
                raise ArchiveError(f"{member.filename!r} is in the archive twice")
            pieces = []
            with archive.open(member) as stream:
                while piece := stream.read(_PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    if size > most:
                        raise ArchiveBombError(f"it unpacks to more than {most >> 20:,} MiB")
            found[member.filename] = b"".join(pieces)
    return found


def _check_nodes(schema: Any) -> None:
    """An error for a schema that has too many nodes or levels once its references are followed."""
    states: dict[Any, list[dict[str, Any]]] = {}
    waiting: list[Any] = [schema]
    count = 0
    while waiting:
        state = waiting.pop()
        if isinstance(state, list):
            waiting += state
        elif isinstance(state, dict):
            count += 1
            states.setdefault(state.get("__id__"), []).append(state)
            waiting += state.values()
        if count > MAX_NODES:
            raise ArchiveError("the schema has too many nodes")
    if _expanded(schema, states, {}, 0) > MAX_NODES:
        raise ArchiveError("the schema has too many nodes")


def _expanded(
    state: Any, states: dict[Any, list[dict[str, Any]]], sizes: dict[Any, int], depth: int
) -> int:
    """How many nodes are visited below one: a name stands for the largest node of that name."""
    if depth > MAX_DEPTH:  # too deep, or a node that holds itself
        raise ArchiveError("the schema has too many levels")
    if isinstance(state, list):
        return sum(_expanded(item, states, sizes, depth + 1) for item in state)
    if not isinstance(state, dict):
        return 0
    name = state.get("__id__")
    if name in sizes:
        return sizes[name]
    alike = [state] if name is None else states[name]
    size = 1 + max(
        sum(_expanded(item, states, sizes, depth + 1) for item in one.values()) for one in alike
    )
    if name is not None:
        sizes[name] = size
    return size


def skops() -> Any:
    """skops, when a model is written or read: it looks through all of scikit-learn on import.

    While doing so it would import every array library that scikit-learn has an adapter for, seconds
    of torch for a table of penguins: those adapters are out of sight meanwhile.
    """
    hidden = [name for name in _ADAPTERS if name not in sys.modules]
    if "skops.io" in sys.modules:
        hidden = []
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        return import_module("skops.io")
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
