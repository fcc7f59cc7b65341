"""Least squares and ridge regression (cookbook ch. 17, algorithm 16; B.3, B.4).

    min_W,b  |Y - X W - 1 b'|^2 + lambda |W|^2        gradient  2 (X'X + lambda I) W - 2 X'Y

so W solves the normal equations (X'X + lambda I) W = X'Y. The offset b is a weight on a column of
ones; it is not penalised, or a large lambda would pull predictions to 0 and not to the mean.
lambda = 0 is least squares. Y may have several columns: each is a fit of its own.

Rows are data points: the cookbook's X X' and X Y' are this page's X'X and X'Y. Also in:
first_encounter ch. 10, lecture_notes L10-L12, summary section 2, slides lecture 8.
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.state import Array, States, begin


def cost(X: Array, Y: Array, W: Array, lam: float) -> float:
    """|Y - X W|^2 + lambda |W|^2, no offset."""
    return float(np.sum((Y - X @ W) ** 2) + lam * np.sum(W**2))


def gradient(X: Array, Y: Array, W: Array, lam: float) -> Array:
    """Of `cost` in W (B.3 for lambda = 0, B.4)."""
    return 2 * (X.T @ X @ W - X.T @ Y + lam * W)


def ridge(X: Array, Y: Array, lam: float) -> States:
    """Algorithm 16: W (D,) or (D, T) and offset b, the ones unpenalised."""
    X1 = np.column_stack([np.ones(len(X)), X])
    yield (s := begin("1 prepend ones", X=X1, Y=Y))
    penalty = lam * np.diag([0.0] + [1.0] * X.shape[1])
    yield (s := s.then("2 normal equations", A=X1.T @ X1 + penalty, B=X1.T @ Y))
    # least squares of the square system, not its inverse: lambda = 0 may leave it singular
    W1 = np.linalg.lstsq(s["A"], s["B"], rcond=None)[0]
    objective = float(np.sum((Y - X1 @ W1) ** 2) + lam * np.sum(W1[1:] ** 2))
    yield (s := s.then("3 solve", objective, W=W1[1:], b=W1[0]))
    return s


def leave_one_out(X: Array, Y: Array, lam: float) -> States:
    """Exact leave-one-out residuals from one fit: r_i / (1 - h_ii), h the hat matrix's diagonal."""
    X1 = np.column_stack([np.ones(len(X)), X])
    penalty = lam * np.diag([0.0] + [1.0] * X.shape[1])
    hat = X1 @ np.linalg.solve(X1.T @ X1 + penalty, X1.T)
    yield (s := begin("1 hat matrix", h=np.diag(hat)))
    residual = Y - hat @ Y
    yield (s := s.then("2 residuals of the one fit", residual=residual))
    left_out = (residual.T / (1 - s["h"])).T
    yield (s := s.then("3 divide by 1 - h", float(np.mean(left_out**2)), left_out=left_out))
    return s
