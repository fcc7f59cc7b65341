"""Fitted estimators as ONNX: feature maps, and functions of a row with how they are read.

numbers    f(x), (n, t)
classes    scores (n, K), the largest wins; or one column, positive for the second of two;
           probabilities are the softmax of the scores where the estimator has them so
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from kilogram.arrays.namespace import to_numpy
from kilogram.base.gaussian_rule import GaussianRule
from kilogram.kitchen.export import bayes, boosting, neighbors
from kilogram.kitchen.export.graph import Graph, no_graph
from kilogram.kitchen.export.kernels import kernel
from kilogram.kitchen.export.trees import category_codes, leaf_means, tree_sums
from kilogram.kitchen.measures import TINY
from kilogram.kitchen.recipes.cumulative_logit import CumulativeLogit
from kilogram.kitchen.recipes.ridge_search import RidgeSearch
from kilogram.models.boosting.adaboost_classifier import AdaBoostClassifier
from kilogram.models.boosting.adaboost_regressor import AdaBoostRegressor
from kilogram.models.boosting.additive_model import AdditiveBoosting
from kilogram.models.boosting.cascade import CascadeClassifier
from kilogram.models.boosting.gradient_boosting import HistGradientBoosting
from kilogram.models.discriminant.lda import LinearDiscriminantAnalysis
from kilogram.models.discriminant.qda import QuadraticDiscriminantAnalysis
from kilogram.models.features.fourier import FourierFeatures
from kilogram.models.features.nystroem import Nystroem
from kilogram.models.features.polynomial import PolynomialFeatures
from kilogram.models.fisher.fisher import FisherDiscriminant
from kilogram.models.fisher.kernel_fisher import KernelFisherDiscriminant
from kilogram.models.gaussian_process.classifier import GaussianProcessClassifier
from kilogram.models.gaussian_process.regressor import GaussianProcessRegressor
from kilogram.models.glm.tweedie import GeneralizedLinearModel
from kilogram.models.logistic.logistic_regression import LogisticRegression
from kilogram.models.naive_bayes.bernoulli import BernoulliNB
from kilogram.models.naive_bayes.gaussian import GaussianNB
from kilogram.models.naive_bayes.multinomial import ComplementNB, MultinomialNB
from kilogram.models.neighbors.classification import NeighborsClassifier
from kilogram.models.neighbors.outliers import NeighborOutliers
from kilogram.models.neighbors.regression import NeighborsRegressor
from kilogram.models.neural.classifier import MLPClassifier
from kilogram.models.neural.mlp import MultilayerPerceptron
from kilogram.models.pca.pca import PCA
from kilogram.models.ridge.kernel_predictor import KernelPredictor
from kilogram.models.robust.ransac import RANSACRegressor
from kilogram.models.sparse.penalized_classifier import PenalizedClassifier
from kilogram.models.sparse.penalized_regressor import PenalizedRegressor
from kilogram.models.svm.multiclass import unpacked
from kilogram.models.svm.svc import SVC
from kilogram.models.svm.svr import SVR
from kilogram.models.trees.tree_model import TreeModel

LEAST_FRACTION = 1e-30  # a probability of zero as a logarithm, in the range of float32


@dataclass(frozen=True)
class Scores:
    """A value of the graph with its columns; `soft`: its softmax are probabilities."""

    name: str
    columns: int
    soft: bool = False


def scores(g: Graph, model: BaseEstimator, x: str) -> Scores:
    """Graph of the scores of a fitted estimator for the rows of x."""
    if isinstance(model, Pipeline):
        for step in model[:-1]:
            x = feature_map_graph(g, step, x)
        return scores(g, model[-1], x)
    if isinstance(model, RidgeSearch):
        return _ridge_search(g, model, x)
    if hasattr(model, "best_estimator_"):
        return scores(g, model.best_estimator_, x)
    if isinstance(model, RANSACRegressor):
        return scores(g, model.estimator_, x)
    if "arrays_" in (state := _state(model)):
        return _trees(g, state, x)
    for kind, write in _MODELS.items():
        if isinstance(model, kind):
            return write(g, model, x)
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return _linear(g, model, x)
    raise no_graph(model)


def feature_map_graph(g: Graph, part: Any, x: str) -> str:
    """Graph of a fitted feature map applied to x."""
    for kind, write in _MAPS.items():
        if isinstance(part, kind):
            return write(g, part, x)
    raise no_graph(part)


def columns_of(g: Graph, found: Scores) -> str:
    """(n, K) scores; one column, positive for the second of two classes, becomes two."""
    if found.columns > 1:
        return found.name
    half = g.constant([-0.5, 0.5])
    return g.add("Mul", found.name, half)


def _state(model: BaseEstimator) -> dict[str, Any]:
    state = model.__getstate__() if hasattr(model, "tried_") else {}
    return state if isinstance(state, dict) else {}


def _ridge_search(g: Graph, model: RidgeSearch, x: str) -> Scores:
    found = scores(g, model.model_, x)
    if not getattr(model, "log_target", False):
        return found
    low, high = (g.constant(end) for end in model.ends_)
    return Scores(g.add("Exp", g.add("Clip", found.name, low, high)), 1)


def _linear(g: Graph, model: BaseEstimator, x: str) -> Scores:
    W = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    b = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=float)), (W.shape[0],))
    soft = isinstance(model, LogisticRegression | LinearDiscriminantAnalysis)
    return Scores(g.affine(x, W.T, b[None, :]), W.shape[0], soft)


def _penalized_classes(g: Graph, model: PenalizedClassifier, x: str) -> Scores:
    """Of several classes sigmoids divided by their sum: the softmax of their logarithms."""
    found = _linear(g, model, x)
    if model.loss != "logistic":
        return found
    if found.columns == 1:
        return replace(found, soft=True)
    logs = g.add("Neg", g.add("Softplus", g.add("Neg", found.name)))
    return Scores(logs, found.columns, soft=True)


def _generalized(g: Graph, model: GeneralizedLinearModel | PenalizedRegressor, x: str) -> Scores:
    found = _linear(g, model, x)
    return Scores(g.add("Exp", found.name), 1) if model.link_ == "log" else found


def _dual(g: Graph, model: BaseEstimator, x: str) -> Scores:
    b = np.atleast_1d(np.asarray(model.intercept_, dtype=float))[None, :]
    if hasattr(model, "features_"):  # fitted on features of its own
        a = np.reshape(np.asarray(model.coef_, dtype=float), (len(model.coef_), -1))
        phi = model.features_
        z = (
            _cosines(g, x, phi.W, phi.b, phi.scale)
            if hasattr(phi, "W")
            else feature_map_graph(g, phi, x)
        )
        return Scores(g.affine(z, a, b), a.shape[1])
    a = np.reshape(np.asarray(model.dual_coef_, dtype=float), (len(model.dual_coef_), -1))
    return Scores(g.affine(kernel(g, model.kernel_, x, model.X_fit_), a, b), a.shape[1])


def _process(g: Graph, model: GaussianProcessRegressor, x: str) -> Scores:
    if model.inducing_points_ is not None:
        raise no_graph(model, "its inducing points")
    a = np.reshape(np.asarray(model.alpha_, dtype=float), (len(model.X_train_), -1))
    near = model.predict(np.asarray(model.X_train_)[:2])
    plain = np.asarray(model.kernel_(np.asarray(model.X_train_)[:2], model.X_train_)) @ a
    scale, shift = _standardised(model, a.shape[1])
    # the two must agree, or the mean is not the sum this graph writes down
    if not np.allclose(np.reshape(near, plain.shape), plain * scale + shift, rtol=1e-5, atol=1e-6):
        raise no_graph(model, "its noise is part of the mean")
    K = kernel(g, model.kernel_, x, model.X_train_)
    return Scores(g.affine(K, a * scale, np.atleast_2d(shift)), a.shape[1])


def _standardised(model: BaseEstimator, targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale and mean that `normalize_y` took off, from two predictions far from all rows."""
    far = np.full((1, model.X_train_.shape[1]), 1e9)
    shift = np.reshape(np.asarray(model.predict(far), dtype=float), (1, targets))
    scale = np.ones((1, targets))
    if model.normalize_y:
        here = np.asarray(model.X_train_)[:1]
        plain = np.asarray(model.kernel_(here, model.X_train_)) @ np.reshape(
            model.alpha_, (-1, targets)
        )
        predicted = np.reshape(np.asarray(model.predict(here), dtype=float), (1, targets))
        scale = np.where(plain != 0, (predicted - shift) / np.where(plain != 0, plain, 1.0), 1.0)
    return scale, shift


def _svr(g: Graph, model: SVR, x: str) -> Scores:
    a = np.asarray(model.dual_coef_, dtype=float).T
    K = kernel(g, model.kernel_, x, model.support_vectors_)
    return Scores(g.affine(K, a, np.asarray(model.intercept_)[None, :]), 1)


def _svc(g: Graph, model: SVC, x: str) -> Scores:
    if model.probability:
        raise no_graph(model, "probability=True has a calibration of its own")
    k = len(model.classes_)
    V = unpacked(model.dual_coef_, model.n_support_, model.multi_class)
    K = kernel(g, model.kernel_, x, model.support_vectors_)
    f = g.affine(K, V, np.asarray(model.intercept_)[None, :])
    if k == 2 or model.multi_class == "ovr":
        return Scores(f, V.shape[1])
    if model.break_ties:
        raise no_graph(model, "break_ties=True")
    won = g.cast(g.add("Greater", f, g.constant([0.0])))
    table, start = np.zeros((V.shape[1], k)), np.zeros((1, k))
    for machine, (i, j) in enumerate(combinations(range(k), 2)):
        table[machine, i], table[machine, j] = 1.0, -1.0
        start[0, j] += 1.0
    return Scores(g.affine(won, table, start), k)


def _rule(g: Graph, rule: GaussianRule, z: str) -> Scores:
    """log p(c | z) up to a constant, class by class."""
    found = []
    for mean, root, logdet, prior in zip(
        rule.means, rule.roots, rule.logdets, rule.priors, strict=True
    ):
        away = g.affine(z, root.T, -(mean @ root.T)[None, :])
        half = g.add("Mul", g.total(g.add("Mul", away, away)), g.constant([-0.5]))
        fixed = float(np.log(max(prior, 1e-300)) - logdet / 2)
        found.append(g.add("Add", half, g.constant([fixed])))
    return Scores(g.add("Concat", *found, axis=1), len(found), True)


def _fisher(g: Graph, model: FisherDiscriminant, x: str) -> Scores:
    W = np.asarray(model.scalings_, dtype=float)
    return _rule(g, model.rule_, g.affine(x, W, -(model.mean_ @ W)[None, :]))


def _quadratic(g: Graph, model: QuadraticDiscriminantAnalysis, x: str) -> Scores:
    return _rule(g, model._gaussians(), x)


def _kernel_fisher(g: Graph, model: KernelFisherDiscriminant, x: str) -> Scores:
    if model.approximation is not None:
        return _fisher(g, model.linear_, feature_map_graph(g, model.map_, x))
    return _rule(g, model.rule_, bayes.kernel_fisher(g, model, x))


def _joint(write: Callable[[Graph, Any, str], str], soft: bool = True) -> Callable:
    """Naive Bayes: joint logarithms whose softmax are the probabilities."""
    return lambda g, model, x: Scores(write(g, model, x), len(model.classes_), soft)


def _process_classes(g: Graph, model: GaussianProcessClassifier, x: str) -> Scores:
    return Scores(bayes.process_classes(g, model, x), 1)


_HIDDEN = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def _network(g: Graph, model: MultilayerPerceptron, x: str) -> Scores:
    """Layers; the outputs of classes stay linear, their softmax are the probabilities."""
    if getattr(model, "_several", False):
        raise no_graph(model, "several labels for one row")
    for layer, (W, b) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        x = g.affine(x, to_numpy(W), to_numpy(b)[None, :])
        if layer < len(model.coefs_) - 1 and model.activation in _HIDDEN:
            x = g.add(_HIDDEN[model.activation], x)
    if model.out_activation_ == "exp":
        x = g.add("Exp", x)
    return Scores(x, int(model.n_outputs_), isinstance(model, MLPClassifier))


def _scaled_target(g: Graph, model: TransformedTargetRegressor, x: str) -> Scores:
    """The inner model, and its predictions scaled back."""
    found, scaler = scores(g, model.regressor_, x), model.transformer_
    if not isinstance(scaler, StandardScaler) or scaler.mean_ is None or scaler.scale_ is None:
        raise no_graph(model, "its transformer")
    rescaled = g.add("Mul", found.name, g.constant(scaler.scale_[None, :]))
    return Scores(g.add("Add", rescaled, g.constant(scaler.mean_[None, :])), found.columns)


def _constant(g: Graph, model: BaseEstimator, x: str) -> Scores:
    """A constant prediction."""
    if is_classifier(model):
        held = np.log(np.maximum(np.ravel(model.class_prior_), 1e-300))
    else:
        held = np.ravel(model.constant_)
    shape = g.add("Concat", g.add("Shape", x, end=1), g.constant([1], np.int64), axis=0)
    return Scores(g.add("Expand", g.constant(held[None, :]), shape), len(held))


def _trees(g: Graph, state: dict[str, Any], x: str) -> Scores:
    found, columns = tree_sums(g, state["arrays_"], x), int(state["arrays_"]["columns"])
    if not state["forest_"] or "classes_" not in state:
        return Scores(found, columns)
    return Scores(g.add("Log", g.add("Max", found, g.constant([1e-3]))), columns)


def _leaves(g: Graph, model: TreeModel, x: str) -> Scores:
    """Means of leaves; of class fractions the logarithms."""
    found, columns = leaf_means(g, model, x), model.trees_.value.shape[1]
    if not is_classifier(model):
        return Scores(found, columns)
    if model.n_outputs_ > 1:
        raise no_graph(model, "several outputs")
    return Scores(_logarithms(g, found), columns, soft=True)


def _logarithms(g: Graph, fractions: str) -> str:
    return g.add("Log", g.add("Max", fractions, g.constant([LEAST_FRACTION])))


def _class_votes(g: Graph, model: NeighborsClassifier, x: str) -> Scores:
    fractions = neighbors.class_fractions(g, model, x)
    return Scores(_logarithms(g, fractions), len(model.classes_), soft=True)


def _neighbour_means(g: Graph, model: NeighborsRegressor, x: str) -> Scores:
    return Scores(*neighbors.neighbour_means(g, model, x))


def _outliers(g: Graph, model: NeighborOutliers, x: str) -> Scores:
    return Scores(neighbors.outlier_scores(g, model, x), 1)


def _cascade(g: Graph, model: CascadeClassifier, x: str) -> Scores:
    return Scores(boosting.cascade(g, model, x), 1)


def _boosting(g: Graph, model: HistGradientBoosting, x: str) -> Scores:
    """Sums of leaves; exp of them for the losses with a logarithmic link."""
    trees, columns = model.ensemble_, model.ensemble_.n_outputs
    x = category_codes(g, model, x)
    found = tree_sums(g, trees.threshold_arrays(), x, trees.members())
    if model.loss in ("poisson", "gamma"):
        found = g.add("Exp", found)
    return Scores(found, columns, is_classifier(model))


def _adaboost(g: Graph, model: AdaBoostClassifier, x: str) -> Scores:
    """Weighted votes of the weak learners, as fractions of all weights."""
    k, weights = int(model.n_classes_), model.estimator_weights_ / model.estimator_weights_.sum()
    if model.estimator is None:
        return Scores(boosting.stump_votes(g, model.estimators_, weights, k, x), k - (k == 2), True)
    total = g.constant([0.0])
    for learner, weight in zip(model.estimators_, weights, strict=True):
        best = g.add("ArgMax", columns_of(g, scores(g, learner, x)), axis=1, keepdims=0)
        known = np.searchsorted(model.classes_, learner.classes_)
        votes = g.constant(weight * boosting.vote_table(known, k))
        total = g.add("Add", total, g.add("Gather", votes, best, axis=0))
    return Scores(total, k - (k == 2), True)


def _adaboost_numbers(g: Graph, model: AdaBoostRegressor, x: str) -> Scores:
    if model.estimator is None:
        each = boosting.shallow_trees(g, model.estimators_, x)
    else:
        found = [scores(g, learner, x).name for learner in model.estimators_]
        each = g.add("Concat", *found, axis=1)
    return Scores(boosting.weighted_median(g, each, model.estimator_weights_), 1)


def _additive(g: Graph, model: AdditiveBoosting, x: str) -> Scores:
    """Sums of shape functions; exp of them for the losses with a logarithmic link."""
    found = boosting.additive(g, model, x)
    if getattr(model, "loss", None) in ("poisson", "gamma"):
        found = g.add("Exp", found)
    return Scores(found, model.terms_.n_outputs, is_classifier(model))


def _nystroem(g: Graph, part: Nystroem, x: str) -> str:
    K = kernel(g, part.kernel_, x, part.components_)
    return g.add("MatMul", K, g.constant(np.asarray(part.normalization_, dtype=float).T))


def _fourier(g: Graph, part: FourierFeatures, x: str) -> str:
    return _cosines(g, x, part.random_weights_, part.random_offset_, part.scale_)


def _cosines(g: Graph, x: str, W: Any, b: Any, scale: float) -> str:
    angle = g.affine(x, W, np.asarray(b)[None, :])
    return g.add("Mul", g.add("Cos", angle), g.constant([scale]))


def _components(g: Graph, part: Any, x: str) -> str:
    W = np.asarray(part.components_, dtype=float).T
    if part.whiten:
        W = W / np.sqrt(np.asarray(part.explained_variance_))
    return g.affine(x, W, -(np.asarray(part.mean_) @ W)[None, :])


def _standard(g: Graph, part: StandardScaler, x: str) -> str:
    if part.mean_ is not None:
        x = g.add("Sub", x, g.constant(part.mean_[None, :]))
    return x if part.scale_ is None else g.add("Div", x, g.constant(part.scale_[None, :]))


_MAPS: dict[type, Callable[[Graph, Any, str], str]] = {
    Nystroem: _nystroem, FourierFeatures: _fourier, PCA: _components, StandardScaler: _standard,
    PolynomialFeatures: bayes.polynomials,
}  # fmt: skip


def _cumulative(g: Graph, model: CumulativeLogit, x: str) -> Scores:
    """Differences of the sigmoids of neighbouring thresholds, as logarithms."""
    moved = g.affine(x, -np.asarray(model.coef_, dtype=float)[:, None], np.zeros((1, 1)))
    below = g.add("Sigmoid", g.add("Add", moved, g.constant(model.thresholds_[None, :])))
    count = len(model.thresholds_)
    padded = np.vstack([-np.eye(count), np.zeros((1, count))]) + np.vstack(
        [np.zeros((1, count)), np.eye(count)]
    )
    last = np.zeros((1, count + 1))
    last[0, -1] = 1.0
    p = g.affine(below, -padded.T, last)
    return Scores(g.add("Log", g.add("Max", p, g.constant([TINY]))), count + 1, soft=True)


_MODELS: dict[type, Callable[[Graph, Any, str], Scores]] = {
    KernelPredictor: _dual, GeneralizedLinearModel: _generalized, SVR: _svr, SVC: _svc,
    PenalizedRegressor: _generalized, PenalizedClassifier: _penalized_classes,
    GaussianProcessRegressor: _process,
    FisherDiscriminant: _fisher, QuadraticDiscriminantAnalysis: _quadratic,
    KernelFisherDiscriminant: _kernel_fisher, GaussianProcessClassifier: _process_classes,
    GaussianNB: _joint(bayes.gaussian_bayes), BernoulliNB: _joint(bayes.bernoulli_bayes),
    MultinomialNB: _joint(bayes.counts_bayes), ComplementNB: _joint(bayes.complement_bayes),
    AdaBoostClassifier: _adaboost, AdaBoostRegressor: _adaboost_numbers,
    AdditiveBoosting: _additive, TreeModel: _leaves,
    NeighborsClassifier: _class_votes, NeighborsRegressor: _neighbour_means,
    NeighborOutliers: _outliers, CascadeClassifier: _cascade,
    MultilayerPerceptron: _network, HistGradientBoosting: _boosting, DummyRegressor: _constant,
    DummyClassifier: _constant, TransformedTargetRegressor: _scaled_target,
    CumulativeLogit: _cumulative,
}  # fmt: skip
