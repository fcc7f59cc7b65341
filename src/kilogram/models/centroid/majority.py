"""The majority class: the best classifier that does not use the features.

    argmax_c prior_c,  with error 1 - max_c prior_c

The baseline that every other classifier must beat.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import reduce_rows
from kilogram.base import Laws
from kilogram.base.generative import DiscriminantClassifier, move_parameters, reference
from kilogram.functions.bayes import majority_error
from kilogram.statistics import Counts


class MajorityClassifier(DiscriminantClassifier):
    """Predict the most frequent class for every row.

    Parameters
    ----------
    None: it has no settings.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels, sorted.
    class_prior_ : array of shape (n_classes,)
        Class frequencies.
    error_ : float
        1 - the largest class frequency.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    Examples
    --------
    >>> from kilogram import MajorityClassifier
    >>> model = MajorityClassifier().fit([[0.0], [1.0], [2.0]], ["yes", "no", "yes"])
    >>> str(model.predict([[1.0]])[0]), round(model.error_, 3)
    ('yes', 0.333)
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True)
    _fit_checks: ClassVar[dict[str, Any]] = {"finite": True}

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        return reduce_rows(Counts.of, y, w)

    def _learn(self, found: Counts, X: Any, y: Any, w: Any) -> None:
        frequencies = np.zeros(len(self.classes_))
        frequencies[np.searchsorted(self.classes_, found.classes)] = found.priors()
        self.class_prior_ = frequencies
        self.error_ = majority_error(frequencies)

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(self.class_prior_, 1e-300))

    def _joint_log_likelihood(self, block: Any) -> Any:
        ref = reference(block)
        xp = namespace(ref)
        zeros = xp.zeros(
            (block.shape[0], 1), dtype=block.dtype, device=getattr(ref, "device", None)
        )
        return zeros + move_parameters(self._log_priors, block)[None, :]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
