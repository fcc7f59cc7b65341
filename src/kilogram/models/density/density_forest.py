"""Density forest: the average of randomised density trees.

    p(x) = 1/T sum_t p_t(x)

Each tree is grown on a part of the rows and considers a part of the features at each split. All
have the box of all rows as their root, so the average integrates to 1 like each of them. Averaging
lowers the variance of single trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.threads import map_cancellable, n_threads
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Constraint, Integer, Real
from kilogram.base.random_state import as_generator
from kilogram.models.density.density import checked_n_samples
from kilogram.models.density.density_tree import DensityTreeModel, checked_box
from kilogram.models.density.tree_growth import grow_tree
from kilogram.models.density.tree_nodes import DensityNodes
from kilogram.native.cancel import CancelFlag
from kilogram.operators.cost import rates


class DensityForest(DensityTreeModel):
    """The mean of the densities of randomised trees, ``p(x) = 1/T sum_t p_t(x)``.

    Parameters
    ----------
    n_estimators : int, default=50
        The number of trees.
    max_samples : float, default=0.632
        The fraction of the rows that each tree is grown on, drawn without replacement.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_density, min_improvement, \
min_width, epsilon, min_fraction : see `DensityTree`
    max_features : None, "sqrt", int or float, default=0.7
        Number of features that a split considers.
    box : array of shape (2, d) or None, default=None
        Lower and upper ends of all roots; None is the range of the rows.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    trees_ : list of Tree
        The fitted trees.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import DensityForest, DensityTree
    >>> x, new = np.random.default_rng(0).standard_normal((2, 500, 2))
    >>> new = np.clip(new, x.min(axis=0), x.max(axis=0))
    >>> forest = DensityForest(random_state=0).fit(x)
    >>> bool(forest.score(new) > DensityTree().fit(x).score(new))
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight="rows are drawn, and a row of weight 2 is drawn as one, not as two",
        permutation="rows and columns are drawn by their place",
        sparse="a density over mostly zero columns has no volume to speak of: rows are dense",
        shift="after rounding a cut may fall on the other end of a gap of equal gain",
        example={"n_estimators": 5, "random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **DensityTreeModel.parameter_constraints,
        "n_estimators": Integer(1),
        "max_samples": Real(0.0, 1.0, "right"),
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_samples: float = 0.632,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 10,
        min_density: float = 0.0,
        min_improvement: float = 0.0,
        min_width: float = 1e-3,
        epsilon: float = 1e-6,
        min_fraction: float = 0.0,
        max_features: Any = 0.7,
        box: Any = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_density = min_density
        self.min_improvement = min_improvement
        self.min_width = min_width
        self.epsilon = epsilon
        self.min_fraction = min_fraction
        self.max_features = max_features
        self.box = box
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow trees on parts of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        _, rows, w = self._validate_in_memory(X, sample_weight)
        rules, box = self._rules(rows.shape[1]), checked_box(self.box, rows)
        rng = as_generator(self.random_state)
        m = max(round(self.max_samples * len(rows)), 1)
        plan = [
            (np.sort(rng.choice(len(rows), m, replace=False)), int(rng.integers(2**62)))
            for _ in range(self.n_estimators)
        ]

        def grow_one(drawn: tuple[np.ndarray, int], cancel: CancelFlag) -> DensityNodes:
            part, seed = drawn
            return grow_tree(rows[part], None if w is None else w[part], box, rules, seed, cancel)

        self.trees_ = list(map_cancellable(grow_one, plan, n_threads()))
        self._log_densities = [tree.log_densities() for tree in self.trees_]
        return self

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        total = np.full(len(X), -np.inf)
        for tree, log_p in zip(self.trees_, self._log_densities, strict=True):
            leaf = tree.apply(X)
            total = np.logaddexp(total, np.where(leaf < 0, -np.inf, log_p[leaf]))
        return total - np.log(len(self.trees_))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d): a tree, a leaf, a place in its box."""
        check_is_fitted(self)
        n_samples, rng = checked_n_samples(n_samples), as_generator(random_state)
        which = rng.integers(0, len(self.trees_), n_samples)
        out = np.empty((n_samples, self.n_features_in_))
        for t, tree in enumerate(self.trees_):
            mine = which == t
            out[mine] = tree.draw(int(mine.sum()), rng)
        return out

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        work = 60.0 * self.n_estimators * n * d * np.log2(n + 2) / rates(8).multiply_adds
        return self._costs(n, d, f"{self.n_estimators} trees", work, 48 * n * d)
