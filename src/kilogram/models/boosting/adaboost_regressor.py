"""AdaBoost.R2 (Drucker 1997): regression on rows drawn by the errors so far.

With L_i in [0, 1] the loss of row i relative to the largest one and e = sum_i w_i L_i,

    beta = e / (1 - e),     w_i <- w_i beta^(nu (1 - L_i)),     alpha = nu log(1 / beta);

the prediction is the weighted median of the learners' predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, namespace
from kilogram.arrays.rows import map_rows
from kilogram.base import Estimator, Laws
from kilogram.base.constraints import (
    Constraint,
    HasMethods,
    Integer,
    Null,
    OneOf,
    RandomState,
    Real,
)
from kilogram.base.device_output import like_rows
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.random_state import as_generator
from kilogram.models.boosting.stumps import ShallowTree, sparse_tree
from kilogram.models.boosting.validated_rows import dense_rows, sparse_columns, target_rows
from kilogram.native.boosting import SortedColumns
from kilogram.native.trees import CodedColumns, GrowthLimits, SplitRules, Target, grow_tree

DRAWN = "rows are drawn by their place, and a row of weight 2 is drawn as one, not as two"
LEARNER = HasMethods(("fit", "predict", "get_params"), "an estimator with fit and predict")
SQUARES = SplitRules("squared_error")
DEPTH = 3  # of the default trees, as scikit-learn's
Learner = Callable[[np.ndarray], tuple[Any, np.ndarray]]


class AdaBoostRegressor(RegressorMixin, Estimator):
    """AdaBoost.R2 of trees of depth 3 or of any regressor.

    Parameters
    ----------
    estimator : regressor or None, default=None
        The weak learner; None is a regression tree of depth 3, grown on columns that are sorted
        once. Every round fits it on rows drawn with replacement by the present weights. Sparse rows
        stay sparse if it takes them, as trees do.
    n_estimators : int, default=50
        Maximum number of boosting rounds.
    learning_rate : float, default=1.0
        Exponent nu of the update of the weights.
    loss : {"linear", "square", "exponential"}, default="linear"
        L of a row with relative absolute error r: r, r^2 or 1 - exp(-r).
    random_state : int, RandomState, Generator or None, default=None
        Seed or generator for the rows drawn.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted weak learners.
    estimator_weights_, estimator_errors_ : ndarray of shape (rounds,)
        Weights alpha and mean losses e.
    estimator_ : regressor
        Unfitted weak learner that is cloned in every round.
    feature_importances_ : ndarray of shape (d,)
        Mean of the learners' importances by weight.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import AdaBoostRegressor
    >>> x = np.linspace(0, 6, 300)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> bool(AdaBoostRegressor(random_state=0).fit(x, y).score(x, y) > 0.95)
    True
    """

    laws: ClassVar[Laws] = Laws(
        weight=DRAWN, permutation=DRAWN, example={"n_estimators": 5, "random_state": 0}
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "estimator": LEARNER | Null(),
        "n_estimators": Integer(1),
        "learning_rate": Real(0.0, np.inf, "neither"),
        "loss": OneOf("linear", "square", "exponential"),
        "random_state": RandomState(),
    }
    _float64_target: bool = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, target, weights = target_rows(self, X, y, sample_weight, sparse=self._takes_sparse())
        self._float64_target = target.dtype != namespace(target).float32
        y = as_float64(target)
        self.estimator_ = ShallowTree() if self.estimator is None else self.estimator
        learner = self._learner(X, y)
        w = np.ones(len(y)) if weights is None else weights
        w = w / w.sum()
        learners: list[Any] = []
        alphas: list[float] = []
        errors: list[float] = []
        for _ in range(int(self.n_estimators)):
            made, predicted = learner(w)
            away = np.where(w > 0, np.abs(predicted - y), 0.0)
            largest = float(away.max())
            losses = self._relative(away / largest) if largest > 0 else away
            error = float(w @ losses)
            if error >= 0.5 and learners:
                break
            learners.append(made)
            errors.append(error)
            if error <= 0 or error >= 0.5:
                alphas.append(1.0)
                break
            beta = error / (1 - error)
            alphas.append(float(self.learning_rate * np.log(1 / beta)))
            exponents = (1 - losses) * self.learning_rate * np.log(beta)
            w = w * np.exp(exponents - exponents.max())  # not all may underflow
            w /= w.sum()
        self.estimators_ = learners
        self.estimator_weights_, self.estimator_errors_ = np.array(alphas), np.array(errors)
        return self

    def _relative(self, r: np.ndarray) -> np.ndarray:
        if self.loss == "square":
            return r * r
        return r if self.loss == "linear" else 1 - np.exp(-r)

    def _takes_sparse(self) -> bool:
        """Whether the weak learner takes sparse rows; for others they are made dense."""
        return self.estimator is None or bool(get_tags(self.estimator).input_tags.sparse)

    def _rows(self, X: Any) -> Any:
        """Rows as the learners take them."""
        if not (is_sparse(X) and self._takes_sparse()):
            return dense_rows(self, X)
        return sparse_columns(X) if self.estimator is None else X

    def _learner(self, X: Any, y: np.ndarray) -> Learner:
        """A function of weights: a weak learner fitted on rows drawn, and its predictions."""
        generator = as_generator(self.random_state)
        n = len(y)

        def drawn(w: np.ndarray) -> np.ndarray:
            return generator.choice(n, n, p=w)

        if self.estimator is None and is_sparse(X):
            X = sparse_columns(X)
            entries = SortedColumns(X)

            def grown_on_entries(w: np.ndarray) -> tuple[Any, np.ndarray]:
                counts = np.bincount(drawn(w), minlength=n).astype(np.float64)
                made = sparse_tree(entries, y, counts, DEPTH)
                return made, made.predict(X)

            return grown_on_entries

        if self.estimator is None:
            columns, target = CodedColumns.of(X), Target.numbers(y)
            limits = GrowthLimits(DEPTH, 2, 1, X.shape[1], 0.0, 0.0)

            def tree(w: np.ndarray) -> tuple[Any, np.ndarray]:
                counts = np.bincount(drawn(w), minlength=n).astype(np.float64)
                rows = np.flatnonzero(counts)
                grown = grow_tree(columns, target, counts, rows, SQUARES, limits, 0)
                made = ShallowTree.of(grown)
                return made, made.predict(X)

            return tree

        def fitted(w: np.ndarray) -> tuple[Any, np.ndarray]:
            made = clone(self.estimator)
            if "random_state" in made.get_params():
                made.set_params(random_state=int(generator.integers(2**31)))
            rows = drawn(w)
            made.fit(X[rows], y[rows])
            return made, np.asarray(made.predict(X))

        return fitted

    def _medians(self, X: Any, rounds: int) -> np.ndarray:
        """Weighted medians of the predictions of the first rounds."""
        each = np.stack([made.predict(X) for made in self.estimators_[:rounds]], axis=1)
        order = np.argsort(each, axis=1, kind="stable")
        reached = np.cumsum(self.estimator_weights_[order], axis=1)
        at = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
        rows = np.arange(X.shape[0])
        return each[rows, order[rows, at]]

    def predict(self, X: Any) -> Any:
        """The weighted median of the learners' predictions, (n,), in the library of X."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X

        def values(block: Any) -> Any:
            found = self._medians(self._rows(block), len(self.estimators_))
            return like_rows(found, block, wide=self._float64_target)

        return map_rows(values, X)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predictions after every round."""
        check_is_fitted(self)
        rows = self._rows(rows_in_memory(self._validate(X, reset=False).X)[0])
        for rounds in range(1, len(self.estimators_) + 1):
            yield self._medians(rows, rounds)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R^2 after every round."""
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importances of the learners, averaged by their weights."""
        check_is_fitted(self)
        d = self.n_features_in_
        total = np.zeros(d)
        for made, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            shallow = isinstance(made, ShallowTree)
            total += alpha * (made.trees.importances(d) if shallow else made.feature_importances_)
        return total / self.estimator_weights_.sum()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
