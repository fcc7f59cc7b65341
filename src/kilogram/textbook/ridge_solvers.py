"""Several ways to one ridge solution (lecture_notes L10-L12, summary section 2).

    Cholesky      X'X + lambda I = R'R;  R'z = X'y,  R beta = z        cheapest; squares kappa(X)
    streaming     the same, X'X and X'y summed row by row              X is never held
    QR            least squares on [X; sqrt(lambda) I], [y; 0]         kappa is not squared
    SVD           beta = V (S^2 + lambda)^-1 S U'y                     rank-deficient X too

Tikhonov replaces sqrt(lambda) I by any matrix Gamma: penalty |Gamma beta|^2. No offset: centre X
and y first, or make the constant a feature. Rows are data points, as on these pages.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import solve_triangular

from kilogram.textbook.state import Array, States, begin


def by_cholesky(X: Array, y: Array, lam: float) -> States:
    """Normal equations, forward and backward; raises LinAlgError if X'X + lambda I is singular."""
    yield (s := begin("1 normal equations", A=X.T @ X + lam * np.eye(X.shape[1]), b=X.T @ y))
    R = np.linalg.cholesky(s["A"]).T
    yield (s := s.then("2 A = R'R", R=R))
    z = solve_triangular(R, s["b"], trans="T")
    yield (s := s.then("3 forward: R'z = b", z=z))
    yield (s := s.then("4 backward: R beta = z", beta=solve_triangular(R, z)))
    return s


def by_streaming(rows: Iterable[tuple[Array, float]], d: int, lam: float) -> States:
    """One row (x, y) at a time: only the d x d scatter and the d sums are kept."""
    A, b = lam * np.eye(d), np.zeros(d)
    yield (s := begin("0 the penalty alone", A=A, b=b))
    for i, (x, y) in enumerate(rows, start=1):
        A, b = A + np.outer(x, x), b + x * y
        yield (s := s.then(f"row {i}", A=A, b=b))
    yield (s := s.then("solve", beta=np.linalg.solve(A, b)))
    return s


def by_tikhonov(X: Array, y: Array, Gamma: Array) -> States:
    """min |y - X beta|^2 + |Gamma beta|^2 as least squares on stacked rows, by QR."""
    stacked, zeros = np.vstack([X, Gamma]), np.zeros(len(Gamma))
    yield (s := begin("1 stack the penalty under the data", X=stacked, y=np.append(y, zeros)))
    Q, R = np.linalg.qr(stacked)
    yield (s := s.then("2 X = Q R", Q=Q, R=R))
    beta = solve_triangular(R, Q.T @ s["y"])
    yield (s := s.then("3 R beta = Q'y", float(np.sum((s["y"] - stacked @ beta) ** 2)), beta=beta))
    return s


def by_qr(X: Array, y: Array, lam: float) -> States:
    """Ridge is Tikhonov with Gamma = sqrt(lambda) I."""
    return (yield from by_tikhonov(X, y, np.sqrt(lam) * np.eye(X.shape[1])))


def by_svd(X: Array, y: Array, lam: float, *, tol: float = 1e-12) -> States:
    """Also for lambda = 0 and dependent columns: the solution of smallest norm."""
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    yield (s := begin("1 X = U S V'", U=U, S=S, V=Vt.T))
    kept = tol * S[0] < S
    shrink = np.divide(S, S**2 + lam, out=np.zeros_like(S), where=kept)
    yield (s := s.then("2 shrink each direction: S / (S^2 + lambda)", shrink=shrink))
    yield (s := s.then("3 turn back", beta=Vt.T @ (shrink * (U.T @ y))))
    return s
