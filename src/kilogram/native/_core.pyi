"""Types of the compiled module; shapes and checks are in the wrappers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

def kernel_block(
    kind: str,
    X: Array,
    Y: Array,
    same: bool,
    params: Sequence[float],
    out: Array,
    threads: int,
) -> None: ...

half_rows: int

def half_matmul(half: Array, V: Array, out: Array, threads: int) -> None: ...
def kernel_matmul(
    kind: str,
    X: Array,
    Y: Array,
    same: bool,
    params: Sequence[float],
    V: Array,
    out: Array,
    threads: int,
) -> None: ...
def kernel_normal_matmul(
    kind: str,
    X: Array,
    C: Array,
    params: Sequence[float],
    V: Array,
    w: Array | None,
    out: Array,
    threads: int,
) -> None: ...
def normal_matmul(K: Array, V: Array, w: Array | None, out: Array, threads: int) -> None: ...
def scatter(
    X: Array,
    Y: Array,
    shift_x: Array | None,
    shift_y: Array | None,
    root_w: Array | None,
    S: Array,
    threads: int,
) -> None: ...
def fourier_block(X: Array, W: Array, b: Array, scale: float, out: Array, threads: int) -> None: ...
def fourier_scatter(
    X: Array,
    W: Array,
    b: Array,
    scale: float,
    Y: Array,
    root_w: Array | None,
    S: Array,
    threads: int,
) -> None: ...
def cholesky(A: Array, threads: int) -> int: ...
def elementwise(name: str, x: Array, y: Array) -> None: ...
def simd_level() -> str: ...
def set_simd_level(name: str) -> None: ...
def max_threads() -> int: ...
def smo_gradient(
    kind: str,
    X: Array,
    A: Array,
    params: tuple[float, ...],
    slot: Array,
    delta: Array,
    cache: Array,
    old: Array,
    old_delta: Array,
    g: Array,
    threads: int,
) -> None: ...
def smo_add(cache: Array, slot: Array, delta: Array, g: Array, threads: int) -> None: ...
def smo_square(
    cache: Array, slot: Array, at: Array, made: Array, out: Array, threads: int
) -> None: ...
def smo_add_bits(
    bits: Array,
    A: Array,
    delta: Array,
    table: Array,
    differing: bool,
    g: Array,
    threads: int,
) -> None: ...
def smo_bit_square(
    bits: Array, table: Array, differing: bool, out: Array, threads: int
) -> None: ...
def smo_duels(
    K: Array,
    at: Array,
    start: Array,
    y: Array,
    C: Array,
    slack: int,
    tol: float,
    visits: int,
    b: Array,
    results: Array,
    threads: int,
) -> None: ...
def smo_pairs(
    K: Array,
    s: Array,
    lower: Array,
    upper: Array,
    f: Array,
    b: Array,
    tol: float,
    max_steps: int,
) -> tuple[int, float]: ...
def smo_select(
    point: Array,
    t: Array,
    s: Array,
    lower: Array,
    upper: Array,
    b: Array,
    g: Array,
    kept: Array,
    ask: int,
    f: Array,
    chosen: Array,
    extremes: Array,
) -> int: ...
def coordinate_passes(
    data: Array,
    indices: Array | None,
    indptr: Array | None,
    d: int,
    scale: float,
    eps: float,
    terms: Array,
    b: Array,
    w: Array,
    order: Array,
    active: int,
    far: float,
    seed: int,
    goal: float,
    visits: int,
) -> tuple[int, int, float, float, int]: ...
def logistic_pass(
    X: Array,
    y: Array,
    c: Array | None,
    w: Array,
    b: float,
    h: Array | None,
    sums: Array,
    threads: int,
) -> None: ...
def softmax_rows(
    X: Array, y: Array, c: Array | None, W: Array, b: Array, sums: Array, threads: int
) -> None: ...
def softmax_pass(Z: Array, y: Array, c: Array | None, keep: bool, threads: int) -> float: ...
def elastic_step(
    H: Array, g: Array, w: Array, l: Array, d: Array, Hd: Array, tol: float, passes: int
) -> int: ...
def online_pass(
    data: Array,
    indices: Array | None,
    indptr: Array | None,
    y: Array,
    c: Array | None,
    order: Array,
    loss: int,
    pace: Array,
    intercept: bool,
    W: Array,
    b: Array,
    sum_W: Array | None,
    sum_b: Array | None,
    steps: float,
) -> tuple[float, int]: ...
def class_scatter(
    X: Array, codes: Array, shifts: Array, root_w: Array | None, S: Array, threads: int
) -> None: ...
def within_scatter(
    X: Array,
    codes: Array,
    shifts: Array,
    root_w: Array | None,
    S: Array,
    sums: Array,
    counts: Array,
    threads: int,
) -> None: ...
def labels_present(labels: Array, present: Array) -> bool: ...
def class_powers(
    X: Array, codes: Array, shifts: Array, w: Array | None, out: Array, threads: int
) -> None: ...
def class_counts(
    X: Array, codes: Array, w: Array | None, out: Array, low: Array, threads: int
) -> None: ...
def class_presence(
    X: Array, codes: Array, threshold: float, w: Array | None, out: Array, threads: int
) -> None: ...
def column_ranges(X: Array, most: float, out: Array, threads: int) -> None: ...
def class_categories(
    X: Array, codes: Array, offsets: Array, w: Array | None, out: Array, threads: int
) -> None: ...
def logistic_sparse(
    entries: Array,
    columns: Array,
    starts: Array,
    y: Array,
    c: Array | None,
    w: Array,
    b: float,
    h: Array | None,
    sums: Array,
    threads: int,
) -> None: ...
def softmax_sparse(
    entries: Array,
    columns: Array,
    starts: Array,
    y: Array,
    c: Array | None,
    W: Array,
    b: Array,
    sums: Array,
    threads: int,
) -> None: ...
def cluster_pass(
    X: Array,
    w: Array | None,
    shift: Array | None,
    C: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    measure: bool,
    distances: Array | None,
    threads: int,
) -> float: ...

SIEVE_LINE: int
FEW_ROOM: int

def sieve_pays() -> bool: ...
def by_place(labels: Array, place: Array, order: Array, threads: int) -> None: ...
def take_rows(rows: Array, order: Array, out: Array, threads: int) -> None: ...
def encode_rows(
    X: Array, shift: Array | None, unit: float, codes: Array, about: Array, threads: int
) -> float: ...
def sieved_pass(
    X: Array,
    w: Array | None,
    shift: Array | None,
    C: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    measure: bool,
    order: Array,
    starts: Array | None,
    moved: Array | None,
    unit: float,
    balance: float,
    codes: Array,
    about: Array,
    threads: int,
) -> tuple[float, float, float]: ...
def few_pass(
    X: Array,
    w: Array | None,
    shift: Array | None,
    C: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    measure: bool,
    moved: Array | None,
    drift: Array,
    coded: bool,
    codes: Array,
    steps: Array,
    left: Array,
    norms: Array,
    upper: Array,
    least: Array,
    lower: Array,
    threads: int,
) -> tuple[float, float]: ...
def held_pass(
    X: Array,
    w: Array | None,
    shift: Array | None,
    C: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    measure: bool,
    order: Array,
    moved: Array | None,
    unit: float,
    balance: float,
    codes: Array,
    about: Array,
    drift: Array,
    least: Array,
    lower: Array,
    threads: int,
) -> tuple[float, float, float]: ...
def greedy_start(
    X: Array, w: Array | None, uniforms: Array, seconds: float, chosen: Array, threads: int
) -> int: ...
def lloyd_steps(
    X: Array,
    w: Array | None,
    shift: Array | None,
    origin: Array,
    centres: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    most: int,
    tol: float,
) -> tuple[int, bool]: ...
def bounded_pass(
    X: Array,
    w: Array | None,
    shift: Array | None,
    C: Array,
    labels: Array,
    sums: Array,
    follow: bool,
    measure: bool,
    order: Array,
    size: int,
    moved: Array | None,
    drift: Array,
    upper: Array,
    least: Array,
    lower: Array,
    threads: int,
) -> tuple[float, float]: ...
def distances_to(
    X: Array, shift: Array | None, C: Array, norms: Array, out: Array, threads: int
) -> None: ...
def nearest_rows(
    X: Array,
    Y: Array,
    shift: Array,
    norms: Array,
    skip_self: bool,
    index: Array,
    squares: Array,
    threads: int,
) -> None: ...
def shortest_paths(
    start: Array, index: Array, length: Array, sources: Array, out: Array, threads: int
) -> None: ...
def medoid_sweep(
    D: Array, w: Array | None, medoids: Array, eager: bool, quiet: int, threads: int
) -> tuple[int, int, float]: ...
def medoid_build(D: Array, w: Array | None, medoids: Array, threads: int) -> None: ...
def link_rows(
    X: Array, size: Array, ward: bool, children: Array, heights: Array, weights: Array
) -> None: ...
def link_cloud(
    X: Array,
    size: Array,
    complete: bool,
    room: int,
    children: Array,
    heights: Array,
    weights: Array,
    threads: int,
) -> None: ...
def link_matrix(
    D: Array,
    size: Array,
    linkage: str,
    children: Array,
    heights: Array,
    weights: Array,
    threads: int,
) -> None: ...
def density_sums(
    kind: int,
    product: bool,
    Y: Array,
    w: Array,
    Q: Array,
    lo: Array,
    hi: Array,
    out: Array,
    threads: int,
) -> None: ...
def exponential_line(y: Array, w: Array, q: Array, out: Array) -> None: ...
def grow_density_tree(
    X: Array,
    order: Array,
    w: Array,
    box: Array,
    likelihood: bool,
    max_depth: int,
    limits: Array,
    columns: int,
    seed: int,
    links: Array,
    values: Array,
) -> int: ...
def mixture_pass(
    X: Array,
    w: Array | None,
    shift: Array,
    means: Array,
    factors: Array,
    constants: Array,
    diagonal: bool,
    shares: Array | None,
    joint: bool,
    norms: Array | None,
    sums: Array | None,
    threads: int,
) -> float: ...
def factor_pass(
    X: Array,
    W: Array,
    H: Array,
    B: Array,
    c: Array | None,
    s: Array | None,
    update: int,
    sweeps: int,
    tol: float,
    l1: float,
    l2: float,
    floor: float,
    missing: bool,
    measure: bool,
    A: Array | None,
    gram: Array,
    threads: int,
) -> tuple[float, float]: ...
def factor_sweep(
    H: Array, A: Array, B: Array, sweeps: int, l1: float, threads: int
) -> tuple[float, float]: ...
def factor_sparse(
    entries: Array,
    columns: Array,
    starts: Array,
    from_: Array,
    W: Array,
    F: Array,
    B: Array,
    c: Array | None,
    update: int,
    sweeps: int,
    tol: float,
    l1: float,
    l2: float,
    floor: float,
    measure: bool,
    value: bool,
    threads: int,
) -> tuple[float, float]: ...
def sparse_times(
    entries: Array, columns: Array, starts: Array, F: Array, out: Array, threads: int
) -> None: ...
def factor_gram(F: Array, s: Array | None, gram: Array, threads: int) -> None: ...
def run_ahead(now: Array, before: Array, b: float, out: Array, threads: int) -> None: ...
def factor_lanes(wide: bool) -> int: ...
def contrast_pass(
    X: Array,
    M: Array,
    kind: int,
    alpha: float,
    G: Array,
    slope: Array,
    value: Array,
    threads: int,
) -> None: ...
def code_columns(X: Array, codes: Array, values: Array, counts: Array, threads: int) -> None: ...
def grow_tree(
    codes: Array,
    values: Array,
    starts: Array,
    y: Array,
    label: Array,
    classes: int,
    w: Array,
    rows: Array,
    criterion: int,
    limits: Array,
    weights: Array,
    seed: int,
    links: Array,
    numbers: Array,
    value: Array,
) -> int: ...
def sum_leaves(
    links: Array,
    threshold: Array,
    roots: Array,
    values: Array,
    X: Array,
    out: Array,
    threads: int,
) -> None: ...
def find_leaves(
    links: Array, threshold: Array, roots: Array, X: Array, out: Array, threads: int
) -> None: ...
