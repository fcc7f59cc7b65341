"""Slides, lecture 5: speeches and parties, the gap of two models; First Encounter, chapter 3."""

from __future__ import annotations

import numpy as np
from book_checks import covers
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import kilogram as kg
from kilogram.evaluation import learning_curve, make_splits

PARTIES = ("cducsu", "fdp", "gruene", "linke", "spd")


def speeches(seed=0, per_party=60, speakers=6):
    """Texts with a weak vocabulary of the party and a strong one of the speaker."""
    rng = np.random.default_rng(seed)
    common = [f"wort{k}" for k in range(600)]
    texts, party, who = [], [], []
    for p, name in enumerate(PARTIES):
        for k in range(per_party):
            speaker = k % speakers
            words = list(rng.choice(common, 40))
            words += [f"partei{p}_{w}" for w in rng.integers(0, 60, 2)]
            words += [f"stimme{p}_{speaker}_{w}" for w in rng.integers(0, 4, 3)]
            texts.append(" ".join(rng.permutation(words)))
            party.append(name)
            who.append(f"{name} {speaker}")
    return np.array(texts), np.array(party), np.array(who)


def debates(seed=0, per_party=160):
    """Forty words on one of eight topics; a party says them with a habit of its own."""
    rng = np.random.default_rng(seed)
    topics, habit = rng.dirichlet(np.full(300, 0.1), 8), np.exp(0.3 * rng.normal(size=(5, 300)))
    texts = []
    for p in range(len(PARTIES)):
        for _ in range(per_party):
            words = topics[rng.integers(0, 8)] * habit[p]
            said = rng.choice(300, 40, p=words / words.sum())
            texts.append(" ".join(f"wort{w}" for w in said))
    return np.array(texts), np.repeat(PARTIES, per_party)


def fitted(model, texts, party, train):
    return make_pipeline(TfidfVectorizer(), model).fit(texts[train], party[train])


@covers("slides B5.7", "slides B5.8")
def test_B5_8_the_richer_model_is_better_and_overfits_more():
    texts, party = debates()
    ((train, test),) = make_splits(party, "holdout", test_size=0.2, classes=True)
    assert round(8736 / (34943 + 8736), 2) == len(test) / len(party) == 0.2
    found = {}
    for model in (kg.NearestCentroid(), kg.OnlineClassifier(random_state=0)):
        pipe = fitted(model, texts, party, train)
        found[type(model).__name__] = (
            pipe.score(texts[train], party[train]),
            pipe.score(texts[test], party[test]),
        )
    simple, rich = found["NearestCentroid"], found["OnlineClassifier"]
    assert rich[1] > simple[1] > 0.3  # chance is 0.2
    assert rich[0] - rich[1] > simple[0] - simple[1]


@covers("slides B5.11")
def test_B5_11_speakers_in_both_parts_flatter():
    """The printed cut is by speech, unseeded; the honest one keeps a speaker in one part."""
    texts, party, who = speeches(1)
    scores = {}
    for kind in ("random", "grouped"):
        splits = make_splits(party, kind, folds=5, classes=True, groups=who, seed=0)
        again = make_splits(party, kind, folds=5, classes=True, groups=who, seed=0)
        assert all(np.array_equal(a[1], b[1]) for a, b in zip(splits, again, strict=True))
        found = []
        for train, test in splits:
            pipe = fitted(SGDClassifier(random_state=0), texts, party, train)
            found.append(pipe.score(texts[test], party[test]))
            if kind == "grouped":
                assert not set(who[train]) & set(who[test])
        scores[kind] = np.mean(found)
    assert scores["random"] > scores["grouped"] + 0.1


@covers("first_encounter FE3.4")
def test_FE3_4_more_rows_pay_for_more_complexity():
    rng = np.random.default_rng(0)
    best = []
    for n in (15, 60, 400):
        errors = np.zeros((15, 9))
        for draw in range(15):
            x = rng.uniform(-3, 3, (n, 1))
            y = np.sin(1.5 * x[:, 0]) + 0.5 * rng.normal(size=n)
            new = np.linspace(-3, 3, 200)[:, None]
            for degree in range(9):
                model = make_pipeline(PolynomialFeatures(degree), kg.LinearRegression()).fit(x, y)
                miss = (model.predict(new) - np.sin(1.5 * new[:, 0])) ** 2
                errors[draw, degree] = np.mean(miss)
        best.append(int(np.argmin(np.median(errors, axis=0))))
    assert best[0] < best[2]
    assert best == sorted(best)
    rigid = learning_curve(kg.LinearRegression(), x, y, scoring="r2")
    supple = learning_curve(
        make_pipeline(PolynomialFeatures(8), kg.LinearRegression()), x, y, scoring="r2"
    )
    # the rigid model has learnt all it can from few rows, the supple one has not
    assert supple.means[-1] - supple.means[0] > rigid.means[-1] - rigid.means[0]


@covers("first_encounter E3.1")
def test_E3_1_the_mean_of_unstable_fits_is_not_about_right():
    """Degree 12 on 20 points: a few wild fits carry the mean away; the median stays."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0.5, 5.8, 30)[:, None]
    fits = []
    for _ in range(200):
        x = rng.uniform(0, 6, (20, 1)) / 3 - 1
        y = np.sin(3 * (x[:, 0] + 1)) + 0.3 * rng.normal(size=20)
        model = make_pipeline(PolynomialFeatures(12), kg.LinearRegression()).fit(x, y)
        fits.append(model.predict(grid / 3 - 1))
    truth = np.sin(grid[:, 0])
    mean, median = np.mean(fits, axis=0), np.median(fits, axis=0)
    assert np.mean((median - truth) ** 2) < 0.02
    assert np.mean((mean - truth) ** 2) > 10 * np.mean((median - truth) ** 2)
