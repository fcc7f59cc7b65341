"""First encounter, chapters 2 and 3: informative projections, two-part codes; slides 5: SGD."""

from __future__ import annotations

import numpy as np
import pytest
from book_checks import covers

import kilogram as kg
from kilogram.textbook import projection_pursuit, svm_sgd, two_part_codes
from kilogram.textbook.projection_pursuit import INDICES, pursue
from kilogram.textbook.state import run

SIDE, EDGE, SPOTS = 16, 8, [103, 245]


def hidden(index, d=6, n=1000):
    """Gaussian rows with one direction of small variance that the index should like."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.linspace(3, 1, d)
    if index == "bimodality":
        X[:, -1] = 0.5 * rng.choice([-1, 1], n) + 0.1 * rng.standard_normal(n)
    else:
        X[:, -1] = 0.3 * rng.laplace(size=n)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X @ Q.T, Q[:, -1]


def found(X, index):
    return run(pursue(X, INDICES[index], np.random.default_rng(1), starts=3))


@covers("first_encounter FE2.4")
def test_FE2_4_the_indices_have_their_known_values():
    rng = np.random.default_rng(0)
    y = np.stack([rng.standard_normal(200_000), rng.laplace(size=200_000)], axis=1)
    assert np.allclose(projection_pursuit.kurtosis(y), [0, 3], atol=0.25)
    assert np.allclose(projection_pursuit.bimodality(y), [1 / 3, 1 / 6], atol=0.01)
    line = np.linspace(-1, 1, 2001)[:, None]
    assert projection_pursuit.bimodality(line)[0] == pytest.approx(5 / 9, abs=1e-3)
    assert projection_pursuit.bimodality(np.array([[0.0], [7.0], [7.0]]))[0] == pytest.approx(1)


@covers("first_encounter FE2.4")
def test_FE2_4_each_index_finds_its_direction():
    X, heavy = hidden("kurtosis")
    assert abs(found(X, "kurtosis")["w"] @ heavy) > 0.99
    first = np.ravel(kg.PCA(1).fit(X).components_)
    assert abs(found(X, "variance")["w"] @ first) > 0.9999
    flat = np.column_stack([X, X[:, 0]])  # a direction without variance is no candidate
    assert np.isfinite(found(flat, "kurtosis").objective)
    with pytest.raises(ValueError, match="all rows of X are equal"):
        found(np.ones((5, 2)), "kurtosis")


@covers("first_encounter FE2.4")
def test_FE2_4_the_search_never_loses_what_it_has():
    X, _ = hidden("kurtosis")
    states = list(pursue(X, INDICES["kurtosis"], np.random.default_rng(2), starts=4))[1:]
    values = [s.objective for s in states]
    assert values == sorted(values)
    for s in states:
        assert np.linalg.norm(s["w"]) == pytest.approx(1)
        assert INDICES["kurtosis"](s["y"][:, None])[0] == pytest.approx(s.objective)


@covers("first_encounter X2.e")
def test_X2_e_pursuit_finds_two_modes_where_pca_does_not():
    X, modes = hidden("bimodality")
    s = found(X, "bimodality")
    assert abs(s["w"] @ modes) > 0.99
    first = np.ravel(kg.PCA(1).fit(X).components_)
    assert abs(first @ modes) < 0.1
    assert s.objective > 0.8 > 0.4 > INDICES["bimodality"]((X @ first)[:, None])[0]


@covers("first_encounter E2.2")
def test_E2_2_light_tails_are_found_too():
    """A uniform and a Gaussian source: the search for heavy tails misses the one worth finding."""
    rng = np.random.default_rng(3)
    S = np.c_[rng.standard_normal(4000), rng.uniform(-np.sqrt(3), np.sqrt(3), 4000)]
    X = S @ np.array([[1.0, 0.5], [-0.4, 1.0]])
    assert projection_pursuit.kurtosis(S)[1] == pytest.approx(-1.2, abs=0.1)
    heavy = found(X, "kurtosis")
    assert abs(np.corrcoef(heavy["y"], S[:, 1])[0, 1]) < 0.5
    sources = kg.FastICA(random_state=0).fit_transform(X)
    assert np.abs(np.corrcoef(S[:, 1], sources.T)[0, 1:]).max() > 0.99


def structured():
    """White above, black below, and two pixels that follow no rule."""
    pixels = np.repeat((np.arange(SIDE) >= EDGE).astype(int)[:, None], SIDE, axis=1)
    pixels.flat[SPOTS] ^= 1
    return pixels


def noise(seed=0):
    return np.random.default_rng(seed).integers(2, size=(SIDE, SIDE))


MODELS = [(), *((row,) for row in range(1, SIDE)), (EDGE, 12)]


@covers("first_encounter FE3.1", "first_encounter X3.a", "first_encounter D.16")
def test_X3_a_rules_and_two_corrections_are_cheaper_than_pixels():
    s = run(two_part_codes.picture(structured(), MODELS))
    assert MODELS[int(s["best"])] == (EDGE,)
    assert s["corrections"].tolist() == SPOTS
    total = s["L"] + s["c"]
    assert total[0] == 256
    assert total[1 + int(s["best"])] == total.min() == 64 + 1 + 5 + 9 + 2 * 8
    assert total[-1] > total.min()  # an edge too many costs its rule and a row of failures


@covers("first_encounter FE3.1", "first_encounter X3.a")
def test_X3_a_blank_pictures_compress_and_noise_does_not():
    blank = run(two_part_codes.picture(np.zeros((SIDE, SIDE), int), MODELS))
    assert MODELS[int(blank["best"])] == ()
    assert len(blank["corrections"]) == 0
    for seed in range(5):
        s = run(two_part_codes.picture(noise(seed), MODELS))
        assert int(s["best"]) == -1  # raw
        assert (s["L"] + s["c"]).min() == 256


@covers("first_encounter FE3.1")
@pytest.mark.parametrize("pixels", [structured(), noise(), noise(3)[:7]])
@pytest.mark.parametrize("edges", [(), (EDGE,), (0, 3)])
def test_FE3_1_the_receiver_gets_the_picture_back(pixels, edges):
    wrong = two_part_codes.failures(pixels, edges)
    assert np.array_equal(two_part_codes.decode(pixels.shape, edges, wrong), pixels)


@covers("first_encounter FE3.2")
def test_FE3_2_guessing_is_perfect_on_blank_chance_on_noise_between_on_pictures():
    def dollars(pixels):
        return int(run(two_part_codes.guessing(pixels))["dollars"])

    blank, picture = dollars(np.zeros((SIDE, SIDE), int)), dollars(structured())
    random = np.mean([dollars(noise(seed)) for seed in range(20)])
    assert blank == SIDE * SIDE
    assert abs(random - 128) < 4 * 8 / np.sqrt(20)  # four standard errors of a fair coin
    assert random + 60 < picture < blank


@covers("first_encounter X3.b", "first_encounter D.16")
def test_X3_b_two_pixels_go_raw_and_many_pictures_pay_for_large_models():
    raw, rule, large = (0.0, 256.0), (70.0, 25.0), (1e6, 5.0)
    L, c = np.transpose([raw, rule, large])
    N = np.array([2 / 256, 1, 1e3, 1e9])  # two pixels, a picture, ... a thousand million
    s = run(two_part_codes.two_part(L, c, N))
    assert s["best"].tolist() == [0, 1, 1, 2]
    assert np.allclose(s["bits"], [2, 95, 70 + 25e3, 1e6 + 5e9])
    even = two_part_codes.break_even(L[1:], c[1:])
    assert even == pytest.approx((1e6 - 70) / 20)
    around = run(two_part_codes.two_part(L, c, even * np.array([0.99, 1.01])))
    assert around["best"].tolist() == [1, 2]
    assert two_part_codes.break_even([0, 10], [3, 3]) == np.inf


@covers("first_encounter T3.3", "first_encounter D.16")
def test_T3_3_the_best_context_grows_with_the_data():
    """Bits that depend on the four before them, less and less: more data, longer contexts."""
    rng = np.random.default_rng(0)
    pull = np.array([0.9, 0.7, -0.6, 0.45])
    bits, u = [0, 1, 0, 0], rng.random(60_000)
    for x in u:
        field = sum(p * (2 * b - 1) for p, b in zip(pull, bits[:-5:-1], strict=True))
        bits.append(int(x < 1 / (1 + np.exp(-field))))
    orders = list(range(8))
    sizes = [30, 300, 3000, 60_000]
    runs = [run(two_part_codes.contexts(np.array(bits[:n]), orders)) for n in sizes]
    best = [int(s["best"]) for s in runs]
    assert best == sorted(best)
    assert best[0] < best[2]
    assert best[-1] == 4
    for s in runs:  # a longer context never describes the data worse: its table does the paying
        assert (np.diff(s["c"]) < 1e-6).all()
    fair = run(two_part_codes.contexts(rng.integers(2, size=20_000), orders))
    assert int(fair["best"]) == 0


@covers("slides B5.12")
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_B5_12_one_row_at_a_time_reaches_the_regularised_optimum(loss):
    rng = np.random.default_rng(0)
    n, alpha = 400, 0.05
    X = rng.standard_normal((n, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.7 * rng.standard_normal(n) > 0, 1, -1)
    online = kg.OnlineClassifier(
        loss=loss, alpha=alpha, eta0=0.5, power=0.75, average=True, fit_intercept=False,
        max_iter=200, tol=0, random_state=0,
    )  # fmt: skip
    w = np.ravel(online.fit(X, y).coef_)
    exact = (
        kg.LinearSVC(C=1 / (n * alpha), loss="hinge", fit_intercept=False, tol=1e-8)
        if loss == "hinge"
        else kg.LogisticRegression(C=1 / (n * alpha), fit_intercept=False)
    )
    best = np.ravel(exact.fit(X, y).coef_)

    def cost(v):
        f = y * (X @ v)
        loss_of = np.maximum(0, 1 - f) if loss == "hinge" else np.logaddexp(0, -f)
        return loss_of.mean() + alpha / 2 * v @ v

    assert cost(best) <= cost(w) + 1e-9
    assert cost(w) < cost(best) + 1e-3
    if loss == "hinge":
        reference = run(svm_sgd.linear_svm(X, y, alpha, 60, rng))["w"][1:]
        assert np.allclose(reference, best, atol=0.1)
