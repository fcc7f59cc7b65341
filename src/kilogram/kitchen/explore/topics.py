"""Topics of a text column: non-negative factors of its weighted terms.

Each document is a sum of topics, each topic a list of terms with weights. Their number is
the one that predicts entries held out best (`nmf_rank`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kilogram.kitchen.features import TermCounts, TermWeights
from kilogram.models.factorization.nmf import NMF
from kilogram.models.factorization.nmf_rank import nmf_rank

MAX_DOCUMENTS, MAX_TERMS, RANK_ROWS, RANK_TERMS = 3000, 1000, 400, 200
RANKS = (1, 2, 4, 6, 8, 12)
TERMS = 8  # enough to name a topic


@dataclass(frozen=True)
class Topic:
    """The strongest terms of a topic, the fraction of documents it leads, and one of them."""

    terms: tuple[str, ...]
    fraction: float
    example: str


@dataclass(frozen=True)
class TextTopics:
    """The topics of a column, the largest first; none where single words say no more."""

    column: str
    documents: int
    terms: int
    topics: tuple[Topic, ...]


def topics(name: str, documents: np.ndarray, seed: int) -> TextTopics:
    """The topics of (n,) documents."""
    rng = np.random.default_rng(seed)
    filled = np.flatnonzero([bool(str(d).strip()) for d in documents])
    rows = np.sort(rng.permutation(filled)[:MAX_DOCUMENTS])
    texts = documents[rows]
    none = TextTopics(name, len(filled), 0, ())
    if len(texts) < 30:
        return none
    counter = TermCounts("word", 1, max_terms=MAX_TERMS, min_documents=max(3, len(texts) // 200),
                         stop_words="english").fit(texts)  # fmt: skip
    counts = counter.transform(texts)
    terms = counter.get_feature_names_out()
    if len(terms) < 10:
        return none
    W = TermWeights("sublinear").fit(counts).transform(counts).toarray()
    held = W.sum(axis=1) > 0
    W, texts = W[held], texts[held]
    few = W[: min(len(W), RANK_ROWS), np.argsort(-W.sum(axis=0))[:RANK_TERMS]]
    ranks = [r for r in RANKS if r < min(few.shape) / 4]
    k = int(nmf_rank(few, ranks, n_splits=2, random_state=seed).best) if ranks else 1
    if k < 2:
        return TextTopics(name, len(filled), len(terms), ())
    model = NMF(n_components=k, random_state=seed)
    U = np.asarray(model.fit_transform(W))
    V = np.asarray(model.components_)
    lead = np.argmax(U * V.sum(axis=1), axis=1)
    order = np.argsort(-np.bincount(lead, minlength=k), kind="stable")
    return TextTopics(name, len(filled), len(terms), tuple(
        Topic(tuple(str(terms[t]) for t in np.argsort(-V[j])[:TERMS]),
              float(np.mean(lead == j)), str(texts[int(np.argmax(U[:, j]))])[:200])
        for j in order if np.any(lead == j)
    ))  # fmt: skip
