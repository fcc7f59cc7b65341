"""NIST's statistical reference data sets for non-linear regression: all 27, with both starts.

`nist.json` has x, y, two starts, the certified parameters, their certified standard deviations and
the certified residual sum of squares of each. All values are those that NIST publishes.
"""

import json
from pathlib import Path

import numpy as np


def misra1a(x, b1, b2):
    return b1 * (1 - np.exp(-b2 * x))


def misra1b(x, b1, b2):
    return b1 * (1 - (1 + b2 * x / 2) ** -2)


def misra1c(x, b1, b2):
    return b1 * (1 - (1 + 2 * b2 * x) ** -0.5)


def misra1d(x, b1, b2):
    return b1 * b2 * x / (1 + b2 * x)


def danwood(x, b1, b2):
    return b1 * x**b2


def chwirut(x, b1, b2, b3):
    return np.exp(-b1 * x) / (b2 + b3 * x)


def lanczos(x, b1, b2, b3, b4, b5, b6):
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-b4 * x) + b5 * np.exp(-b6 * x)


def gauss(x, b1, b2, b3, b4, b5, b6, b7, b8):
    return (
        b1 * np.exp(-b2 * x)
        + b3 * np.exp(-((x - b4) ** 2) / b5**2)
        + b6 * np.exp(-((x - b7) ** 2) / b8**2)
    )


def nelson(x, b1, b2, b3):
    """The logarithm of the response."""
    return b1 - b2 * x[:, 0] * np.exp(-b3 * x[:, 1])


def enso(x, b1, b2, b3, b4, b5, b6, b7, b8, b9):
    turn = 2 * np.pi * x
    return (
        b1
        + b2 * np.cos(turn / 12)
        + b3 * np.sin(turn / 12)
        + b5 * np.cos(turn / b4)
        + b6 * np.sin(turn / b4)
        + b8 * np.cos(turn / b7)
        + b9 * np.sin(turn / b7)
    )


def eckerle4(x, b1, b2, b3):
    return b1 / b2 * np.exp(-0.5 * ((x - b3) / b2) ** 2)


def kirby2(x, b1, b2, b3, b4, b5):
    return (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2)


def bennett5(x, b1, b2, b3):
    return b1 * (b2 + x) ** (-1 / b3)


def mgh17(x, b1, b2, b3, b4, b5):
    return b1 + b2 * np.exp(-x * b4) + b3 * np.exp(-x * b5)


def rat42(x, b1, b2, b3):
    return b1 / (1 + np.exp(b2 - b3 * x))


def rat43(x, b1, b2, b3, b4):
    return b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4)


def mgh09(x, b1, b2, b3, b4):
    return b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4)


def mgh10(x, b1, b2, b3):
    return b1 * np.exp(b2 / (x + b3))


def roszman1(x, b1, b2, b3, b4):
    return b1 - b2 * x - np.arctan(b3 / (x - b4)) / np.pi


def cubic_ratio(x, b1, b2, b3, b4, b5, b6, b7):
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


FORMULAS = {
    "Misra1a": misra1a, "Misra1b": misra1b, "Misra1c": misra1c, "Misra1d": misra1d,
    "Chwirut1": chwirut, "Chwirut2": chwirut, "DanWood": danwood, "Nelson": nelson,
    "Lanczos1": lanczos, "Lanczos2": lanczos, "Lanczos3": lanczos,
    "Gauss1": gauss, "Gauss2": gauss, "Gauss3": gauss,
    "Kirby2": kirby2, "Hahn1": cubic_ratio, "Thurber": cubic_ratio, "MGH17": mgh17,
    "MGH09": mgh09, "MGH10": mgh10, "Roszman1": roszman1, "ENSO": enso, "Eckerle4": eckerle4,
    "Rat42": rat42, "Rat43": rat43, "Bennett5": bennett5, "BoxBOD": misra1a,
}  # fmt: skip


def _problems():
    found = json.loads(Path(__file__).with_name("nist.json").read_text())
    for name, f in FORMULAS.items():
        one = found[name]
        x, y = np.array(one["x"], dtype=float), np.array(one["y"], dtype=float)
        one["f"], one["X"] = f, x.reshape(len(y), -1)
        one["y"] = np.log(y) if name == "Nelson" else y
        yield name, one


#: name -> f, X, y, starts, params, errors, squares
PROBLEMS = dict(_problems())
