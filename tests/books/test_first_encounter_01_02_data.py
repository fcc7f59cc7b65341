"""A First Encounter 1 and 2: preparing data and looking at it."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pyarrow as pa
import pytest
from book_checks import covers
from scipy import stats
from sklearn.pipeline import Pipeline

import kilogram as kg
from kilogram.kitchen.features import ColumnScaler, TermCounts
from kilogram.kitchen.features.column_types import find_layout
from kilogram.kitchen.features.images import load_picture
from kilogram.kitchen.read.table import read_table
from kilogram.textbook import projection_pursuit
from kilogram.textbook.state import run

RNG = np.random.default_rng(0)


@covers("first_encounter FE1.3", "first_encounter FE1.4", "first_encounter T1.2",
        "first_encounter T1.3", "first_encounter T1.4", "first_encounter D.1")  # fmt: skip
def test_FE1_4_centre_then_scale():
    X = RNG.normal(size=(200, 3)) * [1, 10, 0.1] + [5, -3, 2]
    scaler = ColumnScaler("standard").fit(X)
    Z = scaler.transform(X)
    assert np.allclose(Z.mean(axis=0), 0)
    assert np.allclose(np.mean(Z**2, axis=0), 1)  # divisor N
    assert np.allclose(ColumnScaler().fit(1000 * X).transform(1000 * X), Z)  # grams or kilograms
    assert np.var([1, 3]) == 1
    new = X[:1] + 1
    assert np.allclose(scaler.transform(new), (new - X.mean(axis=0)) / X.std(axis=0))


@covers("first_encounter E1.2")
def test_E1_2_a_constant_column_becomes_zero():
    X = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    Z = ColumnScaler("standard").fit(X).transform(X)
    assert np.all(Z[:, 1] == 0)
    with np.errstate(invalid="ignore"):
        printed = (X - X.mean(axis=0)) / X.std(axis=0)
    assert np.isnan(printed[:, 1]).all()


def circle(X):
    """The simple area: a circle round the origin through the farthest point."""
    return np.pi * np.max(np.sum(X**2, axis=1))


@covers("first_encounter FE1.7", "first_encounter X1.a", "first_encounter X1.b")
def test_X1_centring_and_scaling_shrink_the_circle():
    X = RNG.normal(size=(500, 2)) * [3, 0.3] + [10, 5]
    centred = X - X.mean(axis=0)
    scaled = ColumnScaler("standard").fit(X).transform(X)
    back = circle(scaled) * np.prod(X.std(axis=0))
    assert circle(X) > 2 * circle(centred) > 4 * back


@covers("first_encounter FE1.6", "first_encounter X1.e")
def test_FE1_6_logarithm_of_long_tails():
    X = RNG.exponential(size=(500, 1)) ** 2
    logged = ColumnScaler("log").fit(X)
    assert abs(stats.skew(logged.transform(X)[:, 0])) < 0.5 * stats.skew(X[:, 0])
    assert np.allclose(logged.inverse_transform(logged.transform(X)), X)
    assert np.all(np.isfinite(logged.transform([[-5.0]])))  # below everything that was seen


@covers("first_encounter FE1.8", "first_encounter T1.6")
@pytest.mark.parametrize("kind", ["standard", "whiten", "minmax", "log", "none"])
def test_FE1_8_steps_are_kept_in_order_and_undone(kind):
    X = RNG.normal(size=(60, 3)) + 4
    pipeline = Pipeline([("first", ColumnScaler("minmax")), ("second", ColumnScaler(kind))]).fit(X)
    assert np.allclose(pipeline.inverse_transform(pipeline.transform(X)), X)
    first, second = (step for _, step in pipeline.steps)
    assert np.array_equal(pipeline.transform(X), second.transform(first.transform(X)))
    swapped = Pipeline([("first", ColumnScaler(kind)), ("second", ColumnScaler("minmax"))]).fit(X)
    assert np.allclose(swapped.inverse_transform(swapped.transform(X)), X)
    commutes = kind in ("minmax", "none")  # the same step twice, and no step
    assert np.allclose(pipeline.transform(X), swapped.transform(X)) == commutes


@covers("first_encounter FE1.9", "first_encounter FE1.10", "first_encounter FE1.11",
        "first_encounter FE1.12")  # fmt: skip
def test_FE1_tables_of_mixed_types_with_question_marks(tmp_path):
    book = TermCounts().fit(["book book book book", "another book"])
    assert book.transform(["book book book book"]).toarray().max() == 4
    path = tmp_path / "t.csv"
    path.write_text("weight,colour,sick\n1.5,red,yes\n?,blue,no\n2.5,?,yes\n")
    data = read_table(path).data
    assert data["weight"].to_pylist() == [1.5, None, 2.5]
    layout = find_layout(data, "sick")
    assert [c.kind for c in layout.used] == ["numeric", "categorical"]
    recoded = data.set_column(1, "colour", pa.array(["7", "3", None]))
    other = find_layout(recoded, "sick").array(recoded)
    same = layout.array(data)[:, 1]
    assert np.array_equal(np.isnan(same), np.isnan(other[:, 1]))
    assert len(np.unique(same[np.isfinite(same)])) == 2


@covers("first_encounter FE1.13")
def test_FE1_13_pictures_of_one_size():
    pytest.importorskip("PIL")
    for shape in ((10, 30), (64, 64), (7, 7)):
        assert load_picture(RNG.uniform(size=shape), 16).shape == (16, 16)


@covers("first_encounter X1.f", "first_encounter T1.7")
def test_X1_f_noise_cannot_be_compressed():
    x = np.linspace(0, 4 * np.pi, 64)
    smooth = np.add.outer(np.sin(x), np.cos(x))
    pictures = [np.zeros((64, 64)), np.round(30 * smooth), RNG.integers(0, 256, (64, 64))]
    sizes = [len(zlib.compress(picture.astype(np.uint8).tobytes())) for picture in pictures]
    assert sizes[0] < sizes[1] < sizes[2]
    assert sizes[2] >= 64 * 64
    smooth, noise = (kg.PCA(0.99).fit(p.astype(float)).n_components_ for p in pictures[1:])
    assert smooth < 4
    assert noise > 30


@covers("first_encounter X1.d")
def test_X1_d_the_same_numbers_as_bits_are_no_longer_apart():
    rng = np.random.default_rng(1)
    car = np.repeat([0, 1], 100)
    weight = np.where(car == 0, rng.integers(2000, 3000, 200), rng.integers(1000, 2000, 200))
    line = kg.Ridge().fit(weight[:, None] / 1000.0, car)
    assert np.mean((line.predict(weight[:, None] / 1000.0) > 0.5) == car) > 0.99
    bits = ((weight[:, None] >> np.arange(4)) & 1).astype(float)  # the last bits tell nothing
    coded = kg.Ridge().fit(bits, car)
    assert np.mean((coded.predict(bits) > 0.5) == car) < 0.7


@covers("first_encounter FE2.1", "first_encounter FE2.2", "first_encounter FE2.3",
        "first_encounter T2.1", "first_encounter T2.2", "first_encounter T2.4",
        "first_encounter X2.c", "first_encounter E2.1")  # fmt: skip
def test_X2_c_random_views_look_gaussian_unless_there_are_clusters():
    d = 100
    views = projection_pursuit.pairs(d)
    assert len(views) == len({tuple(pair) for pair in views}) == 4950
    assert (views[:, 0] < views[:, 1]).all()
    X = RNG.laplace(size=(4000, d))
    w = RNG.normal(size=d)
    s = run(projection_pursuit.look(X, w))
    y = s["y"]
    assert s["counts"].sum() == 4000
    bars = [((y >= a) & (y < b)).sum() for a, b in itertools.pairwise(s["edges"])]
    assert np.abs(s["counts"] - bars).sum() <= 1  # the last bar holds its right end
    assert stats.kurtosis(X[:, 0]) > 2 > 0.5 > abs(stats.kurtosis(y))
    clusters = np.sign(RNG.normal(size=4000))[:, None] * 3 + RNG.normal(size=(4000, d))
    ones = np.abs(w) / np.linalg.norm(w)
    assert stats.kurtosis(clusters @ ones) < -1.5  # two humps stay two humps


@covers("first_encounter X2.a")
def test_X2_a_groups_ask_for_clusters_and_lines_for_fewer_dimensions():
    rng = np.random.default_rng(1)
    groups = rng.normal(size=(150, 2)) + 7 * np.eye(3)[np.arange(150) % 3, :2]
    t = rng.uniform(-5, 5, 150)
    line = np.c_[t, 2 * t] + 0.2 * rng.normal(size=(150, 2))
    how = {"criteria": ["gap", "silhouette", "compression"], "n_references": 5, "random_state": 0}
    found = kg.choose_k(groups, 5, **how)
    assert (found.k, found.structure) == (3, True)
    assert not kg.choose_k(line, 5, **how).structure
    fraction = [kg.PCA(1).fit(X).explained_variance_ratio_[0] for X in (line, groups)]
    assert fraction[0] > 0.99 > 0.8 > fraction[1]


@covers("first_encounter T2.3")
def test_T2_3_the_gaussian_has_most_entropy():
    entropies = [stats.norm().entropy(), stats.laplace(scale=np.sqrt(0.5)).entropy(),
                 stats.uniform(scale=np.sqrt(12)).entropy()]  # fmt: skip
    assert np.allclose(entropies, [1.4189, 1.3466, 1.2425], atol=1e-4)
    # the Gaussian of the same variance needs as many nats for each, so none has more entropy
    for law in (stats.norm(), stats.laplace(scale=np.sqrt(0.5)), stats.uniform(scale=np.sqrt(12))):
        x = law.ppf((np.arange(20_000) + 0.5) / 20_000)[:, None]
        assert np.isclose(-kg.GaussianMixture(1).fit(x).score(x), 1.4189, atol=2e-3)


@covers("first_encounter FE3.3", "first_encounter X3.c", "first_encounter T3.1",
        "first_encounter T3.2")  # fmt: skip
def test_X3_c_bias_falls_and_variance_rises():
    grid = np.linspace(-2.5, 2.5, 60)
    truth, rng = np.sin(grid), np.random.default_rng(0)
    found = {}
    for degree in (0, 3, 8):
        fits = []
        for _ in range(100):
            x = rng.uniform(-3, 3, 20)
            powers = np.vander(x / 3, degree + 1)
            line = kg.LinearRegression(fit_intercept=False)
            line.fit(powers, np.sin(x) + 0.3 * rng.normal(size=20))
            fits.append(line.predict(np.vander(grid / 3, degree + 1)))
        fits = np.array(fits)
        bias = np.mean((fits.mean(axis=0) - truth) ** 2)
        found[degree] = bias, np.mean(fits.var(axis=0))
        total = np.mean((fits - truth) ** 2)
        assert np.isclose(total, sum(found[degree]))
        noisy = np.mean((fits - truth - 0.3 * rng.normal(size=fits.shape)) ** 2)
        assert np.isclose(noisy, total + 0.09, rtol=0.1)  # new targets bring their own noise
    assert found[0][0] > 10 * found[3][0]
    assert found[8][1] > 2 * found[3][1]


@covers("first_encounter X3.d", "first_encounter T3.4")
def test_X3_d_a_memory_is_no_generalisation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    book = {tuple(row): label for row, label in zip(X[:150], y[:150], strict=True)}
    alice = np.array([book.get(tuple(row), 0) for row in X])
    assert np.all(alice[:150] == y[:150])
    right = np.mean((kg.Ridge().fit(X[:150], y[:150]).predict(X[150:]) > 0.5) == y[150:])
    bob = np.mean(y[150:] == np.bincount(y[:150]).argmax())
    assert right > np.mean(alice[150:] == y[150:]) + 0.2
    assert right > bob + 0.2
