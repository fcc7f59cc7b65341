"""Every benchmark task by name: the next page adds its file here."""

from __future__ import annotations

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
    sparse_paths,
    spectral,
    subspace,
    svm,
    svm_data,
    trees,
    views,
)

TASKS: dict[str, Task] = {
    task.name: task
    for page in (
        linalg,
        least_squares,
        robust,
        sparse,
        sparse_paths,
        ridge,
        subspace,
        views,
        discriminants,
        logistic,
        svm,
        svm_data,
        process,
        clusters,
        hierarchical,
        kernel_clusters,
        factors,
        spectral,
        manifolds,
        densities,
        trees,
        boosting,
        neighbors,
        neural,
        semi_supervised,
        mixture,
        small,
        larger,
        fresh,
    )
    for task in page.TASKS
}
