"""Two-part codes: learning is compression (first_encounter ch. 3).

    total(M) = bits(M) + bits(data given M)        choose the model M with the smallest total

For N things of the same kind the model is sent once: total = L + N c. The larger model is shorter
from N = (L' - L) / (c - c') on, so the best size grows with the amount of data.

Picture    pixel = majority of its neighbours, except at an edge; only the failures are sent. The
           neighbours are those already sent (left, above, above right): the receiver has no others
Guessing   pixels are uncovered one by one; the guess is what followed this neighbourhood most often
Contexts   a table of 2^k probabilities for the next bit after k bits: 1/2 log2 n bits for each
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kilogram.textbook.state import Array, States, begin

TEXT = 64  # bits for the sentence that states the rule: eight letters' worth, our choice


def _known(pixels: Array, i: int, j: int) -> list[int]:
    """Left, above, above right: those inside the picture."""
    places = [(i, j - 1), (i - 1, j), (i - 1, j + 1)]
    return [int(pixels[a, b]) for a, b in places if a >= 0 and 0 <= b < pixels.shape[1]]


def rule(pixels: Array, i: int, j: int, edges: Sequence[int] = ()) -> int:
    """The majority of the known neighbours (a tie is 0); in an edge row, not the one above."""
    if i > 0 and i in edges:
        return 1 - int(pixels[i - 1, j])
    known = _known(pixels, i, j)
    return int(2 * sum(known) > len(known))


def failures(pixels: Array, edges: Sequence[int] = ()) -> Array:
    """Numbers of the pixels, row after row, where the rule is wrong."""
    at = np.ndindex(*pixels.shape)
    return np.flatnonzero([rule(pixels, i, j, edges) != pixels[i, j] for i, j in at])


def decode(shape: tuple[int, int], edges: Sequence[int], corrections: Array) -> Array:
    """The receiver's side: apply the rule, turn the pixels that were sent."""
    pixels = np.zeros(shape, dtype=int)
    for n, (i, j) in enumerate(np.ndindex(*shape)):
        pixels[i, j] = rule(pixels, i, j, edges) ^ int(n in corrections)
    return pixels


def picture(pixels: Array, models: Sequence[Sequence[int]]) -> States:
    """Send a picture of 0 and 1: raw, or by the rule with one of these lists of edge rows.

    The model costs the sentence, a bit that ends the list and 1 + log2(rows) bits for each edge;
    the corrections cost their number and log2(pixels) bits for each. One cent a bit.
    """
    n = pixels.size
    L, c = [0.0], [float(n)]  # raw: no model, a bit for each pixel
    yield (s := begin("1 raw", float(n), L=L, c=c, best=-1, corrections=np.arange(0)))
    for m, edges in enumerate(models):
        wrong = failures(pixels, edges)
        L.append(TEXT + 1 + len(edges) * (1 + np.ceil(np.log2(len(pixels)))))
        c.append(np.ceil(np.log2(n + 1)) + len(wrong) * np.ceil(np.log2(n)))
        news = {"best": m, "corrections": wrong} if L[-1] + c[-1] < np.add(L, c)[:-1].min() else {}
        yield (s := s.then(f"2 edges {tuple(edges)}", L[-1] + c[-1], L=L, c=c, **news))
    return s


def two_part(L: Array, c: Array, N: Array) -> States:
    """Models of L bits, then c bits for each thing sent: the best for every number N of things."""
    L, c, N = (np.asarray(a, dtype=float) for a in (L, c, N))
    yield (s := begin("1 models", L=L, c=c, N=N))
    total = L[:, None] + c[:, None] * N
    yield (s := s.then("2 bits of model and data", total=total))
    best = total.argmin(axis=0)
    yield (s := s.then("3 the smallest total", best=best, bits=total.min(axis=0)))
    return s


def break_even(L: Array, c: Array) -> float:
    """From how many things on the second, larger of two models is the cheaper one."""
    return float((L[1] - L[0]) / (c[0] - c[1])) if c[1] < c[0] else np.inf


def guessing(pixels: Array) -> States:
    """The guessing game, a dollar for each pixel guessed; a state after every row."""
    seen: dict[tuple[int, ...], list[int]] = {}
    hits = np.zeros(pixels.shape, dtype=bool)
    yield (s := begin("1 all covered", hits=hits.copy(), dollars=0))
    for i in range(len(pixels)):
        for j in range(pixels.shape[1]):
            count = seen.setdefault(tuple(_known(pixels, i, j)), [0, 0])
            guess = rule(pixels, i, j) if count[0] == count[1] else int(count[1] > count[0])
            hits[i, j] = guess == pixels[i, j]
            count[int(pixels[i, j])] += 1
        yield (s := s.then(f"2 row {i + 1}", hits=hits.copy(), dollars=hits.sum()))
    return s


def contexts(bits: Array, orders: Sequence[int]) -> States:
    """The two-part code of a sequence of 0 and 1 for tables of several orders k.

    The data cost n times the conditional entropy; all orders code the same last n bits.
    """
    b, longest = np.asarray(bits, dtype=int), max(orders)
    n = len(b) - longest
    L, c = np.zeros(len(orders)), np.zeros(len(orders))
    yield (s := begin("1 the bits", b=b, orders=orders))
    for m, k in enumerate(orders):
        before = sum(
            (b[longest - d : len(b) - d] << (d - 1) for d in range(1, k + 1)), np.zeros(n, int)
        )
        table = np.zeros((2**k, 2))
        np.add.at(table, (before, b[longest:]), 1)
        fraction = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        L[m] = 2**k * np.log2(n) / 2
        c[m] = -(table * np.log2(np.where(table > 0, fraction, 1))).sum()
        yield (s := s.then(f"2 order {k}", L[m] + c[m], L=L.copy(), c=c.copy(), p=fraction[:, 1]))
    yield (s := s.then("3 the smallest total", best=orders[int((L + c).argmin())]))
    return s
