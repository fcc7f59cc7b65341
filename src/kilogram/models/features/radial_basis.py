"""Radial-basis features: one bump around every centre.

    phi(x) = (1, exp(-|x - c_1|^2 / (2 sigma^2)), ..., exp(-|x - c_m|^2 / (2 sigma^2)))

With every row a centre there are more columns than rows: least squares has many solutions (the
smallest is given), ridge has one. The columns are k(x, c) of a Gaussian kernel; any other kernel
does as well. `Nystroem` transforms them so that their inner product is the kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from kilogram.arrays.namespace import is_sparse, like, namespace
from kilogram.arrays.rows import is_streamed, row_count, sample_rows
from kilogram.base import Laws
from kilogram.base.constraints import ArrayLike, Boolean, Constraint, Integer, Null, RandomState
from kilogram.base.random_state import as_generator
from kilogram.kernels import Gaussian, Kernel, Precomputed, as_kernel
from kilogram.models.features.row_features import RowFeatures


class RadialBasisFeatures(RowFeatures):
    """Radial basis functions around centres, as features for a linear method.

    Parameters
    ----------
    centers : array-like of shape (m, d), int or None, default=None
        The centres; a number draws that many rows (all, with a warning, if there are fewer), None
        takes every row.
    sigma : float or "median", default=1.0
        Width of the bumps, as in `Gaussian`.
    kernel : str, Kernel, callable or None, default=None
        Another function of x and centre than the Gaussian one; `sigma` is then not used.
    include_bias : bool, default=True
        Whether to add a column of ones in front.
    random_state : int, RandomState or None, default=None
        Seed of the choice of centres.

    Attributes
    ----------
    centers_ : array of shape (m, d)
        The centres.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Nystroem : The same centres, turned so that inner products approximate the kernel.

    Examples
    --------
    >>> from kilogram import RadialBasisFeatures
    >>> RadialBasisFeatures(centers=[[0.0]]).fit_transform([[0.0], [2.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 0.135]])
    """

    laws: ClassVar[Laws] = Laws(
        weight="centres are rows drawn with equal probability",
        permutation="which rows become centres depends on their order",
        textbook="one formula: summary A2.3, which tests/books compares it with",
        example={"centers": 15, "random_state": 0},
        rtol=1e-6,
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "centers": Null() | Integer(1) | ArrayLike(),
        "include_bias": Boolean(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        centers: Any = None,
        *,
        sigma: float | str = 1.0,
        kernel: str | Kernel | Callable[..., float] | None = None,
        include_bias: bool = True,
        random_state: Any = None,
    ):
        self.centers = centers
        self.sigma = sigma
        self.kernel = kernel
        self.include_bias = include_bias
        self.random_state = random_state

    def _learn(self, X: Any) -> None:
        """Choose the centres."""
        kernel = Gaussian(self.sigma) if self.kernel is None else as_kernel(self.kernel)
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "kernel='precomputed' has no values between rows and centres: pass the kernel."
            )
        if not is_streamed(X):
            self._ensure_squares(X)
        kernel = kernel.resolve(X)
        if self.centers is None or isinstance(self.centers, Integral):
            m = row_count(X) if self.centers is None else int(self.centers)
            centers = sample_rows(X, m, as_generator(self.random_state))
            if centers.shape[0] < m:
                warnings.warn(
                    f"RadialBasisFeatures: centers={m} is more than the {centers.shape[0]} rows "
                    "of X; all of them are centres.",
                    stacklevel=2,
                )
        else:
            centers = self._checked_centers(self.centers)
        self.kernel_, self.centers_ = kernel, centers

    def _checked_centers(self, centers: Any) -> Any:
        found = np.asarray(centers, dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != self.n_features_in_ or not len(found):
            raise ValueError(
                f"centers must have shape (m, {self.n_features_in_}) with m >= 1, got "
                f"{found.shape}."
            )
        return found

    def _features(self) -> Callable[[Any], Any]:
        kernel, C, bias = self.kernel_, self.centers_, self.include_bias

        def phi(block: Any) -> Any:
            centres = C if is_sparse(block) or is_sparse(C) else like(C, block)
            K = kernel(block, centres)
            xp = namespace(K)
            return xp.concat([xp.ones_like(K[:, :1]), K], axis=1) if bias else K

        return phi

    @property
    def _n_features_out(self) -> int:
        return self.centers_.shape[0] + int(self.include_bias)
