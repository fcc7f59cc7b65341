"""Is this matrix a Gram matrix? Symmetry, and no negative eigenvalue.

A function of two rows has a feature map exactly when its Gram matrix is symmetric and positive
semidefinite on every sample (Mercer); one sample with a clearly negative eigenvalue disproves it.
Rounding alone makes eigenvalues as low as about -n eps |K|, which is forgiven.
"""

from __future__ import annotations

from typing import Any

from kilogram.arrays.namespace import namespace


def check_symmetric(K: Any, *, tol: float | None = None) -> Any:
    """K itself, or a ValueError that names the most asymmetric pair.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.kernels import check_symmetric
    >>> check_symmetric(np.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    xp = namespace(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix is square, got shape {tuple(K.shape)}")
    gap = xp.abs(K - K.T)
    worst = float(xp.max(gap))
    size = float(xp.max(xp.abs(K)))
    allowed = size * (100 * float(xp.finfo(K.dtype).eps) if tol is None else tol)
    if not worst <= allowed:
        i, j = divmod(int(xp.argmax(xp.reshape(gap, (-1,)))), K.shape[0])
        raise ValueError(
            f"the matrix is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by {worst:g}"
        )
    return K


def smallest_eigenvalue(K: Any) -> tuple[float, float]:
    """The smallest eigenvalue of a symmetric K, and the largest absolute one."""
    values = namespace(K).linalg.eigvalsh(K)
    low, high = float(values[0]), float(values[-1])
    return low, max(abs(low), abs(high))


def is_psd(K: Any, *, tol: float | None = None) -> bool:
    """Whether K is symmetric and positive semidefinite up to rounding (or tol times its norm).

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.kernels import is_psd
    >>> is_psd(np.eye(2)), is_psd(np.array([[0.0, 1.0], [1.0, 0.0]]))
    (True, False)
    """
    try:
        check_psd(K, tol=tol)
    except ValueError:
        return False
    return True


def check_psd(K: Any, *, tol: float | None = None) -> Any:
    """K itself, or a ValueError that gives the negative eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from kilogram.kernels import check_psd
    >>> check_psd(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """
    xp = namespace(K)
    check_symmetric(K, tol=tol)
    low, norm = smallest_eigenvalue(K)
    allowed = 10 * K.shape[0] * float(xp.finfo(K.dtype).eps) if tol is None else tol
    if not low >= -allowed * norm:
        raise ValueError(
            f"the matrix is not positive semidefinite: its smallest eigenvalue is {low:g} "
            f"(largest {norm:g}), so no feature map has these inner products"
        )
    return K
