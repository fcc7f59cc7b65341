"""The algorithms as the books tell them: short generators in plain NumPy, and the books' errata.

`run(pca(X, 2))` follows a telling to its end; iterating over it shows every step. `TELLINGS` lists
them all with the pages they stand beside and the estimators they explain; `errata` lists the
errors of the printed pages, each with the test that shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kilogram.textbook import (
    gaussian_process,
    kernel_pca,
    kernel_regression,
    kernel_ridge,
    kernel_template,
    kernels,
    pca,
    preimage,
    random_kitchen_sinks,
    ridge,
    ridge_solvers,
)
from kilogram.textbook.state import State, Telling, begin, run


@dataclass(frozen=True)
class Page:
    """One telling: the generator, its title, where the texts tell it, what it explains."""

    function: Callable[..., Telling]
    title: str
    sources: tuple[str, ...]
    explains: tuple[str, ...]


_PCA = ("PCA",)
_KERNEL_PCA = ("KernelPCA",)
_RIDGE = ("Ridge", "RidgeCV")
_KERNEL_RIDGE = ("KernelRidge", "KernelRidgeCV")
_SINKS = ("KitchenSinksRegressor", "KitchenSinksClassifier", "FourierFeatures")

TELLINGS: dict[str, Page] = {
    "pca": Page(
        pca.pca,
        "Principal component analysis",
        (
            "cookbook 7, algorithm 1",
            "first_encounter 12",
            "lecture_notes L19",
            "summary 6",
            "slides 9, algorithm 2",
        ),
        _PCA,
    ),
    "pca_dual": Page(
        pca.pca_dual,
        "PCA with more dimensions than points",
        ("cookbook A.3", "first_encounter 12", "lecture_notes L19", "slides 9"),
        _PCA,
    ),
    "pca_reconstruct": Page(
        pca.reconstruct, "PCA: reconstruction", ("cookbook 7, algorithm 2", "summary 6"), _PCA
    ),
    "pca_denoise": Page(
        pca.denoise,
        "PCA: keeping any set of components",
        ("cookbook 7", "slides 9"),
        _PCA,
    ),
    "pca_deflation": Page(
        pca.deflation,
        "PCA by power iteration and deflation",
        ("slides 9", "lecture_notes L19"),
        _PCA,
    ),
    "whiten": Page(
        pca.whiten,
        "Whitening",
        ("first_encounter 1 and D.2", "lecture_notes L19 and L21"),
        _PCA,
    ),
    "kernel_pca_train": Page(
        kernel_pca.train,
        "Kernel PCA: training",
        ("cookbook 8, algorithm 3", "first_encounter 12", "lecture_notes L20", "summary 7"),
        _KERNEL_PCA,
    ),
    "kernel_pca_project": Page(
        kernel_pca.project,
        "Kernel PCA: projecting new points",
        ("cookbook 8, algorithm 4", "first_encounter 12", "lecture_notes L20", "summary 7"),
        _KERNEL_PCA,
    ),
    "preimage": Page(
        preimage.preimage, "Pre-images by fixed point", ("cookbook 8 (named)",), _KERNEL_PCA
    ),
    "ridge": Page(
        ridge.ridge,
        "Least squares and ridge regression",
        (
            "cookbook 17, algorithm 16",
            "first_encounter 10",
            "lecture_notes L12",
            "summary 2",
            "slides 8",
        ),
        _RIDGE,
    ),
    "ridge_leave_one_out": Page(
        ridge.leave_one_out,
        "Ridge: leave-one-out from one fit",
        ("summary 2", "first_encounter 10"),
        ("RidgeCV",),
    ),
    "ridge_cholesky": Page(
        ridge_solvers.cholesky_road, "Ridge by Cholesky", ("lecture_notes L10",), _RIDGE
    ),
    "ridge_streaming": Page(
        ridge_solvers.streaming_road, "Ridge row by row", ("lecture_notes L10",), _RIDGE
    ),
    "ridge_qr": Page(
        ridge_solvers.qr_road, "Ridge by QR", ("lecture_notes L12", "summary 2"), _RIDGE
    ),
    "ridge_svd": Page(ridge_solvers.svd_road, "Ridge by SVD", ("lecture_notes L12",), _RIDGE),
    "tikhonov": Page(
        ridge_solvers.tikhonov_road, "Tikhonov: any penalty matrix", ("summary 2",), ("Ridge",)
    ),
    "kernel_ridge": Page(
        kernel_ridge.kernel_ridge,
        "Kernel ridge regression",
        ("cookbook 23, algorithm 22", "first_encounter 10", "lecture_notes L15"),
        _KERNEL_RIDGE,
    ),
    "kernel_ridge_leave_one_out": Page(
        kernel_ridge.leave_one_out,
        "Kernel ridge: every lambda's leave-one-out error",
        ("cookbook C.3", "first_encounter 10"),
        ("KernelRidgeCV",),
    ),
    "norm_constrained": Page(
        kernel_ridge.norm_constrained,
        "Kernel ridge with a bound on the norm",
        ("first_encounter 10",),
        ("KernelRidge",),
    ),
    "kernel_regression": Page(
        kernel_regression.kernel_regression, "Kernel regression", ("lecture_notes L15",), ()
    ),
    "gaussian_process": Page(
        gaussian_process.gaussian_process,
        "Gaussian process prediction",
        ("cookbook 23, algorithm 23",),
        ("KernelRidge", "GaussianProcessRegressor"),
    ),
    "gaussian_process_samples": Page(
        gaussian_process.sample_functions,
        "Functions drawn from a Gaussian process",
        ("cookbook 23",),
        (),
    ),
    "random_kitchen_sinks": Page(
        random_kitchen_sinks.kitchen_sinks,
        "Random kitchen sinks",
        ("cookbook 24, algorithm 24",),
        _SINKS,
    ),
    "kernel_template": Page(
        kernel_template.kernel_template,
        "The kernel template",
        ("cookbook A, algorithm 25", "first_encounter C.3", "summary 7"),
        ("KernelRidge", "KernelPCA"),
    ),
    "linear_twin": Page(
        kernel_template.linear_twin,
        "The linear twin: w = X'a",
        ("cookbook A", "lecture_notes L15"),
        ("Ridge", "KernelRidge"),
    ),
}

__all__ = [
    "TELLINGS",
    "Page",
    "State",
    "Telling",
    "begin",
    "kernels",
    "run",
]
