"""A classifier from any density: one for each class, and Bayes' rule.

    p(c | x) = prior_c p_c(x) / sum_k prior_k p_k(x)

Where every class has density 0 the posterior is the prior. The training score is optimistic: use
held-out rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import partial
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from kilogram.arrays.namespace import like, namespace, to_numpy
from kilogram.arrays.rows import is_streamed
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Constraint, HasMethods, Null
from kilogram.base.gaussian_rule import checked_priors
from kilogram.base.generative import DiscriminantClassifier
from kilogram.base.host_rows import as_float64, rows_in_memory
from kilogram.base.labels import codes_of
from kilogram.base.sampling import SamplingClassifier
from kilogram.models.density.kernel_density import KernelDensity


class FittedClasses(NamedTuple):
    """A density and a weight for each class."""

    densities: list[Any]
    weights: np.ndarray


class ClassDensities(SamplingClassifier, DiscriminantClassifier):
    """log p(x, c) from one fitted density for each class; all rows at once."""

    priors: Any
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": True, "sparse": False}
    _predict_checks: ClassVar[dict[str, Any]] = {"sparse": False}

    @property
    def partial_fit(self) -> Any:
        raise AttributeError(f"{type(self).__name__} needs all rows at once: it has no partial_fit")

    def _statistic(self, X: Any, y: Any, w: Any) -> FittedClasses:
        if is_streamed(X):
            X, y, w = rows_in_memory(X, y, w)
            self._ensure_finite(namespace(X).sum(X), X)
        rows, codes = as_float64(X), codes_of(to_numpy(y), self.classes_)
        weights = None if w is None else as_float64(w)
        totals = np.bincount(codes, weights, len(self.classes_)).astype(np.float64)
        return FittedClasses(self._fit_classes(rows, codes, weights), totals)

    def _fit_classes(self, X: np.ndarray, codes: np.ndarray, w: Any) -> list[Any]:
        """The densities of the classes, from all rows on the host."""
        raise NotImplementedError

    def _learn(self, found: FittedClasses, X: Any, y: Any, w: Any) -> None:
        self.densities_ = found.densities
        self.class_count_ = found.weights
        self.class_prior_ = checked_priors(self.priors, found.weights / found.weights.sum())

    def _can_continue(self, found: FittedClasses) -> bool:
        return False

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(self.class_prior_, 1e-300))

    def _joint_log_likelihood(self, block: Any) -> Any:
        rows = as_float64(block)
        found = [np.asarray(p.score_samples(rows)) for p in self.densities_]
        return like(np.stack(found, axis=1) + self._log_priors, block)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x, c), (n, K)."""
        return self._map_rows(self._joint_log_likelihood, X)

    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        return sample_density(self.densities_[c], m, int(rng.integers(2**31)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class DensityClassifier(ClassDensities):
    """Bayes' rule with one density for each class, ``p(c | x) ~ prior_c p_c(x)``.

    Parameters
    ----------
    density : estimator or None, default=None
        Anything with `fit` and `score_samples`; None is a `KernelDensity` with Silverman's width
        in units of the columns' standard deviations.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities; None uses the class frequencies.

    Attributes
    ----------
    densities_ : list of n_classes fitted densities
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

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import DensityClassifier, DensityTree
    >>> x = np.linspace(-3, 3, 301)[:, None]
    >>> inner = abs(x[:, 0]) < 1  # no line separates these
    >>> bool(DensityClassifier(DensityTree()).fit(x, inner).score(x, inner) > 0.95)
    True
    """

    laws: ClassVar[Laws] = Laws(
        sparse="densities are of dense rows",
        partial_fit="a density needs all its rows at once",
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "density": HasMethods(("fit", "score_samples"), "an estimator with fit and score_samples")
        | Null(),
        "priors": ArrayLike() | Null(),
    }

    def __init__(self, density: Any = None, *, priors: Any = None):
        self.density = density
        self.priors = priors

    def _fit_classes(self, X: np.ndarray, codes: np.ndarray, w: Any) -> list[Any]:
        base = self.density
        if base is None:
            base = KernelDensity(bandwidth="silverman", standardize=True)
        if w is not None and not has_fit_parameter(base, "sample_weight"):
            raise ValueError(f"{type(base).__name__} takes no sample_weight, but some were given.")
        return [_fitted(base, X, w, codes == c) for c in range(len(self.classes_))]


def sample_density(density: Any, m: int, seed: int) -> np.ndarray:
    """m rows from a fitted density, of this library or another."""
    name = type(density).__name__
    if not hasattr(density, "sample"):
        raise TypeError(f"{name} has no `sample`: take a density that has, KernelDensity for one.")
    if "random_state" in signature(density.sample).parameters:
        found = density.sample(m, random_state=seed)
    else:  # mixtures draw by a seed of their own, and also return the component of each row
        own = copy(density)
        own.random_state = seed
        found = own.sample(m)
    return found[0] if isinstance(found, tuple) else found


def _fitted(base: Any, X: np.ndarray, w: Any, own: np.ndarray) -> Any:
    fit = partial(clone(base).fit, X[own])
    return fit() if w is None else fit(sample_weight=w[own])
