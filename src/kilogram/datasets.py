"""Small generated data sets that stand in for those of the texts: no downloads, no licences.

Every function returns arrays and takes `random_state`; equal seeds give equal rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kilogram.base.constraints import Integer, Real, check_parameter
from kilogram.base.random_state import as_generator

Array = np.ndarray[Any, np.dtype[Any]]
SIDE = 16  # pixels of a glyph: digits of 10 x 14 with room to shift by 3

#: Digits of 5 x 7 pixels, one row of a digit after the other.
_FONT = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111",
    "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)

#: Words with their mean number in an ordinary message and in an advertisement.
_WORDS = {
    "meeting": (0.9, 0.05),
    "report": (0.7, 0.05),
    "tomorrow": (0.6, 0.1),
    "thanks": (0.8, 0.15),
    "project": (0.7, 0.05),
    "lunch": (0.3, 0.02),
    "question": (0.4, 0.1),
    "the": (4.0, 2.5),
    "you": (1.2, 2.4),
    "your": (0.6, 2.0),
    "free": (0.1, 1.3),
    "offer": (0.1, 1.0),
    "win": (0.03, 0.7),
    "money": (0.08, 0.9),
    "click": (0.05, 0.9),
    "order": (0.2, 0.8),
    "credit": (0.05, 0.5),
    "now": (0.4, 1.0),
}

#: Mean frequencies (Hz) of the first three resonances of five vowels.
_FORMANTS = {
    "a": (730.0, 1090.0, 2440.0),
    "e": (530.0, 1840.0, 2480.0),
    "i": (270.0, 2290.0, 3010.0),
    "o": (570.0, 840.0, 2410.0),
    "u": (300.0, 870.0, 2240.0),
}
_WIDTHS = (60.0, 90.0, 150.0)  # of the resonances, Hz


def make_xor(
    n_samples: int = 200, *, noise: float = 0.3, random_state: Any = None
) -> tuple[Array, Array]:
    """Four clouds around (+-1, +-1); the class is whether the signs differ (exclusive or).

    No line separates the classes, and each column alone says nothing about them.

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.3
        Standard deviation of the clouds; 0 gives the corners themselves.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from kilogram import make_xor
    >>> X, y = make_xor(100, noise=0.0)
    >>> bool(((X[:, 0] != X[:, 1]) == y).all())
    True
    """
    n, rng = _checked(n_samples, noise, random_state)
    corner = _shuffled(n, 4, rng)
    signs = np.stack([np.where(corner < 2, -1.0, 1.0), np.where(corner % 2, 1.0, -1.0)], axis=1)
    y = (signs[:, 0] != signs[:, 1]).astype(np.int64)
    return signs + noise * rng.standard_normal((n, 2)), y


def make_two_moons(
    n_samples: int = 200, *, noise: float = 0.1, random_state: Any = None
) -> tuple[Array, Array]:
    """Two interleaved half circles of radius 1, one class or cluster each.

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.1
        Standard deviation around the half circles.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 for the upper moon, 1 for the lower one.

    Examples
    --------
    >>> from kilogram import SVC, make_two_moons
    >>> X, y = make_two_moons(random_state=0)
    >>> bool(SVC(gamma=2.0).fit(X, y).score(X, y) > 0.98)
    True
    """
    n, rng = _checked(n_samples, noise, random_state)
    y = _shuffled(n, 2, rng)
    angle = np.pi * rng.random(n)
    up = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.where(y[:, None] == 0, up, [1.0, 0.5] - up)
    return X + noise * rng.standard_normal((n, 2)), y


def make_digit_glyphs(
    n_samples: int = 500, *, noise: float = 0.15, shift: int = 1, random_state: Any = None
) -> tuple[Array, Array]:
    """Digits as images of 16 x 16 grey values, moved about, of varying ink, with noise.

    Parameters
    ----------
    n_samples : int, default=500
    noise : float, default=0.15
        Standard deviation of the grey values, which stay between 0 and 1.
    shift : int, default=1
        Largest displacement in pixels, in both directions; 1 at most vertically.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 256)
        ``X[i].reshape(16, 16)`` is an image.
    y : ndarray of shape (n_samples,)
        Digit of each image.

    Examples
    --------
    >>> from kilogram import KNeighborsClassifier, make_digit_glyphs
    >>> X, y = make_digit_glyphs(400, random_state=0)
    >>> model = KNeighborsClassifier(3).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.85)
    True
    """
    n, rng = _checked(n_samples, noise, random_state)
    check_parameter("shift", shift, Integer(0, 3))
    y = _shuffled(n, 10, rng)
    images = np.zeros((n, SIDE, SIDE))
    right = rng.integers(-shift, shift + 1, n)
    down = rng.integers(-min(shift, 1), min(shift, 1) + 1, n)
    shapes = np.stack([_glyph(text) for text in _FONT])
    for i in range(n):
        top, left = 1 + down[i], 3 + right[i]
        images[i, top : top + 14, left : left + 10] = shapes[y[i]]
    ink = 0.7 + 0.3 * rng.random((n, 1))
    X = ink * images.reshape(n, -1) + noise * rng.standard_normal((n, SIDE * SIDE))
    return np.clip(X, 0.0, 1.0), y


def make_spam(n_samples: int = 400, *, random_state: Any = None) -> tuple[Array, Array, list[str]]:
    """Word counts of messages, 40 percent of them spam.

    The counts are Poisson with a rate of the word and the class, times the length of the message.

    Parameters
    ----------
    n_samples : int, default=400
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 18)
        How often each word occurs.
    y : ndarray of shape (n_samples,)
        1 for spam.
    words : list of str
        The names of the columns.

    Examples
    --------
    >>> from kilogram import MultinomialNB, make_spam
    >>> X, y, words = make_spam(random_state=0)
    >>> bool(MultinomialNB().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9)
    True
    """
    n, rng = _checked(n_samples, 0.0, random_state)
    y = (_shuffled(n, 5, rng) < 2).astype(np.int64)
    rates = np.array(list(_WORDS.values())).T
    length = rng.gamma(4.0, 0.25, (n, 1))
    return rng.poisson(length * rates[y]).astype(np.int64), y, list(_WORDS)


def make_vowels(
    n_samples: int = 300, *, n_speakers: int = 10, noise: float = 0.3, random_state: Any = None
) -> tuple[Array, Array, Array]:
    """Spectra of spoken vowels: five classes, several speakers, log energies of 24 bands.

    A vowel is a tone of its speaker's pitch, filtered by three resonances that scale with the
    speaker. Rows of one speaker are alike: evaluate by groups of speakers.

    Parameters
    ----------
    n_samples : int, default=300
    n_speakers : int, default=10
    noise : float, default=0.3
        Standard deviation of the log energies.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 24)
    y : ndarray of shape (n_samples,)
        "a", "e", "i", "o" or "u".
    speakers : ndarray of shape (n_samples,)
        Number of the speaker of each row.

    Examples
    --------
    >>> from kilogram import LinearDiscriminantAnalysis, make_vowels
    >>> X, y, speakers = make_vowels(random_state=0)
    >>> seen = speakers < 7
    >>> model = LinearDiscriminantAnalysis().fit(X[seen], y[seen])
    >>> bool(model.score(X[~seen], y[~seen]) > 0.9)
    True
    """
    n, rng = _checked(n_samples, noise, random_state)
    check_parameter("n_speakers", n_speakers, Integer(1))
    names = np.array(list(_FORMANTS))
    each = _shuffled(n, 5 * n_speakers, rng)
    code, speaker = each % 5, each // 5
    size = rng.uniform(0.9, 1.15, n_speakers)  # a short vocal tract has high resonances
    pitch = rng.uniform(90.0, 220.0, n_speakers)
    edges = 700.0 * np.expm1(np.linspace(0.0, np.log1p(4000.0 / 700.0), 25))
    X = np.empty((n, 24))
    for i in range(n):
        tone = pitch[speaker[i]] * rng.uniform(0.95, 1.05) * np.arange(1, 60)
        peaks = np.array(_FORMANTS[names[code[i]]]) * size[speaker[i]] * rng.uniform(0.97, 1.03, 3)
        energy = _resonances(tone, peaks) / tone
        bands, _ = np.histogram(tone, bins=edges, weights=energy)
        smooth = np.convolve(bands, [0.25, 0.5, 0.25], mode="same")
        X[i] = np.log(smooth + 1e-6)
    return X + noise * rng.standard_normal(X.shape), names[code], speaker


def _checked(n_samples: int, noise: float, random_state: Any) -> tuple[int, np.random.Generator]:
    check_parameter("n_samples", n_samples, Integer(1))
    check_parameter("noise", noise, Real(0, closed="left"))
    return int(n_samples), as_generator(random_state)


def _shuffled(n: int, k: int, rng: np.random.Generator) -> Array:
    """n numbers below k, each about equally often, in random order."""
    return rng.permutation(np.arange(n) % k)


def _glyph(text: str) -> Array:
    """5 x 7 pixels as 10 x 14 grey values with soft edges."""
    small = np.array([[float(pixel) for pixel in row] for row in text.split()])
    large = np.kron(small, np.ones((2, 2)))
    padded = np.pad(large, 1)
    near = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return 0.7 * large + 0.075 * near


def _resonances(f: Array, peaks: Array) -> Array:
    """The energy that three resonances pass at frequencies f."""
    passed = np.ones_like(f)
    for peak, width in zip(peaks, _WIDTHS, strict=True):
        passed = passed / ((1.0 - (f / peak) ** 2) ** 2 + (width * f / peak**2) ** 2)
    return passed
