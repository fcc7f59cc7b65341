"""Naive Bayes times a density tree: margins by histograms, the copula of ranks by a tree.

    p(x) = prod_j p_j(x_j)  c(F_1(x_1), .., F_d(x_d))

p_j is the histogram of column j and F_j its distribution function, piecewise linear, so u = F(x) is
uniform in each column; c is a density on the unit cube, a `DensityTree` on the ranks r / (N + 1) of
the rows. c = 1 for independent columns: what columns say alone sits in the margins, what they say
together in c. By the change of variables p integrates to 1 as c does. To draw from it, walk the
tree to a leaf, take u uniformly in its box, and go back through F_j.

Classes share the bins of a column; a pseudo-row of weight alpha is spread over them and one more on
either side (as in `HistogramNB`), so no class is ruled out by one value.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.base import Laws
from kilogram.models.classification.naive_bayes_histogram import HistogramNB
from kilogram.models.densities.classifier import ClassDensities
from kilogram.models.densities.density import Density, generator
from kilogram.models.densities.margins import Margins
from kilogram.models.densities.ranks import mean_ranks
from kilogram.models.densities.tree import DensityTree

UNIFORM = ("ranks", "histogram")


class CopulaDensity(Density):
    """Histograms of the columns times a density tree of their ranks.

    ``p(x) = prod_j p_j(x_j) c(F_1(x_1), .., F_d(x_d))``: what columns say alone, and what together.

    Parameters
    ----------
    bins : {"freedman_diaconis", "scott", "shimazaki_shinomoto", "held_out"} or int, \
default="freedman_diaconis"
        The rule for the width of the bins, or their number.
    alpha : float, default=1.0
        Weight of the pseudo-row that is spread over the bins of each histogram.
    max_bins : int, default=256
        At most this many bins for one column.
    tree : DensityTree or None, default=None
        The copula's tree, on the unit cube; None is `DensityTree(prune="cv", min_share=0.2)`.
    uniform : {"ranks", "histogram"}, default="ranks"
        How the rows come into the unit cube: by rank, or by F_j, which is better for columns of
        few distinct values.
    random_state : int, RandomState or None, default=None
        Draws the folds of the tree, and what the rules of the bins draw.

    Attributes
    ----------
    margins_ : Margins
        Histograms of the columns.
    copula_ : DensityTree
        The density of u on the unit cube.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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
        check_copula(self)
        _, rows, w = self._enter_all(X, sample_weight)
        nb = _margins(self).fit(rows, np.zeros(len(rows), dtype=int), w)
        self.margins_ = Margins.of(nb, 0, endless=False)
        self.copula_ = copula_tree(self, rows, w, self.margins_)
        return self

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        c = self.copula_._log_density(self.margins_.cdf(X))
        return self.margins_.log_density(X) + c

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Rows drawn from the density, (n_samples, d)."""
        check_is_fitted(self)
        return self.margins_.quantiles(self.copula_.sample(n_samples, random_state))


class CopulaClassifier(ClassDensities):
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
        At most this many bins for one column.
    tree : DensityTree or None, default=None
        The copulas' tree, on the unit cube; None is `DensityTree(prune="cv", min_share=0.2)`.
    uniform : {"ranks", "histogram"}, default="ranks"
        How the rows come into the unit cube: by rank, or by F_j, which is better for columns of
        few distinct values.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None takes their shares of the rows.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    densities_ : list of n_classes CopulaDensity
    class_count_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

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
        check_copula(self)

    def _fit_classes(self, X: np.ndarray, codes: np.ndarray, w: Any) -> list[Any]:
        nb = _margins(self).fit(X, codes, w)
        found = []
        for c in range(len(self.classes_)):
            own = codes == c
            one = CopulaDensity(self.bins, alpha=self.alpha, max_bins=self.max_bins, tree=self.tree)
            one.n_features_in_ = X.shape[1]
            one.margins_ = Margins.of(nb, c, endless=True)
            one.copula_ = copula_tree(self, X[own], None if w is None else w[own], one.margins_)
            found.append(one)
        return found


def check_copula(model: Any) -> None:
    """Parameters that margins and copula can serve."""
    _margins(model)._check_params()
    if model.uniform not in UNIFORM:
        raise ValueError(f"uniform must be one of {UNIFORM}, got {model.uniform!r}.")
    if model.tree is not None and not isinstance(model.tree, DensityTree):
        raise ValueError(f"tree must be a DensityTree or None, got {model.tree!r}.")


def _margins(model: Any) -> HistogramNB:
    seed = model.random_state
    whole = int(seed) if isinstance(seed, (int, np.integer)) else None
    return HistogramNB(model.bins, alpha=model.alpha, max_bins=model.max_bins, random_state=whole)


def copula_tree(model: Any, X: np.ndarray, w: Any, margins: Margins) -> DensityTree:
    """The tree of u on the unit cube."""
    d = X.shape[1]
    if model.uniform == "ranks":
        U = np.empty(X.shape)
        for j in range(d):
            _, places, at = mean_ranks(X[:, j], w)
            U[:, j] = places[at]
    else:
        U = margins.cdf(X)
    base = model.tree or DensityTree(prune="cv", min_share=0.2)
    params = base.get_params(deep=False)
    params["box"] = np.stack([np.zeros(d), np.ones(d)])
    if params["random_state"] is None:
        params["random_state"] = int(generator(model.random_state).integers(2**31))
    # sums of weights of very different sizes may pass 1 by their rounding
    return DensityTree(**params).fit(np.clip(U, 0.0, 1.0), sample_weight=w)
