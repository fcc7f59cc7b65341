"""Words and sequences of words counted, by numbers instead of strings.

Every word becomes a number once; a sequence of k words is the number of its first k - 1 words times
the number of words plus that of its last, made small again by sorting. A sequence stands in no more
documents than its beginning, so what is too rare is dropped before it grows. Counts and terms are
those of scikit-learn's CountVectorizer, several times sooner; of terms equally frequent at the cut,
the first in the alphabet stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

_WORD = re.compile(r"\b\w\w+\b")


def count_words(
    documents: Sequence[str], n: int, *, least: int, most: int
) -> tuple[list[str], sp.csr_array]:
    """The `most` frequent sequences of 1 to n words in `least` documents or more, and their counts.

    Terms in the order of the alphabet, and a (documents, terms) matrix.
    """
    numbers: dict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # type: ignore[attr-defined]
    lines = [list(map(numbers.__getitem__, _WORD.findall(d.lower()))) for d in documents]
    document = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    word = np.fromiter((w for line in lines for w in line), np.int64, len(document))
    names = list(numbers)
    begin, key = np.arange(len(word)), word  # where each sequence begins, and its number
    terms: list[str] = []
    found: list[sp.csr_array] = []
    for k in range(1, n + 1):
        if k > 1:
            last = begin + k - 1
            whole = last < len(word)
            whole[whole] = document[last[whole]] == document[begin[whole]]
            begin, key = begin[whole], key[whole] * len(names) + word[last[whole]]
        if not len(begin):
            break
        _, first, key = np.unique(key, return_index=True, return_inverse=True)
        counts = _table(document[begin], key, len(documents), len(first))
        kept = np.diff(counts.indptr) >= least  # documents that hold the term
        terms += [" ".join(names[w] for w in word[b : b + k]) for b in begin[first[kept]]]
        found.append(counts[:, kept])
        begin, key = begin[kept[key]], (np.cumsum(kept) - 1)[key[kept[key]]]
    if not terms:
        return [], sp.csr_array((len(documents), 0))
    return _most_frequent(terms, sp.hstack(found, format="csc"), most)


def _table(rows: np.ndarray, columns: np.ndarray, n: int, m: int) -> sp.csc_array:
    ones = np.ones(len(rows))
    return sp.coo_array((ones, (rows, columns)), shape=(n, m)).tocsc()  # equal places are added


def _most_frequent(
    terms: list[str], counts: sp.csc_array, most: int
) -> tuple[list[str], sp.csr_array]:
    order = np.argsort(np.asarray(terms, dtype=object), kind="stable")
    total = np.asarray(counts.sum(axis=0)).reshape(-1)[order]
    kept = order[np.sort(np.argsort(-total, kind="stable")[:most])]
    return [terms[k] for k in kept], sp.csr_array(counts[:, kept])
