"""From scores of kernel PCA back to the input space.

Few points of feature space are the image of an input. Two ways to an input whose image is near:

ridge        x(z) = sum_i k(z, z_i) c_i, learned from the training rows and their scores z_i:
             (K_z + alpha I) C = X                                 (Bakir, Weston, Schoelkopf 2004)
fixed point  for the Gaussian kernel. Scores stand for P = sum_i g_i phi(x_i), g = A z + w, with A
             the dual axes and w the weights of the mean (sum 1); the nearest image phi(x) solves

                 x = sum_i g_i k(x, x_i) x_i / sum_i g_i k(x, x_i)

             which is iterated from a start, the noisy point when denoising (Mika et al. 1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kilogram.arrays.linalg import cholesky, cholesky_solve
from kilogram.arrays.memory import BLOCK_ENTRIES
from kilogram.arrays.namespace import like, namespace
from kilogram.kernels import Kernel
from kilogram.solvers.solution import Solution


def ridge_weights(kernel: Kernel, Z: Any, X: Any, w: Any, alpha: float) -> Any:
    """C (n, d) of the ridge regression of the rows X on their scores Z (n, k)."""
    K = kernel(Z)
    xp = namespace(K)
    s = None if w is None else xp.sqrt(w)
    K = K if s is None else s[:, None] * K * s[None, :]
    K = K + alpha * xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
    B = X if s is None else s[:, None] * X
    C = cholesky_solve(cholesky(K, overwrite=True), B)
    return C if s is None else s[:, None] * C


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Pre-images under a Gaussian kernel: training rows, dual axes A (n, k), weights w (n,)."""

    kernel: Kernel
    X: Any
    A: Any
    w: Any
    tol: float = 1e-6
    max_iter: int = 200

    def solve(self, Z: Any, start: Any) -> Solution:
        """Inputs (m, d) for scores Z (m, k), iterated from `start` (m, d), block by block."""
        found = [
            self._solve(Z[a:b, :], start[a:b, :]) for a, b in _blocks(Z.shape[0], self.X.shape[0])
        ]
        xp = namespace(Z)
        open_rows = sum(f.objective or 0 for f in found)
        message = f"{int(open_rows)} of {Z.shape[0]} points had not come to rest."
        rows = xp.concat([f.value for f in found], axis=0)
        return Solution(rows, max(f.n_iter for f in found), None, not open_rows, message)

    def _solve(self, Z: Any, x: Any) -> Solution:
        """One block; `objective` is the number of rows that still move at the end."""
        xp = namespace(Z)
        G = Z @ self.A.T + self.w[None, :]
        reach = self.tol * (1.0 + float(xp.max(xp.abs(self.X))))
        moving = xp.ones(x.shape[0], dtype=xp.bool, device=x.device)
        step = 0
        while step < self.max_iter and bool(xp.any(moving)):
            K = G * self.kernel(x, self.X)
            total = xp.sum(K, axis=1)
            # a point too far from the data has no weight: it stays where it is
            weighty = total > float(xp.finfo(K.dtype).smallest_normal) ** 0.5
            new = (K @ self.X) / xp.where(weighty, total, xp.ones_like(total))[:, None]
            new = xp.where((weighty & moving)[:, None], new, x)
            moved = xp.max(xp.abs(new - x), axis=1)
            x, moving, step = new, moving & weighty & (moved > reach), step + 1
        left = int(xp.sum(xp.astype(moving, xp.int64)))
        return Solution(x, step, float(left), left == 0)

    def nearest(self, Z: Any, training_scores: Any) -> Any:
        """A start for each row of scores: the training row whose scores are nearest."""
        xp = namespace(Z)
        T = like(training_scores, Z)
        squares = xp.sum(T * T, axis=1)
        at = [
            xp.argmin(squares[None, :] - 2.0 * (Z[a:b, :] @ T.T), axis=1)
            for a, b in _blocks(Z.shape[0], T.shape[0])
        ]
        return xp.take(self.X, xp.concat(at), axis=0)


def _blocks(m: int, n: int) -> list[tuple[int, int]]:
    """Ranges of m rows whose kernel values against n rows are in memory at once."""
    step = max(1, BLOCK_ENTRIES // n)
    return [(a, min(a + step, m)) for a in range(0, m, step)]
