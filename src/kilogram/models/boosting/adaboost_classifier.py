"""AdaBoost for classes (SAMME): weak learners on rows weighted by the errors so far.

With weights w of sum 1, e_t the weighted error of the t-th learner and K classes,

    alpha_t = nu (log((1 - e_t) / e_t) + log(K - 1)),     w_i <- w_i exp(alpha_t [g_t(x_i) != y_i]),

normalised; the class of the largest sum of alpha_t over the learners that name it is predicted. For
two classes and nu = 1 this is Freund and Schapire's rule (beta = alpha / 2), each round the least
exponential loss sum_i exp(-y_i f(x_i)). A wrong vote takes half of all alpha, so the training error
is at most sum_i w_i exp(-sum_t alpha_t (1/2 - [g_t(x_i) != y_i])): for two classes and nu = 1
prod_t 2 sqrt(e_t (1 - e_t)). References: Freund and Schapire 1997; Zhu et al. 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kilogram.arrays.namespace import is_sparse, like, to_numpy
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
from kilogram.base.host_rows import rows_in_memory
from kilogram.base.labels import codes_of, distinct_classes, largest
from kilogram.base.random_state import as_generator
from kilogram.models.boosting.adaboost_rounds import Learner, adaboost_rounds
from kilogram.models.boosting.stumps import DecisionStump, stump_learner
from kilogram.models.boosting.validated_rows import dense_rows, labelled_rows, sparse_columns

LARGEST_EXPONENT = 700.0  # its exp is finite, and a bound beyond 1 is reported as 1
TIES = "of stumps with equal errors, the one of the first feature is taken"
LEARNER = HasMethods(("fit", "predict", "get_params"), "an estimator with fit and predict")


class AdaBoostClassifier(ClassifierMixin, Estimator):
    """AdaBoost of decision stumps or of any classifier that takes weights.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The weak learner; None is a decision stump, found on columns that are sorted once. Sparse
        rows stay sparse if it takes them, as stumps do.
    n_estimators : int, default=50
        Maximum number of boosting rounds. The fit ends early where a learner makes no error, or is
        no better than chance.
    learning_rate : float, default=1.0
        Factor nu of the learners' weights.
    criterion : {"gini", "error"}, default="gini"
        What stumps minimise: the Gini impurity of their sides, or the weighted error itself, as
        Freund and Schapire do; the former is usually more accurate on new rows.
    random_state : int, RandomState, Generator or None, default=None
        Passed to weak learners that have this parameter.

    Attributes
    ----------
    estimators_ : list of classifiers
        The weak learners.
    estimator_weights_ : ndarray of shape (rounds,)
        Weights alpha of the weak learners.
    estimator_errors_ : ndarray of shape (rounds,)
        Weighted errors of the weak learners.
    training_error_bound_ : ndarray of shape (rounds,)
        Upper bound of the weighted training error after every round.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_classes_ : int
        Number of classes; a list of them for several outputs.
    estimator_ : classifier
        Unfitted weak learner that is cloned in every round.
    feature_importances_ : ndarray of shape (d,)
        Mean of the learners' importances by weight; for stumps the fraction of alpha.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import AdaBoostClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> y = (X ** 2).sum(axis=1) < 0.6
    >>> model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    >>> bool(1 - model.score(X, y) <= model.training_error_bound_[-1] < 0.3)
    True
    """

    classes_: np.ndarray
    laws: ClassVar[Laws] = Laws(permutation=TIES, example={"n_estimators": 5, "random_state": 0})
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "estimator": LEARNER | Null(),
        "n_estimators": Integer(1),
        "learning_rate": Real(0.0, np.inf, "neither"),
        "criterion": OneOf("gini", "error"),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        criterion: str = "gini",
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.criterion = criterion
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streaming rows of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : float or array-like of shape (n,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        X, y, weights = labelled_rows(self, X, y, sample_weight, sparse=self._takes_sparse())
        if weights is not None and not (weights > 0).all():
            kept = weights > 0
            X, y, weights = X[kept], y[kept], weights[kept]
        self.classes_ = distinct_classes(y)
        self.n_classes_ = len(self.classes_)
        self.estimator_ = DecisionStump() if self.estimator is None else self.estimator
        learner = self._learner(X, y)
        codes = codes_of(y, self.classes_)
        w = np.ones(len(y)) if weights is None else weights
        rounds = adaboost_rounds(learner, codes, w, self.n_classes_, self.learning_rate)
        first, margins = w / w.sum(), np.zeros(len(w))
        learners, alphas, errors, bounds = [], [], [], []
        for made, predicted, alpha, error in islice(rounds, int(self.n_estimators)):
            learners.append(made)
            alphas.append(alpha)
            errors.append(error)
            margins += alpha * (0.5 - (predicted != codes))
            bounds.append(first @ np.exp(np.minimum(-margins, LARGEST_EXPONENT)))
        if not learners:
            raise ValueError(
                "The first weak learner is not better than chance on the weighted rows, so there "
                "is nothing to boost. Give a stronger `estimator`."
            )
        self.estimators_ = learners
        self.estimator_weights_, self.estimator_errors_ = np.array(alphas), np.array(errors)
        self.training_error_bound_ = np.minimum(bounds, 1.0)
        return self

    def _takes_sparse(self) -> bool:
        """Whether the weak learner takes sparse rows; for others they are made dense."""
        return self.estimator is None or bool(get_tags(self.estimator).input_tags.sparse)

    def _rows(self, X: Any) -> Any:
        """Rows, or sparse columns, as the learners take them."""
        if not (is_sparse(X) and self._takes_sparse()):
            return dense_rows(self, X)
        return sparse_columns(X) if self.estimator is None else X

    def _learner(self, X: Any, y: np.ndarray) -> Learner:
        """A function of weights: a fitted weak learner, and its classes (positions) of the rows."""
        codes = codes_of(y, self.classes_)
        if self.estimator is None:
            return stump_learner(X, codes, self.classes_, gini=self.criterion == "gini")
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} doesn't support sample_weight.")
        generator = as_generator(self.random_state)

        def fitted(w: np.ndarray) -> tuple[Any, np.ndarray]:
            made = clone(self.estimator)
            if "random_state" in made.get_params():
                made.set_params(random_state=int(generator.integers(2**31)))
            made.fit(X, y, sample_weight=w)
            return made, codes_of(np.asarray(made.predict(X)), self.classes_)

        return fitted

    def _votes(self, X: Any) -> Iterator[np.ndarray]:
        """Sums of alpha by class, (n, n_classes), after every round; updated in place."""
        votes = np.zeros((X.shape[0], self.n_classes_))
        rows = np.arange(X.shape[0])
        for made, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            stump = isinstance(made, DecisionStump)
            codes = made.codes(X) if stump else codes_of(made.predict(X), self.classes_)
            votes[rows, codes] += alpha
            yield votes

    def _decision(self, votes: np.ndarray, total: float) -> np.ndarray:
        """Scikit-learn's scale: votes of a class less the mean votes of the others, by weight."""
        k = self.n_classes_
        scores = (votes - (total - votes) / (k - 1)) / total
        return (scores[:, 1] - scores[:, 0]) / 2 if k == 2 else scores

    def decision_function(self, X: Any) -> Any:
        """Scores (n, n_classes) of the classes; (n,) of the second of two, positive for it."""
        check_is_fitted(self)
        X = self._validate(X, reset=False).X

        def scores(block: Any) -> Any:
            *_, votes = self._votes(self._rows(block))
            found = self._decision(votes, float(self.estimator_weights_.sum()))
            return found if is_sparse(block) else like(found, block)

        return map_rows(scores, X)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Scores after every round."""
        check_is_fitted(self)
        rows = self._rows(rows_in_memory(self._validate(X, reset=False).X)[0])
        totals = np.cumsum(self.estimator_weights_)
        for votes, total in zip(self._votes(rows), totals, strict=True):
            yield self._decision(votes, float(total))

    def predict(self, X: Any) -> Any:
        """The class with the largest sum of weights, (n,)."""
        check_is_fitted(self)
        return map_rows(
            lambda s: largest(np.asarray(to_numpy(s)), self.classes_), self.decision_function(X)
        )

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted classes after every round."""
        for scores in self.staged_decision_function(X):
            yield largest(scores, self.classes_)

    def _probabilities(self, scores: Any) -> np.ndarray:
        scores = np.asarray(to_numpy(scores))
        if self.n_classes_ == 2:
            scores = np.stack([-scores, scores], axis=1) / 2
        else:
            scores = scores / (self.n_classes_ - 1)
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        """Softmax of the scores, (n, n_classes); calibrate it where probabilities matter."""
        return map_rows(self._probabilities, self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`."""
        return map_rows(lambda s: np.log(self._probabilities(s)), self.decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Probabilities after every round."""
        for scores in self.staged_decision_function(X):
            yield self._probabilities(scores)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after every round."""
        y = np.asarray(y)
        for predicted in self.staged_predict(X):
            yield float(np.average(predicted == y, weights=sample_weight))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importances of the learners, averaged by their weights."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for made, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            if not isinstance(made, DecisionStump):
                total += alpha * made.feature_importances_
            elif made.stump is not None and made.stump.column >= 0:
                total[made.stump.column] += alpha
        return total / self.estimator_weights_.sum()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
