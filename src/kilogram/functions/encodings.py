"""Words as numbers: ranks of ordered levels, indicator columns, weights of terms.

    ordinal     level r of R, lowest first          r / R                     in (0, 1]
    rank_order  place r of n values, from 1         r / (n + 1)               in (0, 1), even
    one_hot     level k of K                        e_k                       rows sum to 1
    idf_plain   term in df of n documents           ln(n / df)                0 if in all of them
    idf_smooth  the same, never 0 nor infinite      ln((1 + n) / (1 + df)) + 1

The two inverse document frequencies are both printed as "tf-idf" (slides, lecture 4: the first as
formula, the second as code); a weight is the count of the term in the document times one of them.
"""

from __future__ import annotations

from typing import Any

from scipy.stats import rankdata

from kilogram.arrays.namespace import like, namespace, to_numpy


def ordinal(ranks: Any, levels: int) -> Any:
    """r / R for ranks r = 1 .. R."""
    xp = namespace(ranks)
    if levels < 1 or bool(xp.any(ranks < 1)) or bool(xp.any(ranks > levels)):
        raise ValueError(f"ranks must lie in 1 .. {levels}")
    return ranks / levels


def rank_order(X: Any) -> Any:
    """Each column (n, d) by its ranks r / (n + 1): no increasing map of a column changes them.

    Equal values get their mean rank.
    """
    return like(rankdata(to_numpy(X), axis=0) / (X.shape[0] + 1), X)


def one_hot(codes: Any, levels: int) -> Any:
    """(n, levels) indicators of codes 0 .. levels - 1."""
    xp = namespace(codes)
    if bool(xp.any(codes < 0)) or bool(xp.any(codes >= levels)):
        raise ValueError(f"codes must lie in 0 .. {levels - 1}")
    return xp.astype(codes[:, None] == xp.arange(levels)[None, :], xp.float64)


def idf_plain(df: Any, n: int) -> Any:
    """ln(n / df): how rare a term is that stands in df > 0 of n documents."""
    xp = namespace(df)
    if bool(xp.any(df < 1)):
        raise ValueError(
            "df must be at least 1: idf = ln(n / df) is infinite for a term in no document."
        )
    return xp.log(n / df)


def idf_smooth(df: Any, n: int) -> Any:
    """ln((1 + n) / (1 + df)) + 1, as if one more document contained every term."""
    xp = namespace(df)
    return xp.log((1.0 + n) / (1.0 + df)) + 1.0
