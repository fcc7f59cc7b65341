"""
Sine and cosine depend on each other
====================================

They are uncorrelated, but one determines the other up to a sign. Kernel canonical correlation
finds functions of both that agree.
"""

import matplotlib.pyplot as plt
import numpy as np

import kilogram as kg

t = np.random.default_rng(0).uniform(0, 2 * np.pi, (400, 1))
X, Y = np.sin(t), np.cos(t)
model = kg.KernelCCA(1, kernel=kg.Gaussian(sigma=1.0), alpha=1e-3, random_state=0).fit(X, Y)
U, V = model.transform(X, Y)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].scatter(X, Y, c=t[:, 0], cmap="twilight", s=12)
axes[0].set(xlabel="sine", ylabel="cosine", title=f"correlation {np.corrcoef(X.T, Y.T)[0, 1]:.2f}")
axes[1].scatter(U, V, c=t[:, 0], cmap="twilight", s=12)
axes[1].set(xlabel="f(sine)", ylabel="g(cosine)", title=f"correlation {model.correlations_[0]:.2f}")
plt.show()
