"""The colours of the classes stay apart for readers without red, green or blue cones."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

STYLE = Path(__file__).parents[2] / "book" / "frontend" / "src" / "style.css"

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
VISION = {
    "all cones": np.eye(3),
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def linear(color):
    """Linear RGB of #rrggbb."""
    c = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE Lab of linear RGB."""
    t = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def themes():
    """The variables of the light and of the dark theme."""
    blocks = re.findall(
        r":root(?:\[data-theme='dark'\])? \{\n(.*?)\n\}", STYLE.read_text("utf-8"), re.S
    )
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks[:2])
    return {"light": light, "dark": dark}


@pytest.mark.parametrize(("theme", "first", "all_of_them"), [("light", 26, 21), ("dark", 26, 25)])
def test_classes_can_be_told_apart(theme, first, all_of_them):
    colors = [themes()[theme][f"c{i}"] for i in range(8)]
    for sight, matrix in VISION.items():
        seen = [lab(np.asarray(matrix) @ linear(color)) for color in colors]
        for i, j in combinations(range(8), 2):
            least = first if j < 4 else all_of_them
            assert np.linalg.norm(seen[i] - seen[j]) >= least, (sight, i, j)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_classes_stand_out_from_the_ground(theme):
    """WCAG's ratio of luminances; 2.5 rather than 3, since every mark has an outline too."""
    found = themes()[theme]
    ground = TO_XYZ[1] @ linear(found["plot"])
    for i in range(8):
        mark = TO_XYZ[1] @ linear(found[f"c{i}"])
        low, high = sorted([ground, mark])
        assert (high + 0.05) / (low + 0.05) >= 2.5, i
