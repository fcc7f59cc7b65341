"""Random Fourier features as a transformer: a stationary kernel becomes D columns.

    z(x) = sqrt(2 kappa(0) / D) cos(W'x + b),    <z(x), z(y)> ~ k(x, y) with an error of D^(-1/2)

The columns of W are drawn from the kernel's spectrum: normal for the Gaussian kernel (variance
1 / sigma^2), Cauchy for the Laplacian, multivariate t for Matern; a mixture for sums of kernels,
sums of draws for products. A linear method on z(X) is then the kernel method on X.
`fourier_map.py` has the theory and the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kilogram.arrays.namespace import is_sparse, to_numpy
from kilogram.arrays.rows import column_count, sample_rows
from kilogram.base import Estimate, Laws
from kilogram.base.constraints import Boolean, Constraint, Integer, RandomState
from kilogram.base.random_state import as_generator
from kilogram.kernels import Kernel, as_kernel
from kilogram.models.features.fourier_map import FeatureError, FourierMap, check_count, kernel_error
from kilogram.models.features.row_features import RowFeatures
from kilogram.operators.cost import rates


class FourierFeatures(RowFeatures):
    """Random Fourier features of a stationary kernel.

    Maps rows to ``z(x) = sqrt(2 k(0) / D) cos(W'x + b)``, whose inner products estimate the kernel:
    ``E <z(x), z(y)> = k(x, y)``, with an error of order ``1 / sqrt(D)``.

    Parameters
    ----------
    kernel : str or Kernel, default="rbf"
        A stationary kernel: Gaussian ("rbf"), Laplacian, Matern, RationalQuadratic, or sums,
        products and multiples of them.
    n_components : int, default=100
        Number of features D.
    gamma : float, "scale" or None, default=None
        Rate of a kernel given by name; None is 1 / d.
    orthogonal : bool, default=False
        Draw directions in orthogonal blocks: the same expectation with less variance, for kernels
        with a rotation-invariant spectrum (Gaussian, Matern, RationalQuadratic).
    random_state : int, RandomState or None, default=None
        Seed of the random draw.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    random_weights_ : ndarray of shape (d, D)
        Random directions W.
    random_offset_ : ndarray of shape (D,)
        Phases b.
    scale_ : float
        Factor sqrt(2 k(0) / D) of the features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if X had any.

    See Also
    --------
    Nystroem : Features from landmarks, for any kernel.
    KitchenSinksRegressor : Ridge regression on these features, which are never stored.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram import FourierFeatures, Gaussian
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> phi = FourierFeatures(Gaussian(2.0), n_components=2000, random_state=0).fit(X)
    >>> Z = phi.transform(X)
    >>> bool(np.abs(Z @ Z.T - Gaussian(2.0)(X)).max() < 0.15)
    True
    """

    laws: ClassVar[Laws] = Laws(
        shift="the phases of random features move with the data; only inner products stay",
        weight="the random draw does not depend on the rows",
        permutation="the random directions are drawn for the columns in their order",
        example={"n_components": 20, "random_state": 0},
    )
    parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Integer(1),
        "orthogonal": Boolean(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        kernel: str | Kernel = "rbf",
        n_components: int = 100,
        *,
        gamma: float | str | None = None,
        orthogonal: bool = False,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _learn(self, X: Any) -> None:
        """Draw the features."""
        kernel = as_kernel(self.kernel, gamma=self.gamma).resolve(X)
        phi = FourierMap.draw(
            kernel,
            column_count(X),
            int(self.n_components),
            as_generator(self.random_state),
            orthogonal=self.orthogonal,
        )
        self.kernel_ = kernel
        self.random_weights_, self.random_offset_, self.scale_ = phi.W, phi.b, phi.scale

    def _features(self) -> Callable[[Any], Any]:
        return self._map()

    def approximation_error(self, X: Any, *, n_rows: int = 300) -> FeatureError:
        """How far <z(x), z(y)> is from k(x, y) on pairs of rows of a sample of X.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask or streamed rows of shape (n, d)
        n_rows : int, default=300
            Rows in the sample.

        Returns
        -------
        FeatureError
            With the root mean square and the largest error found, what theory expects, and a bound
            on the largest one that holds in 99 of 100 draws. To halve them, take four times as many
            components.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False, min_samples=2).X
        rows = sample_rows(X, check_count("n_rows", n_rows), np.random.default_rng(0))
        rows = rows.toarray() if is_sparse(rows) else to_numpy(rows)
        return kernel_error(self.kernel_, self._map(), np.asarray(rows, dtype=np.float64))

    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_, self.random_offset_, self.scale_)

    @property
    def _n_features_out(self) -> int:
        return self.random_offset_.shape[0]

    def _estimate(self, n: int, d: int, dtype: str) -> Estimate:
        size, D = (4 if dtype == "float32" else 8), self.n_components
        seconds = n * d * D / rates(size).multiply_adds + n * D / rates(size).values
        return self._costs(n, d, "all features of transform", seconds, size * n * D)
