"""Naive Bayes times a density tree: lecture_notes L09, as corrected.

u_nj = rank_nj / (N + 1)                                ranks from 1: the smallest has 1/(N + 1)
p(x) = c(F_1(x_1), .., F_d(x_d)) prod_j p_j(x_j)        print: without c, a derivative astray
c is a density on the unit cube, F_j the distribution function of the histogram p_j
to draw: down the tree, left with probability p_L V_L / (p_L V_L + p_R V_R); u in the leaf's box;
x_j = F_j^-1(u_j)
"""

from __future__ import annotations

import numpy as np

from kilogram.textbook.density_tree import density
from kilogram.textbook.state import Array, States, begin


def ranks(X: Array) -> States:
    """Places r from 1 and u = r / (N + 1) of the columns of X, which have no ties."""
    r = np.argsort(np.argsort(X, axis=0), axis=0) + 1
    yield (s := begin("1 places", r=r))
    yield (s := s.then("2 between 0 and 1", u=r / (len(X) + 1)))
    return s


def distribution(mass: Array, edges: Array, x: Array) -> Array:
    """F of a histogram with these masses, a line within each bin."""
    return np.interp(x, edges, np.concatenate([[0.0], np.cumsum(mass)]))


def copula(X: Array, x_new: Array, bins: int, boxes: Array, c: Array) -> States:
    """p at x_new: margins from histograms of X, times the density c on boxes of the unit cube."""
    u, margin = np.empty(x_new.shape), np.ones(len(x_new))
    yield (s := begin("1 rows", x=x_new))
    for j in range(X.shape[1]):
        N, edges = np.histogram(X[:, j], bins)
        mass = N / N.sum()
        at = np.clip(np.searchsorted(edges, x_new[:, j], side="right") - 1, 0, bins - 1)
        inside = (x_new[:, j] >= edges[0]) & (x_new[:, j] <= edges[-1])
        margin = margin * np.where(inside, (mass / np.diff(edges))[at], 0.0)
        u[:, j] = distribution(mass, edges, x_new[:, j])
        yield (s := s.then("2 one column more", u=u.copy(), margin=margin))
    yield (s := s.then("3 times the copula", p=margin * density(boxes, c, u)))
    return s


def descend(boxes: Array, c: Array, draws: Array) -> States:
    """Draw u: leaves in order, each with probability c_l V_l; draws (M, 1 + d) are uniform.

    Going left with probability p_L V_L / (p_L V_L + p_R V_R) at every node ends in leaf l with
    probability c_l V_l: the chances along the way multiply to it.
    """
    mass = c * np.prod(boxes[:, 1] - boxes[:, 0], axis=1)
    leaf = np.minimum(np.searchsorted(np.cumsum(mass), draws[:, 0]), len(mass) - 1)
    yield (s := begin("1 a leaf", leaf=leaf, mass=mass))
    low, high = boxes[leaf, 0], boxes[leaf, 1]
    yield (s := s.then("2 a place in its box", u=low + draws[:, 1:] * (high - low)))
    return s
