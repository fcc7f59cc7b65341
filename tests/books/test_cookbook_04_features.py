"""Cookbook 3 and 4: pipelines and features; C.4: distances. Slides share the text examples."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from book_checks import covers
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import kilogram as kg
from kilogram.functions.distances import (
    city_block,
    euclidean,
    hamming,
    squared_distances,
    squared_mahalanobis,
)
from kilogram.functions.encodings import one_hot, ordinal
from kilogram.kitchen.archive import TRUSTED_TYPES
from kilogram.kitchen.features import (
    HOG,
    FeatureSettings,
    NetworkFeatures,
    TermCounts,
    TermWeights,
    featurise,
    grid,
)
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.overrides import ColumnOverrides
from kilogram.models.features.hog import cell_histograms

TWO_DOCUMENTS = ["document one is great", "document two is mediocre"]
PRINTED_ORDER = ["document", "one", "two", "is", "great", "mediocre"]
TABLE = pa.table({"numeric": [0.4, 1.8, -0.35, -0.7], "ordinal": ["low", "medium", "low", "high"],
                  "colour": ["red", "blue", "green", "green"], "y": [1, 2, 3, 4]})  # fmt: skip
OVERRIDES = ColumnOverrides(ordinal={"ordinal": ("low", "medium", "high")}, categorical=("colour",))


def counted(documents, order, **settings):
    counts = TermCounts(**settings).fit(documents)
    names = list(counts.get_feature_names_out())
    return counts.transform(documents).toarray()[:, [names.index(term) for term in order]]


@covers("cookbook X4.1", "cookbook M4.1", "cookbook M4.2", "cookbook M4.3", "cookbook T4.6")
def test_X4_1_the_table_of_the_text():
    X = find_layout(TABLE, "y", overrides=OVERRIDES).array(TABLE)
    assert X[:, 0].tolist() == [0.4, 1.8, -0.35, -0.7]
    assert np.allclose(X[:, 1], [1 / 3, 2 / 3, 1 / 3, 1])
    assert np.allclose(ordinal(np.array([1, 2, 1, 3]), 3), X[:, 1])
    codes = np.array([0, 2, 1, 1])  # in the order red, green, blue
    assert one_hot(codes, 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert np.all(one_hot(codes, 3).sum(axis=1) == 1)
    ranks = ordinal(np.arange(1, 6), 5)
    assert np.all(np.diff(ranks) > 0)
    assert ranks[0] > 0
    assert ranks[-1] == 1
    with pytest.raises(ValueError, match=r"1 \.\. 3"):
        ordinal(np.array([4]), 3)


@covers("cookbook M3.1", "cookbook M3.2", "cookbook H4.1")
def test_M3_columns_of_all_kinds_become_one_vector_and_their_parameters_are_searched():
    rng = np.random.default_rng(0)
    words = rng.choice(["dull", "great", "fine"], 60)
    data = pa.table({"number": rng.normal(size=60), "size": rng.choice(["S", "M", "L"], 60),
                     "colour": rng.choice(["red", "blue"], 60),
                     "review": [f"a {w} film, {w} and long, by {k}" for k, w in enumerate(words)],
                     "y": (words == "great").astype(float)})  # fmt: skip
    layout = find_layout(data, "y", overrides=ColumnOverrides(text=("review",)))
    assert [c.kind for c in layout.used] == ["numeric", "ordinal", "categorical", "text"]
    pipeline = Pipeline([("columns", featurise(layout, 60)), ("model", kg.Ridge())])
    X, y = layout.array(data), data["y"].to_numpy()
    blocks = pipeline.fit(X, y)["columns"]
    widths = [len(range(*cut.indices(10**6))) for cut in blocks.output_indices_.values()]
    assert blocks.transform(X).shape == (60, sum(widths))
    assert pipeline.score(X, y) > 0.9
    axes = grid(layout)
    assert {name.split("__")[1] for name in axes} == {"numbers", "text review"}
    for name, values in axes.items():
        for value in values:
            clone(pipeline).set_params(**{name: value})
    assert {
        f"{type(s).__module__}.{type(s).__name__}" for s in blocks.transformers_[-1][1]
    } <= TRUSTED_TYPES


@covers("cookbook M4.6", "cookbook X4.2", "cookbook T4.1", "cookbook E4.6")
def test_T4_1_two_documents_and_the_misprinted_row():
    counts = counted(TWO_DOCUMENTS, PRINTED_ORDER)
    assert counts.tolist() == [[1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1]]
    printed = [0, 1, 1, 1, 0, 1]  # would say that the second document holds "one", not "document"
    assert counts[1].tolist() != printed


@covers("cookbook M4.7", "cookbook T4.2", "cookbook E4.7")
def test_T4_2_up_to_two_words_make_twelve_terms():
    terms = set(TermCounts(n=2).fit(TWO_DOCUMENTS).get_feature_names_out())
    pairs = {"document one", "document two", "one is", "two is", "is great", "is mediocre"}
    assert terms == set(PRINTED_ORDER) | pairs
    assert len(terms) == 12
    assert len(set(PRINTED_ORDER)) == 6  # "one" stands there once, not twice as printed


@covers("cookbook T4.3", "cookbook E4.8", "cookbook M4.8")
def test_E4_8_up_to_n_words_are_a_sum_of_powers():
    V, n = 3, 2
    words = ["ab", "cd", "ef"]
    text = " ".join(f"{a} {b}" for a in words for b in words)
    pairs = [f"{a} {b}" for a in words for b in words]
    terms = TermCounts(n=n).fit([*pairs, text]).get_feature_names_out()
    assert len(terms) == V + V**2
    assert len(terms) > V**n  # the printed bound holds for exactly n words only
    capped = TermCounts(n=n, max_terms=4).fit([*pairs, text]).get_feature_names_out()
    assert len(capped) == 4
    assert set(words) <= set(capped)  # the most frequent stay


@covers("cookbook M4.9", "cookbook T4.4", "cookbook G4.2", "slides B4.17")
def test_T4_4_hashing_needs_no_dictionary():
    hashed = TermCounts(buckets=16).fit(["anything"])
    X = hashed.transform(TWO_DOCUMENTS)
    assert X.shape == (2, 16)
    assert X.sum() == 8
    assert np.array_equal(hashed.transform(["one one"]).toarray(),
                          2 * hashed.transform(["one"]).toarray())  # fmt: skip
    with pytest.raises(ValueError, match="have no names"):
        hashed.get_feature_names_out()
    code = ("from kilogram.kitchen.features import TermCounts; "
            "print(TermCounts(buckets=16).fit(['x']).transform(['document one is great'])"
            ".nonzero()[1].tolist())")  # fmt: skip
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": "7"})  # fmt: skip
    assert there.stdout.strip() == str(X[[0]].nonzero()[1].tolist())


@covers("cookbook T4.5")
def test_T4_5_only_what_is_there_is_stored():
    documents = ["one one two", "three", "", "two three four two"]
    X = TermCounts().fit(documents).transform(documents)
    assert np.diff(X.indptr).tolist() == [2, 1, 0, 3]
    weighted = TermWeights("plain").fit(X).transform(X)
    dense = TermWeights("plain").fit(X.toarray()).transform(X.toarray())
    assert np.allclose(weighted.toarray(), dense.toarray())


@covers("cookbook M4.4", "cookbook E4.4", "cookbook X4.3", "cookbook T4.7")
def test_M4_4_HOG_counts_directions_of_edges_not_frequencies():
    step = np.zeros((32, 32))
    step[:, 16:] = 1.0
    upright = cell_histograms(step[None]).sum(axis=(0, 1, 2))
    lying = cell_histograms(step.T[None]).sum(axis=(0, 1, 2))
    assert upright[[0, -1]].sum() > 0.999 * upright.sum()  # gradient along x: angle 0, two bins
    assert lying[4] > 0.999 * lying.sum()  # along y: the middle bin of nine
    flipped = cell_histograms((1 - step)[None]).sum(axis=(0, 1, 2))
    assert np.allclose(flipped, upright)  # an edge has no bright side
    # a wave of another frequency has the same directions, so it is no measure of frequency
    x = np.arange(32)
    for period in (4, 8, 16):
        wave = np.tile(np.sin(2 * np.pi * x / period), (32, 1))
        votes = cell_histograms(wave[None]).sum(axis=(0, 1, 2))
        assert votes[[0, -1]].sum() > 0.999 * votes.sum()
    assert kg.HOGFeatures().fit_transform(step.reshape(1, -1)).shape == (1, 3 * 3 * 4 * 9)
    pictures = np.stack([step, step.T])
    assert HOG(size=32).fit(pictures).transform(pictures).shape == (2, 324)


@covers("cookbook M4.5")
def test_M4_5_any_network_gives_features():
    pictures = np.random.default_rng(0).uniform(size=(5, 20, 20))
    network = NetworkFeatures(lambda batch: batch.reshape(len(batch), -1)[:, :7], size=16, batch=2)
    assert network.fit(pictures).transform(pictures).shape == (5, 7)
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(16 * 16, 3)
    features = NetworkFeatures(
        lambda batch: layer(torch.as_tensor(batch, dtype=torch.float32).flatten(1)), size=16
    )
    assert features.fit(pictures).transform(pictures).shape == (5, 3)
    assert FeatureSettings(network=len).network is len


@covers("cookbook G3.1")
def test_G3_1_data_is_tested_like_code():
    frame = {"x": [1.0, 2.0] * 40, "y": [1.0, 2.0] * 40}
    assert kg.audit(pa.table(frame), "y", task="regression").serious


@covers("cookbook MC.4", "cookbook TC.2", "cookbook TC.3")
def test_C_4_distances():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (12, 5))
    indicators = np.concatenate([one_hot(codes[:, j], 4) for j in range(5)], axis=1)
    assert np.allclose(hamming(codes), squared_distances(indicators) / 2)
    X = rng.normal(size=(12, 5))
    ranks = ordinal(rng.integers(1, 4, (12, 5)), 3)
    for D in (euclidean(X), city_block(X), hamming(codes), euclidean(ranks)):
        assert np.allclose(np.diag(D), 0)
        assert np.allclose(D, D.T)
        assert np.all(D + 1e-12 >= 0)
        assert np.all(D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-9)
    S = np.cov(X.T)
    direct = np.array([[(a - b) @ np.linalg.inv(S) @ (a - b) for b in X] for a in X])
    assert np.allclose(squared_mahalanobis(X, X, S), direct)
    # one gross cell moves the city block less than the Euclidean distance, relatively
    far = X[0].copy()
    far[0] += 100
    near = np.vstack([X[1:2], X[1:2]])
    two = np.vstack([X[0], far])
    assert np.diff(np.diag(euclidean(two, near)))[0] / euclidean(two, near)[0, 0] > (
        np.diff(np.diag(city_block(two, near)))[0] / city_block(two, near)[0, 0]
    )
