"""One table of everything public: name, where it lives, what it is.

The lazy namespace of `kilogram`, the laws, the documentation and `kg explain` all read this table,
so a new page becomes visible everywhere by one line here.
"""

from __future__ import annotations

PUBLIC: dict[str, str] = {
    # regression
    "Ridge": "kilogram.models.regression.ridge",
    "KernelRidge": "kilogram.models.regression.ridge",
    "RidgeCV": "kilogram.models.regression.ridge_cv",
    "KernelRidgeCV": "kilogram.models.regression.ridge_cv",
    # subspaces
    "PCA": "kilogram.models.subspace.pca",
    "KernelPCA": "kilogram.models.subspace.kernel_pca",
    # feature maps
    "FourierFeatures": "kilogram.models.features.fourier",
    "Nystroem": "kilogram.models.features.nystroem",
    "KitchenSinksRegressor": "kilogram.models.features.kitchen_sinks",
    "KitchenSinksClassifier": "kilogram.models.features.kitchen_sinks",
    # kernels
    "Linear": "kilogram.kernels",
    "Polynomial": "kilogram.kernels",
    "AllSubsets": "kilogram.kernels",
    "Gaussian": "kilogram.kernels",
    "Laplacian": "kilogram.kernels",
    "Matern": "kilogram.kernels",
    "RationalQuadratic": "kilogram.kernels",
    "Chi2": "kilogram.kernels",
    "Precomputed": "kilogram.kernels",
    "OnColumns": "kilogram.kernels",
    "FromCallable": "kilogram.kernels",
    # rows of any size, and what a fit will cost
    "open_rows": "kilogram.arrays.rows",
    "estimate": "kilogram.base.estimate",
    # from a table and a question to an answer
    "cook": "kilogram.kitchen",
}
