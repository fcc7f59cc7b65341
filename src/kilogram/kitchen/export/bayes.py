"""Naive Bayes, kernel Fisher, Gaussian process classes and polynomial features as ONNX.

naive Bayes       log p(c) + sum_j log p(x_j | c): products with tables of logarithms, of numbers a
                  square per class; missing cells say nothing
kernel Fisher     centred kernel rows times the dual coefficients, then a Gaussian rule
process classes   the sign of the latent mean, for two classes; with more the answer depends on
                  variances, which have no graph here
polynomials       products of gathered columns
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kilogram.kitchen.export.graph import Graph, no_graph
from kilogram.kitchen.export.kernels import kernel

FLOOR = -1e30  # the logarithm of what never happens: sums of 1e8 of them are finite in float32


def gaussian_bayes(g: Graph, model: BaseEstimator, x: str) -> str:
    """(n, K) joint logarithms of GaussianNB; -(x - t)^2 / 2v column by column."""
    lost = g.add("IsNaN", x)
    there = g.cast(g.add("Not", lost))
    filled = g.add("Where", lost, g.constant([[0.0]]), x)
    found = []
    priors = np.log(np.maximum(np.asarray(model.class_prior_, dtype=float), 1e-300))
    for mean, var, prior in zip(model.theta_, model.var_, priors, strict=True):
        apart = g.add("Mul", g.add("Sub", filled, g.constant(mean[None, :])), there)
        scale = g.constant((-0.5 / np.asarray(var))[:, None])
        far = g.add("MatMul", g.add("Mul", apart, apart), scale)
        norm = g.constant((-0.5 * np.log(2 * np.pi * np.asarray(var)))[:, None])
        whole = g.add("Add", far, g.add("MatMul", there, norm))
        found.append(g.add("Add", whole, g.constant([prior])))
    return g.add("Concat", *found, axis=1)


def bernoulli_bayes(g: Graph, model: BaseEstimator, x: str) -> str:
    """(n, K) of BernoulliNB."""
    yes, no = (np.maximum(np.asarray(t, dtype=float), FLOOR)
               for t in (model.feature_log_prob_, model._log_absent))  # fmt: skip
    lost = g.add("IsNaN", x)
    there = g.cast(g.add("Not", lost))
    cut = 0.0 if model.binarize is None else float(model.binarize)
    ones = g.cast(g.add("Greater", g.add("Where", lost, g.constant([[cut]]), x), g.constant([cut])))
    predicted = g.affine(ones, (yes - no).T, np.asarray(model.class_log_prior_)[None, :])
    return g.add("Add", predicted, g.add("MatMul", there, g.constant(no.T)))


def counts_bayes(g: Graph, model: BaseEstimator, x: str) -> str:
    """(n, K) of MultinomialNB."""
    logs = np.maximum(np.asarray(model.feature_log_prob_, dtype=float), FLOOR)
    return g.affine(x, logs.T, np.asarray(model.class_log_prior_)[None, :])


def complement_bayes(g: Graph, model: BaseEstimator, x: str) -> str:
    """(n, K) of ComplementNB: the priors take no part."""
    return g.add("MatMul", x, g.constant(np.asarray(model.feature_log_prob_, dtype=float).T))


def kernel_fisher(g: Graph, model: BaseEstimator, x: str) -> str:
    """(n, components) scores of KernelFisherDiscriminant without features."""
    a, means = np.asarray(model.dual_coef_, dtype=float), model.means_
    total = a.sum(axis=0)
    shifted = a - np.asarray(means.weights, dtype=float)[:, None] * total
    offset = np.asarray(means.columns, dtype=float) @ a - float(means.grand) * total
    return g.affine(kernel(g, model.kernel_, x, model.X_fit_), shifted, -offset[None, :])


def process_classes(g: Graph, model: BaseEstimator, x: str) -> str:
    """The latent mean of a GaussianProcessClassifier of two classes, (n, 1)."""
    if model.n_classes_ > 2:
        raise no_graph(model, "of more than two classes the likeliest depends on variances")
    (machine,) = model._machines
    K = kernel(g, machine.kernel, x, np.asarray(machine.data.X))
    return g.add("MatMul", K, g.constant(np.asarray(machine.mode.g, dtype=float)[:, None]))


def polynomials(g: Graph, part: Any, x: str) -> str:
    """The monomials of PolynomialFeatures: one gather and one product per degree."""
    if part.weights != "none":
        raise no_graph(part, "weights='kernel'")
    powers = np.asarray(part.powers_)
    d, degree = powers.shape[1], int(powers.sum(axis=1).max())
    one = g.add("Mul", g.take(x, [0]), g.constant([0.0]))
    padded = g.add("Concat", x, g.add("Add", one, g.constant([1.0])), axis=1)
    picks = np.full((len(powers), max(degree, 1)), d)  # column d holds ones
    for row, power in zip(picks, powers, strict=True):
        factors = np.repeat(np.arange(d), power)
        row[: len(factors)] = factors
    found = g.take(padded, picks[:, 0])
    for k in range(1, picks.shape[1]):
        found = g.add("Mul", found, g.take(padded, picks[:, k]))
    return found
