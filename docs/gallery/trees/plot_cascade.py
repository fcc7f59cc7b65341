"""
A cascade finds faces
=====================

Of all windows of an image few show a face. Each stage of a cascade rejects more than half of
the others after some stumps, so most windows cost little. Yellow dots are the centres of windows
that are left after one stage, after three and after all of them, once with Haar features and once
with histograms of gradients. The faces are drawn at random; with `KILOGRAM_DATA` set to a folder
with `orl_faces.npz` they are photographs.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

SIDE, HEIGHT, WIDTH = 24, 132, 180
rng = np.random.default_rng(0)
v, u = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
photographs = Path(os.environ.get("KILOGRAM_DATA", "data")) / "orl_faces.npz"


def blob(x, y, a, b):
    """A soft ellipse with centre (x, y) and half-axes a and b."""
    return 0.5 - 0.5 * np.tanh(3 * (((u - x) / a) ** 2 + ((v - y) / b) ** 2 - 1))


def drawn_face():
    """A bright oval with two eyes, a nose and a mouth, in light from some side."""
    x, y, size = *rng.normal(0, 0.05, 2), rng.uniform(0.9, 1.1)
    face = 0.3 + 0.5 * blob(x, y, 0.75 * size, 0.95 * size)
    for side in (-1, 1):
        face -= 0.45 * blob(x + side * 0.32 * size, y - 0.25, 0.2, rng.uniform(0.09, 0.15))
    face -= 0.15 * blob(x, y + 0.15, 0.08, 0.2)
    face -= 0.4 * blob(x, y + 0.55 * size, rng.uniform(0.25, 0.4), 0.1)
    return face + rng.normal(0, 0.12) * u + rng.normal(0, 0.12) * v


def clutter(height, width):
    """Overlapping rectangles and ellipses of any brightness."""
    image = np.full((height, width), 0.5)
    rows, columns = np.mgrid[:height, :width]
    for _ in range(height * width // 120):
        y, x = rng.uniform(0, height), rng.uniform(0, width)
        a, b = rng.uniform(2, 14, 2)
        far = np.abs(rows - y) / a, np.abs(columns - x) / b
        inside = np.maximum(*far) < 1 if rng.random() < 0.5 else np.hypot(*far) < 1
        image[inside] = rng.uniform(0, 1)
    return image


def windows(image, step):
    """Rows of pixels of all windows, each of mean 0 and deviation 1, and their corners."""
    found = np.lib.stride_tricks.sliding_window_view(image, (SIDE, SIDE))[::step, ::step]
    corners = np.indices(found.shape[:2]).reshape(2, -1).T * step
    return standardised(found), corners


def standardised(images):
    rows = np.reshape(images, (-1, SIDE * SIDE)).astype(np.float32)
    return (rows - rows.mean(axis=1, keepdims=True)) / (rows.std(axis=1, keepdims=True) + 0.05)


if photographs.exists():  # cut to the face, every fourth pixel
    with np.load(photographs) as file:
        faces = file["X"][:, 10:106:4, :92:4] / 255
    faces = np.pad(faces, ((0, 0), (0, 0), (0, 1)), mode="edge")
else:
    faces = np.array([drawn_face() for _ in range(400)])

# %%
# Train on 350 faces, their mirror images and windows of clutter; hide 7 other faces in a scene.
noisy = [
    face[:, ::flip] + rng.normal(0, 0.05, face.shape) for face in faces[:350] for flip in (1, -1)
]
empty = [clutter(200, 200) + rng.normal(0, 0.05, (200, 200)) for _ in range(6)]
background = np.vstack([windows(image, 4)[0] for image in empty])
X = np.vstack([background, standardised(noisy)])
y = np.repeat([0, 1], [len(background), len(noisy)])
scene = clutter(HEIGHT, WIDTH)
places = [(6, 10), (8, 76), (14, 140), (54, 40), (60, 112), (100, 14), (98, 130)]
for (top, left), face in zip(places, faces[350::7]):
    scene[top : top + SIDE, left : left + SIDE] = face
scene += rng.normal(0, 0.05, scene.shape)
seen, corners = windows(scene, 2)

# %%
# The same cascade on two kinds of features.
maps = {
    "Haar": kg.HaarFeatures(shape=(SIDE, SIDE), step=2, max_features=1000, random_state=0),
    "HOG": kg.HOGFeatures(shape=(SIDE, SIDE), cell=4),
}
figure, axes = plt.subplots(2, 3, figsize=(10, 5.4), layout="constrained")
for row, (name, phi) in zip(axes, maps.items()):
    cascade = kg.CascadeClassifier(min_tpr=0.99, max_fpr=0.4, random_state=0)
    cascade.fit(phi.fit_transform(X), y)
    Z = phi.transform(seen)
    cost, stages = cascade.evaluation_cost(Z).mean(), len(cascade.stages_)
    # Scores tell the stage: a row rejected by stage s of S has one in (s - S, s - S + 1).
    passed = np.floor(cascade.decision_function(Z)) + stages
    for ax, after in zip(row, (1, 3, stages)):
        left = passed >= after
        ax.imshow(scene, cmap="gray", vmin=-0.2, vmax=1.2)
        ax.plot(*(corners[left, ::-1].T + SIDE / 2), ".", ms=3, color="#F0E442")
        ax.set_axis_off()
        ax.set_title(f"{name}, stage {after} of {stages}: {left.mean():.1%} left")
    stumps = sum(len(stage.stumps) for stage in cascade.stages_)
    print(f"{name}: {cost:.1f} of {stumps} stumps a window in the mean")
plt.show()
