"""Feed-forward network: its layers, the forward pass and backpropagation.

    a_0 = x,   z_l = a_{l-1} W_l + b_l,   a_l = f(z_l) in hidden layers,   F = g(z_L)

    delta_L = dloss/dz_L,   delta_{l-1} = (delta_l W_l') f'(z_{l-1}),   grad W_l = a_{l-1}' delta_l

All parameters are one vector theta, the weights first and the offsets after them, so that a step of
an optimiser is one operation. Written once in the array API: NumPy writes into buffers that are
kept from batch to batch, other libraries return new arrays on their device.

References: Rumelhart, Hinton and Williams 1986; Glorot and Bengio 2010 (initial weights).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from kilogram.arrays.namespace import is_numpy, is_sparse, like, namespace
from kilogram.functions.activations import ACTIVATIONS, loss_rows, output_delta, times_derivative


@dataclass(frozen=True)
class Architecture:
    """Sizes of the layers from input to output, activations, loss, whether there are offsets."""

    sizes: tuple[int, ...]
    activation: str
    output: str
    loss: str
    fit_intercept: bool = True

    @property
    def n_coefs(self) -> int:
        """Number of weights; the offsets follow them in theta."""
        return sum(a * b for a, b in pairwise(self.sizes))

    def unpack(self, theta: Any) -> tuple[list[Any], list[Any]]:
        """Views of theta: weights (d_{l-1}, d_l) and offsets (d_l,), which may be none."""
        xp, at = namespace(theta), 0
        coefs, intercepts = [], []
        for a, b in pairwise(self.sizes):
            coefs.append(xp.reshape(theta[at : at + a * b], (a, b)))
            at += a * b
        for b in self.sizes[1:] if self.fit_intercept else ():
            intercepts.append(theta[at : at + b])
            at += b
        return coefs, intercepts

    def pack(self, coefs: Sequence[Any], intercepts: Sequence[Any]) -> Any:
        """theta from weights and offsets."""
        xp = namespace(*coefs)
        parts = [*coefs, *(intercepts if self.fit_intercept else ())]
        return xp.concat([xp.reshape(part, (-1,)) for part in parts])

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Initial theta, uniform by the rule of Glorot and Bengio."""
        coefs, intercepts = [], []
        for a, b in pairwise(self.sizes):
            bound = math.sqrt((2.0 if self.activation == "logistic" else 6.0) / (a + b))
            coefs.append(rng.uniform(-bound, bound, (a, b)))
            intercepts.append(rng.uniform(-bound, bound, b))
        return np.asarray(self.pack(coefs, intercepts))


def forward(arch: Architecture, coefs: Sequence[Any], intercepts: Sequence[Any], X: Any) -> Any:
    """The outputs (m, t) of rows X."""
    A = X
    for layer, W in enumerate(coefs):
        A = _product(A, W, None)
        if intercepts:
            A += intercepts[layer]
        A = ACTIVATIONS[arch.output if layer == len(coefs) - 1 else arch.activation](A)
    return A


@dataclass
class Backpropagation:
    """Loss and gradient of batches of at most `batch` rows.

    The objective is  sum_i w_i loss_i / sum_i w_i + alpha / 2 |W|^2 / sum_i w_i  over the batch.
    """

    arch: Architecture
    alpha: float
    batch: int
    keep: float = 1.0  # probability with which a hidden unit stays in a training batch
    draw: Callable[[tuple[int, int]], Any] | None = None  # uniform numbers for dropout
    _buffers: dict[tuple[str, int], Any] = field(default_factory=dict)

    def __call__(self, theta: Any, X: Any, Y: Any, w: Any, grad: Any = None) -> tuple[Any, Any]:
        """Mean loss (a number of the array library) and gradient; into `grad` where it is given."""
        coefs, intercepts = self._views("theta", theta)
        slots = self._views("grad", grad) if grad is not None else ([None] * len(coefs), [])
        xp, m = namespace(theta), X.shape[0]
        total = float(m) if w is None else xp.sum(w)
        A, masks = self._activations(coefs, intercepts, X, buffered=is_numpy(theta))
        F = A.pop()
        losses = loss_rows(self.arch.loss, self.arch.output, Y, F)
        value = xp.sum(losses if w is None else w * losses)
        weights = theta[: self.arch.n_coefs]
        value = (value + 0.5 * self.alpha * (weights @ weights)) / total
        delta = output_delta(self.arch.loss, self.arch.output, Y, F)
        delta *= 1.0 / total if w is None else xp.reshape(w / total, (-1, 1))
        dW, db = [], []
        for layer in range(len(coefs) - 1, -1, -1):
            dW.append(_product(A[layer].T, delta, slots[0][layer]))
            if intercepts:
                db.append(_column_sums(delta, slots[1][layer] if grad is not None else None))
            if layer:
                out = self._buffer("delta", layer, m, delta) if is_numpy(theta) else None
                delta = _product(delta, coefs[layer].T, out)
                inner = A[layer]
                if masks:
                    delta *= masks[layer - 1]
                    inner = inner * self.keep  # the activation before it was scaled up
                delta = times_derivative(self.arch.activation, inner, delta)
        if grad is None:
            grad = self.arch.pack(dW[::-1], db[::-1])
        grad[: self.arch.n_coefs] += (self.alpha / total) * weights
        return value, grad

    def _activations(
        self, coefs: list[Any], intercepts: list[Any], X: Any, *, buffered: bool
    ) -> tuple[list[Any], list[Any]]:
        """Activations of all layers, and the factors of dropout of the hidden ones."""
        A, masks, last = [X], [], len(coefs) - 1
        for layer, W in enumerate(coefs):
            out = self._buffer("forward", layer + 1, X.shape[0], W) if buffered else None
            Z = _product(A[-1], W, out)
            if intercepts:
                Z += intercepts[layer]
            Z = ACTIVATIONS[self.arch.output if layer == last else self.arch.activation](Z)
            if self.draw is not None and layer < last:
                kept = (self.draw((Z.shape[0], Z.shape[1])) < self.keep) / self.keep
                masks.append(like(kept, Z))
                Z *= masks[-1]
            A.append(Z)
        return A, masks

    def _views(self, use: str, vector: Any) -> tuple[list[Any], list[Any]]:
        """Weights and offsets in a vector; those of one that NumPy writes into are kept."""
        key = (use, 0)
        if self._buffers.get(key, (None,))[0] is not vector:
            self._buffers[key] = vector, self.arch.unpack(vector)
            if not is_numpy(vector):  # other libraries may copy: never reused
                return self._buffers.pop(key)[1]
        return self._buffers[key][1]

    def _buffer(self, use: str, layer: int, m: int, ref: Any) -> Any:
        """Room for m rows of a layer, kept from batch to batch."""
        key = (use, layer)
        if key not in self._buffers:
            self._buffers[key] = np.empty((self.batch, self.arch.sizes[layer]), dtype=ref.dtype)
        return self._buffers[key][:m]


def _product(A: Any, B: Any, out: Any) -> Any:
    if is_sparse(A):
        found = np.asarray(A @ B)
        if out is None:
            return found
        out[...] = found
        return out
    return A @ B if out is None else np.matmul(A, B, out=out)


def _column_sums(D: Any, out: Any) -> Any:
    return namespace(D).sum(D, axis=0) if out is None else np.sum(D, axis=0, out=out)
