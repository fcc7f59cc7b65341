"""
One block, many blocks: the same model
======================================

Moments of blocks are added, so a fit in pieces is the fit of all rows, to rounding. The file
here is small; the call is the same for one larger than memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 10)) @ rng.standard_normal((10, 10))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.npy"
    np.save(path, X)
    whole = kg.PCA(10).fit(X)
    mapped = kg.PCA(10).fit(np.load(path, mmap_mode="r"))
pieces = kg.PCA(10)
for block in np.array_split(X, 7):
    pieces.partial_fit(block)

figure, ax = plt.subplots(layout="constrained")
for name, model in {"memory map": mapped, "seven blocks": pieces}.items():
    difference = np.abs(model.explained_variance_ / whole.explained_variance_ - 1)
    ax.semilogy(np.arange(1, 11), difference + 1e-17, "o-", label=name)
ax.set(xlabel="component", ylabel="relative difference of the variance", ylim=(1e-17, 1))
ax.legend(frameon=False)
plt.show()
