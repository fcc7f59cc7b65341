"""Text as ONNX: words and characters cut and counted by onnxruntime's own operators, then weighted.

lower case     StringNormalizer, by the rules of the locale C.UTF-8
words          Tokenizer (onnxruntime's, domain com.microsoft): runs of two letters, digits or
               underscores and more, as Python's \\b\\w\\w+\\b finds them
characters     of every word between blanks with a blank on either side, (n, words, characters)
terms          TfIdfVectorizer, counting sequences of 1 to n words or characters of the dictionary;
               what stands between two words is in no term
hashed         sequences joined, MurmurHash3 of them modulo the buckets, ones added up there
weights        products and logarithms of the counts, rows to length 1 where the formula says so
compressed     one product

Characters across words, and stop words, have no operators: an error says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import RUNTIME, Graph, no_graph
from kilogram.kitchen.features import DenseComponents, TermCounts, TermWeights

DOUBLE = np.float64
WORD = r"[\p{L}\p{N}_][\p{L}\p{N}_]+"
# As Python's str.split sees blanks.
BETWEEN_BLANKS = r"[^\s\p{Z}\x1c-\x1f\x85]+"
# Stands where a row has fewer words or characters than another, and for one word too many.
FILLED, MORE = "\x01", "\x02"


def is_text(part: Any) -> bool:
    """Does a pipeline begin with the counting of terms?"""
    return hasattr(part, "steps") and isinstance(part[0], TermCounts)


def text_features(g: Graph, part: Any, x: str) -> str:
    """What the steps of a text column make of its (n, 1) cells."""
    x = _counts(g, part[0], x)
    for step in part[1:]:
        if isinstance(step, TermWeights):
            x = _weights(g, step, x)
        elif isinstance(step, DenseComponents):
            x = _compressed(g, step, x)
        else:
            raise no_graph(step)
    return x


def _counts(g: Graph, part: TermCounts, x: str) -> str:
    """(n, terms) counts."""
    if part.stop_words:
        raise no_graph("Text without stop words", "no operator leaves out words of a list")
    if part.analyzer == "char":
        raise no_graph("Text in characters across words",
                       "no operator makes one blank of many")  # fmt: skip
    flat = g.add("Reshape", x, g.constant([-1], np.int64))
    low = g.add("StringNormalizer", flat, case_change_action="LOWER", is_case_sensitive=1,
                locale="C.UTF-8")  # fmt: skip
    units = _words(g, low) if part.analyzer == "word" else _characters(g, low)
    if part.buckets is not None:
        return _hashed(g, part, units)
    if part.analyzer != "word":
        units = g.add("Reshape", units, g.constant([0, -1], np.int64))
    cut = (lambda term: term.split(" ")) if part.analyzer == "word" else list
    return _terms(g, [cut(term) for term in part.terms_.split("\n")], units)


def _words(g: Graph, low: str) -> str:
    """(n, words), filled up with `FILLED`."""
    return _cut(g, low, WORD, 2)


def _characters(g: Graph, low: str) -> str:
    """(n, words, characters) of words with a blank before and after, filled up with `FILLED`."""
    g.opset = max(g.opset, 20)  # the first that joins strings
    # one word more in every document: where there is none there would be no shape either
    there = g.add("StringConcat", low, g.constant([f" {MORE}"]))
    words = _cut(g, there, BETWEEN_BLANKS, 1)
    blank, nothing = g.constant([" "]), g.constant([""])
    padded = g.add("StringConcat", g.add("StringConcat", blank, words), blank)
    for no_word in (FILLED, MORE):
        padded = g.add("Where", g.add("Equal", words, g.constant([no_word])), nothing, padded)
    return _cut(g, padded, "(?s).", 1)


def _cut(g: Graph, text: str, pattern: str, shortest: int) -> str:
    return g.add("Tokenizer", text, domain=RUNTIME, mark=0, mincharnum=shortest, pad_value=FILLED,
                 tokenexp=pattern)  # fmt: skip


def _terms(g: Graph, terms: list[list[str]], units: str) -> str:
    """Counts of sequences of units, each a term of the dictionary."""
    order = sorted(range(len(terms)), key=lambda k: len(terms[k]))
    lengths = [len(terms[k]) for k in order]
    longest = max(lengths)
    starts = [sum(n for n in lengths if n < k) for k in range(1, longest + 1)]
    found = g.add(
        "TfIdfVectorizer", units, mode="TF", min_gram_length=1, max_gram_length=longest,
        max_skip_count=0, ngram_counts=starts, ngram_indexes=order,
        pool_strings=[unit for k in order for unit in terms[k]],
    )  # fmt: skip
    return g.cast(found, DOUBLE)


def _hashed(g: Graph, part: TermCounts, units: str) -> str:
    """Counts of sequences by their buckets."""
    g.opset = max(g.opset, 20)
    assert part.buckets is not None
    between = " " if part.analyzer == "word" else ""
    rows = g.add("Shape", units, start=0, end=1)
    shape = g.add("Concat", rows, g.constant([part.buckets], np.int64), axis=0)
    found = g.add("Expand", g.constant([0.0], DOUBLE), shape)
    flat, zero = g.constant([0, -1], np.int64), g.constant([0.0], DOUBLE)
    for n in range(1, part.n + 1):
        joined, last = _joined(g, units, n, between)
        code = g.cast(g.add("MurmurHash3", joined, domain=RUNTIME, positive=0, seed=0), np.int64)
        bucket = g.add("Mod", g.add("Abs", code), g.constant([part.buckets], np.int64))
        missing = g.add("Equal", last, g.constant([FILLED]))
        one = g.add("Where", missing, zero, g.constant([1.0], DOUBLE))
        places, ones = (g.add("Reshape", value, flat) for value in (bucket, one))
        found = g.add("ScatterElements", found, places, ones, axis=1, reduction="add")
    return found


def _joined(g: Graph, units: str, n: int, between: str) -> tuple[str, str]:
    """Sequences of n neighbouring units as one string each, and the last unit of each."""
    axis, joined, last = g.constant([-1], np.int64), "", ""
    for k in range(n):
        end = g.constant([k + 1 - n or np.iinfo(np.int64).max], np.int64)
        last = g.add("Slice", units, g.constant([k], np.int64), end, axis)
        link = g.add("StringConcat", g.constant([between]), last)
        joined = g.add("StringConcat", joined, link) if joined else last
    return joined, last


def _weights(g: Graph, part: TermWeights, x: str) -> str:
    there = g.cast(g.add("Greater", x, g.constant([0.0], DOUBLE)), DOUBLE)
    if part.formula == "binary":
        x = there
    if part.formula == "sublinear":
        grown = g.add("Log", g.add("Max", x, g.constant([1.0], DOUBLE)))
        x = g.add("Mul", there, g.add("Add", grown, g.constant([1.0], DOUBLE)))
    x = g.add("Mul", x, g.constant(part.idf_[None, :], DOUBLE))
    if part.formula not in ("smooth", "sublinear"):
        return x
    length = g.add("Sqrt", g.total(g.add("Mul", x, x)))
    none = g.add("Equal", length, g.constant([0.0], DOUBLE))
    return g.add("Div", x, g.add("Where", none, g.constant([1.0], DOUBLE), length))


def _compressed(g: Graph, part: DenseComponents, x: str) -> str:
    if part.svd_ is not None:
        x = g.add("MatMul", x, g.constant(part.svd_.components_.T, DOUBLE))
    return g.add("Div", x, g.constant([part.scale_], DOUBLE))
