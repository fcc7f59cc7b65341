"""
Functions drawn from kernels
============================

A kernel says which functions are likely. Each panel has three draws from a Gaussian process
with that kernel: smooth, rough, straight, or a sum.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

x = np.linspace(0, 5, 200)[:, None]
kernels = {
    "Gaussian": kg.Gaussian(sigma=0.7),
    "Matern 3/2": kg.Matern(nu=1.5, length_scale=0.7),
    "Laplacian": kg.Laplacian(),
    "Linear + Gaussian": 0.5 * kg.Linear() + 0.3 * kg.Gaussian(sigma=0.4),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
rng = np.random.default_rng(1)
for ax, (name, kernel) in zip(axes, kernels.items()):
    factor = np.linalg.cholesky(kernel(x) + 1e-8 * np.eye(200))
    for colour in ("#0072B2", "#D55E00", "#009E73"):
        ax.plot(x, factor @ rng.standard_normal(200), color=colour, lw=1.4)
    ax.set(title=name, xlabel="x")
plt.show()
