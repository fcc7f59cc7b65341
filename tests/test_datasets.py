"""Generated data: shapes, equal seeds, and the property that each is made to show."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

import kilogram as kg

MAKERS = [kg.make_xor, kg.make_two_moons, kg.make_digit_glyphs, kg.make_spam, kg.make_vowels]


@pytest.mark.parametrize("make", MAKERS)
def test_equal_seeds_equal_rows(make):
    one, two, other = make(33, random_state=4), make(33, random_state=4), make(33, random_state=5)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])
    assert len(one[0]) == len(one[1]) == 33
    assert np.isfinite(one[0]).all()
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        make(0)


def test_xor_needs_both_columns():
    X, y = kg.make_xor(400, random_state=0)
    assert abs(kg.LogisticRegression().fit(X, y).score(X, y) - 0.5) < 0.15
    assert kg.SVC(gamma=1.0).fit(X, y).score(X, y) > 0.97
    network = kg.MLPClassifier((6,), activation="tanh", solver="lbfgs", random_state=0, alpha=0.1)
    assert network.set_params(max_iter=2000).fit(X, y).score(X, y) > 0.97


def test_moons_are_two_clusters_that_k_means_misses():
    X, y = kg.make_two_moons(300, noise=0.05, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [150, 150])
    split = kg.KMeans(2, random_state=0).fit(X).labels_
    assert max(np.mean(split == y), np.mean(split != y)) < 0.95
    assert kg.KNeighborsClassifier(3).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.99


def test_glyphs_are_images_of_digits():
    X, y = kg.make_digit_glyphs(300, random_state=0)
    assert X.shape == (300, 256)
    assert X.min() >= 0
    assert X.max() <= 1
    np.testing.assert_array_equal(np.unique(y), np.arange(10))
    still, digits = kg.make_digit_glyphs(20, noise=0.0, shift=0, random_state=0)
    images = (still > 0.4).reshape(20, 16, 16)
    order = np.argsort(digits, kind="stable")
    np.testing.assert_array_equal(images[order[::2]], images[order[1::2]])
    assert not images[:, [0, 15]].any()  # a margin around the glyph
    with pytest.raises(ValueError, match="shift must be an integer in"):
        kg.make_digit_glyphs(shift=9)


def test_spam_counts_words():
    X, y, words = kg.make_spam(500, random_state=0)
    assert X.dtype.kind == "i"
    assert X.shape[1] == len(words)
    assert y.mean() == pytest.approx(0.4)
    free = X[:, words.index("free")]
    assert free[y == 1].mean() > 5 * free[y == 0].mean()


def test_vowels_of_new_speakers_are_harder():
    X, y, speakers = kg.make_vowels(400, n_speakers=8, random_state=0)
    assert X.shape == (400, 24)
    assert len(np.unique(speakers)) == 8
    model = kg.KNeighborsClassifier(1)
    seen = cross_val_score(model, X, y, cv=KFold(8, shuffle=True, random_state=0)).mean()
    new = cross_val_score(model, X, y, groups=speakers, cv=GroupKFold(8)).mean()
    assert seen >= new > 0.6
    with pytest.raises(ValueError, match="noise must be a float"):
        kg.make_vowels(noise=-1.0)
