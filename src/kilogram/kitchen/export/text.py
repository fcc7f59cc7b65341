"""Text as ONNX: words cut and counted by onnxruntime's own operators, then weighted.

lower case     StringNormalizer, by the rules of the locale C.UTF-8
words          Tokenizer (onnxruntime's, domain com.microsoft): runs of two letters, digits or
               underscores and more, as Python's \\b\\w\\w+\\b finds them
terms          TfIdfVectorizer, counting sequences of 1 to n words of the dictionary
weights        products and logarithms of the counts, rows to length 1 where the formula says so
compressed     one product

Character terms, hashed terms and stop words have no operators: an error says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.kitchen.export.graph import RUNTIME, Graph, no_graph
from kilogram.kitchen.featurise import Compressed, TermCounts, TermWeights

DOUBLE = np.float64
WORD = r"[\p{L}\p{N}_][\p{L}\p{N}_]+"


def is_text(part: Any) -> bool:
    """Does a pipeline begin with the counting of terms?"""
    return hasattr(part, "steps") and isinstance(part[0], TermCounts)


def text_features(g: Graph, part: Any, x: str) -> str:
    """What the steps of a text column make of its (n, 1) cells."""
    x = _counts(g, part[0], x)
    for step in part[1:]:
        if isinstance(step, TermWeights):
            x = _weights(g, step, x)
        elif isinstance(step, Compressed):
            x = _compressed(g, step, x)
        else:
            raise no_graph(step)
    return x


def _counts(g: Graph, part: TermCounts, x: str) -> str:
    if part.analyzer != "word" or part.buckets is not None or part.stop_words:
        raise no_graph("Text in terms of characters, hashed or without stop words",
                       "onnxruntime cuts and counts words only")  # fmt: skip
    flat = g.add("Reshape", x, g.constant([-1], np.int64))
    low = g.add("StringNormalizer", flat, case_change_action="LOWER", is_case_sensitive=1,
                locale="C.UTF-8")  # fmt: skip
    words = g.add("Tokenizer", low, domain=RUNTIME, mark=0, mincharnum=2, pad_value="#",
                  tokenexp=WORD)  # fmt: skip
    terms = [term.split(" ") for term in part.terms_.split("\n")]
    order = sorted(range(len(terms)), key=lambda k: len(terms[k]))
    lengths = [len(terms[k]) for k in order]
    longest = max(lengths)
    starts = [sum(n for n in lengths if n < k) for k in range(1, longest + 1)]
    found = g.add(
        "TfIdfVectorizer", words, mode="TF", min_gram_length=1, max_gram_length=longest,
        max_skip_count=0, ngram_counts=starts, ngram_indexes=order,
        pool_strings=[word for k in order for word in terms[k]],
    )  # fmt: skip
    return g.cast(found, DOUBLE)


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


def _compressed(g: Graph, part: Compressed, x: str) -> str:
    if part.svd_ is not None:
        x = g.add("MatMul", x, g.constant(part.svd_.components_.T, DOUBLE))
    return g.add("Div", x, g.constant([part.scale_], DOUBLE))
