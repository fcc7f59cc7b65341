"""The ways to cut rows into a part to learn from and a part to test on.

holdout        one cut; a fraction of the rows is the test part
random         K folds of shuffled rows, sizes differing by at most one; stratified
leave_one_out  K = N
repeated       K folds drawn T times; T K of 50 to 200 steadies the mean
reversed       learn from the one fold, test on the K - 1 others: less variance, and a learner that
               needs many rows is found out
grouped        rows of one group stay in one part
time           each test part lies after every row it is predicted from

All are lists of (train, test) index pairs; `check_cv` of scikit-learn takes such a list as `cv`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

Splits = list[tuple[np.ndarray, np.ndarray]]
Kind = Literal["holdout", "random", "leave_one_out", "repeated", "reversed", "grouped", "time"]


class ReversedFolds:
    """A splitter that learns from what another would test on, and tests on the rest.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from kilogram.evaluation import ReversedFolds
    >>> train, test = next(ReversedFolds(KFold(5)).split(range(10)))
    >>> len(train), len(test)
    (2, 8)
    """

    def __init__(self, cv: Any):
        self.cv = cv

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        for train, test in self.cv.split(X, y, groups):
            yield test, train

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return int(self.cv.get_n_splits(X, y, groups))


def make_splits(
    y: ArrayLike,
    kind: Kind = "random",
    *,
    folds: int = 5,
    repeats: int = 10,
    test_size: float = 0.2,
    classes: bool = False,
    groups: ArrayLike | None = None,
    moments: ArrayLike | None = None,
    seed: int = 0,
) -> Splits:
    """Index pairs for the (n,) targets `y`; with `classes` every part keeps their proportions.

    `groups` belong to "grouped", `moments` to "time" (without them the order of the rows is time).

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.evaluation import make_splits
    >>> splits = make_splits(np.arange(12.0), "time", folds=3)
    >>> [len(train) for train, _ in splits]
    [3, 6, 9]
    """
    y = np.asarray(y)
    blank = np.zeros((len(y), 1))
    if kind == "holdout":
        keep = y if classes else None
        cut = train_test_split(
            np.arange(len(y)), test_size=test_size, random_state=seed, stratify=keep
        )
        return [(cut[0], cut[1])]
    if kind == "leave_one_out":
        return list(LeaveOneOut().split(blank))
    if kind == "time":
        return _time_ordered(len(y), folds, moments)
    if kind == "grouped":
        if groups is None:
            raise ValueError('kind "grouped" needs the groups of the rows.')
        between: Any = StratifiedGroupKFold if classes else GroupKFold
        cut = between(folds, shuffle=True, random_state=seed)
        return list(cut.split(blank, y, np.asarray(groups)))
    plain: Any = StratifiedKFold if classes else KFold
    if kind == "repeated":
        return [
            pair
            for r in range(repeats)
            for pair in plain(folds, shuffle=True, random_state=seed + r).split(blank, y)
        ]
    cut = plain(folds, shuffle=True, random_state=seed)
    if kind not in ("random", "reversed"):
        raise ValueError(f"kind must be one of {get_args(Kind)}, got {kind!r}.")
    return list((ReversedFolds(cut) if kind == "reversed" else cut).split(blank, y))


def _time_ordered(rows: int, folds: int, moments: ArrayLike | None) -> Splits:
    order = np.arange(rows) if moments is None else np.argsort(np.asarray(moments), kind="stable")
    cut = TimeSeriesSplit(folds).split(order[:, None])
    return [(order[train], order[test]) for train, test in cut]


def fold_map(splits: Sequence[tuple[ArrayLike, ArrayLike]], rows: int) -> str:
    """One line per split: # where a row is tested, . where it is learnt from, blank if unused.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from kilogram.evaluation import fold_map
    >>> print(fold_map(list(KFold(3).split(range(6))), rows=6))
    ##....
    ..##..
    ....##
    """
    lines = []
    for train, test in splits:
        line = np.full(rows, " ")
        line[np.asarray(train)] = "."
        line[np.asarray(test)] = "#"
        lines.append("".join(line))
    return "\n".join(lines)
