"""
Low rank and sparse, separated
==============================

A matrix of rank two in which one entry in ten is wrong by much. Robust PCA writes it as a
low-rank part and a sparse one.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
low = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 60))
errors = np.where(rng.uniform(size=low.shape) < 0.1, 8 * rng.choice([-1, 1], low.shape), 0.0)
model = kg.RobustPCA().fit(low + errors)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
pictures = {"given": low + errors, "low-rank part": model.low_rank_, "sparse part": model.sparse_}
for ax, (name, image) in zip(axes, pictures.items()):
    ax.imshow(image, cmap="RdBu_r", vmin=-8, vmax=8)
    ax.set_title(name)
    ax.set_axis_off()
print(f"largest error of the low-rank part: {np.abs(model.low_rank_ - low).max():.1e}")
plt.show()
