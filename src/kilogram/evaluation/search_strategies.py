"""Which parameters to try next: five search strategies.

grid      every combination, ranges cut at even places
random    points drawn at random; a list is drawn without repeating itself
coarse    a coarse grid, then finer ones around the best point so far, each half as wide
bayes     a few random points, then where a Gaussian process of the scores expects most improvement

              EI(x) = (m - f* - xi) Phi(z) + s phi(z),   z = (m - f* - xi) / s

          m, s: mean and standard deviation of the process at x, f* the best score so far
halving   many points on few rows; the better third of them on three times as many rows, and so on

A strategy is a generator: it yields a Trial and is sent its score. It begins with the points of
`start`, which are known to serve. References: Bergstra and Bengio, Random search for
hyper-parameter optimization, JMLR 13, 2012; Snoek, Larochelle and Adams, Practical Bayesian
optimization, NIPS 2012; Jamieson and Talwalkar, Non-stochastic best arm identification, 2016.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from kilogram.evaluation.search_space import Params, SearchSpace, key
from kilogram.kernels import Matern, White
from kilogram.models.gaussian_process.regressor import GaussianProcessRegressor

# Beside the random starts the surrogate chooses among so many random points: the best of 500 is
# among the best 0.6 % with 95 % probability.
CANDIDATES = 500
# One of so many goes on to the next round, on as many times more rows: scikit-learn's `factor`.
KEEP = 3


@dataclass(frozen=True)
class Trial:
    """Parameters to try, on a fraction of the rows to learn from."""

    params: Params
    fraction: float = 1.0


Trials = Generator[Trial, float, None]
Start = Sequence[Params]


def grid(space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()) -> Trials:
    """All combinations, with as many cuts of the ranges as keep them within `count`."""
    points = 2
    while len(list(space.grid(points + 1))) <= count and points < count:
        points += 1
    for params in _different([*start, *space.grid(points)]):
        yield Trial(params)


def random(space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()) -> Trials:
    for params in draws(space, count, rng, start):
        yield Trial(params)


def _different(points: list[Params]) -> list[Params]:
    return list({key(p): p for p in points}.values())


def draws(
    space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()
) -> list[Params]:
    """Up to `count` different points at random; all there are if they are not more."""
    if space.size <= count:
        return _different([*start, *space.grid(2)])
    found: dict[str, Params] = {key(p): p for p in start}
    for _ in range(20 * count):
        if len(found) >= count:
            break
        point = space.draw(rng)
        found.setdefault(key(point), point)
    return list(found.values())


def coarse(space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()) -> Trials:
    """Three rounds; each takes a third of `count`, around the best point of those before."""
    seen: dict[str, float] = {}
    best: tuple[float, Params | None] = (-np.inf, None)
    here = space
    for level in range(KEEP):
        if best[1] is not None:
            here = space.around(best[1], 0.5**level)
        points = 2
        while points < 9 and len(list(here.grid(points + 1))) <= max(count // KEEP, 2):
            points += 1
        for params in [*start, *here.grid(points)]:
            if key(params) in seen:
                continue
            score = yield Trial(params)
            seen[key(params)] = score
            best = max(best, (score, params), key=lambda one: one[0])


def bayes(space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()) -> Trials:
    """Random starts, then the largest expected improvement among fresh random points."""
    starts = min(max(3, len(space.axes) + 2, count // 4), count)
    points: list[Params] = []
    scores: list[float] = []
    for params in draws(space, starts, rng, start):
        scores.append((yield Trial(params)))
        points.append(params)
    seen = {key(p) for p in points}
    while len(points) < count:
        fresh = [p for p in draws(space, CANDIDATES, rng) if key(p) not in seen]
        if not fresh:
            return
        worth = expected_improvement(space, points, scores, fresh)
        params = fresh[int(np.argmax(worth))]
        scores.append((yield Trial(params)))
        points.append(params)
        seen.add(key(params))


def expected_improvement(
    space: SearchSpace,
    points: list[Params],
    scores: list[float],
    fresh: list[Params],
    xi: float = 0.0,
) -> np.ndarray:
    """(m,) what each fresh point is expected to add to the best score of the points.

    Examples
    --------
    >>> from kilogram.evaluation import RealRange, SearchSpace, expected_improvement
    >>> space = SearchSpace({"alpha": RealRange(0.01, 100, log=True)})
    >>> points = [{"alpha": 0.01}, {"alpha": 1.0}, {"alpha": 100.0}]
    >>> fresh = [{"alpha": 0.011}, {"alpha": 2.0}]
    >>> found = expected_improvement(space, points, [0.2, 0.8, 0.3], fresh)
    >>> bool(found[1] > found[0])
    True
    """
    X = np.array([space.place(p) for p in points])
    y = np.asarray(scores, dtype=float)
    # one wild trial must not flatten all the others
    low, high = np.quantile(y[np.isfinite(y)], [0.25, 1.0])
    y = np.maximum(np.nan_to_num(y, nan=-np.inf), low - 3 * (high - low))
    process = GaussianProcessRegressor(
        1.0 * Matern(2.5, 0.5) + White(1e-2),
        alpha=1e-8,
        normalize_y=True,
        bounds=(1e-3, 1e2),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bound reached is no news with a handful of points
        process.fit(X, y)
    Z = np.array([space.place(p) for p in fresh])
    mean, spread = process.predict(Z, return_std=True, noise=False)
    gain = mean - y.max() - xi
    spread = np.maximum(spread, 1e-12)
    return gain * norm.cdf(gain / spread) + spread * norm.pdf(gain / spread)


def halving(space: SearchSpace, count: int, rng: np.random.Generator, start: Start = ()) -> Trials:
    """`count` points on a ninth of the rows; the best third go on to a third, its best to all."""
    points = draws(space, count, rng, start)
    fraction = KEEP**-2 if len(points) > 1 else 1.0
    while True:
        scores = []
        for params in points:
            scores.append((yield Trial(params, fraction)))
        if fraction == 1.0:
            return
        order = np.argsort(-np.asarray(scores), kind="stable")
        points = [points[k] for k in order[: max(1, -(-len(points) // KEEP))]]
        fraction = 1.0 if len(points) == 1 or KEEP * fraction > 0.99 else KEEP * fraction


METHODS: dict[str, Callable[[SearchSpace, int, np.random.Generator, Start], Trials]] = {
    "grid": grid,
    "random": random,
    "coarse": coarse,
    "bayes": bayes,
    "halving": halving,
}
