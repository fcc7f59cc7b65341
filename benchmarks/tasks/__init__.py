"""Every benchmark task by name: the next page adds its file here."""

from __future__ import annotations

from benchmarks.task import Task
from benchmarks.tasks import (
    clusters,
    densities,
    discriminants,
    factors,
    fresh,
    hierarchical,
    larger,
    least_squares,
    linalg,
    logistic,
    manifolds,
    mixture,
    process,
    ridge,
    small,
    spectral,
    subspace,
    svm,
    svm_data,
    views,
)

TASKS: dict[str, Task] = {
    task.name: task
    for page in (
        linalg,
        least_squares,
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
        factors,
        spectral,
        manifolds,
        densities,
        mixture,
        small,
        larger,
        fresh,
    )
    for task in page.TASKS
}
