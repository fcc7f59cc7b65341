"""
A map from distances
====================

Multidimensional scaling places eight cities so that their distances (by road, in km) come out
right. Distances do not know where north is, so the map is turned until Hamburg is straight above
München, and mirrored if Berlin is not to the east.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

cities = "Berlin", "Hamburg", "Köln", "Frankfurt", "Stuttgart", "München", "Leipzig", "Dresden"
roads = """
0 289 573 545 632 585 190 193
289 0 427 493 655 775 392 501
573 427 0 190 368 573 496 566
545 493 190 0 204 392 390 463
632 655 368 204 0 233 477 508
585 775 573 392 233 0 430 460
190 392 496 390 477 430 0 120
193 501 566 463 508 460 120 0
"""
distances = np.array([row.split() for row in roads.strip().splitlines()], dtype=float)
points = kg.ClassicalMDS(2, metric="precomputed").fit_transform(distances)
north = points[1] - points[5]  # from München to Hamburg
turn = np.array([[north[1], -north[0]], [north[0], north[1]]]) / np.linalg.norm(north)
points = points @ turn.T
points[:, 0] *= np.sign(points[0, 0] - points[2, 0])  # Berlin is east of Köln
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot(*points.T, "o", color="#0072B2")
for name, place in zip(cities, points):
    ax.annotate(name, place, (5, 4), textcoords="offset points")
ax.set(aspect="equal", xlabel="km to the east", ylabel="km to the north")
ax.margins(0.2)
plt.show()
