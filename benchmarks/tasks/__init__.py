"""Every benchmark task by name: a new file is listed here, under the family of its method."""

from __future__ import annotations

from types import ModuleType

from benchmarks.task import Task
from benchmarks.tasks import (
    boosting,
    clusters,
    densities,
    discriminants,
    factors,
    fresh,
    hierarchical,
    kernel_clusters,
    larger,
    least_squares,
    linalg,
    logistic,
    manifolds,
    mixture,
    neighbors,
    neural,
    process,
    ridge,
    robust,
    semi_supervised,
    small,
    sparse,
    sparse_designs,
    sparse_paths,
    spectral,
    subspace,
    svm,
    svm_data,
    trees,
    views,
)

#: Heading of the documentation -> the files with its tasks.
FAMILIES: dict[str, tuple[ModuleType, ...]] = {
    "Linear regression": (least_squares, ridge),
    "Sparse regression": (sparse, sparse_designs, sparse_paths),
    "Robust regression": (robust,),
    "Logistic regression": (logistic,),
    "Discriminants and naive Bayes": (discriminants,),
    "Support vector machines": (svm, svm_data),
    "Gaussian processes": (process,),
    "Nearest neighbours": (neighbors,),
    "Trees and forests": (trees,),
    "Boosting": (boosting,),
    "Neural networks": (neural,),
    "Semi-supervised learning": (semi_supervised,),
    "Principal components and canonical correlations": (subspace, views),
    "Matrix factorisation": (factors,),
    "Manifold learning": (manifolds,),
    "Clustering": (clusters, hierarchical, kernel_clusters, spectral),
    "Mixtures and densities": (mixture, densities),
    "Linear algebra, small data, start": (linalg, small, fresh),
    "Larger than memory": (larger,),
}

TASKS: dict[str, Task] = {
    task.name: task for files in FAMILIES.values() for file in files for task in file.TASKS
}
FAMILY_OF: dict[str, str] = {
    task.name: family for family, files in FAMILIES.items() for file in files for task in file.TASKS
}
