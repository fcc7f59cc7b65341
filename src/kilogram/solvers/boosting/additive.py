"""Additive boosting: the rounds of bags, the choice of pairs, and what is done with their tables.

    F(x) = F_0 + sum_k f_k(x_k) + sum_(j,k) f_jk(x_j, x_k)

One feature after another gets a tree with a few leaves on the gradients that all steps before have
left, times `learning_rate`; then the next round begins (Lou et al. 2012). Where held-out rows end
the fit, most rounds leave out features whose last step was small: one without an effect would only
add noise until the others are done. Pairs follow on the residuals: all are screened by the fall of
the objective with one tree of four leaves, the best are boosted in the same way (Lou et al. 2013).
A table holds the sum of the trees of a term.

Bags hold out rows of their own for early stopping, and their tables are averaged. Then what of a
pair depends on one feature alone moves to that feature, and every table gets the mean 0 over the
training rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations
from threading import Event

import numpy as np

from kilogram.functions.boosting_losses import BoostingLoss
from kilogram.native.additive import Bins, Cells, StepRule, additive_values, screen_pairs
from kilogram.native.boosting import gradients
from kilogram.native.threads import n_threads
from kilogram.solvers.boosting.bins import column_limits
from kilogram.solvers.boosting.rounds import MIN_HESSIAN, TrainingRows

# Rows on which pairs are screened: means of a table of 32 x 32 cells know 128 rows each.
SCREENED_ROWS = 2**17
FULL_ROUND = 16  # of so many rounds one visits all terms, the others those with large steps
# Of the largest step: our choice; terms with smaller steps wait for the next full round.
LARGE_STEP = 0.9
PURE = 1e-12  # of a table: means of its lines below which they count as 0; some thousand eps
MOST_SWEEPS = 100  # ends purification where rounding keeps means above PURE


@dataclass(frozen=True)
class AdditiveRules:
    """Parameters of the fit. `pairs` is their number, or which they are."""

    learning_rate: float
    max_iter: int
    max_leaves: int
    min_leaf: int
    l2: float
    max_bins: int
    pairs: int | list[tuple[int, int]]
    max_pair_bins: int
    n_iter_no_change: int
    tol: float
    seed: int


@dataclass(frozen=True, eq=False)
class Bag:
    """Positions of rows to boost on, and of rows to stop by (none without early stopping)."""

    rows: np.ndarray
    held: np.ndarray


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """A fitted model: terms are columns, then pairs of them."""

    baseline: np.ndarray  # (classes,)
    bins: Bins
    coarse: list[np.ndarray]  # bins of pairs for the bins of every column
    features: list[tuple[int, ...]]
    tables: list[np.ndarray]  # (bins, classes) or (bins, bins, classes)
    errors: list[np.ndarray]  # standard deviation over the bags
    weights: list[np.ndarray]  # of the training rows, (bins) or (bins, bins)
    n_iter: np.ndarray  # (bags, 2): rounds of the features and of the pairs

    @property
    def n_outputs(self) -> int:
        return len(self.baseline)

    def _values(self, X: np.ndarray, each: bool) -> np.ndarray:
        sizes = [t.size // self.n_outputs for t in self.tables]
        terms = np.array([
            [f[0] for f in self.features],
            [f[1] if len(f) == 2 else -1 for f in self.features],
            [t.shape[1] if t.ndim == 3 else 1 for t in self.tables],
            np.cumsum([0, *sizes[:-1]]),
        ], np.int64)  # fmt: skip
        flat = np.concatenate([t.reshape(-1, self.n_outputs) for t in self.tables])
        return additive_values(X, self.bins, self.coarse, terms, flat, each)

    def raw(self, X: np.ndarray) -> np.ndarray:
        """Raw predictions (n, n_outputs)."""
        return self._values(X, each=False)[:, 0] + self.baseline

    def contributions(self, X: np.ndarray) -> np.ndarray:
        """What every term adds to the baseline, (n, terms, n_outputs)."""
        return self._values(X, each=True)

    def importances(self) -> np.ndarray:
        """The mean of |f| over the training rows (and outputs) of every term, (terms,)."""
        return np.array([
            float((np.abs(t).mean(axis=-1) * w).sum() / w.sum())
            for t, w in zip(self.tables, self.weights, strict=True)
        ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoostingStage:
    """Data and rules that the bags of one stage share."""

    loss: BoostingLoss
    y: np.ndarray
    w: np.ndarray | None
    cells: np.ndarray  # (terms, n)
    shapes: np.ndarray  # (terms, 4)
    steps: StepRule
    rules: AdditiveRules
    cancelled: Event = field(default_factory=Event)

    def weights(self, rows: np.ndarray) -> np.ndarray | None:
        return None if self.w is None else self.w[rows]

    def cell_weights(self, rows: np.ndarray) -> np.ndarray:
        """The weight of these rows in every cell of every term, one after another."""
        counts, w = (self.shapes[:, 0] * self.shapes[:, 1]).tolist(), self.weights(rows)
        parts = [_cell_weights(c[rows], k, w) for c, k in zip(self.cells, counts, strict=True)]
        return np.concatenate(parts)


def fit_additive(
    rows: TrainingRows, loss: BoostingLoss, rules: AdditiveRules, bags: list[Bag]
) -> AdditiveTerms:
    """Features first, then pairs of them."""
    X, y = rows.X, rows.y
    w = None if rows.w is None else np.ascontiguousarray(rows.w, np.float64)
    limits = column_limits(X, rows.n_categories, rules.max_bins, rules.seed)
    lengths = np.array([len(a) for a in limits])
    counts = np.where(rows.n_categories > 0, rows.n_categories, lengths + 1) + 1
    bins = Bins(limits, counts.astype(np.int32), rows.n_categories > 0)
    cells = bins.of(X)
    shapes = np.stack(
        [counts, np.ones_like(counts), rows.n_categories > 0, rows.monotone], axis=1
    ).astype(np.int64)
    mean_weight = 1.0 if w is None else min(float(w.mean()), 1.0)
    steps = StepRule(
        rules.learning_rate, rules.l2, MIN_HESSIAN * mean_weight, rules.min_leaf, rules.max_leaves
    )
    baseline = loss.baseline(y, w)
    start = np.repeat(baseline[:, None], len(y), axis=1)
    stage = BoostingStage(loss, y, w, cells, shapes, steps, rules)
    found = _each_bag(bags, [start] * len(bags), stage)
    weights = [_cell_weights(c, int(k), w) for c, k in zip(cells, counts, strict=True)]
    means, errors = _average([t for t, _ in found], shapes)
    coarse = [
        coarse_bins(weights[k], means[k][:, 0], bool(bins.categorical[k]), rules.max_pair_bins)
        for k in range(len(counts))
    ]
    model = AdditiveTerms(
        baseline, bins, coarse, [(k,) for k in range(len(counts))], means, errors, weights,
        np.array([[n, 0] for _, n in found]),
    )  # fmt: skip
    if rules.pairs:
        model = _with_pairs(model, stage, bags, [tables for tables, _ in found], rows.monotone)
    return centred(purify(model))


def _with_pairs(
    model: AdditiveTerms,
    stage: BoostingStage,
    bags: list[Bag],
    tables: list[np.ndarray],
    monotone: np.ndarray,
) -> AdditiveTerms:
    """The model with the pairs that lower the objective most, boosted on what the features left:
    every bag continues from its own `tables`."""
    rules, seen = stage.rules, Cells(stage.cells, stage.shapes)
    starts = [np.repeat(model.baseline[:, None], seen.n, axis=1) for _ in bags]
    for own, start in zip(tables, starts, strict=True):
        seen.add(own, start)
    bins = np.stack([c[b] for c, b in zip(model.coarse, stage.cells, strict=True)])
    counts = np.array([int(c.max()) + 1 for c in model.coarse])
    pairs = rules.pairs
    if isinstance(pairs, int):
        free = [k for k in range(len(counts)) if monotone[k] == 0 and counts[k] > 2]
        pairs = best_pairs(stage, bins, counts, free, np.mean(starts, axis=0), pairs)
    if not pairs:
        return model
    cells = np.stack([bins[j] * np.uint16(counts[k]) + bins[k] for j, k in pairs])
    shapes = np.array([[counts[j], counts[k], 0, 0] for j, k in pairs], np.int64)
    stage = replace(stage, cells=cells, shapes=shapes)
    found = _each_bag(bags, starts, stage)
    weights = [
        _cell_weights(c, int(a * b), stage.w).reshape(a, b)
        for c, (a, b) in zip(cells, shapes[:, :2], strict=True)
    ]
    means, errors = _average([t for t, _ in found], shapes)
    return replace(
        model,
        features=model.features + [(int(j), int(k)) for j, k in pairs],
        tables=model.tables + means,
        errors=model.errors + errors,
        weights=model.weights + weights,
        n_iter=np.stack([model.n_iter[:, 0], np.array([n for _, n in found])], axis=1),
    )


def boost_bag(
    stage: BoostingStage, bag: Bag, start: np.ndarray, threads: int
) -> tuple[np.ndarray, int]:
    """Tables (cells of all terms, classes) after the best round by the held-out rows, and its
    number; `start` (classes, n) are raw predictions of all rows."""
    loss, rules, rows, held = stage.loss, stage.rules, bag.rows, bag.held
    cells, raw = Cells(stage.cells[:, rows], stage.shapes), np.ascontiguousarray(start[:, rows])
    y, w, order = stage.y[rows], stage.weights(rows), np.arange(len(stage.shapes))
    tables = np.zeros((int(cells.starts[-1]), len(start)))
    best, best_round, done = tables, 0, 0
    if len(held):
        weights, sizes = stage.cell_weights(rows), np.zeros(len(order))
        seen, held_raw = Cells(stage.cells[:, held], stage.shapes), start[:, held].copy()
        y_held, w_held = stage.y[held], stage.weights(held)
        least = reference = loss.value(y_held, held_raw, w_held)
        since = 0
    while done < rules.max_iter and not stage.cancelled.is_set():
        added = cells.round(loss.name, loss.parameter, y, w, order, stage.steps, raw, threads)
        tables, done = tables + added, done + 1
        if not len(held):
            best, best_round = tables, done
            continue
        steps = np.add.reduceat(weights * (added**2).sum(axis=1), cells.starts[:-1])
        sizes[order] = steps[order]
        order = next_terms(sizes, done)
        seen.add(added, held_raw)
        value = loss.value(y_held, held_raw, w_held)
        if value < least:
            least, best, best_round = value, tables, done
        since = 0 if value < reference - rules.tol else since + 1
        reference = min(reference, value) if since == 0 else reference
        if since >= rules.n_iter_no_change:
            break
    return best, best_round


def next_terms(sizes: np.ndarray, done: int) -> np.ndarray:
    """The terms that the next round visits, from the sizes of their last steps."""
    large = sizes >= (LARGE_STEP * sizes.max() if done % FULL_ROUND else 0.0)
    return np.flatnonzero(large)


def _each_bag(bags: list[Bag], starts: list[np.ndarray], stage: BoostingStage) -> list[tuple]:
    """`boost_bag` of every bag: side by side where there are several, one thread each."""
    team = min(n_threads(), len(bags))
    if team == 1:
        return [boost_bag(stage, *of, n_threads()) for of in zip(bags, starts, strict=True)]
    with ThreadPoolExecutor(team) as pool:
        try:
            return list(pool.map(lambda bag, start: boost_bag(stage, bag, start, 1), bags, starts))
        except BaseException:  # Ctrl-C: the other threads stop after their round
            stage.cancelled.set()
            raise


def best_pairs(
    stage: BoostingStage,
    bins: np.ndarray,
    counts: np.ndarray,
    free: list[int],
    raw: np.ndarray,
    most: int,
) -> list[tuple[int, int]]:
    """The pairs of `free` columns whose tree lowers the objective most at `raw`, best first."""
    pairs = np.array(list(combinations(free, 2)), np.int64).reshape(-1, 2).T.copy()
    rows: np.ndarray | slice = slice(None)
    if raw.shape[1] > SCREENED_ROWS:
        drawn = np.random.default_rng(stage.rules.seed).choice(raw.shape[1], SCREENED_ROWS, False)
        rows = np.sort(drawn)
        bins, raw = np.ascontiguousarray(bins[:, rows]), raw[:, rows]
    raw = np.ascontiguousarray(raw)
    g, h = np.empty_like(raw), np.empty_like(raw)
    w = None if stage.w is None else stage.w[rows]
    gradients(stage.loss.name, stage.loss.parameter, stage.y[rows], w, raw, g, h)
    parts = [
        screen_pairs(bins, counts, gk, hk, pairs, stage.steps) for gk, hk in zip(g, h, strict=True)
    ]
    gain = np.sum(parts, axis=0)
    order = np.argsort(-gain, kind="stable")[:most]
    return [(int(pairs[0, p]), int(pairs[1, p])) for p in order if gain[p] > 0]


def coarse_bins(weight: np.ndarray, table: np.ndarray, categorical: bool, most: int) -> np.ndarray:
    """At most `most` groups of neighbouring bins of about equal weight; the last bin, that of
    missing values, has the last number for itself. Categories are neighbours by their table."""
    count = len(weight) - 1
    order = np.argsort(table[:count], kind="stable") if categorical else np.arange(count)
    if count > most:
        before = np.cumsum(weight[order]) - weight[order]
        groups = np.minimum(before * most // max(weight[:count].sum(), 1e-300), most - 1)
    else:
        groups = np.arange(count, dtype=float)
    found = np.empty(count + 1, np.uint16)
    found[order] = np.unique(groups, return_inverse=True)[1]
    found[count] = found[:count].max(initial=0) + 1 if count else 0
    return found


def purify(model: AdditiveTerms) -> AdditiveTerms:
    """What of a pair depends on one feature moves to that feature: means of lines become 0."""
    tables = [t.copy() for t in model.tables]
    for t, pair in enumerate(model.features):
        if len(pair) == 1:
            continue
        weight = model.weights[t][:, :, None]
        tables[t][(model.weights[t].sum(axis=1) == 0), :] = 0  # no row: nothing is known
        tables[t][:, (model.weights[t].sum(axis=0) == 0)] = 0
        size = float(np.abs(tables[t]).max(initial=0.0))
        for _ in range(MOST_SWEEPS):
            moved = 0.0
            for axis, k in ((1, pair[0]), (0, pair[1])):
                total = weight.sum(axis=axis)
                mean = (tables[t] * weight).sum(axis=axis) / np.where(total > 0, total, 1)
                tables[t] -= np.expand_dims(mean, axis) * (np.expand_dims(total, axis) > 0)
                tables[k] += mean[model.coarse[k]]
                moved = max(moved, float(np.abs(mean).max(initial=0.0)))
            if moved <= PURE * size:
                break
    return replace(model, tables=tables)


def centred(model: AdditiveTerms) -> AdditiveTerms:
    """Every table with the weighted mean 0; the means go to the baseline."""
    means = [
        (t * w[..., None]).reshape(-1, model.n_outputs).sum(axis=0) / w.sum()
        for t, w in zip(model.tables, model.weights, strict=True)
    ]
    tables = [t - m for t, m in zip(model.tables, means, strict=True)]
    return replace(model, tables=tables, baseline=model.baseline + np.sum(means, axis=0))


def _cell_weights(cells: np.ndarray, count: int, w: np.ndarray | None) -> np.ndarray:
    return np.bincount(cells, w, count).astype(np.float64)


def _split(flat: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    """Tables of terms of those in one array (cells of all terms, classes)."""
    ends = np.cumsum(shapes[:, 0] * shapes[:, 1])
    parts = np.split(flat, ends[:-1])
    return [
        p if columns == 1 else p.reshape(rows, columns, -1)
        for p, (rows, columns) in zip(parts, shapes[:, :2].tolist(), strict=True)
    ]


def _average(bags: list[np.ndarray], shapes: np.ndarray) -> tuple[list, list]:
    """Mean and standard deviation of the tables of bags."""
    return _split(np.mean(bags, axis=0), shapes), _split(np.std(bags, axis=0), shapes)
