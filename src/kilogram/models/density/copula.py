"""Naive Bayes times a density tree: margins by histograms, the copula of ranks by a tree.

    p(x) = prod_j p_j(x_j)  c(F_1(x_1), .., F_d(x_d))

p_j is the histogram of column j and F_j its distribution function, piecewise linear, so u = F(x) is
uniform in each column; c is a density on the unit cube, a `DensityTree` on the ranks r / (N + 1) of
the rows. c = 1 for independent columns: the margins hold the distribution of each column, c their
dependence. By the change of variables p integrates to 1 as c does. To draw from it, draw a leaf
of the tree, u uniformly in its box, and apply the inverse of F_j.

All classes have the same bins; a pseudo-row of weight alpha is spread over them and one more on
either side (as in `HistogramNB`), so no class is ruled out by one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.base import Estimator, Laws
from kilogram.base.constraints import (
    ArrayLike,
    Constraint,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.random_state import as_generator
from kilogram.functions.histograms import RULES
from kilogram.models.density.classifier import ClassDensities
from kilogram.models.density.density import DensityEstimator
from kilogram.models.density.density_tree import DensityTree
from kilogram.models.density.margins import Margins
from kilogram.models.density.rank_transform import mean_ranks
from kilogram.statistics.class_histograms import choose_bins
from kilogram.statistics.ranges import Ranges


class CopulaModel(Estimator):
    """Margins by histograms and the copula by a density tree, for one class or several."""

    bins: Any
    alpha: float
    max_bins: int
    tree: DensityTree | None
    uniform: str
    random_state: Any
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "bins": OneOf(*RULES) | Integer(1),
        "alpha": Real(0.0, np.inf, "neither"),  # 0 would leave bins of probability 0
        "max_bins": Integer(1),
        "uniform": OneOf("ranks", "histogram"),
        "random_state": RandomState(),
    }

    def _check_tree(self) -> None:
        if self.tree is not None and not isinstance(self.tree, DensityTree):
            raise ValueError(f"tree must be a DensityTree or None, got {self.tree!r}.")

    def _class_margins(
        self, X: np.ndarray, codes: np.ndarray, w: Any, n_classes: int, *, endless: bool
    ) -> list[Margins]:
        """The histograms of every class over common bins."""
        ranges = Ranges.of(X)
        self._ensure_finite(ranges.high - ranges.low, X)
        seed = 0 if self.random_state is None else self.random_state
        classes, rows = np.arange(n_classes), (X, codes, w)
        bins = choose_bins(self.bins, self.max_bins, ranges, rows, classes, as_generator(seed))
        what = f"the counts of {n_classes} classes in up to {int(bins.numbers.max())} bins a column"
        self._ensure_memory(bins.bytes(n_classes), what, "fewer bins")
        counts = bins.of(X, codes, w, n_classes=n_classes)
        logs = bins.log_densities(counts, float(self.alpha))
        return [Margins.of(bins, logs, c, endless=endless) for c in range(n_classes)]

    def _copula_tree(self, X: np.ndarray, w: Any, margins: Margins) -> DensityTree:
        """The density tree of u on the unit cube."""
        d = X.shape[1]
        if self.uniform == "ranks":
            U = np.empty(X.shape)
            for j in range(d):
                _, places, at = mean_ranks(X[:, j], w)
                U[:, j] = places[at]
        else:
            U = margins.cdf(X)
        base = DensityTree(prune="cv", min_fraction=0.2) if self.tree is None else self.tree
        params = base.get_params(deep=False)
        params["box"] = np.stack([np.zeros(d), np.ones(d)])
        if params["random_state"] is None:
            params["random_state"] = int(as_generator(self.random_state).integers(2**31))
        # sums of weights of very different sizes may exceed 1 by their rounding
        return DensityTree(**params).fit(np.clip(U, 0.0, 1.0), sample_weight=w)


class CopulaDensity(CopulaModel, DensityEstimator):
    """Histograms of the columns times a density tree of their ranks.

    ``p(x) = prod_j p_j(x_j) c(F_1(x_1), .., F_d(x_d))``: margins and dependence.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"} or int, \
default="freedman_diaconis"
        The rule for the width of the bins, or their number.
    alpha : float, default=1.0
        Weight of the pseudo-row that is spread over the bins of each histogram.
    max_bins : int, default=256
        Maximum number of bins per column.
    tree : DensityTree or None, default=None
        The copula's tree, on the unit cube; None is `DensityTree(prune="cv", min_fraction=0.2)`.
    uniform : {"ranks", "histogram"}, default="ranks"
        How the rows come into the unit cube: by rank, or by F_j, which is better for columns of
        few distinct values.
    random_state : int, RandomState or None, default=None
        Draws the folds of the tree, and what the rules of the bins draw.

    Attributes
    ----------
    margins_ : Margins
        Histogram of each column.
    copula_ : DensityTree
        The density of u on the unit cube.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import CopulaDensity
    >>> x = np.random.default_rng(0).standard_normal((500, 1))
    >>> model = CopulaDensity(random_state=0).fit(np.hstack([x, -x]))
    >>> bool(np.corrcoef(model.sample(500, random_state=0).T)[0, 1] < -0.7)
    True
    """

    laws: ClassVar[Laws] = Laws(
        shift="a value at the edge of a bin falls to either side of it after rounding",
        permutation="ranks make cuts of equal gain in several columns: the first of them is taken",
        sparse="a density over mostly zero columns has no volume to speak of: rows are dense",
        example={"bins": 6, "tree": DensityTree(min_samples_leaf=8)},
    )

    def __init__(
        self,
        bins: Any = "freedman_diaconis",
        *,
        alpha: float = 1.0,
        max_bins: int = 256,
        tree: Any = None,
        uniform: str = "ranks",
        random_state: Any = None,
    ):
        self.bins = bins
        self.alpha = alpha
        self.max_bins = max_bins
        self.tree = tree
        self.uniform = uniform
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn margins and copula of the rows X (n, d); y is ignored.

        Returns
        -------
        self
        """
        self._check_tree()
        _, rows, w = self._validate_in_memory(X, sample_weight)
        one_class = np.zeros(len(rows), dtype=np.int64)
        (self.margins_,) = self._class_margins(rows, one_class, w, 1, endless=False)
        self.copula_ = self._copula_tree(rows, w, self.margins_)
        return self

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        c = self.copula_._log_density(self.margins_.cdf(X))
        return self.margins_.log_density(X) + c

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d)."""
        check_is_fitted(self)
        return self.margins_.quantiles(self.copula_.sample(n_samples, random_state))


class CopulaClassifier(CopulaModel, ClassDensities):
    """Naive Bayes times a density tree of the ranks, for each class.

    The class of largest ``prior_c p_c(x)``, p_c a `CopulaDensity` of its rows.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"} or int, \
default="freedman_diaconis"
        The rule for the width of the bins, or their number; the same bins for all classes.
    alpha : float, default=1.0
        Weight of the pseudo-row that is spread over the bins of each histogram.
    max_bins : int, default=256
        Maximum number of bins per column.
    tree : DensityTree or None, default=None
        The copulas' tree, on the unit cube; None is `DensityTree(prune="cv", min_fraction=0.2)`.
    uniform : {"ranks", "histogram"}, default="ranks"
        How the rows come into the unit cube: by rank, or by F_j, which is better for columns of
        few distinct values.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None uses the class frequencies.
    random_state : int, RandomState or None, default=None
        Seed or generator of the random draws; an int gives the same result every time.

    Attributes
    ----------
    densities_ : list of n_classes CopulaDensity
        Fitted density of each class.
    class_count_ : array of shape (n_classes,)
        Weight of the training rows of each class.
    class_prior_ : array of shape (n_classes,)
        Probability of each class.
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    HistogramNB : The same without the copula.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import CopulaClassifier, HistogramNB
    >>> rng = np.random.default_rng(0)
    >>> t = rng.standard_normal((1000, 1))
    >>> noise = 0.3 * rng.standard_normal((1000, 1))
    >>> y = np.arange(1000) % 2  # both columns look alike in both classes
    >>> X = np.hstack([t, np.where(y[:, None] == 1, t, -t) + noise])
    >>> bool(HistogramNB().fit(X, y).score(X, y) < 0.7)
    True
    >>> bool(CopulaClassifier(random_state=0).fit(X, y).score(X, y) > 0.8)
    True
    """

    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **CopulaModel.parameter_constraints,
        "priors": ArrayLike() | Null(),
    }
    laws: ClassVar[Laws] = Laws(
        shift="a value at the edge of a bin falls to either side of it after rounding",
        permutation="ranks make cuts of equal gain in several columns: the first of them is taken",
        sparse="densities are of dense rows",
        partial_fit="a tree needs all its rows at once",
        example={"bins": 6, "tree": DensityTree(min_samples_leaf=8)},
    )

    def __init__(
        self,
        bins: Any = "freedman_diaconis",
        *,
        alpha: float = 1.0,
        max_bins: int = 256,
        tree: Any = None,
        uniform: str = "ranks",
        priors: Any = None,
        random_state: Any = None,
    ):
        self.bins = bins
        self.alpha = alpha
        self.max_bins = max_bins
        self.tree = tree
        self.uniform = uniform
        self.priors = priors
        self.random_state = random_state

    def _check_params(self) -> None:
        self._check_tree()

    def _fit_classes(self, X: np.ndarray, codes: np.ndarray, w: Any) -> list[Any]:
        found = []
        all_margins = self._class_margins(X, codes, w, len(self.classes_), endless=True)
        for c, margins in enumerate(all_margins):
            own = codes == c
            one = CopulaDensity(self.bins, alpha=self.alpha, max_bins=self.max_bins, tree=self.tree)
            one.n_features_in_ = X.shape[1]
            one.margins_ = margins
            one.copula_ = self._copula_tree(X[own], None if w is None else w[own], margins)
            found.append(one)
        return found
