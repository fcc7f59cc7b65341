"""Activation functions of a network, their derivatives, and the losses of its outputs.

An activation may write into its argument: NumPy's batches allocate nothing. A derivative is written
in terms of the activation a = f(z), so that z need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from kilogram.arrays.namespace import is_numpy, namespace

Function = Callable[[Any], Any]


def identity(Z: Any) -> Any:
    """z."""
    return Z


def logistic(Z: Any) -> Any:
    """1 / (1 + exp(-z)), in place for NumPy."""
    if is_numpy(Z):
        return scipy.special.expit(Z, out=Z)
    return 0.5 * namespace(Z).tanh(0.5 * Z) + 0.5  # neither branch of exp overflows


def tanh(Z: Any) -> Any:
    """The hyperbolic tangent, in place for NumPy."""
    return np.tanh(Z, out=Z) if is_numpy(Z) else namespace(Z).tanh(Z)


def relu(Z: Any) -> Any:
    """max(z, 0), in place for NumPy."""
    return np.maximum(Z, 0.0, out=Z) if is_numpy(Z) else namespace(Z).clip(Z, min=0)


def softmax(Z: Any) -> Any:
    """exp(z_k) / sum_j exp(z_j) of each row, in place for NumPy."""
    xp = namespace(Z)
    Z -= xp.max(Z, axis=1, keepdims=True)
    Z = np.exp(Z, out=Z) if is_numpy(Z) else xp.exp(Z)
    Z /= xp.sum(Z, axis=1, keepdims=True)
    return Z


def exp(Z: Any) -> Any:
    """exp(z), the inverse of the log link of counts, in place for NumPy."""
    return np.exp(Z, out=Z) if is_numpy(Z) else namespace(Z).exp(Z)


ACTIVATIONS: dict[str, Function] = {
    "identity": identity,
    "logistic": logistic,
    "tanh": tanh,
    "relu": relu,
    "softmax": softmax,
    "exp": exp,
}
HIDDEN = ("identity", "logistic", "tanh", "relu")  # those of hidden units


def times_derivative(name: str, A: Any, D: Any) -> Any:
    """D times f'(z), element by element, where A = f(z); in place."""
    if name == "logistic":
        D *= A * (1.0 - A)
    elif name == "tanh":
        D *= 1.0 - A * A
    elif name == "relu":
        D *= namespace(A).astype(A > 0, D.dtype)
    elif name != "identity":
        raise ValueError(f"{name!r} is not an activation of hidden units: {HIDDEN}.")
    return D


def loss_rows(loss: str, output: str, Y: Any, F: Any) -> Any:
    """The loss of each row, summed over the outputs: targets Y, outputs F, both (m, t)."""
    xp = namespace(F)
    if loss == "squared_error":
        return 0.5 * xp.sum((F - Y) ** 2, axis=1)
    tiny = float(xp.finfo(F.dtype).eps)
    if loss == "poisson":
        safe = xp.clip(Y, min=tiny)  # y log y is 0 at 0
        return xp.sum(Y * (xp.log(safe) - xp.log(xp.clip(F, min=tiny * tiny))) - Y + F, axis=1)
    # NumPy's own clip: the wrapper of the array API takes longer than a batch's logarithms
    P = (np if is_numpy(F) else xp).clip(F, tiny, 1.0 - tiny)
    if output == "softmax":
        return -xp.sum(Y * xp.log(P), axis=1)
    return -xp.sum(Y * xp.log(P) + (1.0 - Y) * xp.log1p(-P), axis=1)


def output_delta(loss: str, output: str, Y: Any, F: Any) -> Any:
    """The derivative of `loss_rows` by the linear values z of the outputs F = g(z).

    F - Y for the pairs that belong together (squared and identity, cross-entropy and softmax or
    logistic, Poisson and exp); otherwise it goes through the derivative of g. Writes into F.
    """
    if loss == "squared_error" and output != "identity":
        E = F - Y
        if output == "softmax":
            E -= namespace(F).sum(E * F, axis=1, keepdims=True)
            return E * F
        return times_derivative(output, F, E)
    F -= Y
    return F
