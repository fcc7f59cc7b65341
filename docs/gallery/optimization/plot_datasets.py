"""
Generated data
==============

The data sets that come with Kilogram: XOR, two moons and digits made of strokes.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, make in zip(axes, (kg.make_xor, kg.make_two_moons)):
    X, y = make(200, random_state=0)
    ax.scatter(*X.T, s=14, c=np.where(y == y[0], "#0072B2", "#D55E00"))
    ax.set_title(make.__name__)
X, y = kg.make_digit_glyphs(random_state=0)[:2]
side = int(np.sqrt(X.shape[1]))
axes[2].imshow(
    np.hstack([X[np.flatnonzero(y == d)[0]].reshape(side, -1) for d in np.unique(y)[:5]]),
    cmap="gray_r",
)
axes[2].set_title("make_digit_glyphs")
axes[2].set_axis_off()
plt.show()
