"""Components of a kernel: the leading eigenpairs of D^1/2 K_c D^1/2 u = lambda u, D = diag(w).

    features   k(x, y) = <x, y> with fewer columns than rows: the d x d scatter matrix of PCA, then
               u = D^1/2 (X - 1 m') v / sqrt(lambda)
    dense      all pairs of the stored matrix, when many are wanted or n is small
    krylov     the leading pairs by products with K, which is stored while it fits, by its lower
               half where the kernel has a compiled loop; rows of few columns beyond memory have it
               computed anew at every product, first in float32 to come near, then in float64 to
               the last digit
    randomized a fixed number of products

Centring is implicit in every product; only the dense solver writes a centred matrix. Rows under the
linear kernel are moved to their mean first: inner products of rows far from 0 are nearly all alike,
and of what centring leaves of them few digits would be right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kilogram.arrays.memory import human_bytes, memory_limit
from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.kernels import Kernel, Linear
from kilogram.operators import Centred, DiagonallyScaled, Gram, HalfGram, KernelMeans, half_bytes
from kilogram.solvers.eigen.full import full
from kilogram.solvers.eigen.leading import NARROWEST_BLOCK, leading
from kilogram.solvers.eigen.signs import row_signs
from kilogram.solvers.eigen.subspace import subspace_iteration
from kilogram.solvers.eigen.symmetric import eigenpairs, prefers_full
from kilogram.solvers.linear.cg import Tick
from kilogram.solvers.solution import Solution
from kilogram.statistics import Moments
from kilogram.statistics.centred_columns import columns_of

SOLVERS = ("auto", "dense", "arpack", "randomized")
# matrices of order n that a full decomposition holds: K, its centred copy, LAPACK's work space
FULL_COPIES = 5
# columns up to which products with a K computed anew are taken, and rows from which they pay
FEW_COLUMNS, MANY_ROWS = 64, 3000
# columns of a product with half a K: one vector of them costs what one column does, and a narrow
# block reaches the same pairs with fewer columns in all (24 x 4 against 14 x 16 at n = 10 000)
NARROW = {"float64": 4, "float32": 8}


@dataclass(frozen=True)
class EigenSearch:
    """How the eigenpairs are searched: solver, tolerance, effort, random numbers, limits."""

    solver: str = "auto"
    tol: float = 0.0
    max_iter: int | None = None
    n_iter: int | str = "auto"
    rng: Any = None
    callback: Tick | None = None
    deadline: float | None = None
    max_memory: int | str | None = None
    announce: Callable[[str], None] | None = None


@dataclass(frozen=True, eq=False)
class KernelComponents:
    """Eigenvalues (k,), largest first, orthonormal vectors u (n, k), training means of K.

    `solver` is the one that found them, `found` how it went.
    """

    values: Any
    vectors: Any
    means: KernelMeans
    solver: str
    found: Solution


def dual_axes(values: Any, vectors: Any) -> Any:
    """u / sqrt(lambda), zero where there is no variance: scores are k_c(x, X) times these."""
    xp = namespace(values)
    roots = xp.sqrt(xp.where(values > 0, values, xp.ones_like(values)))
    return vectors * xp.where(values > 0, 1.0 / roots, xp.zeros_like(values))


def kernel_components(
    kernel: Kernel, X: Any, w: Any, k: int | None, search: EigenSearch
) -> KernelComponents:
    """The k leading components (None: all) of the centred kernel matrix of the rows of X."""
    n, d = X.shape
    if isinstance(kernel, Linear) and search.solver == "auto" and d < n and (k or 0) <= d:
        return _from_features(X, w, k, search)
    if isinstance(kernel, Linear) and not is_sparse(X):
        m = namespace(X).astype(columns_of(X, w).mean, X.dtype)
        found = _from_gram(kernel, X - m, w, k, search)
        return replace(found, means=_linear_means(X, m, w))
    return _from_gram(kernel, X, w, k, search)


def _from_gram(
    kernel: Kernel, X: Any, w: Any, k: int | None, search: EigenSearch
) -> KernelComponents:
    """The leading pairs from the kernel matrix, stored or made as it is needed."""
    n, d = X.shape
    compiled = _iterates(n, k, search) and n >= MANY_ROWS and kernel.is_compiled(X)
    if compiled and half_bytes(n, X.dtype.itemsize) <= memory_limit(search.max_memory):
        return _from_half(kernel, X, w, k, search)
    anew = compiled and d <= FEW_COLUMNS and X.dtype == "float64"
    gram = Gram(kernel, X, max_memory=search.max_memory, store=False if anew else "auto")
    _check_memory(gram, k, search)
    if not (gram.stores or anew) and search.announce is not None:
        search.announce(f"{gram.plan.reason}.")
    near = _nearby(kernel, X, w, k, search) if anew and k is not None else {}
    return components_of(gram, w, k, search, near)


def components_of(
    gram: Any, w: Any, k: int | None, search: EigenSearch, near: dict[str, Any] | None = None
) -> KernelComponents:
    """The k leading components of a symmetric operator, with weights w (n,) or None."""
    A, means = _operator(gram, w)
    solver, found = _solved(A, k, search, ref=means.columns, near=near or {})
    values, vectors = found.value
    return KernelComponents(values, vectors, means, solver, found)


def _operator(gram: Any, w: Any) -> tuple[Any, KernelMeans]:
    """D^1/2 K_c D^1/2 and the means it is centred with."""
    centred = Centred(gram, weights=w)
    A: Any = centred if w is None else DiagonallyScaled(centred, namespace(w).sqrt(w))
    return A, centred.means


def _iterates(n: int, k: int | None, search: EigenSearch) -> bool:
    """Whether few pairs are wanted, and by products."""
    return search.solver in ("auto", "arpack") and k is not None and not prefers_full(n, k)


def _from_half(
    kernel: Kernel, X: Any, w: Any, k: int | None, search: EigenSearch
) -> KernelComponents:
    """The leading pairs by products with the stored lower half of K."""
    A, means = _operator(HalfGram(kernel, X), w)
    # |K| >= n times its mean: of rows that are all alike, rounding is all that centring leaves
    floor = float(namespace(X).finfo(X.dtype).eps) * X.shape[0] * abs(float(means.grand))
    near = {"block": NARROW[str(X.dtype)], "floor": floor}
    solver, found = _solved(A, k, search, ref=means.columns, near=near)
    values, vectors = found.value
    return KernelComponents(values, vectors, means, solver, found)


def _nearby(kernel: Kernel, X: Any, w: Any, k: int, search: EigenSearch) -> dict[str, Any]:
    """The leading vectors as far as float32 goes; an offset would take the digits it has."""
    xp = namespace(X)
    X = X - xp.mean(X, axis=0) if kernel.stationary else X
    single = None if w is None else xp.astype(w, xp.float32)
    A, means = _operator(Gram(kernel, xp.astype(X, xp.float32), store=False), single)
    block = max(NARROWEST_BLOCK, 8 * math.ceil(k / 8))  # every column costs arithmetic here
    how: dict[str, Any] = {"tol": search.tol, "max_iter": search.max_iter, "rng": search.rng}
    found = leading(A, k, ref=means.columns, block=block, deadline=search.deadline, **how)
    return {"start": found.value[1], "block": block}


def _solved(
    A: Any, k: int | None, search: EigenSearch, ref: Any, near: dict[str, Any]
) -> tuple[str, Solution]:
    """The solver used and its pairs; `near` are a start and the width of a block for Lanczos."""
    how: dict[str, Any] = {
        "rng": search.rng,
        "callback": search.callback,
        "deadline": search.deadline,
        "ref": ref,
    }
    n = A.shape[0]
    if search.solver == "dense" or k is None or k == n:
        return "dense", full(A, k)
    if search.solver == "randomized":
        few = 7 if k < 0.1 * n else 4
        n_iter = few if search.n_iter == "auto" else int(search.n_iter)
        return "randomized", subspace_iteration(A, k, n_iter=n_iter, **how)
    if search.solver == "arpack":
        return "krylov", leading(A, k, tol=search.tol, max_iter=search.max_iter, **near, **how)
    found = eigenpairs(A, k, tol=search.tol, max_iter=search.max_iter, **near, **how)
    return ("krylov" if found.n_iter else "dense"), found


def _check_memory(gram: Gram, k: int | None, search: EigenSearch) -> None:
    """A full decomposition cannot be done in pieces: refuse it where it would not fit."""
    n = gram.shape[0]
    some = k is not None and k < n and search.solver != "dense" and not prefers_full(n, k)
    if some or n <= 2000:
        return
    needed, limit = FULL_COPIES * n * n * 8, memory_limit(search.max_memory)
    if needed > limit:
        raise MemoryError(
            f"all eigenpairs of a kernel matrix of order {n} take {human_bytes(needed)}, and "
            f"{human_bytes(limit)} are allowed: set n_components to less than n / 10, or use "
            "approximation='nystroem'."
        )


def _from_features(X: Any, w: Any, k: int | None, search: EigenSearch) -> KernelComponents:
    """The linear kernel in the coordinates of the columns: PCA's own problem."""
    moments = Moments.of(X, w)
    xp = namespace(moments.mean)
    found = eigenpairs(
        moments.scatter, k, rng=search.rng, callback=search.callback, deadline=search.deadline
    )
    values, V = found.value
    m = xp.astype(moments.mean, X.dtype)
    V = xp.astype(V, X.dtype)
    Z = X @ V - m @ V if is_sparse(X) else (X - m) @ V
    Z = Z if w is None else xp.sqrt(w)[:, None] * Z
    lengths = xp.linalg.vector_norm(Z, axis=0)
    vectors = Z / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
    values = xp.astype(values, X.dtype)
    return KernelComponents(values, vectors, _linear_means(X, m, w), "features", found)


def _linear_means(X: Any, m: Any, w: Any) -> KernelMeans:
    """The means of the linear kernel of rows with mean m."""
    xp, columns = namespace(m), X @ m
    weights = xp.full_like(columns, 1.0 / X.shape[0]) if w is None else w / xp.sum(w)
    return KernelMeans(columns, float(m @ m), weights)


def fix_signs(vectors: Any, w: Any) -> Any:
    """D^1/2 u of eigenvectors u (n, k), each with the sign of its largest score.

    Signs are read off the scores, which a repeated row has and a weighted one must have.
    """
    if w is None:
        return vectors * row_signs(vectors.T).T
    xp = namespace(vectors)
    root = xp.sqrt(w)[:, None]
    seen = vectors / xp.where(root > 0, root, xp.ones_like(root))
    return root * vectors * row_signs(seen.T).T


def positive_part(values: Any) -> Any:
    """Eigenvalues with rounding set to zero; clearly negative ones mean that K is no kernel."""
    xp = namespace(values)
    single = values.dtype == xp.float32
    largest, smallest = float(xp.max(values)), float(xp.min(values))
    if largest < 0:
        raise ValueError(
            f"All eigenvalues are negative (the largest is {largest:g}): the kernel matrix is not "
            "positive semidefinite. Check the kernel."
        )
    if smallest < -(5e-3 if single else 1e-5) * largest and smallest < -(1e-6 if single else 1e-10):
        raise ValueError(
            f"There are significant negative eigenvalues ({smallest:g} beside {largest:g}): the "
            "kernel matrix is not positive semidefinite. Check the kernel, or ask for few leading "
            "components."
        )
    kept = values > (2e-7 if single else 1e-12) * largest
    return xp.where(kept, values, xp.zeros_like(values))
