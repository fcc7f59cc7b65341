"""Rows drawn from a fitted generative classifier: a class by its prior, then a row of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from kilogram.arrays.namespace import to_numpy
from kilogram.base.constraints import Integer, check_parameter
from kilogram.base.fitted import check_is_fitted
from kilogram.base.generative import GenerativeClassifier
from kilogram.base.random_state import as_generator


class SamplingClassifier(GenerativeClassifier):
    """A classifier whose p(x | c) can be drawn from."""

    @abstractmethod
    def _sample_class(self, c: int, m: int, rng: np.random.Generator) -> np.ndarray:
        """m rows of class number c, (m, d)."""

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels drawn from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        check_parameter("n_samples", n_samples, Integer(0))
        rng = as_generator(random_state)
        priors = np.exp(np.asarray(to_numpy(self._log_priors), dtype=np.float64))
        codes = rng.choice(len(priors), int(n_samples), p=priors / priors.sum())
        X = np.empty((int(n_samples), self.n_features_in_))
        for c in np.unique(codes):
            own = np.flatnonzero(codes == c)
            X[own] = self._sample_class(int(c), len(own), rng)
        return X, self.classes_[codes]


def normal_rows(mean: Any, covariance: Any, m: int, rng: np.random.Generator) -> np.ndarray:
    """m rows of a normal distribution, (m, d); the covariance may be singular."""
    values, V = np.linalg.eigh(np.asarray(to_numpy(covariance), dtype=np.float64))
    root = V * np.sqrt(np.maximum(values, 0.0))
    center = np.asarray(to_numpy(mean), dtype=np.float64)
    return center + rng.standard_normal((m, len(values))) @ root.T
