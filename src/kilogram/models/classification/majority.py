"""The majority: the best classifier that does not look at the rows.

    argmax_c prior_c,  with error 1 - max_c prior_c

What any classifier must beat to have learned something.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import namespace
from kilogram.arrays.rows import reduce_rows
from kilogram.base import Laws
from kilogram.functions.bayes import majority_error
from kilogram.models.classification.generative import GenerativeClassifier, put, reference
from kilogram.statistics import Counts


class MajorityClassifier(GenerativeClassifier):
    """Say the most frequent class of all, whatever the row.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
        Shares of the classes.
    error_ : float
        1 - the largest share.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if X had any.

    Parameters
    ----------
    None : the majority has no parameters.

    Examples
    --------
    >>> from kilogram import MajorityClassifier
    >>> model = MajorityClassifier().fit([[0.0], [1.0], [2.0]], ["yes", "no", "yes"])
    >>> str(model.predict([[1.0]])[0]), round(model.error_, 3)
    ('yes', 0.333)
    """

    laws: ClassVar[Laws] = Laws(partial_fit=True)
    _door: ClassVar[dict[str, Any]] = {"finite": True}

    def _check_params(self) -> None:
        """There are none."""

    def _statistic(self, X: Any, y: Any, w: Any) -> Any:
        return reduce_rows(Counts.of, y, w)

    def _learn(self, found: Counts, X: Any, y: Any, w: Any) -> None:
        shares = np.zeros(len(self.classes_))
        shares[np.searchsorted(self.classes_, found.classes)] = found.priors()
        self.class_prior_ = shares
        self.error_ = majority_error(shares)

    @property
    def _log_priors(self) -> Any:
        return np.log(np.maximum(self.class_prior_, 1e-300))

    def _joint(self, block: Any) -> Any:
        ref = reference(block)
        xp = namespace(ref)
        zeros = xp.zeros(
            (block.shape[0], 1), dtype=block.dtype, device=getattr(ref, "device", None)
        )
        return zeros + put(self._log_priors, block)[None, :]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
